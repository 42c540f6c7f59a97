"""What stands on the wire with every attempt besides its signature.  Pure: sending writes it, the log shows it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

USER_AGENT: Final = "Carelane-Webhooks/1.0"


def unsigned_headers(event_id: str, *, attempt: int, at: datetime, own: Mapping[str, str]) -> dict[str, str]:
    """Write the headers of an attempt but for its signature; `own` are the endpoint's, which replace none of ours."""
    return {
        **own,
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "webhook-attempt": str(attempt),
        "webhook-id": event_id,
        "webhook-timestamp": str(int(at.timestamp())),
    }
