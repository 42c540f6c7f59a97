"""Messages of the PostgreSQL channel, and their form for browsers."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

CHANNEL: Final = "carelane_live"  # also in migration events/0005


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A recorded change of a record.  `type` is that of the event; ids are text."""

    subject: str
    id: str
    type: str
    facility_id: str | None
    provider_id: str | None


def read(payload: str) -> list[RecordChange] | None:
    """Parse a message of the channel; None if it is invalid, and everything has to be reloaded.

    Every role that may connect can send on a channel, so invalid messages are possible.
    """
    try:
        return [RecordChange(*fields) for fields in json.loads(payload)["changes"]]
    except (ValueError, TypeError, KeyError):
        return None


def as_json(changes: Iterable[RecordChange]) -> list[dict[str, Any]]:
    """Return the changes as the browser gets them: the records, and the types of their events."""
    return [{"subject": change.subject, "id": change.id, "type": change.type} for change in changes]
