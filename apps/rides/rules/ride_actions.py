"""What a reader may do with a ride as it stands: read off the table of transitions, for pages that offer it.

Services ask again, under the lock; a page that offers less than they allow would hide a way, one that offers more
would lead into a refusal.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from apps.rides.rules.lifecycle import BY_ACTION, TERMINAL, Action, RideStatus
from lib.access import Principal
from lib.scopes import Scope


class RideAction(StrEnum):
    READY = "ready"
    UNREADY = "unready"
    CONFIRM = "confirm"
    ASSIGN = "assign"
    UNASSIGN = "unassign"
    MOMENT = "moment"
    NOTES = "notes"
    CANCEL = "cancel"
    NO_SHOW = "no_show"
    UNFULFILLED = "unfulfilled"
    CORRECT = "correct"  # for a while after the end
    ANSWER = "answer"  # where an exception asks for one


class Standing(Protocol):
    """The columns of a ride that matter here."""

    status: str
    will_call: bool
    ready_at: datetime | None


_STEPS: Final[dict[RideAction, tuple[Action, ...]]] = {
    RideAction.CONFIRM: (Action.CONFIRM,),
    RideAction.ASSIGN: (Action.ASSIGN, Action.REASSIGN, Action.TRANSFER),
    RideAction.UNASSIGN: (Action.UNASSIGN,),
    RideAction.CANCEL: (Action.CANCEL,),
    RideAction.NO_SHOW: (Action.MARK_NO_SHOW,),
    RideAction.UNFULFILLED: (Action.TURN_DOWN, Action.MARK_UNFULFILLED, Action.ABORT),
}
_S: Final = RideStatus
# Until somebody has been sent whoever books may change what was booked.
_BEFORE_ASSIGNMENT: Final = frozenset({_S.REQUESTED, _S.SCHEDULED})
_RELEASABLE: Final = frozenset({_S.SCHEDULED, _S.ASSIGNED})
# Moments of the road that can be entered by hand, those to come first; one that has passed is completed or set right.
MOMENTS: Final[dict[str, tuple[str, ...]]] = {
    _S.ASSIGNED: ("departed", "arrived_pickup"),
    _S.EN_ROUTE: ("arrived_pickup", "departed"),
    _S.ARRIVED: ("boarded", "contact_attempt", "arrived_pickup", "departed"),
    _S.IN_PROGRESS: ("dropped_off", "arrived_dropoff", "boarded", "arrived_pickup", "departed"),
    _S.COMPLETED: ("arrived_dropoff", "arrived_pickup", "departed"),
}


def allowed_actions(ride: Standing, by: Principal) -> frozenset[RideAction]:
    """List what the reader may do now."""
    if by.provider_ids is not None:
        return frozenset()  # fleets report through their own systems
    status = RideStatus(ride.status)
    found = {deed for deed, steps in _STEPS.items() if any(_permits(status, step, by) for step in steps)}
    if by.has_scope(Scope.RIDES_STATUS) and status in MOMENTS:
        found.add(RideAction.MOMENT)
    if by.has_scope(Scope.RIDES_WRITE) and (status in _BEFORE_ASSIGNMENT or by.has_scope(Scope.ASSIGNMENTS_WRITE)):
        found.add(RideAction.NOTES)
    releases = by.has_scope(Scope.RIDES_WRITE) or by.has_scope(Scope.RIDES_STATUS)
    if ride.will_call and status in _RELEASABLE and releases:
        found.add(RideAction.READY if ride.ready_at is None else RideAction.UNREADY)
    if by.has_scope(Scope.RIDES_CORRECT) and status in TERMINAL:
        found.add(RideAction.CORRECT)
    return frozenset(found)


def step_to(deed: RideAction, status: RideStatus) -> Action | None:
    """Name the step that a deed is from this status; None: there is none."""
    return next((step for step in _STEPS[deed] if (status, step) in BY_ACTION), None)


def _permits(status: RideStatus, step: Action, by: Principal) -> bool:
    row = BY_ACTION.get((status, step))
    return row is not None and any(by.has_scope(scope) for scope in row.who)
