"""Sealed values on their way into a file: opened in the stream, where PostgreSQL left placeholders for them.

Rows without such columns pass untouched, so that nobody pays for what was not asked for.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from apps.exports.formats.columns import CLOSES, OPENS, Column, Kind
from apps.exports.formats.workbook import in_cell
from lib.crypto import decrypt
from lib.csv_file import neutral

_REMEMBERED: Final = 50_000  # values; riders come again and again
_SPECIAL: Final = re.compile(r'[",\r\n]')


def new_mark() -> str:
    """Make the word that tells our placeholders from anything somebody wrote into a column."""
    return secrets.token_hex(8)


def in_json(text: str) -> bytes:
    """Write text to stand between the quotes of a JSON string."""
    return orjson.dumps(text)[1:-1]


def in_csv(text: str) -> bytes:
    """Write text as a cell of a CSV file, safe for spreadsheets."""
    return plain_in_csv(neutral(text))


def plain_in_csv(text: str) -> bytes:
    """Write text as a cell of a CSV file (RFC 4180, 2.5 to 2.7)."""
    quoted = text.replace('"', '""')
    return (f'"{quoted}"' if _SPECIAL.search(text) else text).encode()


def in_xml(text: str) -> bytes:
    """Write text as the content of a cell of a workbook, as safe as in a CSV file."""
    return in_cell(neutral(text)).encode()


class Opener:
    """Puts opened values where their placeholders are.

    `show` says how much of a value is shown.  Placeholders of one row stand in one piece.
    """

    def __init__(
        self, columns: Sequence[Column], mark: str, *, show: Callable[[str], str], write: Callable[[str], bytes]
    ) -> None:
        self._of = [column.sealed.of if column.sealed else "" for column in columns]
        self._show, self._write = show, write
        self._known: dict[tuple[bytes, bytes], bytes] = {}
        form = f"{OPENS}{mark}:(\\d+):([0-9a-f-]{{36}}):([0-9a-f]+){CLOSES}"
        self._placeholder = re.compile(form.encode()) if any(one.kind is Kind.SEALED for one in columns) else None

    def __call__(self, piece: bytes) -> bytes:
        """Open what is sealed in a piece.

        Raises:
            KeyError, cryptography.exceptions.InvalidTag: as `lib.crypto.decrypt`.
        """
        return piece if self._placeholder is None else self._placeholder.sub(self._opened, piece)

    def _opened(self, found: re.Match[bytes]) -> bytes:
        place, key, sealed = found.groups()
        known = self._known.get((place, sealed))
        if known is None:
            text = decrypt(bytes.fromhex(sealed.decode()), aad=f"{self._of[int(place)]}.{key.decode()}")
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[place, sealed] = self._write(self._show(text))
        return known
