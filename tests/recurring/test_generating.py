"""Ride generator: every order once, regardless of the number of workers and runs."""

import datetime as dt
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections, transaction

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.recurring import tasks
from apps.recurring.models import Occurrence, StandingOrder
from apps.recurring.services import generate_rides, hold_order, reconcile_rides
from apps.recurring.tasks import generate
from apps.rides.models import Ride, RideException, Trip
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import status_report
from lib.access import system
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, both

DAY = dt.timedelta(days=1)


def _generate(at: dt.datetime) -> int:
    return generate_rides.generate(by=system("recurring"), at=at)


@pytest.mark.django_db
def test_horizon_rolls_on_with_the_days() -> None:
    order = cast.order()

    assert [_generate(NOW), _generate(NOW + 3 * DAY), _generate(NOW + 3 * DAY)] == [0, 1, 0]

    assert cast.live(order) == both([*DATES, DATES[-1] + 3 * DAY])
    order.refresh_from_db()
    assert order.generated_through == NOW.date() + 31 * DAY


@pytest.mark.django_db
def test_run_of_the_clock_ends_in_time_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its writes have the instant of its start, which exports of changes pass soon."""
    for _ in range(3):
        cast.order()
    monkeypatch.setattr(generate_rides, "BATCH_SIZE", 1)
    monkeypatch.setattr(tasks, "_MAX_SECONDS", 0.0)
    StandingOrder.objects.update(generated_through=None)

    left = []
    for _ in range(3):
        generate()
        left.append(generate_rides.due(NOW).count())

    assert left == [2, 1, 0]


@pytest.mark.django_db
def test_day_begins_at_the_facility_not_in_greenwich() -> None:
    cast.order()
    evening = dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC)  # the 20th in Chicago

    assert [_generate(evening), _generate(evening + dt.timedelta(minutes=1))] == [0, 1]


@pytest.mark.django_db
def test_rides_called_off_by_people_do_not_rise_again() -> None:
    order = cast.order()
    ride = cast.rides(order, leg_type="outbound")[3]
    said = StatusReport(RideStatus.CANCELLED, source="phone", reason_code="rider_ill")
    status_report.change_status(ride_id=ride.pk, report=said, by=system(), at=NOW)
    StandingOrder.objects.update(generated_through=None)

    _generate(NOW)

    assert (DATES[3].isoformat(), "outbound") not in cast.live(order)
    assert len(cast.live(order)) == 23


@pytest.mark.django_db
def test_nothing_new_is_nothing_written(django_assert_num_queries: Any) -> None:
    cast.order()
    events, entries = Event.objects.count(), AuditEntry.objects.count()
    StandingOrder.objects.update(generated_through=None)

    assert _generate(NOW) == 1

    assert (Event.objects.count(), AuditEntry.objects.count()) == (events, entries)
    with django_assert_num_queries(3):  # a savepoint and its end, and the due orders
        assert _generate(NOW) == 0


@pytest.mark.django_db
def test_orders_are_gone_over_together(django_assert_max_num_queries: Any) -> None:
    centre = cast.dialysis_centre()
    for _ in range(5):
        cast.order(centre)
    with django_assert_max_num_queries(40):
        assert _generate(NOW + 3 * DAY) == 5

    assert Trip.objects.count() == 5 * 13


@pytest.mark.django_db
def test_failing_order_is_skipped_and_others_are_generated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    poison, good = cast.order(), cast.order()
    reconcile = reconcile_rides.reconcile

    def dangerous(orders: Any, **given: Any) -> Any:
        if any(order.pk == poison.pk for order in orders):
            raise RuntimeError("poison")
        return reconcile(orders, **given)

    monkeypatch.setattr(reconcile_rides, "reconcile", dangerous)

    assert _generate(NOW + 3 * DAY) == 1

    assert (len(cast.live(good)), len(cast.live(poison))) == (26, 24)
    assert [record.message for record in caplog.records] == [
        "standing orders not reconciled together",
        "standing order not reconciled",
    ]


@pytest.mark.django_db
def test_unbookable_date_opens_exception_and_others_are_booked() -> None:
    centre = cast.dialysis_centre()
    first = cast.order(centre)
    second = cast.order(centre, first.rider, of={"days_of_week": (0, 1)})

    assert cast.live(second) == both([day + DAY for day in DATES if day.weekday() == 0])
    opened = RideException.objects.get(standing_order_id=second.pk)
    assert (opened.type, opened.severity, opened.details["count"]) == ("standing_order_conflict", "warning", 4)
    assert cast.marks(second) == {"generated": 8, "refused": 8}


@pytest.mark.django_db
def test_task_generates() -> None:
    order = cast.order()
    StandingOrder.objects.update(generated_through=None)
    Occurrence.objects.all().delete()
    Ride.objects.update(
        standing_order_id=None, occurrence_key="", pickup_at=NOW - 9 * DAY, window_starts_at=NOW - 9 * DAY
    )

    generate()

    assert len(cast.live(order)) == 24


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("workers", [2, 4])
def test_workers_at_once_make_every_ride_once(workers: int) -> None:
    """R-10."""
    centre = cast.dialysis_centre()
    made = [cast.order(centre) for _ in range(12)]

    with ThreadPoolExecutor(workers) as pool:
        done = sum(pool.map(_and_close, [NOW + 3 * DAY] * workers))

    assert done == 12
    wanted = both([*DATES, DATES[-1] + 3 * DAY])
    assert [cast.live(order) for order in made] == [wanted] * 12


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_repeated_unordered_ticks_create_each_ride_once() -> None:
    """Four workers, whose ticks are for any of nine days and repeat a finished order."""
    centre = cast.dialysis_centre()
    made = [cast.order(centre) for _ in range(6)]
    chance = random.Random(10)
    ticks = [(chance.choice(made), NOW + chance.randrange(10) * DAY) for _ in range(120)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda tick: _again_and_close(*tick), ticks))
    _generate(NOW + 9 * DAY)

    wanted = both([*DATES, *(DATES[-1] + days * DAY for days in (3, 5, 7))])
    assert [cast.live(order) for order in made] == [wanted] * 6
    told = Event.objects.filter(subject_type="ride").values_list("subject_id", "type", "sequence")
    assert sorted(told) == sorted((ride.pk, "ride.scheduled", 1) for ride in Ride.objects.all())
    assert Ride.objects.count() == Occurrence.objects.count() == 6 * len(wanted)


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_worker_that_dies_in_the_middle_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [cast.order() for _ in range(3)]
    keep = reconcile_rides._write_rows

    def dies(*given: Any, **also: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(reconcile_rides, "_write_rows", dies)
    with pytest.raises(SystemExit):
        _generate(NOW + 3 * DAY)
    assert [len(cast.live(order)) for order in made] == [24] * 3

    monkeypatch.setattr(reconcile_rides, "_write_rows", keep)
    assert _generate(NOW + 3 * DAY) == 3
    assert [len(cast.live(order)) for order in made] == [26] * 3


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_edit_waits_for_the_generator_and_both_count() -> None:
    order = cast.order()
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            list(generate_rides.due(NOW + 3 * DAY).select_for_update(of=("self",), no_key=True))
            held = pool.submit(_hold_and_close, order)
            with pytest.raises(TimeoutError):
                held.result(0.5)
        held.result(10)

    _generate(NOW + 3 * DAY)

    assert cast.live(order) == both(DATES[:2])


def _hold_and_close(order: StandingOrder) -> None:
    try:
        hold_order.hold(
            order_id=order.pk, from_date=DATES[2], until=None, reason="travel", by=system(), at=NOW + 3 * DAY
        )
    finally:
        connection.close()


def _again_and_close(order: StandingOrder, at: dt.datetime) -> None:
    StandingOrder.objects.filter(pk=order.pk).update(generated_through=None)
    _and_close(at)


def _and_close(at: dt.datetime) -> int:
    try:
        return _generate(at)
    finally:
        connections.close_all()
