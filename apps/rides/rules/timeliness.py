"""Whether a ride is late, and whether a will-call leg is waiting for its release.  Pure."""

from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from apps.rides.rules.lifecycle import RideStatus

# While the vehicle has not come, lateness grows with the clock.
AWAITING_VEHICLE: Final = frozenset(
    {RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED, RideStatus.EN_ROUTE}
)


class ReleaseState(StrEnum):
    NOT_APPLICABLE = "not_applicable"
    WAITING = "waiting"
    RELEASED = "released"
    EXPIRED = "expired"


class Timed(Protocol):
    """The columns of a ride that these rules use."""

    status: str
    will_call: bool
    ready_at: datetime | None
    promised_pickup_by: datetime | None
    will_call_expires_at: datetime | None
    window_ends_at: datetime
    after_the_fact: bool
    arrived_pickup_at: datetime | None


def promised_at(ride: Timed) -> datetime:
    """Return the latest promised pickup: the end of the window, or the time promised at the release of a will-call."""
    return ride.promised_pickup_by if ride.will_call and ride.promised_pickup_by else ride.window_ends_at


def late_minutes(ride: Timed, at: datetime) -> int | None:
    """Return by how many whole minutes the vehicle arrived late, or is late so far; None: not late.

    The limit is the end of the window, or for a will-call the time promised at its release: an unreleased leg is not
    late.  None for a ride that ended without an arrival, or that is recorded after the fact.
    """
    if ride.after_the_fact:
        return None
    due = ride.promised_pickup_by if ride.will_call else ride.window_ends_at
    arrived_at = ride.arrived_pickup_at or (at if ride.status in AWAITING_VEHICLE else None)
    if due is None or arrived_at is None or arrived_at <= due:
        return None
    return int((arrived_at - due).total_seconds() // 60)


def release_state(ride: Timed, at: datetime) -> ReleaseState:
    if not ride.will_call:
        return ReleaseState.NOT_APPLICABLE
    if ride.ready_at is not None:
        return ReleaseState.RELEASED
    expired = ride.will_call_expires_at is not None and at >= ride.will_call_expires_at
    return ReleaseState.EXPIRED if expired else ReleaseState.WAITING


def is_ticking(ride: Timed, at: datetime) -> bool:
    """Return whether lateness or expiry of the ride changes with time alone, without a change of its row."""
    is_awaited = ride.arrived_pickup_at is None and late_minutes(ride, at) is not None
    return is_awaited or release_state(ride, at) is ReleaseState.EXPIRED
