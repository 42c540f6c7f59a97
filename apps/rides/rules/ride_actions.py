"""The actions that pages offer on a ride, derived from the table of transitions.

Services check again under the lock; the pages offer exactly what the services allow.
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
    EDIT = "edit"
    NOTES = "notes"
    REINSTATE = "reinstate"  # until the pickup has passed
    CANCEL = "cancel"
    NO_SHOW = "no_show"
    UNFULFILLED = "unfulfilled"
    CORRECT = "correct"  # for a while after the end
    ANSWER = "answer"  # where an exception asks for one


class RideStatusFields(Protocol):
    """The columns of a ride that decide about its actions."""

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
# The booking role may change a ride until a driver is en route.
_BEFORE_DEPARTURE: Final = frozenset({_S.REQUESTED, _S.SCHEDULED, _S.ASSIGNED})
_RELEASABLE: Final = frozenset({_S.SCHEDULED, _S.ASSIGNED})
# Milestones that can be entered manually, upcoming ones first; past ones can be completed or corrected.
MOMENTS: Final[dict[str, tuple[str, ...]]] = {
    _S.SCHEDULED: ("contact_attempt",),
    _S.ASSIGNED: ("departed", "arrived_pickup", "contact_attempt"),
    _S.EN_ROUTE: ("arrived_pickup", "contact_attempt", "departed"),
    _S.ARRIVED: ("boarded", "contact_attempt", "arrived_pickup", "departed"),
    _S.IN_PROGRESS: ("dropped_off", "arrived_dropoff", "boarded", "arrived_pickup", "departed"),
    _S.COMPLETED: ("arrived_dropoff", "arrived_pickup", "departed"),
}


def allowed_actions(ride: RideStatusFields, by: Principal) -> frozenset[RideAction]:
    """Return the actions that the user may take now."""
    if by.provider_ids is not None:
        return frozenset()  # fleets report through their own systems
    status = RideStatus(ride.status)
    actions = {action for action, steps in _STEPS.items() if any(_permits(status, step, by) for step in steps)}
    if by.has_scope(Scope.RIDES_STATUS) and status in MOMENTS:
        actions.add(RideAction.MOMENT)
    if by.has_scope(Scope.RIDES_WRITE) and (status in _BEFORE_DEPARTURE or by.has_scope(Scope.ASSIGNMENTS_WRITE)):
        actions.add(RideAction.NOTES)
        if status not in TERMINAL:
            actions.add(RideAction.EDIT)
    if by.has_scope(Scope.RIDES_WRITE) and status is RideStatus.CANCELLED:
        actions.add(RideAction.REINSTATE)
    releases = by.has_scope(Scope.RIDES_WRITE) or by.has_scope(Scope.RIDES_STATUS)
    if ride.will_call and status in _RELEASABLE and releases:
        actions.add(RideAction.READY if ride.ready_at is None else RideAction.UNREADY)
    if by.has_scope(Scope.RIDES_CORRECT) and status in TERMINAL:
        actions.add(RideAction.CORRECT)
    return frozenset(actions)


def step_to(action: RideAction, status: RideStatus) -> Action | None:
    """Return the transition of an action from this status; None: there is none."""
    return next((step for step in _STEPS[action] if (status, step) in BY_ACTION), None)


def _permits(status: RideStatus, step: Action, by: Principal) -> bool:
    row = BY_ACTION.get((status, step))
    return row is not None and any(by.has_scope(scope) for scope in row.scopes)
