"""ZIP files that a passphrase opens, as 7-Zip and WinZip know them: AES-256.

For people who have to read them without this service.  The format leaves names, sizes and dates of the files inside
readable: whoever writes one names files so that they say nothing.  It derives keys in 1,000 rounds and no more, so that
the passphrase has to be a long one.
"""

import struct
import zlib
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO

import pyzipper
from pyzipper.zipfile_aes import AESZipInfo


class NotOpened(Exception):
    """The passphrase is another one, or the file has been altered, or is none of ours."""


def write(files: Mapping[str, bytes], passphrase: str, *, at: datetime) -> bytes:
    """Give the bytes of a ZIP of these files; `at` is the date that they all carry, as it stands."""
    out = BytesIO()
    with pyzipper.AESZipFile(out, "w", encryption=pyzipper.WZ_AES, encryption_kwargs={"nbits": 256}) as packed:
        packed.setpassword(passphrase.encode())
        for name, content in files.items():
            entry = AESZipInfo(name, at.timetuple()[:6])
            entry.compress_type = pyzipper.ZIP_DEFLATED
            packed.writestr(entry, content)
    return out.getvalue()


def read(data: bytes, passphrase: str) -> dict[str, bytes]:
    """Give the files of a ZIP that `write` made, by name.

    Raises:
        NotOpened: as it says.
    """
    try:
        with pyzipper.AESZipFile(BytesIO(data)) as found:
            if not all(one.flag_bits & 1 for one in found.infolist()):
                raise NotOpened
            return {one.filename: found.read(one, pwd=passphrase.encode()) for one in found.infolist()}
    except (pyzipper.BadZipFile, struct.error, zlib.error, RuntimeError, NotImplementedError, ValueError) as error:
        raise NotOpened from error
