"""Adopts rides booked by hand for legs that standing orders would book again: they are kept, not booked twice."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from apps.recurring.queries.plans import PlannedOrder
from apps.recurring.rules.coverage import COVERS_WITHIN, HandBooked, covering
from apps.recurring.rules.reconciliation import Key, Leg, Step, occurrence_key, times_of
from apps.rides.services import adoption
from lib.access import Principal

Adopted = dict[Key, HandBooked]


class MissingLegs(NamedTuple):
    """The steps of one order that create rides, by date, the outbound leg before the return."""

    planned_order: PlannedOrder
    steps: Sequence[Step]


def adopt(missing: Sequence[MissingLegs], *, by: Principal, at: datetime) -> dict[UUID, Adopted]:
    """Make rides that cover missing legs the rides of the orders, and return them by order.

    The riders are locked.  One query, and those of each adopted ride; none without missing legs.
    """
    adopted: dict[UUID, Adopted] = defaultdict(dict)
    free = _free_rides(missing, by)
    for planned_order, steps in missing:
        order = planned_order.order
        for step in steps:
            found = _covering(planned_order, step, free[order.rider_id], adopted[order.pk])
            if found is None:
                continue
            free[order.rider_id].remove(found)
            key = occurrence_key(order.pk, step.pattern_date, step.leg)
            if adoption.adopt(ride_id=found.id, standing_order_id=order.pk, occurrence_key=key, by=by, at=at):
                adopted[order.pk][step.pattern_date, step.leg] = found
    return adopted


def _free_rides(missing: Sequence[MissingLegs], by: Principal) -> dict[UUID, list[HandBooked]]:
    pickups = [_pickup_at(step) for _order, steps in missing for step in steps]
    free: dict[UUID, list[HandBooked]] = defaultdict(list)
    if not pickups:
        return free
    riders = {planned_order.order.rider_id for planned_order, steps in missing if steps}
    since, until = min(pickups) - COVERS_WITHIN, max(pickups) + COVERS_WITHIN
    for ride in adoption.adoptable(riders, since=since, until=until, by=by):
        free[ride.rider_id].append(HandBooked(ride.pk, ride.pickup_at, ride.pickup, ride.dropoff, ride.trip_id))
    return free


def _pickup_at(step: Step) -> datetime:
    return times_of(step.due, step.leg)[0]


def _covering(
    planned_order: PlannedOrder, step: Step, free: Sequence[HandBooked], adopted: Adopted
) -> HandBooked | None:
    outbound = adopted.get((step.pattern_date, Leg.OUTBOUND)) if step.leg is Leg.RETURN else None
    place = planned_order.terms_on(step.pattern_date).dropoff
    return covering(step.leg, _pickup_at(step), place, free, trip_id=outbound.trip_id if outbound else None)
