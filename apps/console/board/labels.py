"""Labels and CSS classes of bars, cards and rows of the board."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.dispatch.labels import place as place
from apps.dispatch.labels import service as service
from apps.dispatch.queries.board import BoardRide, awaits_release
from apps.dispatch.rules.suggesting import most_frequent
from apps.riders.rules.needs import Mobility
from apps.rides.models import Ride
from apps.rides.rules.disclosure import Disclosure
from apps.rides.rules.eligibility import ViolationCode
from apps.rides.rules.lifecycle import BY_ACTION, Action, RideStatus

Text = str | Promise

# CSS class of the mark ("" for no mark) and label by mobility, which decides about the vehicle.
KINDS: Final[Mapping[str, tuple[str, Text]]] = {
    Mobility.AMBULATORY: ("", gettext_lazy("Ambulatory")),
    Mobility.AMBULATORY_ASSIST: ("", gettext_lazy("Ambulatory with assistance")),
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
    "will-call": gettext_lazy("Will-call, not ready yet"),
    "assigned": gettext_lazy("Assigned"),
    "en-route": gettext_lazy("En route"),
    "arrived": gettext_lazy("Arrived at pickup"),
    "on-board": gettext_lazy("On board"),
    "done": gettext_lazy("Completed"),
}
# Statuses in which a ride can be assigned or reassigned.
ASSIGNABLE: Final = frozenset(
    status for status in RideStatus for action in (Action.ASSIGN, Action.REASSIGN) if (status, action) in BY_ACTION
)
# Short labels of violations, for the number of drivers with each.
CONFLICT_LABELS: Final[Mapping[ViolationCode, Text]] = {
    ViolationCode.DRIVER_INACTIVE: gettext_lazy("not active"),
    ViolationCode.VEHICLE_OUT_OF_SERVICE: gettext_lazy("vehicle out of service"),
    ViolationCode.PROVIDER_MISMATCH: gettext_lazy("vehicle of another provider"),
    ViolationCode.CREDENTIAL_INVALID: gettext_lazy("without valid credentials"),
    ViolationCode.VEHICLE_NOT_SUITABLE: gettext_lazy("vehicle does not fit"),
    ViolationCode.DRIVER_NOT_QUALIFIED: gettext_lazy("training missing"),
    ViolationCode.PAIRING_EXCLUDED: gettext_lazy("not to be paired with the rider"),
    ViolationCode.ATTENDANT_REQUIRED: gettext_lazy("a second person is needed"),
    ViolationCode.SCHEDULE_CONFLICT: gettext_lazy("overlap"),
    ViolationCode.OUTSIDE_SHIFT: gettext_lazy("not on shift"),
    ViolationCode.PREFERENCE_UNMET: gettext_lazy("not the requested driver"),
    ViolationCode.RIDE_TIME_EXCEEDED: gettext_lazy("ride time over the limit"),
}
_STATE_OF: Final = {
    RideStatus.REQUESTED: "requested",
    RideStatus.SCHEDULED: "unassigned",
    RideStatus.ASSIGNED: "assigned",
    RideStatus.EN_ROUTE: "en-route",
    RideStatus.ARRIVED: "arrived",
    RideStatus.IN_PROGRESS: "on-board",
    RideStatus.COMPLETED: "done",
}


def state_of(ride: Ride) -> str:
    """Return the CSS class for the state of an open or completed ride; `will-call` while it waits for its release.

    "" for a ride that ended in another way.
    """
    return "will-call" if awaits_release(ride) else _STATE_OF.get(RideStatus(ride.status), "")


def kind_of(ride: Ride) -> tuple[str, str]:
    """Return the CSS class and the label of the rider's mobility."""
    mark, label = KINDS[ride.accommodation["mobility"]]
    return mark, str(label)


def route_label(ride: Ride, to: Disclosure) -> str:
    return f"{place(ride.pickup, to)} → {place(ride.dropoff, to)}"


def lateness(board_ride: BoardRide) -> str:
    """Return the current or forecast lateness as text; "" if the ride is on time."""
    if not board_ride.late:
        return ""
    if board_ride.is_late:
        return ngettext("%(count)s minute late", "%(count)s minutes late", board_ride.late) % {"count": board_ride.late}
    template = ngettext("predicted %(count)s minute late", "predicted %(count)s minutes late", board_ride.late)
    return template % {"count": board_ride.late}


def conflict_summary(counts: Mapping[ViolationCode, int]) -> str:
    """Summarize the violations with the number of drivers each, most frequent first, or that no driver is active."""
    if not counts:
        return _("No driver is active.")
    return ", ".join(f"{CONFLICT_LABELS[code]} ({count})" for code, count in most_frequent(counts))


def reason_of_waiting(board_ride: BoardRide) -> str:
    """Say why a ride whose driver or vehicle is out waits; "" for other rides."""
    if board_ride.nobody_fits is None:
        return ""
    conflicts = {"conflicts": conflict_summary(board_ride.nobody_fits)}
    if board_ride.is_vehicle_down:
        return _("Vehicle down, no eligible driver: %(conflicts)s") % conflicts
    return _("Driver out, no eligible driver: %(conflicts)s") % conflicts
