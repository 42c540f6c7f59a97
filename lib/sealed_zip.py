"""Password-protected ZIP files that 7-Zip and WinZip can open: AES-256.

For people who have to read them without this service.  The format does not encrypt names, sizes and dates of the files
inside, so the caller has to choose names that reveal nothing.  It derives keys in only 1,000 rounds, so the passphrase
has to be long.
"""

import struct
import zlib
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO

import pyzipper
from pyzipper.zipfile_aes import AESZipInfo


class NotOpened(Exception):
    """The passphrase is wrong, or the file was altered or is not from `write`."""


def write(files: Mapping[str, bytes], passphrase: str, *, at: datetime) -> bytes:
    """Return the bytes of a ZIP of these files; `at` is the date of all files, without a time zone."""
    out = BytesIO()
    with pyzipper.AESZipFile(out, "w", encryption=pyzipper.WZ_AES, encryption_kwargs={"nbits": 256}) as packed:
        packed.setpassword(passphrase.encode())
        for name, content in files.items():
            entry = AESZipInfo(name, at.timetuple()[:6])
            entry.compress_type = pyzipper.ZIP_DEFLATED
            packed.writestr(entry, content)
    return out.getvalue()


def read(data: bytes, passphrase: str) -> dict[str, bytes]:
    """Return the files of a ZIP of `write`, by name.

    Raises:
        NotOpened: the passphrase is wrong, or the file is not valid.
    """
    try:
        with pyzipper.AESZipFile(BytesIO(data)) as archive:
            if not all(entry.flag_bits & 1 for entry in archive.infolist()):
                raise NotOpened
            return {entry.filename: archive.read(entry, pwd=passphrase.encode()) for entry in archive.infolist()}
    except (pyzipper.BadZipFile, struct.error, zlib.error, RuntimeError, NotImplementedError, ValueError) as error:
        raise NotOpened from error
