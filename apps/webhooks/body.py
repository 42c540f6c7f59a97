"""The bytes of a webhook's body.  Pure: what an event carries, cut to the endpoint's payload level."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson

from apps.webhooks.rules.event_types import CATALOGUE
from lib.api.fields import instant_text

MOST_BYTES: Final = 262_144  # an ordinary one has less than 2,000


class TooLarge(Exception):
    """The body would be longer than any receiver has to take."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of an event, as its row has it."""

    id: UUID
    type: str
    subject_type: str
    subject_id: UUID
    sequence: int
    occurred_at: datetime
    facility_id: UUID | None
    provider_id: UUID | None
    data: Mapping[str, Any]


def render(event: Told, *, level: str, api_version: str, more: Mapping[str, Any] | None = None) -> bytes:
    """Write the body: the same bytes for the same input, whenever it is asked.

    `more` are further keys of `data`: the caller's own reference, or the whole ride.

    Raises:
        TooLarge: it has more than MOST_BYTES.
    """
    kind = CATALOGUE[event.type]
    data: dict[str, Any] = {kind.id_key: str(event.subject_id)}
    if kind.path is not None:
        data["href"] = f"{kind.path}/{event.subject_id}"
    data |= {key: event.data[key] for key in kind.owners}
    if level != "id-only":
        carried = {**event.data, "facilityId": _text(event.facility_id), "providerId": _text(event.provider_id)}
        data |= {key: carried[key] for key in kind.summary if key in carried}
        data |= more or {}
    body = orjson.dumps(
        {
            "id": str(event.id),
            "type": event.type,
            "apiVersion": api_version,
            "timestamp": instant_text(event.occurred_at),
            "subject": {"type": event.subject_type, "id": str(event.subject_id), "sequence": event.sequence},
            "data": data,
        },
        option=orjson.OPT_SORT_KEYS,
    )
    if len(body) > MOST_BYTES:
        raise TooLarge
    return body


def _text(id: UUID | None) -> str | None:
    return None if id is None else str(id)
