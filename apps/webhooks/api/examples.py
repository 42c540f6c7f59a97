"""An example body for every event type and payload level, rendered as deliveries are."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import orjson

from apps.webhooks.rules import payloads
from apps.webhooks.rules.event_types import EventType

_EVENT: Final = UUID("01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f")
_SUBJECT: Final = UUID("01937b2e-0c11-7d42-8a57-31f0c2b4d6e8")
_FACILITY: Final = UUID("01937a00-4b7e-7f10-9c21-6d5e4f3a2b1c")
_PROVIDER: Final = UUID("01937a00-8d2f-7a63-b4c5-0f1e2d3c4b5a")
_OTHER: Final = "01937b2d-77aa-7b11-8c22-9d33ae44bf55"
_AT: Final = datetime(2026, 11, 20, 20, 4, 31, 250_000, tzinfo=UTC)

# The status after and before the event, by event type.
_STATUS: Final[Mapping[str, tuple[str, str | None]]] = {
    "ride.requested": ("requested", None),
    "ride.scheduled": ("scheduled", None),
    "ride.driver_assigned": ("assigned", "scheduled"),
    "ride.driver_unassigned": ("scheduled", "assigned"),
    "ride.driver_en_route": ("en_route", "assigned"),
    "ride.driver_arrived": ("arrived", "en_route"),
    "ride.eta_changed": ("en_route", "en_route"),
    "ride.started": ("in_progress", "arrived"),
    "ride.completed": ("completed", "in_progress"),
    "ride.cancelled": ("cancelled", "scheduled"),
    "ride.no_show": ("no_show", "arrived"),
    "ride.unfulfilled": ("unfulfilled", "scheduled"),
    "ride.corrected": ("in_progress", "completed"),
    "standing_order.created": ("active", None),
    "standing_order.changed": ("active", None),
    "standing_order.held": ("on_hold", None),
    "standing_order.resumed": ("active", None),
    "standing_order.ending": ("active", None),
    "standing_order.ended": ("ended", None),
}
_OTHER_STATUS: Final = ("scheduled", "scheduled")
_REASONS: Final[Mapping[str, str]] = {
    "ride.driver_unassigned": "driver_released",
    "ride.cancelled": "rider_request",
    "ride.no_show": "rider_not_at_pickup",
    "ride.unfulfilled": "no_driver_available",
}
_EXCEPTION_STATUS: Final[Mapping[str, str]] = {
    "ride.exception_acknowledged": "acknowledged",
    "ride.exception_resolved": "resolved",
    "standing_order.exception_acknowledged": "acknowledged",
    "standing_order.exception_resolved": "resolved",
}
_REVIEW: Final = {"type": "hold_review", "severity": "warning"}
_EXCEPTION_OF: Final[Mapping[str, Mapping[str, str]]] = {
    "ride.exception_noted": {"type": "discharge_slipped", "severity": "info"},
    "standing_order.exception": _REVIEW,
    "standing_order.exception_acknowledged": _REVIEW,
    "standing_order.exception_resolved": _REVIEW,
}
_CHANGED: Final[Mapping[str, list[str]]] = {
    "ride.rescheduled": ["pickupTime"],
    "standing_order.changed": ["chairTime"],
}
_STATES: Final[Mapping[str, str]] = {
    "webhook.test": "pending",
    "webhook.endpoint.paused": "paused",
    "webhook.endpoint.disabled": "disabled",
    "webhook.delivery.expiring": "paused",
}


@dataclass(slots=True)
class _ExampleEvent:
    """An event that was never stored: see `payloads.EventFacts`."""

    id: UUID
    type: str
    subject_type: str
    subject_id: UUID
    sequence: int
    occurred_at: datetime
    facility_id: UUID | None
    provider_id: UUID | None
    data: dict[str, Any]


def example(event_type: EventType, level: str, *, api_version: str) -> dict[str, Any]:
    """Render an example body; the ride of a full-resource body has only a few of its keys."""
    status, previous = _STATUS.get(event_type.name, _OTHER_STATUS)
    event = _ExampleEvent(
        id=_EVENT,
        type=event_type.name,
        subject_type=event_type.subject,
        subject_id=_SUBJECT,
        sequence=7,
        occurred_at=_AT,
        facility_id=_FACILITY,
        provider_id=_PROVIDER,
        data={"status": status, "previousStatus": previous, **_data(event_type.name)},
    )
    extra: dict[str, Any] = {"clientReference": "ORD-20261120-4471"} if event_type.subject == "ride" else {}
    if event_type.subject == "ride" and level == "full-resource":
        extra["ride"] = _ride(status)
    rendered: dict[str, Any] = orjson.loads(payloads.render(event, level=level, api_version=api_version, extra=extra))
    return rendered


def _data(name: str) -> dict[str, Any]:
    """Return a value for every key of any event; `payloads.render` takes those of the type."""
    return {
        "pickupTime": "2026-11-20T20:00:00Z",
        "changed": _CHANGED.get(name, ["accommodation"]),
        "assignmentId": _OTHER,
        "driverId": _OTHER,
        "vehicleId": _OTHER,
        "reasonCode": _REASONS.get(name),
        "etaPickup": "2026-11-20T20:12:00Z",
        "respondBy": "2026-11-20T20:19:00Z",
        "endedAs": "completed",
        "standingOrderId": _OTHER,
        "startDate": "2026-11-23",
        "fromDate": "2026-11-23",
        "until": "2026-11-29",
        "reason": "hospital_stay",
        "lastDate": "2026-11-27",
        "exception": {
            "id": _OTHER,
            **_EXCEPTION_OF.get(name, {"type": "late_pickup", "severity": "warning"}),
            "status": _EXCEPTION_STATUS.get(name, "open"),
            "dueAt": "2026-11-20T20:20:00Z",
        },
        "from": "pending",
        "to": "active",
        "clientId": _OTHER,
        "keyId": "A1b2C3d4E5f6",
        "expiresAt": "2026-11-27T20:04:00Z",
        "daysLeft": 7,
        "credentialType": "driver_license",
        "expiresOn": "2026-11-27",
        "blocking": True,
        "state": _STATES.get(name, "active"),
        "failingSince": "2026-11-20T19:49:00Z",
        "failures": 8,
        "lastError": "timeout",
        "count": 3,
        "dataset": "completions",
        "format": "csv",
        "rows": 1840,
        "errorCode": "storage_unavailable",
    }


def _ride(status: str) -> dict[str, Any]:
    return {
        "id": str(_SUBJECT),
        "status": status,
        "pickupTime": "2026-11-20T20:00:00Z",
        "facilityId": str(_FACILITY),
        "clientReference": "ORD-20261120-4471",
        "version": 7,
    }
