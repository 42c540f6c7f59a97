"""How the board says what a ride is: the words of bars, cards and rows."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, ngettext

from apps.dispatch.naming import place as place
from apps.dispatch.naming import service as service
from apps.dispatch.queries.board import UNASSIGNED, Shown
from apps.riders.models import Mobility
from apps.rides.disclosure import Disclosure
from apps.rides.lifecycle import RideStatus
from apps.rides.models import Ride

Text = str | Promise

# How a rider moves, in one word and the class that its mark has: what decides over the vehicle.
KINDS: Final[Mapping[str, tuple[str, Text]]] = {
    Mobility.AMBULATORY: ("", gettext_lazy("Walks")),
    Mobility.AMBULATORY_ASSIST: ("", gettext_lazy("Walks with help")),
    Mobility.WHEELCHAIR_TRANSFER: ("wheelchair", gettext_lazy("Wheelchair, transfers")),
    Mobility.WHEELCHAIR: ("wheelchair", gettext_lazy("Wheelchair")),
    Mobility.WHEELCHAIR_POWER: ("wheelchair", gettext_lazy("Power wheelchair")),
    Mobility.WHEELCHAIR_BARIATRIC: ("wheelchair", gettext_lazy("Bariatric wheelchair")),
    Mobility.RECLINER_CHAIR: ("wheelchair", gettext_lazy("Recliner chair")),
    Mobility.STRETCHER: ("stretcher", gettext_lazy("Stretcher")),
    Mobility.STRETCHER_BARIATRIC: ("stretcher", gettext_lazy("Bariatric stretcher")),
}
STATES: Final[Mapping[str, Text]] = {
    "requested": gettext_lazy("Requested"),
    "unassigned": gettext_lazy("Unassigned"),
    "will-call": gettext_lazy("Will-call, not released"),
    "assigned": gettext_lazy("Assigned"),
    "en-route": gettext_lazy("En route"),
    "arrived": gettext_lazy("At the pickup"),
    "on-board": gettext_lazy("On board"),
}
_STATE_OF: Final = {
    RideStatus.REQUESTED: "requested",
    RideStatus.SCHEDULED: "unassigned",
    RideStatus.ASSIGNED: "assigned",
    RideStatus.EN_ROUTE: "en-route",
    RideStatus.ARRIVED: "arrived",
    RideStatus.IN_PROGRESS: "on-board",
}


def state_of(ride: Ride) -> str:
    """Name the state of an open ride by the class that shows it; one that waits for its release is not unassigned."""
    waits = ride.will_call and ride.ready_at is None and ride.status in UNASSIGNED
    return "will-call" if waits else _STATE_OF[RideStatus(ride.status)]


def kind_of(ride: Ride) -> tuple[str, str]:
    """Give the class and the word of how the rider moves."""
    mark, word = KINDS[ride.accommodation["mobility"]]
    return mark, str(word)


def way(ride: Ride, to: Disclosure) -> str:
    return f"{place(ride.pickup, to)} → {place(ride.dropoff, to)}"


def lateness(shown: Shown) -> str:
    """Say how late a ride is, or will be; nothing where it is in time."""
    if not shown.late:
        return ""
    if shown.is_late:
        return ngettext("%(count)s minute late", "%(count)s minutes late", shown.late) % {"count": shown.late}
    said = ngettext("foreseen %(count)s minute late", "foreseen %(count)s minutes late", shown.late)
    return said % {"count": shown.late}
