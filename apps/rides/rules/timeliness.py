"""How a ride stands at a moment: whether it is late, and whether a will-call leg waits.  Pure.

The fast list says the same in SQL (queries/ride_list.py); a test holds the two together.
"""

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
    """The columns of a ride that matter here."""

    status: str
    will_call: bool
    ready_at: datetime | None
    promised_pickup_by: datetime | None
    will_call_expires_at: datetime | None
    window_ends_at: datetime
    arrived_pickup_at: datetime | None


def promised_at(ride: Timed) -> datetime:
    """Say when the ride was promised at the latest: P of the figures, plus the window."""
    return ride.promised_pickup_by if ride.will_call and ride.promised_pickup_by else ride.window_ends_at


def late_minutes(ride: Timed, at: datetime) -> int | None:
    """Count the whole minutes by which the vehicle came, or is by now, after what was promised; None: not late.

    Promised is the end of the window, and for will-call the time promised at release; a leg nobody has released is not
    late.  A ride that ended without an arrival is not judged.
    """
    due = ride.promised_pickup_by if ride.will_call else ride.window_ends_at
    seen = ride.arrived_pickup_at or (at if ride.status in AWAITING_VEHICLE else None)
    if due is None or seen is None or seen <= due:
        return None
    return int((seen - due).total_seconds() // 60)


def release_state(ride: Timed, at: datetime) -> ReleaseState:
    if not ride.will_call:
        return ReleaseState.NOT_APPLICABLE
    if ride.ready_at is not None:
        return ReleaseState.RELEASED
    expired = ride.will_call_expires_at is not None and at >= ride.will_call_expires_at
    return ReleaseState.EXPIRED if expired else ReleaseState.WAITING


def is_ticking(ride: Timed, at: datetime) -> bool:
    """Say whether the clock alone has changed how the ride stands since its row was written, and may go on so."""
    waited_for = ride.arrived_pickup_at is None and late_minutes(ride, at) is not None
    return waited_for or release_state(ride, at) is ReleaseState.EXPIRED
