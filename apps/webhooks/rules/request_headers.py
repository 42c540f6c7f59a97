"""Headers of a delivery: those of every attempt except the signature, and which custom headers an endpoint may add."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

USER_AGENT: Final = "Carelane-Webhooks/1.0"
MAX_CUSTOM_HEADERS: Final = 10
MAX_NAME_LENGTH: Final = 64
MAX_VALUE_LENGTH: Final = 500

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}", re.ASCII)  # RFC 9110, 5.6.2
_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,498}[\x21-\x7e])?", re.ASCII)
# Set by deliveries, or properties of the connection.  `authorization` is allowed: receivers' gateways ask for it.
_RESERVED_PREFIXES: Final = ("content-", "webhook-", "proxy-")
_RESERVED: Final = frozenset(
    {"host", "user-agent", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"}
)


def unsigned_headers(event_id: str, *, attempt: int, at: datetime, custom: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an attempt except its signature; `custom` headers never replace these."""
    return {
        **custom,
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "webhook-attempt": str(attempt),
        "webhook-id": event_id,
        "webhook-timestamp": str(int(at.timestamp())),
    }


def problem_with(headers: Mapping[str, str]) -> str | None:
    """Describe why custom headers are refused, as a predicate ("must ..."); None if they are fine.

    The text never contains a name or value that was sent.
    """
    names = [name.lower() for name in headers]
    if len(names) > MAX_CUSTOM_HEADERS:
        return f"must not have more than {MAX_CUSTOM_HEADERS} names."
    if len(set(names)) < len(names):
        return "must not have a name twice, in whatever case."
    if not all(_TOKEN.fullmatch(name) for name in names):
        return f"must have names of letters, digits and hyphens, of at most {MAX_NAME_LENGTH} characters."
    if any(name in _RESERVED or name.startswith(_RESERVED_PREFIXES) for name in names):
        return "must not have names that deliveries set themselves, or that belong to the connection."
    if not all(_VALUE.fullmatch(value) for value in headers.values()):
        return f"must have values of visible ASCII characters, of at most {MAX_VALUE_LENGTH}."
    return None
