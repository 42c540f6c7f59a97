"""File type detection by content."""

import pytest

from lib.file_kinds import FileKind, kind_of
from tests.fleet.scans import JPEG, PDF, PNG


@pytest.mark.parametrize(("data", "kind"), [(PDF, FileKind.PDF), (JPEG, FileKind.JPEG), (PNG, FileKind.PNG)])
def test_a_scan_is_known_by_its_bytes(data: bytes, kind: FileKind) -> None:
    assert kind_of(data) is kind
    assert kind.value.endswith({"pdf": "pdf", "jpg": "jpeg", "png": "png"}[kind.ending])


def test_a_camera_may_write_behind_the_picture() -> None:
    assert kind_of(JPEG + b"\0" * 100 + b"depth map") is FileKind.JPEG


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-",
        PDF[:-6],  # truncated
        PNG[:-1],
        JPEG[:-2],
        b"<html>" + PDF,  # accepted by lenient PDF readers
        b"GIF89a/*" + PDF,
        PDF + b"PK\x03\x04" + b"\0" * 2_000,  # an archive appended
        PNG + b"<script>alert(1)</script>",
        b"MZ" + b"\0" * 400,
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"II*\0" + b"\0" * 40,  # TIFF
        b"\xff\xd8\xff",
        b"\n" + PNG,
    ],
)
def test_what_is_none_of_them_or_not_whole_is_told(data: bytes) -> None:
    assert kind_of(data) is None
