"""Purposes of a ride: each one presets service type, stops, time and return trip."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.console.booking.place_fields import HOME, TYPED
from apps.organizations.models import FacilityKind
from apps.rides.rules.draft import ServiceType

FACILITY: Final = "facility"  # key of a place: the requesting facility
# Meanings of the time (`when`).
PICKUP: Final = "pickup"
ARRIVE: Final = "arrive"
WILL_CALL: Final = "will_call"
# Return trip (`way_back`), besides WILL_CALL.
NONE: Final = "none"
AT_TIME: Final = "at_time"


@dataclass(frozen=True, slots=True)
class Preset:
    """Defaults of a purpose: keys of the pickup and drop-off places, meaning of the time, and return trip."""

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
_BY_FACILITY_KIND: Final[Mapping[str, str]] = {FacilityKind.HOSPITAL: "discharge", FacilityKind.DIALYSIS: "dialysis"}


def default_preset_at(kind: str) -> str:
    """Return the most frequent purpose at a kind of facility."""
    return _BY_FACILITY_KIND.get(kind, "appointment")
