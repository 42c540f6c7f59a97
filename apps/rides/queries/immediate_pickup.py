"""Predicts when a driver could be at the pickup of a ride that is wanted as soon as possible."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.fleet.models import Activation, Driver, Shift
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import SHIFTS_WITHIN, gather
from apps.rides.queries.candidates import MOST_DRIVERS
from apps.rides.queries.driver_timelines import drivers_on_duty, earliest
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.driver_timeline import insert
from apps.rides.rules.eligibility import Violation, ViolationCode, violations
from apps.rides.rules.ranking import Prospect, order

# Later rides of a driver neither conflict with a ride that begins now nor are delayed by it.
LOOKED_AHEAD: Final = timedelta(hours=2)


def immediate_pickup_at(ride: Ride, *, at: datetime) -> datetime | None:
    """Predict when the best driver reaches the pickup of this ride, saved or not, with its rider.

    The best is the first one in the order of `candidates` who has no conflict, whose arrival can be predicted, and who
    makes no other pickup late; None if there is none.  Considers all drivers: only a time is returned.  Eleven queries,
    for any number of drivers.
    """
    needs = needs_of(ride, at=at)
    drivers = list(_on_duty(at).select_related("home_base").order_by("created_at", "id")[:MOST_DRIVERS])
    if not drivers:
        return None
    until = needs.slot.span.ends_at + LOOKED_AHEAD
    facts = gather(needs, drivers=drivers, at=at, since=earliest(at), until=until)
    fitting = []
    for driver in drivers:
        vehicle_id = facts.vehicle_of.get(driver.pk)
        vehicle = None if vehicle_id is None else facts.vehicles[vehicle_id]
        if not _has_conflict(violations(needs, facts.drivers[driver.pk], vehicle)):
            fitting.append((driver, vehicle))
    present = drivers_on_duty([driver for driver, _vehicle in fitting], at=at, until=until, rides=facts.rides)
    best: tuple[tuple[object, ...], str, datetime] | None = None
    for driver, vehicle in fitting:
        insertion = insert(needs.slot, present[driver.pk], at=at)
        breaks_promise = any(delay.breaks_promise for delay in insertion.delays)
        if insertion.pickup_at is None or insertion.approach is None or breaks_promise:
            continue
        prospect = Prospect(insertion, vehicle, preferred=driver.pk in needs.preferred_driver_ids)
        row = (order(prospect, needs), str(driver.pk), insertion.pickup_at)
        best = row if best is None else min(best, row)
    return None if best is None else best[2]


def _on_duty(at: datetime) -> QuerySet[Driver]:
    """Select active drivers who are on shift, or who do not work in shifts."""
    shifts = Shift.objects.filter(driver_id=OuterRef("pk"), status=Shift.Status.PLANNED)
    now = shifts.filter(starts_at__lte=at, ends_at__gt=at)
    around = shifts.filter(starts_at__lt=at + SHIFTS_WITHIN, ends_at__gt=at - SHIFTS_WITHIN)
    active = Driver.objects.filter(activation=Activation.ACTIVE, provider__active=True)
    return active.filter(Q(Exists(now)) | ~Exists(around))


def _has_conflict(found: Iterable[Violation]) -> bool:
    """Return whether there is a violation; an attendant is assigned along with the driver."""
    return any(violation.code is not ViolationCode.ATTENDANT_REQUIRED for violation in found)
