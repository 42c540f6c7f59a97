"""Exceptions that a dispatcher sees at 10:30 of a demo day, and what three drivers who call in sick add."""

import datetime as dt
from collections import Counter
from uuid import UUID

import pytest

from apps.demo import simulator
from apps.demo.loading import DayRange
from apps.fleet.models import Shift
from apps.rides.models import Ride, RideException
from apps.rides.queries import day_counts, exception_queue
from apps.rides.queries.exception_queue import ExceptionFilter
from apps.rides.services import driver_absence, exception_monitor
from lib.access import AllScopes, Phi, Principal, system
from tests import factories
from tests.demo.demo_days import loaded

pytestmark = [pytest.mark.django_db, pytest.mark.untraced]
MORNING = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)  # a Friday, 8:00 in Chicago
BUSY = dt.datetime(2026, 11, 20, 16, 30, tzinfo=dt.UTC)
DRIVERS_OUT = 3


def counts(by: Principal) -> dict[str, int]:
    return {severity.value: count for severity, count in day_counts.unsettled_exceptions(by=by)}


def busiest_drivers(at: dt.datetime) -> list[UUID]:
    """Return the drivers on duty with the most rides ahead."""
    on_duty = Shift.objects.filter(starts_at__lte=at, ends_at__gt=at + dt.timedelta(hours=2)).values("driver")
    rides = Ride.objects.filter(status="assigned", pickup_at__gt=at, driver__in=on_duty)
    ahead = Counter(rides.filter(pickup_at__lt=at + dt.timedelta(hours=12)).values_list("driver", flat=True))
    ranked = sorted(ahead.items(), key=lambda item: (-item[1], str(item[0])))
    return [driver_id for driver_id, _ in ranked[:DRIVERS_OUT] if driver_id is not None]


@pytest.mark.nightly
def test_normal_day_is_calm_and_a_stress_day_shows_its_causes() -> None:
    by = Principal(kind="system", id=factories.principal().id, role="demo", scopes=AllScopes(), phi=Phi.FULL)
    with loaded(MORNING, DayRange(past=0, future=0)):
        simulator.play(at=BUSY)
        exception_monitor.watch(by=system(), at=BUSY)
        normal = counts(by)
        out = busiest_drivers(BUSY)
        absences = [driver_absence.report(driver_id=driver_id, reason="sick", by=by, at=BUSY) for driver_id in out]
        freed = [ride_id for absence in absences for ride_id in absence.freed_ids]
        exception_monitor.watch(by=system(), at=BUSY)
        stressed = counts(by)
        of_freed = RideException.objects.unsettled().filter(ride__in=freed).count()
        alerts = list(exception_queue.queue(ExceptionFilter(), by=by, at=BUSY).rows)

    assert normal.get("critical", 0) <= 6
    assert normal.get("warning", 0) <= 25
    assert stressed.get("critical", 0) <= 6
    assert stressed.get("warning", 0) <= 25
    # 27 freed rides have more than 30 exceptions between them; the desk shows one for each driver.
    assert len(freed) > 20
    assert of_freed > 30
    causes = [str(alert.cause_driver_id) for alert in alerts if alert.cause_driver_id in out]
    assert sorted(causes) == sorted(map(str, out))
