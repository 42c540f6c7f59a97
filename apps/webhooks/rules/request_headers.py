"""Headers of a delivery: those of every attempt except the signature, and which custom headers an endpoint may add."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from lib.messages import Message
from lib.messages import gettext_lazy as _

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


def problem_with(headers: Mapping[str, str]) -> Message | None:
    """Describe why custom headers are invalid; None if they are valid.

    `%(field)s` is the name of the field.  The text never contains a name or value that was sent.
    """
    names = [name.lower() for name in headers]
    if len(names) > MAX_CUSTOM_HEADERS:
        return Message(_("%(field)s must not have more than %(maximum)s names."), {"maximum": MAX_CUSTOM_HEADERS})
    if len(set(names)) < len(names):
        return Message(_("%(field)s must not have a name twice; case does not matter."))
    if not all(_TOKEN.fullmatch(name) for name in names):
        template = _("%(field)s must have names of letters, digits and hyphens, of at most %(maximum)s characters.")
        return Message(template, {"maximum": MAX_NAME_LENGTH})
    if any(name in _RESERVED or name.startswith(_RESERVED_PREFIXES) for name in names):
        return Message(_("%(field)s must not have names that deliveries or the connection use."))
    if not all(_VALUE.fullmatch(value) for value in headers.values()):
        template = _("%(field)s must have values of at most %(maximum)s visible ASCII characters.")
        return Message(template, {"maximum": MAX_VALUE_LENGTH})
    return None
