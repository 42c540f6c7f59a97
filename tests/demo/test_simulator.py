"""The demo simulator: a day that lives, the same for the same seed, and that people can change."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client

from apps.demo import simulator
from apps.demo.loading import DayRange
from apps.demo.models import Simulation
from apps.fleet.models import Shift
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.services import assignment, exception_monitor
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.demo.demo_days import loaded

pytestmark = pytest.mark.django_db
MORNING = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)  # a Friday, 8:00 in Chicago
TODAY = DayRange(past=0, future=0)
UNDER_WAY = ["en_route", "arrived", "in_progress"]


@pytest.fixture
def demo() -> Iterator[None]:
    with loaded(MORNING, TODAY):
        yield


@pytest.fixture
def simulation(db: None) -> Simulation:
    """A simulator without a demo: for tests that look at nothing that it plays."""
    return Simulation.objects.create(seed=1, played_until=MORNING)


def course() -> list[tuple[object, ...]]:
    columns = "pk", "status", "driver_id", "departed_at", "arrived_pickup_at", "boarded_at", "dropped_off_at", "version"
    return list(Ride.objects.order_by("pk").values_list(*columns))


@pytest.mark.nightly
@pytest.mark.usefixtures("demo")
def test_play_after_hours_off_leaves_a_plausible_day() -> None:
    noon = MORNING + dt.timedelta(hours=2)

    steps = simulator.play(at=noon)

    rides = Ride.objects.filter(service_date=MORNING.date())
    statuses = Counter(rides.values_list("status", flat=True))
    reached = rides.filter(arrived_pickup_at__gt=MORNING)
    in_time = reached.filter(arrived_pickup_at__lte=F("promised_pickup_by"))
    waiting = rides.filter(status__in=["scheduled", "assigned", "en_route"], promised_pickup_by__lt=noon)
    on_duty = Shift.objects.filter(starts_at__lte=noon, ends_at__gt=noon)
    assert steps > 250
    assert all(statuses[status] for status in UNDER_WAY)
    assert in_time.count() >= 0.85 * reached.count() > 40
    assert waiting.count() <= 12
    assert on_duty.exclude(driver__last_located_at=noon).count() == 0
    assert not Milestone.objects.filter(occurred_at__gt=noon).exists()
    assert Assignment.objects.filter(status="superseded", ended_at__gt=MORNING).exists()  # of delayed drivers
    severities = Counter(RideException.objects.unsettled().values_list("severity", flat=True))
    assert severities["critical"] <= 6
    assert severities["warning"] <= 25


def test_play_assigns_rides_of_later_days() -> None:
    with loaded(MORNING, DayRange(past=0, future=3)):
        exception_monitor.watch(by=system(), at=MORNING)
        at_risk = RideException.objects.unsettled().filter(type="unassigned_at_risk")
        later = Ride.objects.filter(status="assigned", pickup_at__gt=MORNING + dt.timedelta(hours=30))
        ride = later.exclude(service_type="dialysis").order_by("pickup_at", "pk")[0]
        # Beside rides for which there is no driver.
        assert at_risk.filter(ride__pickup_at__gt=MORNING + dt.timedelta(hours=24)).count() <= 20
        assignment.unassign(ride_id=ride.pk, reason_code="replanned", by=system(), at=MORNING)

        simulator.play(at=MORNING + dt.timedelta(minutes=25))

        ride.refresh_from_db()
        assert ride.status == "assigned"
        assert ride.status_changed_at > MORNING


@pytest.mark.nightly
@pytest.mark.untraced
def test_play_gives_the_same_day_for_the_same_seed() -> None:
    at = MORNING + dt.timedelta(minutes=40)
    courses = []
    for _ in range(2):
        with loaded(MORNING, TODAY):
            simulator.play(at=at)
            courses.append(course())

    assert courses[0] == courses[1]


def test_play_does_nothing_while_paused(simulation: Simulation) -> None:
    Simulation.objects.update(paused=True)

    assert simulator.play(at=MORNING + dt.timedelta(hours=1)) == 0
    simulation.refresh_from_db()
    assert simulation.played_until == MORNING


@pytest.mark.usefixtures("simulation")
def test_play_does_nothing_while_another_process_plays() -> None:
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [simulator.LOCK])

        assert simulator.play(at=MORNING + dt.timedelta(minutes=5)) == 0
        # The pool keeps the session open, and with it the lock.
        cursor.execute("SELECT pg_advisory_unlock(%s)", [simulator.LOCK])

    assert Simulation.objects.get().played_until == MORNING


@pytest.mark.usefixtures("simulation")
@pytest.mark.parametrize(("role", "is_allowed"), [("dispatcher", True), ("admin", True), ("analyst", False)])
def test_home_page_pauses_and_resumes_the_simulator(client: Client, role: str, is_allowed: bool) -> None:
    sign_in(client, factories.UserFactory.create(role=role))

    assert ("Pause simulation" in client.get("/console/home/").content.decode()) is is_allowed
    answer = client.post("/console/demo/pause/", {"paused": "true"})

    assert answer.status_code == (302 if is_allowed else 403)
    assert Simulation.objects.get().paused is is_allowed
    if is_allowed:
        assert "Resume simulation" in client.get("/console/home/").content.decode()
        client.post("/console/demo/pause/", {"paused": "false"})
        assert not Simulation.objects.get().paused
