"""The text of a bearer token: `clt_<12 base62 key id>_<40 base62 secret><6 base62 CRC-32>`.

The prefix lets leak scanners find tokens; the checksum, over everything before it, refuses a mistyped one without a
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
    """A token taken apart; the secret stays out of `repr`, and so out of logs."""

    key_id: str
    secret: str = field(repr=False)


def generate() -> Parts:
    """Draw a key id and a secret from the system's source of randomness."""
    return Parts(_draw(KEY_ID_LENGTH), _draw(SECRET_LENGTH))


def _draw(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def write(parts: Parts) -> str:
    """Write the token as its holder sends it: 64 characters."""
    body = f"clt_{parts.key_id}_{parts.secret}"
    return body + _checksum(body)


def read(text: str) -> Parts | None:
    """Take a token apart; None when its form or checksum is wrong."""
    found = _FORM.fullmatch(text)
    if found is None or _checksum(text[:-CHECKSUM_LENGTH]) != found.group(3):
        return None
    return Parts(found.group(1), found.group(2))


def key_id_in(text: str) -> str | None:
    """Find the key id of a token that stands somewhere in `text`, checksum or not."""
    found = _FORM.search(text)
    return found and found.group(1)


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits
