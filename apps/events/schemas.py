"""The shape in which an event leaves the service: in the feed, and as the body of webhooks."""

from typing import Any

from apps.events.models import Event
from lib.api.fields import instant_text


def envelope(event: Event, *, api_version: str) -> dict[str, Any]:
    """Write an event as integrators receive it; `timestamp` is when it happened, and the id is for deduplication."""
    return {
        "id": str(event.pk),
        "type": event.type,
        "apiVersion": api_version,
        "timestamp": instant_text(event.occurred_at),
        "subject": {"type": event.subject_type, "id": str(event.subject_id), "sequence": event.sequence},
        "data": event.data,
    }
