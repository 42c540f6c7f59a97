"""Driver suggestions for unassigned rides: no suggestion breaks a rule, given all others and the existing plan."""

import datetime as dt
from dataclasses import replace
from itertools import combinations
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.dispatch.rules.suggesting import Available, SuggestionPlan, suggest
from apps.fleet.rules.credentials import Subject
from apps.rides.rules.driver_timeline import DriverNow, Location, LocationSource, RemainingRide
from apps.rides.rules.eligibility import ViolationCode, violations
from apps.rides.rules.facts import (
    RideNeeds,
    RideSlot,
    ShiftFact,
    Span,
    VehicleFacts,
)
from lib.travel.places import Place
from tests.rides.test_eligibility import (
    AT,
    CREDENTIALS,
    HOUR,
    LOOP,
    MINUTE,
    NAPERVILLE,
    OHARE,
    driver,
    needs,
    slot,
    vehicle,
)
from tests.tiers import sized

DUTY = Span(AT - 6 * HOUR, AT + 6 * HOUR)
PLACES = (LOOP, OHARE, NAPERVILLE, None)
WORN = replace(CREDENTIALS[Subject.DRIVER][0], expires_on=AT.date() - dt.timedelta(days=1))


def _ride(begin: int = 0, minutes: int = 30, **given: Any) -> RideNeeds:
    """Return a ride that begins `begin` minutes from now."""
    places = {name: given.pop(name, LOOP) for name in ("pickup", "dropoff")}
    made = slot(AT + begin * MINUTE, minutes, ride_id=uuid4(), **places)
    return needs(slot=made, **{"rider_id": uuid4(), **given})


def _now(*slots: RideSlot, place: Place = LOOP, duty: tuple[Span, ...] = ()) -> DriverNow:
    rides = tuple(RemainingRide(one, one.span) for one in slots)
    return DriverNow(Location(place, LocationSource.HOME_BASE, "Yard"), rides, duty)


def _crew(count: int = 1, **given: Any) -> tuple[list[Available], dict[UUID, VehicleFacts]]:
    """Create drivers who work now, each with a vehicle."""
    vehicles = [vehicle(id=uuid4()) for _ in range(count)]
    ids = [uuid4() for _ in range(count)]
    drivers = [
        Available(
            driver(id=pk, shifts=(ShiftFact(pk, mine.id, DUTY),), **given),
            _now(duty=(DUTY,)),
            default_vehicle_id=mine.id,
        )
        for pk, mine in zip(ids, vehicles, strict=True)
    ]
    return drivers, {one.id: one for one in vehicles}


def _plan(
    waiting: list[RideNeeds], crew: tuple[list[Available], dict[UUID, VehicleFacts]], at: dt.datetime = AT, **given: Any
) -> SuggestionPlan:
    zones = dict.fromkeys((ride.slot.ride_id for ride in waiting), "America/Chicago")
    return suggest(waiting, *crew, shared_rides=given.get("shared", {}), zones=zones, at=at)


def test_one_driver_gets_what_they_can_drive_one_after_the_other() -> None:
    first, beside, after = _ride(0), _ride(10), _ride(60)

    found = _plan([after, beside, first], _crew())

    assert [one.ride_id for one in found.suggestions] == [first.slot.ride_id, after.slot.ride_id]
    assert [(one.ride_id, one.against) for one in found.unplaced] == [
        (beside.slot.ride_id, {ViolationCode.SCHEDULE_CONFLICT: 1})
    ]


def test_rides_that_are_due_first_choose_first() -> None:
    hurried, patient = _ride(5), _ride(0)
    patient = replace(patient, slot=replace(patient.slot, latest_pickup_at=AT + 2 * HOUR))

    found = _plan([patient, hurried], _crew())

    assert [one.ride_id for one in found.suggestions] == [hurried.slot.ride_id]


def test_cheapest_driver_is_suggested_and_familiar_costs_less() -> None:
    crew = _crew(2)
    ride = _ride()
    known = sorted(crew[0], key=lambda one: str(one.facts.id))[1].facts.id

    (found,) = _plan([ride], crew, shared={(ride.rider_id, known): 3}).suggestions

    assert found.driver_id == known
    assert [str(reason.message) for reason in found.reasons] == [
        "Free now, 0 min away (Yard)",
        "3 previous rides with this rider",
        "Larger vehicle than needed: wheelchair van",
    ]


def test_vehicle_comes_from_shift_or_driver_or_is_required() -> None:
    (one,), vehicles = _crew()
    own, other = vehicle(id=uuid4()), vehicle(id=uuid4())
    on_shift = replace(one, default_vehicle_id=own.id)
    free = replace(one, facts=replace(one.facts, shifts=()), default_vehicle_id=own.id)
    none = replace(free, default_vehicle_id=None)
    unknown = replace(free, default_vehicle_id=other.id)
    known = vehicles | {own.id: own}

    assert _plan([_ride()], ([on_shift], known)).suggestions[0].vehicle_id == one.default_vehicle_id
    assert _plan([_ride()], ([free], known)).suggestions[0].vehicle_id == own.id
    for driver_without in (none, unknown):
        (left,) = _plan([_ride()], ([driver_without], known)).unplaced
        assert left.against == {ViolationCode.VEHICLE_NOT_SUITABLE: 1}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"credentials": (WORN, *CREDENTIALS[Subject.DRIVER][1:])}, ViolationCode.CREDENTIAL_INVALID),
        ({"activation": "suspended"}, ViolationCode.DRIVER_INACTIVE),
        ({"provider_id": uuid4()}, ViolationCode.PROVIDER_MISMATCH),
        ({"leave": (DUTY,)}, ViolationCode.OUTSIDE_SHIFT),
    ],
)
def test_drivers_against_whom_something_stands_are_counted_by_it(changes: dict[str, Any], code: ViolationCode) -> None:
    (left, again) = _plan([_ride(0), _ride(120)], _crew(3, **changes)).unplaced

    assert left.against == again.against == {code: 3}


def test_two_person_ride_and_driver_preference_need_dispatcher() -> None:
    upstairs, picky = _ride(0, steps=7), _ride(60, driver_gender="female")

    found = _plan([upstairs, picky], _crew())

    assert [dict(one.against) for one in found.unplaced] == [
        {ViolationCode.ATTENDANT_REQUIRED: 1},
        {ViolationCode.PREFERENCE_UNMET: 1},
    ]


def test_without_drivers_everything_is_left() -> None:
    assert [dict(one.against) for one in _plan([_ride()], ([], {})).unplaced] == [{}]


def _overdue(ride: RideNeeds) -> RideNeeds:
    """Let a ride whose pickup time has passed begin now, as `needs_of` does."""
    span = ride.slot.span
    if span.starts_at >= AT:
        return ride
    return replace(ride, overdue=True, slot=replace(ride.slot, span=Span(AT, AT + (span.ends_at - span.starts_at))))


def test_who_takes_a_ride_that_should_have_begun_drives_it_now() -> None:
    late, soon = _overdue(_ride(-60)), _ride(10)

    found = _plan([soon, late], _crew())

    assert [one.ride_id for one in found.suggestions] == [late.slot.ride_id]
    assert [one.ride_id for one in found.unplaced] == [soon.slot.ride_id]
    assert [one.late_minutes for one in found.suggestions] == [45]  # the window was 15 minutes


_WAITING = st.lists(
    st.tuples(
        st.integers(-120, 400),  # begin
        st.integers(5, 90),  # minutes
        st.sampled_from(PLACES),
        st.sampled_from(PLACES),
        st.sampled_from(["", "female"]),
        st.booleans(),  # wheelchair
    ),
    max_size=25,
)
_DRIVERS = st.lists(
    st.tuples(
        st.sampled_from(["active", "active", "active", "suspended"]),
        st.booleans(),  # trained for wheelchairs
        st.booleans(),  # works by shifts
        st.booleans(),  # valid credentials
        st.lists(st.tuples(st.integers(-60, 400), st.integers(10, 60)), max_size=3),  # existing rides
        st.booleans(),  # shares the vehicle of the previous driver
    ),
    max_size=6,
)


@settings(max_examples=sized(short=30, nightly=60))
@given(waiting=_WAITING, people=_DRIVERS)
def test_suggestions_break_no_rule_and_no_driver_overlaps(
    waiting: list[tuple[Any, ...]], people: list[tuple[Any, ...]]
) -> None:
    rides = {
        one.slot.ride_id: one
        for one in (
            _overdue(_ride(begin, minutes, pickup=here, dropoff=there, driver_gender=asks, in_chair=chair))
            for begin, minutes, here, there, asks, chair in waiting
        )
    }
    drivers: list[Available] = []
    vehicles: dict[UUID, VehicleFacts] = {}
    for activation, trained, by_shift, sound, driven, shares in people:
        pk = uuid4()
        mine = list(vehicles.values())[-1] if shares and vehicles else vehicle(id=uuid4())
        busy = tuple(
            slot(AT + begin * MINUTE, minutes, ride_id=uuid4(), driver_id=pk, vehicle_id=mine.id)
            for begin, minutes in driven
        )
        vehicles[mine.id] = replace(mine, slots=(*mine.slots, *busy))
        credentials = CREDENTIALS[Subject.DRIVER] if sound else (WORN, *CREDENTIALS[Subject.DRIVER][1:])
        facts = driver(
            id=pk,
            activation=activation,
            credentials=credentials,
            qualifications=frozenset({"wheelchair_securement"} if trained else ()),
            shifts=(ShiftFact(pk, mine.id, DUTY),) if by_shift else (),
            slots=busy,
        )
        duty = (DUTY,) if by_shift else ()
        drivers.append(Available(facts, _now(*busy, place=OHARE, duty=duty), default_vehicle_id=mine.id))

    found = _plan(list(rides.values()), (drivers, vehicles))

    named = [one.ride_id for one in found.suggestions] + [one.ride_id for one in found.unplaced]
    assert sorted(named) == sorted(rides)
    given_to = {one.ride_id: one for one in found.suggestions}
    known = {one.facts.id: one.facts for one in drivers}

    def taken(one: Any) -> Any:
        return replace(rides[one.ride_id].slot, driver_id=one.driver_id, vehicle_id=one.vehicle_id)

    for one in given_to.values():
        others = [taken(other) for other in given_to.values() if other.ride_id != one.ride_id]
        who = known[one.driver_id]
        who = replace(who, slots=(*who.slots, *(other for other in others if other.driver_id == who.id)))
        what = vehicles[one.vehicle_id]
        what = replace(what, slots=(*what.slots, *(other for other in others if other.vehicle_id == what.id)))
        assert violations(rides[one.ride_id], who, what) == []
    for one, other in combinations(given_to.values(), 2):
        if one.driver_id == other.driver_id:
            assert not rides[one.ride_id].slot.span.overlaps(rides[other.ride_id].slot.span)
