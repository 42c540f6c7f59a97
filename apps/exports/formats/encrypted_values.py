"""Decrypting values in the stream of a file, where PostgreSQL wrote placeholders for them.

Files without encrypted columns pass unchanged, at no cost.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from apps.exports.formats.columns import CLOSES, OPENS, Column, ColumnType
from apps.exports.formats.workbook import in_cell
from lib.crypto import decrypt
from lib.csv_file import neutral

_CACHE_SIZE: Final = 50_000  # values; riders have many rides
_SPECIAL: Final = re.compile(r'[",\r\n]')


def new_mark() -> str:
    """Return a random word that marks placeholders, so that data cannot imitate one."""
    return secrets.token_hex(8)


def in_json(text: str) -> bytes:
    """Escape text between the quotes of a JSON string."""
    return orjson.dumps(text)[1:-1]


def in_csv(text: str) -> bytes:
    """Write text as a cell of a CSV file, protected against formulas."""
    return plain_in_csv(neutral(text))


def plain_in_csv(text: str) -> bytes:
    """Write text as a cell of a CSV file (RFC 4180, 2.5 to 2.7)."""
    quoted = text.replace('"', '""')
    return (f'"{quoted}"' if _SPECIAL.search(text) else text).encode()


def in_xml(text: str) -> bytes:
    """Escape text as the content of a cell of a workbook, protected as in a CSV file."""
    return in_cell(neutral(text)).encode()


class Decrypter:
    """Replaces placeholders with decrypted values.

    `mask` hides part of a value, and `escape` writes it in the format of the file.  A chunk contains whole rows.
    """

    def __init__(
        self, columns: Sequence[Column], mark: str, *, mask: Callable[[str], str], escape: Callable[[str], bytes]
    ) -> None:
        self._columns = [column.encryption.column if column.encryption else "" for column in columns]
        self._mask, self._escape = mask, escape
        self._cache: dict[tuple[bytes, bytes], bytes] = {}
        pattern = f"{OPENS}{mark}:(\\d+):([0-9a-f-]{{36}}):([0-9a-f]+){CLOSES}"
        has_encrypted = any(column.kind is ColumnType.SEALED for column in columns)
        self._placeholder = re.compile(pattern.encode()) if has_encrypted else None

    def __call__(self, chunk: bytes) -> bytes:
        """Return the chunk with decrypted values.

        Raises:
            KeyError, cryptography.exceptions.InvalidTag: as `lib.crypto.decrypt`.
        """
        return chunk if self._placeholder is None else self._placeholder.sub(self._decrypt, chunk)

    def _decrypt(self, match: re.Match[bytes]) -> bytes:
        position, key, encrypted = match.groups()
        value = self._cache.get((position, encrypted))
        if value is None:
            text = decrypt(bytes.fromhex(encrypted.decode()), aad=f"{self._columns[int(position)]}.{key.decode()}")
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            value = self._cache[position, encrypted] = self._escape(self._mask(text))
        return value
