"""Properties of the time-based exception rules for any ride and any facility settings."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.rides.rules.exception_rules import (
    Facts,
    Forecast,
    Terms,
    evaluate,
    expires_at,
    first_check_at,
    first_check_of_new,
)
from apps.rides.rules.exception_types import SEVERITY_RANK
from apps.rides.rules.lifecycle import OPEN, RideStatus
from tests.rides.watched_facts import HOUR, MINUTE, NOON, ride, will_call

moments = st.integers(-60 * 96, 60 * 48).map(lambda minutes: NOON + minutes * MINUTE)
maybe = st.none() | moments


@st.composite
def rides(draw: st.DrawFn) -> Facts:
    """Draw rides, with their times in the order that the database requires."""
    status = draw(st.sampled_from(RideStatus.values))
    road = sorted(draw(st.lists(moments, min_size=5, max_size=5)))
    reached = {"en_route": 1, "arrived": 2, "in_progress": 3, "completed": 5}.get(status, 0)
    some: list[Any] = [
        moment if number < reached and draw(st.booleans()) else None for number, moment in enumerate(road)
    ]
    needed = {"arrived": (1,), "in_progress": (2,), "completed": (2, 4)}.get(status, ())
    for number in needed:
        some[number] = road[number]
    will = draw(st.booleans())
    ready_at = draw(maybe) if will else None
    if will and reached and ready_at is None:
        ready_at = road[0]
    pickup_at = draw(moments)
    return ride(
        status,
        pickup_at=pickup_at,
        window_ends_at=pickup_at + draw(st.integers(0, 30)) * MINUTE,
        service_type=draw(st.sampled_from(["appointment", "dialysis", "hospital_discharge"])),
        priority=draw(st.sampled_from(["routine", "life_sustaining"])),
        appointment_at=draw(maybe),
        will_call=will,
        ready_at=ready_at,
        promised_pickup_by=ready_at + 60 * MINUTE if ready_at else None,
        will_call_expires_at=pickup_at + draw(st.integers(0, 26)) * HOUR if will else None,
        scheduled_at=draw(maybe),
        confirm_by=draw(maybe),
        departed_at=some[0],
        arrived_pickup_at=some[1],
        boarded_at=some[2],
        arrived_dropoff_at=some[3],
        dropped_off_at=some[4],
        eta_pickup_at=draw(maybe),
        estimated_minutes=draw(st.none() | st.integers(0, 200)),
        lacks_documentation=draw(st.booleans()),
        load_minutes=draw(st.integers(0, 20)),
        accept_by=draw(st.none() | moments.map(dt.datetime.isoformat)),
        expected_ready_at=draw(st.none() | moments.map(dt.datetime.isoformat)),
    )


@st.composite
def agreed(draw: st.DrawFn, pickup_at: dt.datetime) -> Terms:
    ladder = sorted(draw(st.lists(st.integers(0, 24 * 60), min_size=5, max_size=5)))
    closes_at = draw(st.none() | st.integers(-25 * 60, 48 * 60).map(lambda minutes: pickup_at + minutes * MINUTE))
    return Terms(
        response_minutes=draw(st.integers(0, 480)),
        wait_minutes=draw(st.integers(0, 60)),
        ladder=(ladder[0], ladder[1], ladder[2], ladder[3], ladder[4]),
        closes_at=closes_at,
        was_brought=draw(st.booleans()),
        ladder_ahead=ladder[4] * MINUTE,
        forecast=draw(st.none() | st.builds(Forecast, maybe, maybe)),
        foreseen=draw(st.booleans()),
    )


@given(st.data(), rides(), moments)
def test_nothing_changes_between_two_looks(data: st.DataObject, facts: Facts, at: dt.datetime) -> None:
    by = data.draw(agreed(facts.pickup_at))
    outlook = evaluate(facts, by, at)
    later = at + data.draw(st.integers(1, 60 * 200)) * MINUTE
    if outlook.next_at is not None:
        assert outlook.next_at > at
        later = min(later, outlook.next_at - dt.timedelta(microseconds=1))

    again = evaluate(facts, by, later)

    assert (again.findings, again.ends_unused) == (outlook.findings, outlook.ends_unused)


@given(st.data(), rides(), moments)
def test_first_look_comes_before_anything_stands(data: st.DataObject, facts: Facts, at: dt.datetime) -> None:
    by = data.draw(agreed(facts.pickup_at))
    outlook, first = evaluate(facts, by, at), first_check_at(facts)

    if outlook.findings or outlook.ends_unused:
        assert first is not None
        assert first <= at
    if facts.status in OPEN:
        assert first is not None


@given(st.data(), rides(), moments)
def test_time_alone_makes_nothing_better_until_it_expires(data: st.DataObject, facts: Facts, at: dt.datetime) -> None:
    """Predictions are left out: they change with the location of the driver, not with time alone."""
    by, later = data.draw(agreed(facts.pickup_at)), at + data.draw(st.integers(1, 48)) * HOUR
    by = by._replace(forecast=None)
    after = evaluate(facts, by, later).findings

    for type_, finding in evaluate(facts, by, at).findings.items():
        expires = expires_at(type_, facts)
        if expires is not None and expires <= later:
            assert type_ not in after
        else:
            assert SEVERITY_RANK[after[type_].severity] >= SEVERITY_RANK[finding.severity]


@pytest.mark.parametrize("priority", ["routine", "time_critical", "life_sustaining"])
@pytest.mark.parametrize("waits", [True, False])
def test_new_ride_of_a_set_is_looked_at_as_any_other(priority: str, waits: bool) -> None:
    facts = will_call(priority=priority) if waits else ride(priority=priority, appointment_at=NOON + HOUR)

    assert first_check_of_new(pickup_at=NOON, will_call=waits, priority=priority) == first_check_at(facts)
