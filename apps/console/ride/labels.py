"""Labels, colors and signs of statuses, milestones, reasons and people of rides."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.rides import labels
from apps.rides.models import Assignment, Ride
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionStatus, ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from lib import clocks, dates, zone_labels

Text = str | Promise


@dataclass(frozen=True, slots=True)
class Badge:
    """`sign` precedes the text, so that the color is not the only cue."""

    tone: str
    sign: str
    text: Text


STATUSES: Final[Mapping[str, Badge]] = {
    RideStatus.REQUESTED: Badge("warn", "?", labels.STATUSES[RideStatus.REQUESTED]),
    RideStatus.SCHEDULED: Badge("warn", "○", labels.STATUSES[RideStatus.SCHEDULED]),
    RideStatus.ASSIGNED: Badge("booked", "◔", labels.STATUSES[RideStatus.ASSIGNED]),
    RideStatus.EN_ROUTE: Badge("ok", "➜", labels.STATUSES[RideStatus.EN_ROUTE]),
    RideStatus.ARRIVED: Badge("ok", "◉", labels.STATUSES[RideStatus.ARRIVED]),
    RideStatus.IN_PROGRESS: Badge("on-board", "●", labels.STATUSES[RideStatus.IN_PROGRESS]),
    RideStatus.COMPLETED: Badge("quiet", "✓", labels.STATUSES[RideStatus.COMPLETED]),
    RideStatus.CANCELLED: Badge("quiet", "✕", labels.STATUSES[RideStatus.CANCELLED]),
    RideStatus.NO_SHOW: Badge("bad", "✕", labels.STATUSES[RideStatus.NO_SHOW]),
    RideStatus.UNFULFILLED: Badge("bad", "!", labels.STATUSES[RideStatus.UNFULFILLED]),
}
WILL_CALL: Final = Badge("info", "☏", gettext_lazy("Will-call, not ready yet"))
RELEASED: Final = Badge("info", "☏", gettext_lazy("Ready"))
AFTER_THE_FACT: Final = Badge("quiet", "✎", gettext_lazy("Recorded after the fact"))
SEVERITIES: Final[Mapping[str, Badge]] = {
    ExceptionSeverity.CRITICAL: Badge("bad", "▲", gettext_lazy("Critical")),
    ExceptionSeverity.WARNING: Badge("warn", "◆", gettext_lazy("Warning")),
    ExceptionSeverity.INFO: Badge("info", "●", gettext_lazy("Info")),
}
EXCEPTION_STATUSES: Final[Mapping[str, Badge]] = {
    ExceptionStatus.OPEN: Badge("warn", "○", gettext_lazy("Open")),
    ExceptionStatus.ACKNOWLEDGED: Badge("booked", "◔", gettext_lazy("Claimed")),
    ExceptionStatus.RESOLVED: Badge("ok", "✓", gettext_lazy("Resolved")),
    ExceptionStatus.DISMISSED: Badge("quiet", "✕", gettext_lazy("Dismissed")),
}
CONTACTED: Final[Mapping[str, Text]] = {
    "rider": gettext_lazy("the rider"),
    "facility": gettext_lazy("the facility"),
}
CHECKLIST: Final[Mapping[str, Text]] = {
    "orderSigned": gettext_lazy("Order signed"),
    "medsInHand": gettext_lazy("Medication in hand"),
    "belongings": gettext_lazy("Belongings"),
    "oxygenDelivered": gettext_lazy("Oxygen delivered"),
    "receivingConfirmed": gettext_lazy("Receiving place confirmed"),
    "pcsOnFile": gettext_lazy("Certification (PCS) on file"),
    "paperwork": gettext_lazy("Paperwork"),
}
ASSIGNMENTS: Final[Mapping[str, Badge]] = {
    Assignment.Status.OFFERED: Badge("info", "○", gettext_lazy("Offered")),
    Assignment.Status.ACCEPTED: Badge("ok", "✓", pgettext_lazy("assignment", "Current")),
    Assignment.Status.DECLINED: Badge("warn", "✕", gettext_lazy("Declined")),
    Assignment.Status.EXPIRED: Badge("warn", "✕", gettext_lazy("Offer expired")),
    Assignment.Status.RELEASED: Badge("quiet", "✕", gettext_lazy("Unassigned")),
    Assignment.Status.SUPERSEDED: Badge("quiet", "✕", gettext_lazy("Replaced")),
    Assignment.Status.COMPLETED: Badge("quiet", "✓", gettext_lazy("Has driven")),
}
_EVENTS: Final[Mapping[str, Text]] = {
    "requested": gettext_lazy("Requested"),
    "scheduled": gettext_lazy("Booked"),
    "rescheduled": gettext_lazy("Moved to another time"),
    "updated": gettext_lazy("Changed"),
    "ready": gettext_lazy("Marked ready"),
    "driver_assigned": gettext_lazy("Driver assigned"),
    "driver_unassigned": gettext_lazy("Driver unassigned"),
    "driver_en_route": gettext_lazy("En route"),
    "driver_arrived": gettext_lazy("Arrived at pickup"),
    "started": gettext_lazy("Rider on board"),
    "completed": gettext_lazy("Completed"),
    "eta_changed": gettext_lazy("New estimate of the arrival"),
    "cancelled": gettext_lazy("Canceled"),
    "no_show": gettext_lazy("No-show"),
    "unfulfilled": gettext_lazy("Missed trip"),
    "corrected": gettext_lazy("Outcome corrected"),
    "exception": gettext_lazy("Exception raised"),
    "exception_noted": gettext_lazy("Exception raised"),
    "exception_acknowledged": gettext_lazy("Exception claimed"),
    "exception_resolved": gettext_lazy("Exception closed"),
}

# Fields of the API that an event lists as changed.
_FIELDS: Final[Mapping[str, Text]] = {
    "accommodation": gettext_lazy("needs"),
    "answer": gettext_lazy("planner's answer"),
    "appointmentTime": gettext_lazy("appointment time"),
    "attestation": gettext_lazy("attestation"),
    "companions": gettext_lazy("companions"),
    "dialysis": gettext_lazy("dialysis details"),
    "discharge": gettext_lazy("discharge details"),
    "dropoff": gettext_lazy("drop-off"),
    "externalIds": gettext_lazy("ids in other systems"),
    "handoffName": gettext_lazy("received by"),
    "legSequence": gettext_lazy("order of the legs"),
    "legType": gettext_lazy("leg type"),
    "loadedMiles": gettext_lazy("miles"),
    "milestones": gettext_lazy("times"),
    "notes": gettext_lazy("notes"),
    "occurrenceState": gettext_lazy("state in the series"),
    "odometerEnd": gettext_lazy("odometer at the end"),
    "odometerStart": gettext_lazy("odometer at the start"),
    "payment": gettext_lazy("payer"),
    "pickup": gettext_lazy("pickup"),
    "pickupTime": gettext_lazy("pickup time"),
    "priority": gettext_lazy("priority"),
    "readyAt": gettext_lazy("ready time"),
    "requestedBy": gettext_lazy("requested by"),
    "schedulingAnchor": gettext_lazy("pickup or appointment time"),
    "serviceType": gettext_lazy("trip type"),
    "signatures": gettext_lazy("signatures"),
    "standingOrderId": gettext_lazy("standing order"),
    "tripId": gettext_lazy("linked rides"),
    "vehicleTypeRequested": gettext_lazy("vehicle type"),
    "willCall": gettext_lazy("will-call"),
}


def field_label(name: str) -> str:
    """Return the label of a field of the API; an unknown name, `pickupTime`, as words."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return str(_FIELDS.get(name, words))


def event_label(event_type: str) -> str:
    """Return the label of a ride event; an unknown type is returned as words."""
    name = event_type.partition(".")[2]
    return str(_EVENTS.get(name, code_label(name)))


def code_label(code: str) -> str:
    """Return a code as words: `rider_request` as `Rider request`.  Reasons of the operator have their own labels."""
    return labels.reason_label(code)


def title_of(type_: str) -> Text:
    return ExceptionType(type_).label


def actor_name(actor: str, names: Mapping[str, str]) -> str:
    """Return the name of an actor; a general term for other systems and for Carelane itself."""
    if actor.startswith("user:"):
        return names.get(actor, _("a person"))
    return _("API") if actor.startswith("token:") else _("Carelane")


def status_of(ride: Ride) -> list[Badge]:
    """Return the badge of the status, and others for a will-call before departure or a ride recorded after the fact."""
    badges = [STATUSES[ride.status]]
    if ride.will_call and ride.status in (RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED):
        badges.append(WILL_CALL if ride.ready_at is None else RELEASED)
    if ride.after_the_fact:
        badges.append(AFTER_THE_FACT)
    return badges


def place_name(stop: Mapping[str, Any]) -> str:
    """Return the name of a disclosed stop, else its street, else its city, else "a place"."""
    return labels.stop_name(stop) or _("a place")


def clock(at: datetime, zone: str) -> str:
    """Return the time of day in a zone, with the zone's short label."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{clocks.clock(local)} {zone_labels.short(local)}"


def day(at: datetime, zone: str) -> str:
    return dates.dated_day(at.astimezone(ZoneInfo(zone)).date())


def day_and_clock(at: datetime, zone: str) -> str:
    return f"{dates.short_day(at.astimezone(ZoneInfo(zone)).date())}, {clock(at, zone)}"
