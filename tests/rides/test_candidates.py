"""Ranking of drivers for a ride: order, texts, and a fixed number of queries."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from apps.organizations.models import HomeBase
from apps.rides.queries.candidates import candidates
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal
from lib.errors import NotFound
from tests import factories
from tests.fleet.crew import fit_driver, fit_pair, fit_vehicle
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

NOW = factories.NOW
PICKUP = factories.PICKUP
MINUTE = dt.timedelta(minutes=1)
# About 2.4 and 11 miles by road from the pickup of the factories' rides.
NEAR, FAR = {"lat": "41.880500", "lng": "-87.672200"}, {"lat": "41.785000", "lng": "-87.672200"}


def seen(place: dict[str, str]) -> dict[str, Any]:
    return {"last_lat": place["lat"], "last_lng": place["lng"], "last_located_at": NOW}


@pytest.mark.parametrize("count", [1, 30])
def test_list_query_count_is_independent_of_driver_count(
    dispatcher: Principal, django_assert_max_num_queries: Callable[..., Any], count: int
) -> None:
    ride = factories.RideFactory.create()
    for _ in range(count):
        driver, vehicle = fit_pair()
        factories.ShiftFactory.create(driver=driver, vehicle=vehicle)
        other = factories.RideFactory.create(pickup_at=PICKUP - dt.timedelta(hours=2))
        factories.put_driver_on(other, driver=driver, vehicle=vehicle)

    with django_assert_max_num_queries(14):
        listed = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert len(listed) == count


def test_nearest_suitable_driver_is_first_and_refused_last(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    far, _ = fit_pair(**seen(FAR))
    near, _ = fit_pair(**seen(NEAR))
    suspended, _ = fit_pair(**seen(NEAR), activation="suspended", activation_reason="Complaint")
    factories.DriverFactory.create(activation="inactive")

    listed = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert [one.driver_id for one in listed] == [near.pk, far.pk, suspended.pk]
    assert [one.refused for one in listed] == [False, False, True]
    assert [one.code.value for one in listed[2].violations] == ["DRIVER_INACTIVE"]


def test_planned_break_is_a_conflict_and_delays_the_departure(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair(**seen(NEAR))
    hour = dt.timedelta(hours=1)
    shift = {"driver": driver, "vehicle": vehicle, "starts_at": NOW - hour, "ends_at": PICKUP + 4 * hour}
    planned = factories.ShiftFactory.create(**shift, break_starts_at=NOW, break_ends_at=PICKUP + hour)
    during, after = factories.RideFactory.create(), factories.RideFactory.create(pickup_at=PICKUP + hour)

    (one,) = candidates(ride_id=during.pk, by=dispatcher, at=NOW)
    (later,) = candidates(ride_id=after.pk, by=dispatcher, at=NOW)
    type(planned).objects.update(break_starts_at=None, break_ends_at=None)
    (without,) = candidates(ride_id=during.pk, by=dispatcher, at=NOW)

    assert [str(violation.message) for violation in one.violations] == ["The driver has a planned break at that time."]
    assert one.predicted_pickup_at is not None
    assert one.predicted_pickup_at > PICKUP + hour
    assert (later.violations, later.available_at) == ((), PICKUP + hour)
    assert (without.violations, without.predicted_pickup_at) == ((), PICKUP)


def test_reasons_say_in_words_what_speaks_for_a_driver(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair(**seen(NEAR))
    ride = factories.RideFactory.create(rider__preferred_driver_ids=[driver.pk], accommodation={})
    before = factories.RideFactory.create(
        pickup_at=PICKUP - dt.timedelta(minutes=48),  # 20 on the road and 3 to leave; boards before
        estimated_minutes=20,
        dropoff=factories.stop(lat=41.8805, lng=-87.6722, city="Oak Park"),
    )
    factories.put_driver_on(before, driver=driver, vehicle=vehicle)
    for _ in range(6):
        over = ride_in(RideStatus.COMPLETED, rider=ride.rider, pickup_at=PICKUP - dt.timedelta(days=9))
        type(over).objects.filter(pk=over.pk).update(driver=driver)

    (one, *_) = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert [str(reason.message) for reason in one.reasons] == [
        "Free from 13:35 at Oak Park, then 9 min away",
        "6 previous rides with this rider",
        "Preferred driver",
        "Larger vehicle than needed: wheelchair van",
    ]
    assert (one.free_minutes, one.miles, one.shared_rides, one.preferred) == (25, 2.4, 6, True)
    assert one.available_at == PICKUP - dt.timedelta(minutes=25)


def test_wheelchair_van_is_kept_for_those_who_need_it(dispatcher: Principal) -> None:
    walking = factories.RideFactory.create()
    rolling = factories.RideFactory.create(
        spaces_ambulatory=0, spaces_wheelchair=1, accommodation={"mobility": "wheelchair"}
    )
    provider = factories.TransportProviderFactory.create()
    van = fit_driver(provider=provider, default_vehicle=fit_vehicle(provider=provider), **seen(NEAR))
    car = fit_vehicle(
        provider=provider, type="sedan", lift_type="none", lift_rating_lb=None, capacity={"ambulatory": 3}
    )
    sedan = fit_driver(provider=provider, default_vehicle=car, **seen(FAR))

    for_walking = candidates(ride_id=walking.pk, by=dispatcher, at=NOW)
    for_rolling = candidates(ride_id=rolling.pk, by=dispatcher, at=NOW)

    assert [one.driver_id for one in for_walking] == [sedan.pk, van.pk]
    assert [(one.driver_id, one.refused) for one in for_rolling] == [(van.pk, False), (sedan.pk, True)]


def test_vehicle_is_that_of_the_shift_at_pickup(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    driver, default = fit_pair()
    of_shift = fit_vehicle(provider=driver.provider)
    factories.ShiftFactory.create(driver=driver, vehicle=of_shift)
    idle, _ = fit_pair()
    factories.ShiftFactory.create(
        driver=idle, starts_at=PICKUP + dt.timedelta(hours=6), ends_at=PICKUP + dt.timedelta(hours=9)
    )

    listed = {one.driver_id: one for one in candidates(ride_id=ride.pk, by=dispatcher, at=NOW)}

    assert (listed[driver.pk].vehicle_id, listed[driver.pk].vehicle_unit) == (of_shift.pk, of_shift.unit_number)
    assert listed[idle.pk].vehicle_id == idle.default_vehicle_id
    assert [one.code.value for one in listed[idle.pk].violations] == ["OUTSIDE_SHIFT"]
    assert default.pk != of_shift.pk


def test_driver_without_a_vehicle_is_refused(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    fit_driver()

    (one,) = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert (one.refused, one.vehicle_id) == (True, None)
    assert [violation.code.value for violation in one.violations] == ["VEHICLE_NOT_SUITABLE"]


def test_second_person_is_asked_for_and_refuses_nobody(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(
        accommodation={"mobility": "wheelchair_transfer", "stairs": {"home": 7, "equipment": "none"}}
    )
    fit_pair()

    (one,) = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert (one.attendant_required, one.refused) == (True, False)


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ({}, "Location not known, so that no arrival is predicted"),
        ({"home_base": True}, "Free now, 27 min away (Yard)"),
        ({"home_base": True, **seen(NEAR)}, "Free now, 9 min away (reported position)"),
        ({"home_base": True, **seen(NEAR), "last_located_at": NOW - dt.timedelta(minutes=6)}, "27 min away (Yard)"),
    ],
)
def test_way_begins_where_the_driver_was_last_known(dispatcher: Principal, columns: dict[str, Any], where: str) -> None:
    ride = factories.RideFactory.create()
    driver, _ = fit_pair(**{key: value for key, value in columns.items() if key != "home_base"})
    if "home_base" in columns:
        base = HomeBase.objects.create(
            provider=driver.provider, name="Yard", address_line1="1", city="Chicago", state="IL", postal_code="1", **FAR
        )
        type(driver).objects.update(home_base=base)

    (one,) = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert where in str(one.reasons[0].message)
    assert (one.predicted_pickup_at is None) is (not columns)


def test_driver_on_board_is_offered_after_the_drop_off(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(pickup_at=NOW + 10 * MINUTE, accommodation={})
    driver, vehicle = fit_pair()
    on_board = ride_in(
        RideStatus.IN_PROGRESS,
        pickup_at=NOW - 40 * MINUTE,
        estimated_minutes=40,
        dropoff=factories.stop(**{name: float(value) for name, value in NEAR.items()}),
        accommodation={},
    )
    type(on_board).objects.filter(pk=on_board.pk).update(
        driver=driver,
        vehicle=vehicle,
        departed_at=NOW - 50 * MINUTE,
        arrived_pickup_at=NOW - 30 * MINUTE,
        boarded_at=NOW - 20 * MINUTE,
    )

    (one,) = candidates(ride_id=ride.pk, by=dispatcher, at=NOW, provider_id=driver.provider_id)

    assert str(one.reasons[0].message) == "On board until 09:20, then 9 min away"
    assert one.reasons[0].parameters == {"until": (NOW + 20 * MINUTE).isoformat(), "driveMinutes": 9}
    assert [(found.code.value, found.subject_id) for found in one.violations] == [("SCHEDULE_CONFLICT", on_board.pk)]


def test_broken_promises_count_more_than_lateness(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(accommodation={})
    near, vehicle = fit_pair(**seen(NEAR))
    far, _ = fit_pair(**seen(FAR))
    after = factories.RideFactory.create(
        pickup_at=PICKUP + dt.timedelta(minutes=40), priority="life_sustaining", accommodation={}
    )
    type(after).objects.filter(pk=after.pk).update(promised_pickup_by=after.pickup_at, window_ends_at=after.pickup_at)
    factories.put_driver_on(after, driver=near, vehicle=vehicle)
    type(ride).objects.filter(pk=ride.pk).update(estimated_minutes=55)

    listed = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert [one.driver_id for one in listed] == [far.pk, near.pk]
    (delay,) = listed[1].delays
    assert (delay.ride_id, delay.breaks_promise, delay.life_sustaining) == (after.pk, True, True)
    assert "breaks_promises" in [reason.code.value for reason in listed[1].reasons]


def test_rides_out_of_reach_are_hidden_in_delays(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(accommodation={})
    driver, vehicle = fit_pair(**seen(NEAR))
    other = factories.RideFactory.create(pickup_at=PICKUP + 25 * MINUTE, accommodation={})
    factories.put_driver_on(other, driver=driver, vehicle=vehicle)
    type(ride).objects.filter(pk=ride.pk).update(estimated_minutes=55)
    limited = dataclasses.replace(dispatcher, facility_ids=frozenset({pk for pk in [ride.facility_id] if pk}))

    ((seen_by_all,), (seen_by_few,)) = (
        candidates(ride_id=ride.pk, by=caller, at=NOW) for caller in (dispatcher, limited)
    )

    assert [delay.ride_id for delay in seen_by_all.delays] == [other.pk]
    assert [delay.ride_id for delay in seen_by_few.delays] == [None]
    assert seen_by_few.delays[0].minutes == seen_by_all.delays[0].minutes


def test_driver_of_the_ride_is_not_held_up_by_it(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(accommodation={})
    driver, vehicle = fit_pair(**seen(NEAR))
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)

    (one,) = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert (one.violations, one.delays, one.late_minutes) == ((), (), 0)


def test_limit_returns_the_best_alone(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    fit_pair(**seen(FAR))
    near, _ = fit_pair(**seen(NEAR))

    listed = candidates(ride_id=ride.pk, by=dispatcher, at=NOW, limit=1)

    assert [one.driver_id for one in listed] == [near.pk]


def test_drivers_out_of_reach_are_not_listed(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    mine, theirs = fit_pair()[0], fit_pair()[0]

    of_mine = candidates(ride_id=ride.pk, by=dispatcher, at=NOW, provider_id=mine.provider_id)

    assert [one.driver_id for one in of_mine] == [mine.pk]
    assert theirs.provider_id != mine.provider_id


def test_outsider_finds_no_ride(outsider: Principal, dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    of_other_provider = dataclasses.replace(dispatcher, provider_ids=frozenset({uuid.uuid4()}))

    for caller in (outsider, of_other_provider):
        with pytest.raises(NotFound):
            candidates(ride_id=ride.pk, by=caller, at=NOW)
