"""Encrypted ZIP files: compatible with other programs in both directions, and altered files are refused."""

import base64
import datetime as dt
import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import sealed_zip
from lib.sealed_zip import NotOpened

PASSPHRASE = "correct horse battery staple"
AT = dt.datetime(2026, 11, 20, 9, 15, 42)  # noqa: DTZ001  # files carry the time on the wall
# Made by 7-Zip 26.02: `7zz a -tzip -mem=AES256 -p'correct horse battery staple' by7z.zip long.txt`.
BY_7ZIP = base64.b64decode(
    "UEsDBDMAAQBjABddd10AAAAATAAAAGYAAAAIAAsAbG9uZy50eHQBmQcAAgBBRQMIAJOTVJKbbdIpgUsBf3iBJdubjl6jErB0J/rE"
    "mFpnlWkE4BQ09PLG6GTD/8tRuf+J59Bt1c0vQuqgMuDV7OtKH5HWBloRP4odq8KkPqhQSwECPwMzAAEAYwAXXXddAAAAAEwAAABm"
    "AAAACAAvAAAAAAAAACCApIEAAAAAbG9uZy50eHQKACAAAAAAAAEAGABxksB5P3vdAQAAAAAAAAAAAAAAAAAAAAABmQcAAgBBRQMI"
    "AFBLBQYAAAAAAQABAGUAAAB9AAAAAAA="
)


def test_a_file_that_7_zip_wrote_is_read() -> None:
    said = b"Every ride of today and tomorrow. " * 2 + b"Every ride of today and tomorrow.\n"

    assert sealed_zip.read(BY_7ZIP, PASSPHRASE) == {"long.txt": said}


@given(st.dictionaries(st.text("abc/é", min_size=1, max_size=9), st.binary(max_size=70), max_size=4))
def test_what_is_written_is_read_back(files: dict[str, bytes]) -> None:
    assert sealed_zip.read(sealed_zip.write(files, PASSPHRASE, at=AT), PASSPHRASE) == files


def test_others_see_names_dates_and_sizes_and_nothing_else() -> None:
    content = b"Diaz, Ada" * 9
    data = sealed_zip.write({"a.csv": content, "é/b.pdf": b""}, PASSPHRASE, at=AT)

    with zipfile.ZipFile(BytesIO(data)) as found:
        first, second = found.infolist()
        with pytest.raises((RuntimeError, NotImplementedError)):  # Python's zipfile has no AES
            found.read("a.csv", PASSPHRASE.encode())

    assert (first.filename, second.filename) == ("a.csv", "é/b.pdf")
    assert (first.date_time, first.file_size, first.CRC) == ((2026, 11, 20, 9, 15, 42), len(content), 0)
    assert (first.compress_type, first.extra) == (99, bytes.fromhex("0199070002004145030800"))
    assert b"Ada" not in data


def test_equal_files_look_different() -> None:
    one, other = (sealed_zip.write({"a": b"Ada"}, PASSPHRASE, at=AT) for _ in range(2))

    assert one != other


@pytest.mark.parametrize("passphrase", ["", "Correct horse battery staple", PASSPHRASE + " "])
def test_another_passphrase_opens_nothing(passphrase: str) -> None:
    data = sealed_zip.write({"a": b"Ada"}, PASSPHRASE, at=AT)

    with pytest.raises(NotOpened):
        sealed_zip.read(data, passphrase)


def test_no_altered_byte_of_a_files_content_is_taken() -> None:
    data = sealed_zip.write({"a": b"Ada"}, PASSPHRASE, at=AT)
    begins = 30 + len("a") + 11
    (info,) = zipfile.ZipFile(BytesIO(data)).infolist()

    for place in range(begins, begins + info.compress_size):
        altered = bytearray(data)
        altered[place] ^= 1
        with pytest.raises(NotOpened):
            sealed_zip.read(bytes(altered), PASSPHRASE)


@pytest.mark.parametrize("data", [b"", b"PK", b"%PDF-1.7", BY_7ZIP[:100]])
def test_what_is_no_zip_is_refused(data: bytes) -> None:
    with pytest.raises(NotOpened):
        sealed_zip.read(data, PASSPHRASE)


def test_a_zip_without_encryption_is_refused() -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as plain:
        plain.writestr("a", b"Ada")

    with pytest.raises(NotOpened):
        sealed_zip.read(out.getvalue(), PASSPHRASE)
