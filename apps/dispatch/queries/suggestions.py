"""The data for driver suggestions: unassigned rides, and the drivers and vehicles that may serve them."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db.models import Count

from apps.dispatch.rules.axis import Axis
from apps.dispatch.rules.suggesting import Available, SuggestionPlan, suggest
from apps.fleet.models import Activation, Driver, Shift, Vehicle
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import gather_of, without_rides
from apps.rides.queries.candidates import DELAYS_WITHIN, MOST_DRIVERS
from apps.rides.queries.driver_timelines import drivers_on_duty, earliest
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.facts import RideNeeds, Span
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal

MOST: Final = 400  # rides of one preview, the earliest by pickup; the others come in the next preview


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan, and the rides, drivers and vehicles in it; `driven` counts the rides of each driver that day."""

    plan: SuggestionPlan
    rides: dict[UUID, Ride]
    drivers: dict[UUID, Driver]
    units: dict[UUID, str]
    driven: dict[UUID, int]


def preview(
    axis: Axis,
    *,
    ride_ids: Collection[UUID] | None = None,
    instead_of: UUID | None = None,
    by: Principal,
    at: dt.datetime,
) -> Preview:
    """Suggest drivers for the unassigned rides of a day, or for those of `ride_ids`.

    Unreleased will-calls are included only if they are in `ride_ids`.  With `instead_of`, `ride_ids` are still assigned
    to that driver, and another driver is suggested as if the driver were out.  At most thirteen queries, however many
    rides; nothing is written.
    """
    rides = _waiting(axis, ride_ids, instead_of, by)
    if not rides:
        return Preview(SuggestionPlan((), ()), {}, {}, {}, {})
    needs = [needs_of(ride, at=at) for ride in rides]
    drivers = [driver for driver in _drivers(by) if driver.pk != instead_of]
    around = _around(needs, at)
    vehicles = _vehicles(drivers, around.slot.span)
    facts = gather_of(around, drivers=drivers, vehicles=vehicles, at=at, since=earliest(at))
    if instead_of is not None:
        facts = without_rides(facts, ride_ids or ())
    present = drivers_on_duty(drivers, at=at, until=around.slot.span.ends_at + DELAYS_WITHIN, rides=facts.rides)
    plan = suggest(
        needs,
        [Available(facts.drivers[driver.pk], present[driver.pk], driver.default_vehicle_id) for driver in drivers],
        facts.vehicles,
        shared_rides=_shared(rides, drivers, by),
        zones={ride.pk: ride.timezone for ride in rides},
        at=at,
    )
    day = Span(axis.starts_at, axis.ends_at)
    return Preview(
        plan=plan,
        rides={ride.pk: ride for ride in rides},
        drivers={driver.pk: driver for driver in drivers},
        units=dict(facts.units),
        driven={
            driver_id: sum(slot.driver_id == driver_id and slot.span.overlaps(day) for slot in driver_facts.slots)
            for driver_id, driver_facts in facts.drivers.items()
        },
    )


def _waiting(axis: Axis, ride_ids: Collection[UUID] | None, instead_of: UUID | None, by: Principal) -> list[Ride]:
    rows = Ride.objects.visible_to(by).filter(
        status=RideStatus.SCHEDULED if instead_of is None else RideStatus.ASSIGNED,
        driver=instead_of,
        after_the_fact=False,
        pickup_at__gte=axis.starts_at,
        pickup_at__lt=axis.ends_at,
    )
    rows = rows.exclude(will_call=True, ready_at=None) if ride_ids is None else rows.filter(pk__in=ride_ids)
    return list(rows.select_related("rider").order_by("pickup_at", "pk")[:MOST])


def _drivers(by: Principal) -> list[Driver]:
    rows = Driver.objects.visible_to(by).filter(activation=Activation.ACTIVE, provider__active=True)
    return list(rows.select_related("home_base", "provider").order_by("created_at", "id")[:MOST_DRIVERS])


def _vehicles(drivers: Sequence[Driver], around: Span) -> list[Vehicle]:
    """Return the vehicles of the drivers' shifts in this time span, and their default vehicles."""
    shifts = Shift.objects.filter(
        driver__in=drivers, status=Shift.Status.PLANNED, starts_at__lt=around.ends_at, ends_at__gt=around.starts_at
    )
    own = {driver.default_vehicle_id for driver in drivers if driver.default_vehicle_id is not None}
    return list(Vehicle.objects.filter(pk__in=own | set(shifts.values_list("vehicle_id", flat=True))))


def _around(needs: Sequence[RideNeeds], at: dt.datetime) -> RideNeeds:
    """Return one ride that spans all rides, so that facts gathered for it cover every one of them."""
    spans = [ride_needs.slot.span for ride_needs in needs]
    longest = max(span.ends_at - span.starts_at for span in spans)
    covering = Span(min(span.starts_at for span in spans), max(at + longest, *(span.ends_at for span in spans)))
    return replace(needs[0], slot=replace(needs[0].slot, span=covering))


def _shared(rides: Sequence[Ride], drivers: Sequence[Driver], by: Principal) -> dict[tuple[UUID, UUID], int]:
    """Count the completed rides by rider and driver."""
    rows = (
        Ride.objects.visible_to(by)
        .filter(rider_id__in={ride.rider_id for ride in rides}, status=RideStatus.COMPLETED, driver__in=drivers)
        .order_by()
        .values_list("rider_id", "driver_id")
        .annotate(rides=Count("pk"))
    )
    return {(rider_id, driver_id): count for rider_id, driver_id, count in rows}
