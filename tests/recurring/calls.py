"""API calls about standing orders, and all rows that they can change."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import CalendarShift, ExternalId, Facility
from apps.recurring.models import Hold, Occurrence, OccurrenceChange, StandingOrder, Terms
from apps.rides.models import Ride
from tests.recurring.cast import MONDAY
from tests.rides.drafts import HOME

CHICAGO = ZoneInfo("America/Chicago")
_STATE = (StandingOrder, Terms, Hold, OccurrenceChange, Occurrence, Ride, Event, CalendarShift, ExternalId)


def body(facility: Facility, **given: Any) -> dict[str, Any]:
    """Monday, Wednesday and Friday, in the chair at 10:30, back by will-call."""
    asked = {
        "facilityId": str(facility.pk),
        "startDate": MONDAY.isoformat(),
        "pattern": {"preset": "mwf"},
        "chairTime": "10:30",
        "outbound": {"pickup": HOME},
    }
    return {**asked, **given}


def state() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in _STATE]


def actions() -> list[str]:
    return sorted(AuditEntry.objects.values_list("action", flat=True))


def fields_of(response: Any) -> list[str]:
    """Return the fields that a refusal names."""
    return [detail.get("field") for detail in response.json()["error"]["details"]]


def chairs(order_id: Any) -> dict[dt.date, dt.time]:
    """Return the chair time of each day, by the rides that are not cancelled."""
    there = Ride.objects.filter(standing_order_id=order_id, leg_type="outbound").exclude(status="cancelled")
    found = [ride.appointment_at.astimezone(CHICAGO) for ride in there.order_by("pickup_at") if ride.appointment_at]
    return {moment.date(): moment.time() for moment in found}
