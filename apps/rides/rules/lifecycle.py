"""The life of a ride as data: ten statuses, 28 transitions, and who and what each one asks for.

The numbers T01 to T28 name the rows.  Pure: no query, no clock.  What a guard
looks at is gathered in services/; the one function that changes a status is `services.status.move`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lib.choices import TextChoices
from lib.messages import gettext_lazy as _
from lib.scopes import Scope


class RideStatus(TextChoices):
    REQUESTED = "requested", _("Requested")
    SCHEDULED = "scheduled", _("Scheduled")
    ASSIGNED = "assigned", _("Assigned")
    EN_ROUTE = "en_route", _("en route")
    ARRIVED = "arrived", _("Arrived")
    IN_PROGRESS = "in_progress", _("in progress")
    COMPLETED = "completed", _("Completed")
    CANCELLED = "cancelled", _("Canceled")
    NO_SHOW = "no_show", _("no-show")
    UNFULFILLED = "unfulfilled", _("Unfulfilled")


class Action(StrEnum):
    CREATE = "create"
    CONFIRM = "confirm"
    TURN_DOWN = "turn_down"
    CANCEL = "cancel"
    ASSIGN = "assign"
    MARK_UNFULFILLED = "mark_unfulfilled"
    UNASSIGN = "unassign"
    REASSIGN = "reassign"
    DEPART = "depart"
    ARRIVE = "arrive"
    START = "start"
    MARK_NO_SHOW = "mark_no_show"
    TRANSFER = "transfer"
    COMPLETE = "complete"
    ABORT = "abort"
    CORRECT = "correct"


class Guard(StrEnum):
    """Conditions of a transition.  Hard ones refuse; soft ones give way to an override with a reason."""

    WILL_CALL_RELEASED = "will_call_released"
    CREDENTIALS_VALID = "credentials_valid"
    VEHICLE_IN_SERVICE = "vehicle_in_service"
    DISCHARGE_CHECKLIST = "discharge_checklist"
    SECUREMENT_CONFIRMED = "securement_confirmed"
    PICKUP_PROOF = "pickup_proof"  # odometer or signature, where the payer asks
    ARRIVED_IN_WINDOW = "arrived_in_window"
    WAITED_LONG_ENOUGH = "waited_long_enough"
    CONTACT_ATTEMPTED = "contact_attempted"
    HANDOFF_NAMED = "handoff_named"
    RIDER_LOCATION_KNOWN = "rider_location_known"
    CORRECTION_WINDOW_OPEN = "correction_window_open"


SOFT_GUARDS: Final = frozenset({Guard.DISCHARGE_CHECKLIST, Guard.SECUREMENT_CONFIRMED, Guard.PICKUP_PROOF})


class ReasonList(StrEnum):
    CANCELLED = "cancelled"
    UNFULFILLED = "unfulfilled"
    NO_SHOW = "no_show"
    UNASSIGN = "unassign"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table.

    Any of `scopes` permits it.  `reasons` names the list the reason code has to come from.  `events` are
    recorded in order, each with a version of its own; the first one is the change itself, and `ride.exception` is
    recorded by the exception that the transition opens.
    """

    number: str
    source: RideStatus | None
    action: Action
    target: RideStatus
    scopes: tuple[Scope, ...]
    events: tuple[str, ...]
    guards: tuple[Guard, ...] = ()
    reasons: ReasonList | None = None


_S, _A, _G, _R = RideStatus, Action, Guard, ReasonList
_BOOK = (Scope.RIDES_WRITE,)
_DRIVE = (Scope.RIDES_STATUS,)
_DISPATCH = (Scope.ASSIGNMENTS_WRITE,)
_DISPATCH_OR_DRIVE = (Scope.ASSIGNMENTS_WRITE, Scope.RIDES_STATUS)
_BOOK_OR_DRIVE = (Scope.RIDES_WRITE, Scope.RIDES_STATUS)
_DEPART = (_G.WILL_CALL_RELEASED, _G.CREDENTIALS_VALID, _G.VEHICLE_IN_SERVICE, _G.DISCHARGE_CHECKLIST)
_BOARD = (_G.SECUREMENT_CONFIRMED, _G.PICKUP_PROOF)
_NO_SHOW = (_G.ARRIVED_IN_WINDOW, _G.WAITED_LONG_ENOUGH, _G.CONTACT_ATTEMPTED)
_FAILED = ("ride.unfulfilled", "ride.exception")
_GIVEN_BACK = ("ride.driver_unassigned", "ride.exception")
_SWAPPED = ("ride.driver_unassigned", "ride.driver_assigned")
_CANCELLED = ("ride.cancelled",)

# fmt: off
TRANSITIONS: Final[tuple[Transition, ...]] = (
    Transition("T01", None, _A.CREATE, _S.REQUESTED, _BOOK, ("ride.requested",)),
    Transition("T02", None, _A.CREATE, _S.SCHEDULED, _BOOK, ("ride.scheduled",)),
    Transition("T03", _S.REQUESTED, _A.CONFIRM, _S.SCHEDULED, _DISPATCH, ("ride.scheduled",)),
    Transition("T04", _S.REQUESTED, _A.TURN_DOWN, _S.UNFULFILLED, _DISPATCH, _FAILED, (), _R.UNFULFILLED),
    Transition("T05", _S.REQUESTED, _A.CANCEL, _S.CANCELLED, _BOOK, _CANCELLED, (), _R.CANCELLED),
    Transition("T06", _S.SCHEDULED, _A.ASSIGN, _S.ASSIGNED, _DISPATCH, ("ride.driver_assigned",)),
    Transition("T07", _S.SCHEDULED, _A.CANCEL, _S.CANCELLED, _BOOK, _CANCELLED, (), _R.CANCELLED),
    Transition("T08", _S.SCHEDULED, _A.MARK_UNFULFILLED, _S.UNFULFILLED, _DISPATCH, _FAILED, (), _R.UNFULFILLED),
    Transition("T09", _S.ASSIGNED, _A.UNASSIGN, _S.SCHEDULED, _DISPATCH_OR_DRIVE, ("ride.driver_unassigned",), (),
               _R.UNASSIGN),
    Transition("T10", _S.ASSIGNED, _A.REASSIGN, _S.ASSIGNED, _DISPATCH, _SWAPPED),
    Transition("T11", _S.ASSIGNED, _A.DEPART, _S.EN_ROUTE, _DRIVE, ("ride.driver_en_route",), _DEPART),
    Transition("T12", _S.ASSIGNED, _A.ARRIVE, _S.ARRIVED, _DRIVE, ("ride.driver_arrived",), _DEPART),
    Transition("T13", _S.ASSIGNED, _A.CANCEL, _S.CANCELLED, _BOOK, _CANCELLED, (), _R.CANCELLED),
    Transition("T14", _S.ASSIGNED, _A.MARK_UNFULFILLED, _S.UNFULFILLED, _DISPATCH, _FAILED, (), _R.UNFULFILLED),
    Transition("T15", _S.EN_ROUTE, _A.ARRIVE, _S.ARRIVED, _DRIVE, ("ride.driver_arrived",)),
    Transition("T16", _S.EN_ROUTE, _A.UNASSIGN, _S.SCHEDULED, _DISPATCH_OR_DRIVE, _GIVEN_BACK, (), _R.UNASSIGN),
    Transition("T17", _S.EN_ROUTE, _A.REASSIGN, _S.ASSIGNED, _DISPATCH, _SWAPPED),
    Transition("T18", _S.EN_ROUTE, _A.CANCEL, _S.CANCELLED, _BOOK, _CANCELLED, (), _R.CANCELLED),
    Transition("T19", _S.EN_ROUTE, _A.MARK_UNFULFILLED, _S.UNFULFILLED, _DISPATCH, _FAILED, (), _R.UNFULFILLED),
    Transition("T20", _S.ARRIVED, _A.START, _S.IN_PROGRESS, _DRIVE, ("ride.started",), _BOARD),
    Transition("T21", _S.ARRIVED, _A.MARK_NO_SHOW, _S.NO_SHOW, _DRIVE, ("ride.no_show", "ride.exception"), _NO_SHOW,
               _R.NO_SHOW),
    Transition("T22", _S.ARRIVED, _A.CANCEL, _S.CANCELLED, _BOOK_OR_DRIVE, _CANCELLED, (), _R.CANCELLED),
    Transition("T23", _S.ARRIVED, _A.MARK_UNFULFILLED, _S.UNFULFILLED, _DISPATCH, _FAILED, (), _R.UNFULFILLED),
    Transition("T24", _S.ARRIVED, _A.UNASSIGN, _S.SCHEDULED, _DISPATCH, _GIVEN_BACK, (), _R.UNASSIGN),
    Transition("T25", _S.ARRIVED, _A.REASSIGN, _S.ASSIGNED, _DISPATCH, (*_SWAPPED, "ride.exception")),
    Transition("T26", _S.IN_PROGRESS, _A.TRANSFER, _S.IN_PROGRESS, _DISPATCH, (*_SWAPPED, "ride.exception"),
               (_G.RIDER_LOCATION_KNOWN,), _R.UNASSIGN),
    Transition("T27", _S.IN_PROGRESS, _A.COMPLETE, _S.COMPLETED, _DRIVE, ("ride.completed",), (_G.HANDOFF_NAMED,)),
    Transition("T28", _S.IN_PROGRESS, _A.ABORT, _S.UNFULFILLED, _DISPATCH_OR_DRIVE, _FAILED,
               (_G.RIDER_LOCATION_KNOWN,), _R.UNFULFILLED),
)
# fmt: on

TERMINAL: Final = frozenset({_S.COMPLETED, _S.CANCELLED, _S.NO_SHOW, _S.UNFULFILLED})
OPEN: Final = frozenset(RideStatus) - TERMINAL
WITH_DRIVER: Final = frozenset({_S.ASSIGNED, _S.EN_ROUTE, _S.ARRIVED, _S.IN_PROGRESS})
# What one status call can mean: each pair of statuses names one action.  The self-loops are assignments (rule 6).
BY_STATUSES: Final[Mapping[tuple[RideStatus | None, RideStatus], Transition]] = {
    (row.source, row.target): row for row in TRANSITIONS if row.source is not None and row.source != row.target
}
BY_ACTION: Final[Mapping[tuple[RideStatus | None, Action], Transition]] = {
    (row.source, row.action): row for row in TRANSITIONS if row.action is not Action.CREATE
}


def allowed_from(status: RideStatus) -> list[RideStatus]:
    """List the statuses one call can lead to, in the order of the table."""
    return list(dict.fromkeys(row.target for row in TRANSITIONS if row.source is status and row.target is not status))
