"""Predicted stops of one driver, from the present moment."""

import dataclasses
import datetime as dt

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.rides.rules.driver_timeline import (
    UNKNOWN_LOCATION,
    DriverNow,
    Location,
    LocationSource,
    Phase,
    RemainingRide,
    Timeline,
    insert,
    predict,
)
from apps.rides.rules.facts import RideSlot, Span
from lib.travel.places import Place
from lib.travel.times import Drive
from tests.factories import NOW
from tests.rides.slots import HERE, MINUTE, THERE, slot
from tests.tiers import sized

AT_HERE = Location(HERE, LocationSource.POSITION)
AT_BASE = Location(HERE, LocationSource.HOME_BASE)


def ride(
    ride_slot: RideSlot, phase: Phase = Phase.AHEAD, *, planned: Span | None = None, eta: int | None = None
) -> RemainingRide:
    eta_at = None if eta is None else NOW + eta * MINUTE
    return RemainingRide(ride_slot, planned or ride_slot.span, phase=phase, eta_at=eta_at)


def minutes_of(timeline: Timeline) -> list[int | None]:
    return [None if row.pickup_at is None else round((row.pickup_at - NOW) / MINUTE) for row in timeline.rides]


def span(start: int, end: int) -> Span:
    return Span(NOW + start * MINUTE, NOW + end * MINUTE)


def test_overdue_driver_who_has_not_reported_leaves_now() -> None:
    timeline = predict(DriverNow(AT_BASE, (ride(slot(-130, -100, pickup=THERE)),)), at=NOW)

    (predicted,) = timeline.rides
    assert predicted.pickup_at is not None
    assert 15 * MINUTE < predicted.pickup_at - NOW < 25 * MINUTE
    assert predicted.late_minutes > 130


def test_early_driver_waits_until_the_planned_pickup() -> None:
    timeline = predict(DriverNow(AT_HERE, (ride(slot(60, 90)),)), at=NOW)

    assert minutes_of(timeline) == [60]
    assert timeline.available_at == NOW + 90 * MINUTE


def test_rider_boards_while_the_driver_waits_for_the_planned_time() -> None:
    near, far = (dataclasses.replace(each, load_minutes=4) for each in (slot(60, 90), slot(12, 42, pickup=THERE)))
    long = dataclasses.replace(near, load_minutes=9)

    def boarded(at_pickup: RideSlot, phase: Phase = Phase.AHEAD, *, planned: Span | None = None) -> float:
        (predicted,) = predict(DriverNow(AT_BASE, (ride(at_pickup, phase, planned=planned),)), at=NOW).rides
        assert predicted.boarded_at is not None
        return (predicted.boarded_at - NOW) / MINUTE

    assert boarded(near) == 60  # not before the planned time
    assert boarded(long) == 64  # the rider is ready five minutes before it
    (late,) = predict(DriverNow(AT_BASE, (ride(far),)), at=NOW).rides
    assert late.pickup_at is not None
    assert late.boarded_at == late.pickup_at + 4 * MINUTE
    assert boarded(near, Phase.AT_PICKUP, planned=span(3, 33)) == 4
    assert boarded(near, Phase.AT_PICKUP, planned=span(10, 40)) == 10


def test_rider_on_board_is_taken_there_before_an_overdue_pickup() -> None:
    on_board = ride(slot(-60, 50, dropoff=THERE), Phase.ON_BOARD, planned=span(-60, -10))
    overdue = ride(slot(-5, 25, pickup=THERE))

    timeline = predict(DriverNow(AT_BASE, (overdue, on_board)), at=NOW)

    assert timeline.on_board == (on_board.slot.ride_id,)
    assert minutes_of(timeline) == [50, None]
    assert timeline.ride(on_board.slot.ride_id).dropoff_at == NOW + 50 * MINUTE


def test_late_ride_on_board_does_not_become_a_shared_ride() -> None:
    on_board = ride(slot(-60, 50, dropoff=THERE), Phase.ON_BOARD, planned=span(-60, 10))
    following = ride(slot(20, 50, pickup=THERE))

    assert minutes_of(predict(DriverNow(AT_BASE, (on_board, following)), at=NOW)) == [None, 50]


def test_planned_shared_ride_is_picked_up_on_the_way() -> None:
    first, second = ride(slot(0, 60)), ride(slot(20, 70))

    timeline = predict(DriverNow(AT_HERE, (first, second)), at=NOW)

    assert minutes_of(timeline) == [0, 20]
    assert [row.late_minutes for row in timeline.rides] == [0, 0]


def test_reported_arrival_replaces_the_computed_one() -> None:
    timeline = predict(DriverNow(AT_HERE, (ride(slot(10, 40), eta=32), ride(slot(45, 60)))), at=NOW)

    assert minutes_of(timeline) == [32, 62]
    assert [row.late_minutes for row in timeline.rides] == [7, 2]


def test_reported_arrival_that_has_passed_counts_no_longer() -> None:
    assert minutes_of(predict(DriverNow(AT_HERE, (ride(slot(-30, 0), eta=-20),)), at=NOW)) == [0]


def test_unknown_location_predicts_nothing_but_a_bound() -> None:
    timeline = predict(DriverNow(UNKNOWN_LOCATION, (ride(slot(-30, 0)), ride(slot(10, 40)))), at=NOW)

    assert minutes_of(timeline) == [None, None]
    assert [row.earliest_pickup_at for row in timeline.rides] == [NOW, NOW + 30 * MINUTE]
    assert [row.late_minutes for row in timeline.rides] == [15, 5]
    assert timeline.available_at is None


def test_driver_at_the_door_is_located_there() -> None:
    timeline = predict(DriverNow(UNKNOWN_LOCATION, (ride(slot(-5, 25), Phase.AT_PICKUP), ride(slot(40, 60)))), at=NOW)

    assert minutes_of(timeline) == [None, 40]


def test_driver_is_available_from_the_start_of_the_shift() -> None:
    driver = DriverNow(AT_BASE, duty=(span(-600, -60), span(45, 500)))

    assert predict(driver, at=NOW).available_at == NOW + 45 * MINUTE


def test_driver_whose_shift_is_over_is_not_available() -> None:
    assert predict(DriverNow(AT_BASE, duty=(span(-600, -60),)), at=NOW).available_at is None


def test_no_drive_starts_during_leave_or_a_break() -> None:
    driver = DriverNow(AT_BASE, (ride(slot(5, 35)),), away=(span(-10, 40),))

    assert minutes_of(predict(driver, at=NOW)) == [40]


def test_drive_that_meets_breaks_ends_behind_them() -> None:
    following = ride(slot(5, 35, pickup=THERE))
    (drive,) = minutes_of(predict(DriverNow(AT_BASE, (following,)), at=NOW))
    assert drive is not None
    assert 15 < drive < 25
    for away, expected in (
        ((span(10, 40),), drive + 30),
        ((span(30, 60),), drive),  # the driver is there before
        ((span(10, 40), span(20, 50)), drive + 40),  # leave and a break at one time
        ((span(45, 60), span(10, 40)), drive + 45),  # the first one moves the drive into the second
    ):
        assert minutes_of(predict(DriverNow(AT_BASE, (following,), away=away), at=NOW)) == [expected], away
    underway = dataclasses.replace(following, phase=Phase.EN_ROUTE)
    assert minutes_of(predict(DriverNow(AT_BASE, (underway,), away=(span(10, 40),)), at=NOW)) == [drive]


def test_inserted_ride_says_what_it_adds_and_delays() -> None:
    following = ride(slot(35, 60, window=10))
    new = slot(0, 30, dropoff=THERE)

    insertion = insert(new, DriverNow(AT_HERE, (following,)), at=NOW)

    (delay,) = insertion.delays
    assert (insertion.available_at, insertion.available_from, insertion.pickup_at) == (NOW, AT_HERE, NOW)
    assert insertion.approach == Drive(0, 0)
    assert not insertion.on_board
    assert delay.ride_id == following.slot.ride_id
    assert 10 < delay.minutes < 25
    assert delay.breaks_promise
    assert insertion.added_drive_minutes > 40  # there and back


def test_driver_on_board_is_offered_after_the_drop_off() -> None:
    on_board = ride(slot(-40, 30, dropoff=THERE), Phase.ON_BOARD)

    insertion = insert(slot(10, 40), DriverNow(AT_BASE, (on_board,)), at=NOW)

    assert insertion.available_at == NOW + 30 * MINUTE
    assert insertion.available_from.place == THERE
    assert insertion.on_board
    assert insertion.pickup_at is not None
    assert insertion.pickup_at > NOW + 45 * MINUTE
    assert insertion.late_minutes > 20


PLACES = st.one_of(st.none(), st.builds(Place, st.floats(41.6, 42.1), st.floats(-88.0, -87.5)))


@st.composite
def drivers(draw: st.DrawFn) -> DriverNow:
    rides = []
    underway = draw(st.sampled_from([None, Phase.EN_ROUTE, Phase.AT_PICKUP, Phase.ON_BOARD]))
    for number in range(draw(st.integers(0, 6))):
        start = draw(st.integers(-180, 480))
        planned_slot = slot(start, start + draw(st.integers(30, 120)), pickup=draw(PLACES), dropoff=draw(PLACES))
        planned = planned_slot.span
        phase = underway if number == 0 and underway else Phase.AHEAD
        if phase in {Phase.AT_PICKUP, Phase.ON_BOARD}:
            ends_at = max(planned.ends_at, NOW)
            planned_slot = dataclasses.replace(planned_slot, span=Span(planned.starts_at, ends_at))
        rides.append(ride(planned_slot, phase, planned=planned, eta=draw(st.none() | st.integers(-60, 120))))
    sources = st.sampled_from([LocationSource.POSITION, LocationSource.LAST_STOP, LocationSource.HOME_BASE])
    place = draw(PLACES)
    location = UNKNOWN_LOCATION if place is None else Location(place, draw(sources))
    duty = (span(draw(st.integers(-600, 120)), 700),) if draw(st.booleans()) else ()
    starts = draw(st.lists(st.integers(0, 120), max_size=2))
    away = tuple(span(start, start + draw(st.integers(1, 90))) for start in starts)
    return DriverNow(location, tuple(rides), duty, away)


def instants(timeline: Timeline) -> list[dt.datetime]:
    rows = [(row.pickup_at, row.earliest_pickup_at, row.dropoff_at) for row in timeline.rides]
    return [instant for row in rows for instant in row if instant is not None]


@settings(max_examples=sized(300, 5000), deadline=None)
@given(drivers(), st.integers(-120, 300))
def test_nothing_predicted_lies_in_the_past(driver: DriverNow, start: int) -> None:
    timeline = predict(driver, at=NOW)
    insertion = insert(slot(start, start + 40, pickup=HERE, dropoff=THERE), driver, at=NOW)

    assert all(instant >= NOW for instant in instants(timeline))
    assert timeline.available_at is None or timeline.available_at >= NOW
    assert insertion.available_at >= NOW
    assert insertion.pickup_at is None or insertion.pickup_at >= insertion.available_at


@settings(max_examples=sized(300, 5000), deadline=None)
@given(drivers())
def test_predicted_times_are_monotone_along_the_day(driver: DriverNow) -> None:
    timeline = predict(driver, at=NOW)

    for row in timeline.rides:
        if row.earliest_pickup_at is not None and row.dropoff_at is not None:
            assert row.earliest_pickup_at <= row.dropoff_at
    underway = [item for item in driver.rides if item.phase is not Phase.AHEAD]
    ahead = [
        item
        for item in driver.rides
        if item.phase is Phase.AHEAD and not any(item.planned.overlaps(other.planned) for other in underway)
    ]
    for first in ahead:
        for second in ahead:
            if first.planned.ends_at <= second.planned.starts_at:
                later = timeline.ride(second.slot.ride_id).earliest_pickup_at
                before = timeline.ride(first.slot.ride_id).dropoff_at
                assert later is not None
                assert before is None or before <= later


@settings(max_examples=sized(200, 5000), deadline=None)
@given(drivers(), st.integers(-120, 300))
def test_one_more_ride_never_brings_another_forward(driver: DriverNow, start: int) -> None:
    before = predict(driver, at=NOW)
    insertion = insert(slot(start, start + 40, pickup=HERE, dropoff=THERE), driver, at=NOW)

    assert all(delay.minutes > 0 for delay in insertion.delays)
    assert {delay.ride_id for delay in insertion.delays} <= {row.ride_id for row in before.rides}
