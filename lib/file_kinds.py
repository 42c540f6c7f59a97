"""What a file is, by its bytes: neither its name nor what a browser says of it counts."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

# What readers of PDF look through for the end (ISO 32000, annex of implementation notes).
_END_OF_PDF: Final = 1_024


class FileKind(StrEnum):
    """The kinds of scans, by their media types."""

    PDF = "application/pdf"
    JPEG = "image/jpeg"
    PNG = "image/png"

    @property
    def ending(self) -> str:
        return {FileKind.PDF: "pdf", FileKind.JPEG: "jpg", FileKind.PNG: "png"}[self]


def _is_pdf(data: bytes) -> bool:
    """Readers take what begins within the first 1,024 bytes; here it begins with the first, or is something else."""
    return data.startswith((b"%PDF-1.", b"%PDF-2.")) and b"%%EOF" in data[-_END_OF_PDF:]


def _is_jpeg(data: bytes) -> bool:
    """Cameras write things of their own behind the end of the picture: it is there, and not necessarily last."""
    return data.startswith(b"\xff\xd8\xff") and b"\xff\xd9" in data[3:]


def _is_png(data: bytes) -> bool:
    return data.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") and data.endswith(b"\0\0\0\0IEND\xaeB`\x82")


_TESTS: Final[Mapping[FileKind, Callable[[bytes], bool]]] = {
    FileKind.PDF: _is_pdf,
    FileKind.JPEG: _is_jpeg,
    FileKind.PNG: _is_png,
}


def kind_of(data: bytes) -> FileKind | None:
    """Say what a file is; None: none of these, or cut off.

    No two kinds begin alike.  It says what the file is taken for, not that nothing else is in it: what comes from
    people is given back as a file to be saved, and never shown.
    """
    return next((kind for kind, is_one in _TESTS.items() if is_one(data)), None)
