"""The text of a bearer token: `clt_<12 base62 key id>_<40 base62 secret><6 base62 CRC-32>`.

The prefix lets leak scanners detect tokens; the checksum, over everything before it, rejects a mistyped one without a
query.  Base62 digits are 0-9, A-Z, a-z.
"""

import re
import secrets
import string
import zlib
from dataclasses import dataclass, field
from typing import Final

ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
KEY_ID_LENGTH: Final = 12
SECRET_LENGTH: Final = 40  # 238 bits
CHECKSUM_LENGTH: Final = 6  # 62^6 > 2^32

_FORM = re.compile(r"clt_([0-9A-Za-z]{12})_([0-9A-Za-z]{40})([0-9A-Za-z]{6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a token; the secret is excluded from `repr`, and so from logs."""

    key_id: str
    secret: str = field(repr=False)


def generate() -> Parts:
    """Generate a key id and a secret from the system's source of randomness."""
    return Parts(_draw(KEY_ID_LENGTH), _draw(SECRET_LENGTH))


def _draw(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def write(parts: Parts) -> str:
    """Return the text of the token: 64 characters."""
    body = f"clt_{parts.key_id}_{parts.secret}"
    return body + _checksum(body)


def read(text: str) -> Parts | None:
    """Parse a token; None if its format or checksum is wrong."""
    match = _FORM.fullmatch(text)
    if match is None or _checksum(text[:-CHECKSUM_LENGTH]) != match.group(3):
        return None
    return Parts(match.group(1), match.group(2))


def key_id_in(text: str) -> str | None:
    """Return the key id of a token anywhere in `text`, without checking the checksum."""
    match = _FORM.search(text)
    return match and match.group(1)


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits
