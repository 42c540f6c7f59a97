"""What suggestions are made from: the rides that wait, and everybody who could drive them."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db.models import Count

from apps.dispatch.rules.axis import Axis
from apps.dispatch.rules.suggesting import Available, Plan, suggest
from apps.fleet.models import Activation, Driver, Shift, Vehicle
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import Facts, gather_of
from apps.rides.queries.candidates import MOST_DRIVERS, home_base, last_seen
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.facts import RideNeeds, Span
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal

MOST: Final = 400  # rides that are looked at together, those due first; what is left waits for the next time


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan with the rides, drivers and vehicles that it names; `driven` counts what each driver has that day."""

    plan: Plan
    rides: dict[UUID, Ride]
    drivers: dict[UUID, Driver]
    units: dict[UUID, str]
    driven: dict[UUID, int]


def preview(axis: Axis, *, ride_ids: Collection[UUID] | None = None, by: Principal, at: dt.datetime) -> Preview:
    """Suggest drivers for the rides of a day that wait for one, or for those named among them.

    Will-calls that nobody released yet are looked at where they are named.  Nine queries at most, however many rides;
    nothing is written.
    """
    rides = _waiting(axis, ride_ids, by)
    if not rides:
        return Preview(Plan((), ()), {}, {}, {}, {})
    needs = [needs_of(ride, at=at) for ride in rides]
    drivers = _drivers(by)
    around = _around(needs, at)
    vehicles = _vehicles(drivers, around.errand.span)
    facts = gather_of(around, drivers=drivers, vehicles=vehicles, at=at)
    plan = suggest(
        needs,
        [_available(driver, facts, around.errand.span.starts_at) for driver in drivers],
        facts.vehicles,
        shared_rides=_shared(rides, drivers, by),
        at=at,
    )
    day = Span(axis.starts_at, axis.ends_at)
    return Preview(
        plan=plan,
        rides={ride.pk: ride for ride in rides},
        drivers={driver.pk: driver for driver in drivers},
        units=dict(facts.units),
        driven={
            driver_id: sum(one.driver_id == driver_id and one.span.overlaps(day) for one in known.errands)
            for driver_id, known in facts.drivers.items()
        },
    )


def _waiting(axis: Axis, ride_ids: Collection[UUID] | None, by: Principal) -> list[Ride]:
    rows = Ride.objects.visible_to(by).filter(
        status=RideStatus.SCHEDULED, pickup_at__gte=axis.starts_at, pickup_at__lt=axis.ends_at
    )
    rows = rows.exclude(will_call=True, ready_at=None) if ride_ids is None else rows.filter(pk__in=ride_ids)
    return list(rows.select_related("rider").order_by("pickup_at", "pk")[:MOST])


def _drivers(by: Principal) -> list[Driver]:
    rows = Driver.objects.visible_to(by).filter(activation=Activation.ACTIVE, provider__active=True)
    return list(rows.select_related("home_base", "provider").order_by("created_at", "id")[:MOST_DRIVERS])


def _vehicles(drivers: Sequence[Driver], around: Span) -> list[Vehicle]:
    """Read the vehicles of the drivers' shifts then, and their default ones."""
    shifts = Shift.objects.filter(
        driver__in=drivers, status=Shift.Status.PLANNED, starts_at__lt=around.ends_at, ends_at__gt=around.starts_at
    )
    own = {driver.default_vehicle_id for driver in drivers if driver.default_vehicle_id is not None}
    return list(Vehicle.objects.filter(pk__in=own | set(shifts.values_list("vehicle_id", flat=True))))


def _around(needs: Sequence[RideNeeds], at: dt.datetime) -> RideNeeds:
    """Give one ride as long as all of them together: facts that are gathered around it are those around each."""
    spans = [one.errand.span for one in needs]
    longest = max(span.ends_at - span.starts_at for span in spans)
    whole = Span(min(span.starts_at for span in spans), max(at + longest, *(span.ends_at for span in spans)))
    return replace(needs[0], errand=replace(needs[0].errand, span=whole))


def _available(driver: Driver, facts: Facts, starts_at: dt.datetime) -> Available:
    return Available(
        facts=facts.drivers[driver.pk],
        default_vehicle_id=driver.default_vehicle_id,
        last_seen=last_seen(driver, starts_at),
        home_base=home_base(driver),
    )


def _shared(rides: Sequence[Ride], drivers: Sequence[Driver], by: Principal) -> dict[tuple[UUID, UUID], int]:
    """Count by rider and driver how often they rode together."""
    rows = (
        Ride.objects.visible_to(by)
        .filter(rider_id__in={ride.rider_id for ride in rides}, status=RideStatus.COMPLETED, driver__in=drivers)
        .order_by()
        .values_list("rider_id", "driver_id")
        .annotate(rides=Count("pk"))
    )
    return {(rider_id, driver_id): count for rider_id, driver_id, count in rows}
