"""Purposes of a ride: each one presets service type, stops, time and return trip."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.console.booking.place_fields import HOME, TYPED
from apps.organizations.models import FacilityKind
from apps.rides.rules.draft import ServiceType

FACILITY: Final = "facility"  # the key of a place: the facility that asks
# How the time is meant.
PICKUP: Final = "pickup"
ARRIVE: Final = "arrive"
WILL_CALL: Final = "will_call"
# The way back.
NONE: Final = "none"
AT_TIME: Final = "at_time"


@dataclass(frozen=True, slots=True)
class Preset:
    """Where a ride for this reason begins and ends, how its time is meant, and how the rider comes back."""

    label: str | Promise
    icon: str
    service: ServiceType
    pickup: str
    dropoff: str
    when: str
    way_back: str


PRESETS: Final[Mapping[str, Preset]] = {
    "discharge": Preset(_("Discharge"), "house", ServiceType.HOSPITAL_DISCHARGE, FACILITY, HOME, PICKUP, NONE),
    "appointment": Preset(_("Appointment"), "clock", ServiceType.APPOINTMENT, HOME, FACILITY, ARRIVE, WILL_CALL),
    "transfer": Preset(_("Transfer"), "building-2", ServiceType.INTERFACILITY_TRANSFER, FACILITY, TYPED, PICKUP, NONE),
    "dialysis": Preset(_("Dialysis"), "repeat", ServiceType.DIALYSIS, HOME, FACILITY, ARRIVE, WILL_CALL),
    "other": Preset(_("Other"), "ellipsis", ServiceType.OTHER, HOME, TYPED, PICKUP, NONE),
}
_OF_KIND: Final[Mapping[str, str]] = {FacilityKind.HOSPITAL: "discharge", FacilityKind.DIALYSIS: "dialysis"}


def usual_at(kind: str) -> str:
    """Name the reason that rides of a kind of facility mostly have."""
    return _OF_KIND.get(kind, "appointment")
