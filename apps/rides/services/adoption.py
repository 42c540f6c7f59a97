"""Makes a ride that was booked by hand a ride of a standing order: it stays as it is."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final
from uuid import UUID

from apps.audit.services import audit
from apps.rides.models import Ride
from apps.rides.models.ride import OccurrenceState
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal

_NOT_BEGUN: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED})
_COLUMNS: Final = ("standing_order_id", "occurrence_key", "occurrence_state")
_CHANGED: Final = ["standingOrderId", "occurrenceState"]


def adoptable(rider_ids: Collection[UUID], *, since: datetime, until: datetime, by: Principal) -> Iterator[Ride]:
    """Read the rides of riders that belong to no order and have not begun, by pickup time.  One query."""
    rows = Ride.objects.in_charge_of(by).filter(
        rider_id__in=rider_ids,
        standing_order_id=None,
        status__in=sorted(_NOT_BEGUN),
        pickup_at__range=(since, until),
    )
    rows = rows.order_by("pickup_at", "pk").only("id", "rider_id", "pickup_at", "pickup", "dropoff", "trip_id")
    return rows.iterator()


def adopt(*, ride_id: UUID, standing_order_id: UUID, occurrence_key: str, by: Principal, at: datetime) -> bool:
    """Make a ride one of an order, as customized by a person, and return whether it still could be.

    Runs in the caller's transaction.  Records `ride.updated`.  Locks the ride.

    Raises:
        NotFound: there is no such ride in the data scope.
    """
    ride = locked(ride_id, by)
    if ride.status not in _NOT_BEGUN or ride.standing_order_id is not None:
        return False
    ride.standing_order_id, ride.occurrence_key = standing_order_id, occurrence_key
    ride.occurrence_state = OccurrenceState.CUSTOMIZED
    touch(ride, "ride.updated", by=by, at=at, also=_COLUMNS, note=Note({"changed": _CHANGED}))
    audit.record(
        by=by,
        action="rides.amend",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        details={"fields": list(_COLUMNS)},
    )
    return True
