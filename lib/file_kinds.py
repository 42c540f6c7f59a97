"""The kind of a file by its bytes; its name and the browser's media type are ignored."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

# PDF readers search this many bytes for the end marker (ISO 32000, annex of implementation notes).
_END_OF_PDF: Final = 1_024


class FileKind(StrEnum):
    """The kinds of scans that can be uploaded, by media type."""

    PDF = "application/pdf"
    JPEG = "image/jpeg"
    PNG = "image/png"

    @property
    def ending(self) -> str:
        return {FileKind.PDF: "pdf", FileKind.JPEG: "jpg", FileKind.PNG: "png"}[self]


def _is_pdf(data: bytes) -> bool:
    """Return whether it is a PDF that starts at the first byte.

    Stricter than PDF readers, which accept a start within the first 1,024 bytes.
    """
    return data.startswith((b"%PDF-1.", b"%PDF-2.")) and b"%%EOF" in data[-_END_OF_PDF:]


def _is_jpeg(data: bytes) -> bool:
    """Return whether it is a JPEG: cameras append data after the end marker, so it need not be last."""
    return data.startswith(b"\xff\xd8\xff") and b"\xff\xd9" in data[3:]


def _is_png(data: bytes) -> bool:
    return data.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") and data.endswith(b"\0\0\0\0IEND\xaeB`\x82")


_TESTS: Final[Mapping[FileKind, Callable[[bytes], bool]]] = {
    FileKind.PDF: _is_pdf,
    FileKind.JPEG: _is_jpeg,
    FileKind.PNG: _is_png,
}


def kind_of(data: bytes) -> FileKind | None:
    """Return the kind of a file; None if it is none of these, or truncated.

    No two kinds start with the same bytes.  A file may contain other data besides, so uploads are only offered as
    downloads and never displayed.
    """
    return next((kind for kind, is_one in _TESTS.items() if is_one(data)), None)
