"""For any history of rides, the rollups equal the rows, whenever they are refreshed."""

import dataclasses
import datetime as dt
from typing import Any, Final

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.events.models import EventQuerySet
from apps.reporting.models import BreakdownCount, MetricsRow, Restatement, RollupCheckpoint
from apps.reporting.rules.rollup_sql import Grain
from apps.reporting.services import rollup_check, rollups
from apps.rides.models import Ride
from lib.access import system
from tests.factories import NOW
from tests.reporting import legs, ride_changes
from tests.reporting.golden import MONTH
from tests.tiers import sized

FIRST, LAST = dt.date(2026, 10, 1), dt.date(2027, 1, 31)
DAY: Final = dt.timedelta(days=1)
ZONES: Final = ("Pacific/Kiritimati", "America/Chicago", "Etc/GMT+12")


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat events as settled inside the transaction of a test."""
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)


def keep_up(at: dt.datetime = NOW) -> None:
    rollups.refresh(by=system(), at=at)


def differing() -> list[Any]:
    days = Ride.objects.values_list("service_date", flat=True)
    seen = {*days, *MetricsRow.objects.values_list("service_date", flat=True)}
    return [place for day in sorted(seen) for place in rollup_check.differing_days(first=day, last=day)]


@pytest.fixture
def casts(db: None) -> list[legs.Cast]:
    first = legs.cast()
    nowhere = dataclasses.replace(first, facility=None)
    return [first, legs.cast(), nowhere]


LEGS = st.integers(0, len(MONTH) - 1)
RIDE = st.integers(0, 5)
STEPS = st.one_of(
    st.tuples(st.just("book"), LEGS, st.integers(0, 2)),
    st.tuples(st.just("move"), RIDE, st.integers(-40, 40)),
    st.tuples(st.just("zone"), RIDE, st.integers(0, 2)),
    st.tuples(st.just("documents"), RIDE, st.just(0)),
    st.tuples(st.just("become"), RIDE, LEGS),  # from any status to any other
    st.tuples(st.just("trouble"), RIDE, st.just(0)),
    st.tuples(st.just("keep up"), st.integers(0, 20), st.just(0)),
)


@dataclasses.dataclass
class Life:
    """The history so far, and the current instant."""

    casts: list[legs.Cast]
    at: dt.datetime = NOW
    rides: list[Ride] = dataclasses.field(default_factory=list)

    def step(self, what: str, one: int, other: int) -> None:
        if what == "book":
            ride = legs.write(MONTH[one], self.casts[other])
            self.rides.append(ride_changes.tell(ride, "ride.scheduled"))
        elif what == "keep up":
            self.at += one * DAY
            keep_up(self.at)
        elif self.rides:
            self.change(what, self.rides[one % len(self.rides)], other)

    def change(self, what: str, ride: Ride, other: int) -> None:
        if what == "move":
            ride_changes.move(ride, other * dt.timedelta(hours=7))
        elif what == "zone":
            ride_changes.move_to_zone(ride, ZONES[other])
        elif what == "become":
            ride_changes.become(ride, MONTH[other], next(one for one in self.casts if one.facility == ride.facility))
        elif what == "documents":
            ride.missing_documents = [] if ride.missing_documents else ["signature"]
            ride_changes.tell(ride, changed=["signatures"])
        elif not ride.exceptions.filter(type="late_pickup").exists():
            legs.write_trouble(ride, legs.Trouble("late_pickup", "warning", 3, None))
            ride_changes.tell(ride, "ride.exception")


@pytest.mark.untraced
@settings(
    max_examples=sized(short=20, nightly=40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEPS, min_size=3, max_size=14))
def test_rollups_are_what_the_rows_say(casts: list[legs.Cast], steps: list[tuple[str, int, int]]) -> None:
    with transaction.atomic():
        life = Life(casts)
        for step in steps:
            life.step(*step)
        keep_up(life.at)

        assert differing() == []
        transaction.set_rollback(True)


def test_check_tells_what_differs(casts: list[legs.Cast]) -> None:
    ride = legs.write(MONTH[0], casts[0])
    keep_up()
    assert differing() == []

    Ride.objects.filter(pk=ride.pk).update(missing_documents=["signature"])  # without an event

    assert differing() == [(ride.service_date, ride.facility_id)]


@pytest.mark.parametrize("model", [MetricsRow, BreakdownCount])
def test_check_tells_of_rows_that_are_lost(casts: list[legs.Cast], model: Any) -> None:
    ride = legs.write(MONTH[25], casts[0])  # a no-show
    keep_up()

    rows = model.objects.all() if model is BreakdownCount else model.objects.filter(grain=Grain.SPLIT)
    rows.delete()

    assert differing() == [(ride.service_date, ride.facility_id)]


def test_check_tells_of_a_day_that_is_not_its_sum(casts: list[legs.Cast]) -> None:
    ride = legs.write(MONTH[0], casts[0])
    keep_up()

    MetricsRow.objects.filter(grain=Grain.DAY).update(totals={"completed": 2})

    assert differing() == [(ride.service_date, None)]


def test_event_is_read_once_and_twice_changes_nothing(casts: list[legs.Cast]) -> None:
    ride_changes.tell(legs.write(MONTH[0], casts[0]), "ride.scheduled")
    keep_up()
    upkeep = RollupCheckpoint.objects.get()
    rows = list(MetricsRow.objects.values_list("grain", "totals__completed").order_by("grain"))

    begun = (upkeep.transaction, upkeep.event_id)
    assert rollups.apply_events(by=system(), at=NOW) == 0
    RollupCheckpoint.objects.update(transaction=0)  # as after a restore of an old checkpoint
    assert rollups.apply_events(by=system(), at=NOW) == 1

    upkeep.refresh_from_db()
    assert (upkeep.transaction, upkeep.event_id) == begun
    assert list(MetricsRow.objects.values_list("grain", "totals__completed").order_by("grain")) == rows
    assert differing() == []


def test_failure_in_the_middle_leaves_bookmark_and_rows(
    casts: list[legs.Cast], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_up()
    ride_changes.tell(legs.write(MONTH[0], casts[0]), "ride.scheduled")
    before = RollupCheckpoint.objects.values().get()

    with monkeypatch.context() as patch:
        patch.setattr(RollupCheckpoint, "save", fails)
        with pytest.raises(RuntimeError):
            rollups.apply_events(by=system(), at=NOW)

    assert (RollupCheckpoint.objects.values().get(), MetricsRow.objects.count()) == (before, 0)
    keep_up()
    assert (differing(), MetricsRow.objects.filter(grain=Grain.DAY).count()) == ([], 1)


def fails(*args: Any, **options: Any) -> None:
    raise RuntimeError("killed")


def test_events_beyond_one_batch_are_read_by_the_next(casts: list[legs.Cast], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollups, "EVENTS_PER_BATCH", 2)
    keep_up()
    for leg in MONTH[:5]:
        ride_changes.tell(legs.write(leg, casts[0]), "ride.scheduled")

    rollups.apply_events(by=system(), at=NOW + DAY)
    assert RollupCheckpoint.objects.get().as_of != NOW + DAY
    read = rollups.refresh(by=system(), at=NOW + DAY)

    assert (read, differing(), RollupCheckpoint.objects.get().as_of) == (3, [], NOW + DAY)


def test_old_rides_are_filled_in_by_portions(casts: list[legs.Cast], monkeypatch: pytest.MonkeyPatch) -> None:
    for leg in MONTH[:12]:
        legs.write(leg, casts[0])

    rollups.refresh(by=system(), at=NOW, seconds=0)
    upkeep = RollupCheckpoint.objects.get()
    assert (upkeep.filled, upkeep.as_of, MetricsRow.objects.count()) == (False, None, 0)
    keep_up()

    upkeep.refresh_from_db()
    assert (upkeep.filled, upkeep.as_of, differing()) == (True, NOW, [])
    assert MetricsRow.objects.filter(grain=Grain.DAY).count() == 12


def test_eta_alone_computes_nothing(casts: list[legs.Cast]) -> None:
    ride = ride_changes.tell(legs.write(MONTH[0], casts[0]), "ride.scheduled")
    keep_up()
    rows = set(MetricsRow.objects.values_list("pk", flat=True))

    ride_changes.tell(ride, "ride.eta_changed")
    keep_up()

    assert set(MetricsRow.objects.values_list("pk", flat=True)) == rows


def test_change_after_closing_stands_beside_what_was_closed(casts: list[legs.Cast]) -> None:
    ride = ride_changes.tell(legs.write(MONTH[0], casts[0]), "ride.scheduled")
    other = ride_changes.tell(legs.write(MONTH[0], casts[1]), "ride.scheduled")
    keep_up()
    assert RollupCheckpoint.objects.get().closed_through == dt.date(2026, 11, 12)
    assert set(MetricsRow.objects.values_list("basis", flat=True)) == {"both"}

    ride.missing_documents = ["signature"]
    ride_changes.tell(ride, changed=["signatures"])
    keep_up()

    documented = MetricsRow.objects.filter(grain=Grain.FACILITY).values_list("facility", "basis", "totals__documented")
    assert set(documented) == {
        (ride.facility_id, "closed", 1),
        (ride.facility_id, "live", None),  # 0 is not stored
        (other.facility_id, "both", 1),
    }
    days = MetricsRow.objects.filter(grain=Grain.DAY).values_list("basis", "totals__documented", "totals__completed")
    assert set(days) == {("closed", 2, 2), ("live", 1, 2)}
    (cause,) = Restatement.objects.all()
    assert (cause.service_date, cause.facility_id, cause.ride_id) == (ride.service_date, ride.facility_id, ride.pk)
    assert differing() == []


def test_change_taken_back_leaves_one_reading(casts: list[legs.Cast]) -> None:
    ride = ride_changes.tell(legs.write(MONTH[0], casts[0]), "ride.scheduled")
    keep_up()

    for missing in (["signature"], ["odometer"], []):
        ride.missing_documents = missing
        ride_changes.tell(ride, changed=["signatures"])
        keep_up()

    assert set(MetricsRow.objects.values_list("basis", flat=True)) == {"both"}
    assert (Restatement.objects.count(), differing()) == (2, [])


def test_ride_moved_out_of_closed_day_remains_in_closed_figures(casts: list[legs.Cast]) -> None:
    ride = ride_changes.tell(legs.write(MONTH[0], casts[0]), "ride.scheduled")
    keep_up()

    ride_changes.move(ride, 20 * DAY)
    keep_up()

    rows = MetricsRow.objects.filter(grain=Grain.FACILITY).values_list("service_date", "basis", "totals__completed")
    assert set(rows) == {(dt.date(2026, 11, 2), "closed", 1), (dt.date(2026, 11, 22), "both", 1)}
    assert differing() == []


def test_ride_whose_zone_changes_leaves_the_day_it_was_on(casts: list[legs.Cast]) -> None:
    ride = ride_changes.tell(legs.write(legs.Leg(18, "20:00", status="scheduled"), casts[0]), "ride.scheduled")
    keep_up()

    ride_changes.move_to_zone(ride, "Pacific/Kiritimati")
    keep_up()

    rows = MetricsRow.objects.filter(grain=Grain.FACILITY).values_list("service_date", "totals__scheduled")
    assert set(rows) == {(dt.date(2026, 11, 19), 1)}
    assert differing() == []


def test_ride_reported_after_closing_is_only_in_live_figures(casts: list[legs.Cast]) -> None:
    keep_up()

    ride_changes.tell(legs.write(MONTH[0], casts[0]), "ride.scheduled")
    keep_up()

    rows = MetricsRow.objects.filter(grain__in=[Grain.DAY, Grain.FACILITY]).values_list(
        "grain", "basis", "totals__completed"
    )
    assert set(rows) == {(Grain.FACILITY, "live", 1), (Grain.DAY, "live", 1)}
