"""Where driver and rider find each other: the door, and how far in.  One rule for screens and printed pages."""

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
    "unit_desk": gettext_lazy("The desk of the unit"),
    "discharge_lounge": gettext_lazy("The discharge lounge"),
    "lobby": gettext_lazy("The lobby"),
    "curb": gettext_lazy("The curb"),
}
Doors = Mapping[str, str]  # their names by id


def door(ride: Ride, side: str, doors: Doors, to: Disclosure) -> str:
    """Say by which door: the one that a discharge names goes before the stop's, whose own name is not said twice."""
    if to.phi < Phi.FULL:
        return ""
    meant = [doors[one] for one in meant_doors(ride, side) if one in doors]
    text = disclosure.stop(getattr(ride, side), to).get("entranceText") or ""
    return ", ".join(filter(None, (*meant[:1], "" if text in meant else text)))


def inside(ride: Ride, side: str, to: Disclosure) -> list[str]:
    """Say how far in: unit and room of the stop, else of the discharge, and where its people meet."""
    if to.phi < Phi.FULL:
        return []
    stop, discharge = getattr(ride, side), _discharge(ride, side)
    unit, room = (stop.get(key) or discharge.get(key) for key in ("unit", "room"))
    meeting = PLACES.get(discharge.get("meetAt") or "")
    said = (
        _("Unit %(unit)s") % {"unit": unit} if unit else "",
        _("Room %(room)s") % {"room": room} if room else "",
        _("Meet at: %(place)s") % {"place": meeting} if meeting else "",
    )
    return [one for one in said if one]


def meant_doors(ride: Ride, side: str) -> Iterator[str]:
    """Give the ids of the doors that a side of the ride names, the most precise first."""
    yield from filter(None, (_discharge(ride, side).get("pickupEntranceId"), getattr(ride, side).get("entranceId")))


def _discharge(ride: Ride, side: str) -> Mapping[str, Any]:
    return (ride.discharge if side == "pickup" else None) or {}
