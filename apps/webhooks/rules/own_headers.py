"""Headers of the receiver's own that go with every delivery: which names and values they may have.  Pure."""

import re
from collections.abc import Mapping
from typing import Final

MOST: Final = 10
LONGEST_NAME: Final = 64
LONGEST_VALUE: Final = 500

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}", re.ASCII)  # RFC 9110, 5.6.2
_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,498}[\x21-\x7e])?", re.ASCII)
# What we say ourselves, and what belongs to the connection.  `authorization` is the receiver's to ask for.
_OURS: Final = ("content-", "webhook-", "proxy-")
_NEVER: Final = frozenset(
    {"host", "user-agent", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"}
)


def fault_of(headers: Mapping[str, str]) -> str | None:
    """Say what is wrong with them, as a predicate ("must ..."); None if nothing is.  Never repeats what was sent."""
    names = [name.lower() for name in headers]
    if len(names) > MOST:
        return f"must not have more than {MOST} names."
    if len(set(names)) < len(names):
        return "must not have a name twice, in whatever case."
    if not all(_TOKEN.fullmatch(name) for name in names):
        return f"must have names of letters, digits and hyphens, of at most {LONGEST_NAME} characters."
    if any(name in _NEVER or name.startswith(_OURS) for name in names):
        return "must not have names that deliveries set themselves, or that belong to the connection."
    if not all(_VALUE.fullmatch(value) for value in headers.values()):
        return f"must have values of visible ASCII characters, of at most {LONGEST_VALUE}."
    return None
