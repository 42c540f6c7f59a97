"""What PostgreSQL tells of on the channel, and what a browser is told of it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

CHANNEL: Final = "carelane_live"  # named in migration events/0005 too


@dataclass(frozen=True, slots=True)
class Change:
    """Something was recorded about a record.  `type` is the event's; the ids are texts."""

    subject: str
    id: str
    type: str
    facility_id: str | None
    provider_id: str | None


def read(payload: str) -> list[Change] | None:
    """Read one message of the channel; None where it names nothing, and everything has to be looked at again.

    Anybody who may connect can send on a channel, so whatever is not ours counts as that.
    """
    try:
        return [Change(*told) for told in json.loads(payload)["changes"]]
    except (ValueError, TypeError, KeyError):
        return None


def as_json(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """List what the browser hears: which records, and what happened to them."""
    return [{"subject": one.subject, "id": one.id, "type": one.type} for one in changes]
