"""The body of a webhook: the data of an event, reduced to the payload level of the endpoint."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Protocol
from uuid import UUID

import orjson

from apps.webhooks.rules.event_types import CATALOGUE
from lib.api.fields import instant_text

MAX_BYTES: Final = 262_144  # documented in docs/webhooks.md; an ordinary body has less than 2,000


class TooLarge(Exception):
    """The body would exceed MAX_BYTES."""


class EventFacts(Protocol):
    """The columns of an event that bodies are rendered from: `apps.events.models.Event` has them."""

    id: UUID
    type: str
    subject_type: str
    subject_id: UUID
    sequence: int
    occurred_at: datetime
    facility_id: UUID | None
    provider_id: UUID | None
    data: Any


def render(event: EventFacts, *, level: str, api_version: str, extra: Mapping[str, Any] | None = None) -> bytes:
    """Render the body; the same input always gives the same bytes.

    `extra`: further keys of `data`, which are not in the event: the client's own reference, or the whole ride.

    Raises:
        TooLarge: the body has more than MAX_BYTES.
        KeyError: the event is of an unknown type.
    """
    event_type = CATALOGUE[event.type]
    data: dict[str, Any] = {event_type.id_key: str(event.subject_id)}
    if event_type.path is not None:
        data["href"] = f"{event_type.path}/{event.subject_id}"
    data |= {key: event.data[key] for key in event_type.owners}
    if level != "id-only":
        values = {**event.data, "facilityId": _text(event.facility_id), "providerId": _text(event.provider_id)}
        data |= {key: values[key] for key in event_type.summary if key in values}
        data |= extra or {}
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
    if len(body) > MAX_BYTES:
        raise TooLarge
    return body


def _text(id: UUID | None) -> str | None:
    return None if id is None else str(id)
