"""ZIP files that a passphrase opens, as 7-Zip and WinZip know them: AES-256, AE-2.

For people who have to read them without this service.  The format leaves names, sizes and dates of the files inside
readable: whoever writes one names files so that they say nothing.  It derives keys in 1,000 rounds and no more, so that
the passphrase has to be a long one.
"""

import hashlib
import hmac
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

_SALT, _CHECK, _SEAL = 16, 2, 10  # bytes before and behind the content of a file
_ROUNDS: Final = 1000
_BLOCK: Final = 16
_AES, _DEFLATED = 99, 8
_NEEDS: Final = 51  # the version of the format that knows AES
_FLAGS: Final = 1 | 1 << 11  # encrypted; names are UTF-8
_KIND: Final = struct.pack("<HHH2sBH", 0x9901, 7, 2, b"AE", 3, _DEFLATED)  # AE-2, 256 bits
_SHARED: Final = "<HHHHHIIIHH"  # what both headers of a file say of it
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


class NotOpened(Exception):
    """The passphrase is another one, or the file has been altered, or is none of ours."""


class _Keys(NamedTuple):
    content: bytes
    seal: bytes
    check: bytes


def write(files: Mapping[str, bytes], passphrase: str, *, at: datetime) -> bytes:
    """Give the bytes of a ZIP of these files; `at` is the date that they all carry, as it stands."""
    day = (at.year - 1980) << 9 | at.month << 5 | at.day
    clock = at.hour << 11 | at.minute << 5 | at.second // 2
    out, index = bytearray(), bytearray()
    for name, content in files.items():
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        sealed = _seal(packer.compress(content) + packer.flush(), passphrase)
        encoded = name.encode()
        # Of AE-2 there is no checksum: it would tell what is in a short file.
        numbers = (_NEEDS, _FLAGS, _AES, clock, day, 0, len(sealed), len(content), len(encoded), len(_KIND))
        shared = struct.pack(_SHARED, *numbers)
        central = struct.pack("<H", _NEEDS) + shared + struct.pack("<HHHII", 0, 0, 0, 0, len(out))
        index += _CENTRAL + central + encoded + _KIND
        out += _LOCAL + shared + encoded + _KIND + sealed
    end = struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(index), len(out), 0)
    return bytes(out + index + _END + end)


def read(data: bytes, passphrase: str) -> dict[str, bytes]:
    """Give the files of a ZIP that `write` made, by name.

    Raises:
        NotOpened: as it says.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as found:
            return {one.filename: _content(data, one, passphrase) for one in found.infolist()}
    except (zipfile.BadZipFile, struct.error, zlib.error, NotImplementedError) as error:
        raise NotOpened from error


def _content(data: bytes, one: zipfile.ZipInfo, passphrase: str) -> bytes:
    name_size, extra_size = struct.unpack_from("<HH", data, one.header_offset + 26)
    begins = one.header_offset + 30 + name_size + extra_size
    return zlib.decompress(_opened(data[begins : begins + one.compress_size], passphrase), wbits=-zlib.MAX_WBITS)


def _seal(content: bytes, passphrase: str) -> bytes:
    salt = os.urandom(_SALT)
    keys = _keys(passphrase, salt)
    hidden = _mask(content, keys.content)
    return salt + keys.check + hidden + hmac.digest(keys.seal, hidden, "sha1")[:_SEAL]


def _opened(sealed: bytes, passphrase: str) -> bytes:
    salt, rest = sealed[:_SALT], sealed[_SALT:]
    check, hidden, seal = rest[:_CHECK], rest[_CHECK:-_SEAL], rest[-_SEAL:]
    keys = _keys(passphrase, salt)
    if check != keys.check or not hmac.compare_digest(hmac.digest(keys.seal, hidden, "sha1")[:_SEAL], seal):
        raise NotOpened
    return _mask(hidden, keys.content)


def _keys(passphrase: str, salt: bytes) -> _Keys:
    made = hashlib.pbkdf2_hmac("sha1", passphrase.encode(), salt, _ROUNDS, 32 + 32 + _CHECK)
    return _Keys(made[:32], made[32:64], made[64:])


def _mask(content: bytes, key: bytes) -> bytes:
    """Encrypt or decrypt in counter mode, as the format has it and no library: from 1 on, the lowest byte first."""
    blocks = range(1, -(-len(content) // _BLOCK) + 1)
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305  # of counters that never come twice
    stream = cipher.update(b"".join(number.to_bytes(_BLOCK, "little") for number in blocks))[: len(content)]
    masked = int.from_bytes(content, "big") ^ int.from_bytes(stream, "big")
    return masked.to_bytes(len(content), "big")
