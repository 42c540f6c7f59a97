"""Many concurrent planners and dispatchers, half of them over HTTP; no driver is in two places.

20,000 attempts every night, 1,400 before each commit. Each race has a control that fails: with the constraint dropped,
or without the lock.
"""

import contextlib
import datetime as dt
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from apps.fleet.models import Driver, OfProviderQuerySet, Shift, Vehicle
from apps.fleet.services import shifts
from apps.rides.models import Assignment, Ride
from apps.rides.services import assignment
from apps.rides.services.eligibility_checks import AssignmentRejected, judge
from lib.access import system
from tests import factories
from tests.callers import TokenClient, api_with
from tests.fleet.crew import fit_pair
from tests.tiers import sized

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.untraced]

WRITERS = 6  # together with the test itself, fewer than the connections of the pool
ATTEMPTS = sized(short=240, nightly=3400)  # per writer: five sixths for shifts, the rest for rides
IN_CONTROL = 60  # per writer
A_DAY = 50  # attempts per writer for shifts of the same day, which is then full; they continue with the next day
START = dt.datetime(2026, 12, 1, 12, 0, tzinfo=dt.UTC)

OVERLAPS = """
SELECT count(*) FROM fleet_shift a JOIN fleet_shift b ON a.id < b.id
WHERE a.status = 'planned' AND b.status = 'planned' AND (a.driver_id = b.driver_id OR a.vehicle_id = b.vehicle_id)
AND tstzrange(a.starts_at, a.ends_at) && tstzrange(b.starts_at, b.ends_at)
"""
CLASHES = """
SELECT count(*) FROM rides_ride a JOIN rides_ride b ON a.id < b.id
WHERE (a.driver_id = b.driver_id OR a.vehicle_id = b.vehicle_id) AND a.pickup_at = b.pickup_at
"""


def counted(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


@pytest.fixture(autouse=True)
def unlimited(settings: Any) -> None:
    settings.API_RATES = {"read": (10**6, 10**6), "write": (10**6, 10**6)}


def in_threads(work: Callable[[int], Counter[str]]) -> Counter[str]:
    def one(seed: int) -> Counter[str]:
        try:
            return work(seed)
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as writers:
        return sum(writers.map(one, range(WRITERS)), Counter())


def same_token(api: TokenClient) -> TokenClient:
    """Return a client for a thread."""
    client = TokenClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {api.text}")
    return client


@contextlib.contextmanager
def timed(took: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    took.append(time.perf_counter() - began)


def say(what: str, took: list[float]) -> None:
    """Print the further figures of R-01; shown by `pytest -rP`, and not a reason to fail on a busy machine."""
    took.sort()
    p50, p99 = (took[int(len(took) * share)] * 1000 for share in (0.5, 0.99))
    print(f"{what}: {len(took)} attempts of {WRITERS} writers, p50 {p50:.0f} ms, p99 {p99:.0f} ms")  # noqa: T201  # for people


def plan_at_random(
    seed: int, api: TokenClient, pairs: list[tuple[Driver, Vehicle]], attempts: int, took: list[float]
) -> Counter[str]:
    """Plan shifts of random drivers and vehicles at random times; odd seeds over HTTP."""
    choose = random.Random(seed)
    client, outcomes = same_token(api), Counter[str]()
    for number in range(attempts):
        driver, vehicle = choose.choice(pairs)[0], choose.choice(pairs)[1]
        starts_at = START + dt.timedelta(days=number // A_DAY, minutes=30 * choose.randrange(48))
        ends_at = starts_at + dt.timedelta(hours=choose.randint(1, 8))
        with timed(took):
            if seed % 2:
                body = {"driverId": driver.pk, "vehicleId": vehicle.pk, "startsAt": starts_at, "endsAt": ends_at}
                outcomes[f"http {client.post('/api/shifts', body).status_code}"] += 1
                continue
            outcomes[plan(driver, vehicle, starts_at, ends_at)] += 1
    return outcomes


def plan(driver: Driver, vehicle: Vehicle, starts_at: dt.datetime, ends_at: dt.datetime) -> str:
    try:
        shifts.plan(
            driver_id=driver.pk, vehicle_id=vehicle.pk, starts_at=starts_at, ends_at=ends_at, by=system(), at=START
        )
    except shifts.ShiftTaken:
        return "taken"
    return "planned"


def race_for_shifts(attempts: int) -> Counter[str]:
    provider = factories.TransportProviderFactory.create()
    pairs = [fit_pair(provider) for _ in range(4)]
    api, took = api_with(), list[float]()
    outcomes = in_threads(lambda seed: plan_at_random(seed, api, pairs, attempts, took))
    say("shifts", took)
    return outcomes


def test_shifts_never_overlap() -> None:
    outcomes = race_for_shifts(ATTEMPTS * 5 // 6)

    assert set(outcomes) == {"planned", "taken", "http 201", "http 409"}
    assert sum(outcomes.values()) == WRITERS * (ATTEMPTS * 5 // 6)
    assert Shift.objects.count() == outcomes["planned"] + outcomes["http 201"]
    assert counted(OVERLAPS) == 0


@pytest.fixture
def without_constraints(transactional_db: None) -> Iterator[None]:
    """Drop the exclusion constraints of shifts for one test."""
    exclusions = [one for one in Shift._meta.constraints if one.name in ("shift_driver_once", "shift_vehicle_once")]
    with connection.schema_editor() as editor:
        for constraint in exclusions:
            editor.remove_constraint(Shift, constraint)
    yield
    Shift.objects.all().delete()
    with connection.schema_editor() as editor:
        for constraint in exclusions:
            editor.add_constraint(Shift, constraint)


@pytest.mark.usefixtures("without_constraints")
def test_without_the_constraints_shifts_overlap() -> None:
    outcomes = race_for_shifts(IN_CONTROL)

    assert set(outcomes) == {"planned", "http 201"}
    assert counted(OVERLAPS) > 0


def assign_at_random(
    seed: int, api: TokenClient, rides: list[UUID], pairs: list[tuple[Driver, Vehicle]], took: list[float]
) -> Counter[str]:
    """Assign random rides to random drivers, whether assigned or not; odd seeds over HTTP."""
    choose = random.Random(seed)
    client, outcomes = same_token(api), Counter[str]()
    for _ in range(ATTEMPTS // 6):
        ride_id, (driver, vehicle) = choose.choice(rides), choose.choice(pairs)
        with timed(took):
            if seed % 2:
                body = {"driverId": driver.pk, "vehicleId": vehicle.pk}
                outcomes[f"http {client.put(f'/api/rides/{ride_id}/assignment', body).status_code}"] += 1
                continue
            outcomes[assign(ride_id, driver, vehicle)] += 1
    return outcomes


def assign(ride_id: UUID, driver: Driver, vehicle: Vehicle) -> str:
    try:
        assignment.assign(ride_id=ride_id, driver_id=driver.pk, vehicle_id=vehicle.pk, by=system(), at=timezone.now())
    except AssignmentRejected:
        return "rejected"
    return "assigned"


def rides_at_three_times(count: int) -> list[UUID]:
    first = timezone.now() + dt.timedelta(days=1)
    return [
        factories.RideFactory.create(
            pickup_at=first + dt.timedelta(hours=3 * (number % 3)), service_date=first.date()
        ).pk
        for number in range(count)
    ]


def test_driver_never_gets_two_clashing_rides() -> None:
    rides = rides_at_three_times(24)
    pairs = [fit_pair() for _ in range(4)]
    api, took = api_with(), list[float]()

    outcomes = in_threads(lambda seed: assign_at_random(seed, api, rides, pairs, took))

    say("assignments", took)

    assert set(outcomes) == {"assigned", "rejected", "http 200", "http 409"}
    assert counted(CLASHES) == 0
    assigned = Ride.objects.filter(status="assigned").count()
    # Four drivers, three times a day: that is the maximum, and nearly all of it is used.
    assert 9 <= assigned <= 12
    assert Assignment.objects.filter(status="accepted").count() == assigned


def give_both_at_once(monkeypatch: pytest.MonkeyPatch, *, patience: float) -> Counter[str]:
    """Assign two rides of the same time to one driver, with both checks before both writes if at all possible.

    The first session waits `patience` seconds after its check for the other.
    """
    driver, vehicle = fit_pair()
    rides = rides_at_three_times(4)[::3]
    both_judged = threading.Barrier(2)

    def judge_then_wait(*args: Any, **kwargs: Any) -> Any:
        found = judge(*args, **kwargs)
        # It breaks if the other session waits for our lock, as expected.
        with contextlib.suppress(threading.BrokenBarrierError):
            both_judged.wait(timeout=patience)
        return found

    monkeypatch.setattr("apps.rides.services.assignment.judge", judge_then_wait)

    def give(ride_id: UUID) -> str:
        try:
            assignment.assign(
                ride_id=ride_id, driver_id=driver.pk, vehicle_id=vehicle.pk, by=system(), at=timezone.now()
            )
        except AssignmentRejected as refusal:
            return refusal.details[0].code
        finally:
            connection.close()
        return "assigned"

    with ThreadPoolExecutor(2) as dispatchers:
        return Counter(dispatchers.map(give, rides))


def test_second_dispatcher_sees_the_first_ones_ride(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = give_both_at_once(monkeypatch, patience=1)

    assert outcomes == {"assigned": 1, "SCHEDULE_CONFLICT": 1}
    assert counted(CLASHES) == 0


def test_without_the_locks_both_dispatchers_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: drivers and vehicles are read without locks."""

    def unlocked(rows: OfProviderQuerySet[Any], **_: Any) -> OfProviderQuerySet[Any]:
        return rows

    monkeypatch.setattr(OfProviderQuerySet, "select_for_update", unlocked)

    outcomes = give_both_at_once(monkeypatch, patience=60)

    assert outcomes == {"assigned": 2}
    assert counted(CLASHES) == 1
