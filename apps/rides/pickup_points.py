"""The entrance and the place inside a building where driver and rider meet.  For screens and printed pages."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.rides.models import Ride
from apps.rides.rules import disclosure
from apps.rides.rules.disclosure import Disclosure
from lib.access import Phi

PLACES: Final[dict[str, Promise]] = {
    "bedside": gettext_lazy("The bedside"),
    "unit_desk": gettext_lazy("The unit desk"),
    "discharge_lounge": gettext_lazy("The discharge lounge"),
    "lobby": gettext_lazy("The lobby"),
    "curb": gettext_lazy("The curb"),
}
EntranceNames = Mapping[str, str]  # by id


def entrance(ride: Ride, side: str, entrance_names: EntranceNames, to: Disclosure) -> str:
    """Return the entrance: that of a discharge goes before that of the stop, and no name appears twice."""
    if to.phi < Phi.FULL:
        return ""
    names = [entrance_names[entrance_id] for entrance_id in entrance_ids(ride, side) if entrance_id in entrance_names]
    text = disclosure.stop(getattr(ride, side), to).get("entranceText") or ""
    return ", ".join(filter(None, (*names[:1], "" if text in names else text)))


def inside(ride: Ride, side: str, to: Disclosure) -> list[str]:
    """Return unit and room of the stop, or else of the discharge, and the meeting place inside the building."""
    if to.phi < Phi.FULL:
        return []
    stop, discharge = getattr(ride, side), _discharge(ride, side)
    unit, room = (stop.get(key) or discharge.get(key) for key in ("unit", "room"))
    meeting = PLACES.get(discharge.get("meetAt") or "")
    lines = (
        _("Unit %(unit)s") % {"unit": unit} if unit else "",
        _("Room %(room)s") % {"room": room} if room else "",
        _("Meet at: %(place)s") % {"place": meeting} if meeting else "",
    )
    return [line for line in lines if line]


def entrance_ids(ride: Ride, side: str) -> Iterator[str]:
    """Yield the ids of the entrances at a side of the ride, the most precise first."""
    yield from filter(None, (_discharge(ride, side).get("pickupEntranceId"), getattr(ride, side).get("entranceId")))


def _discharge(ride: Ride, side: str) -> Mapping[str, Any]:
    return (ride.discharge if side == "pickup" else None) or {}
