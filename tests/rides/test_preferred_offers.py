"""First step of the ladder: preferred drivers get an offer at once, each of them once."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest

from apps.events.models import Event
from apps.fleet.models import Driver
from apps.organizations.models import EscalationPolicy
from apps.rides.models import Assignment, Ride
from apps.rides.services import assignment, offers
from apps.rides.services.eligibility_checks import AssignmentRejected
from lib.access import Principal, system
from tests import factories
from tests.fleet.crew import fit_pair
from tests.rides.looks import MINUTE, NOW, fresh, released, standing, tick

pytestmark = pytest.mark.django_db


def _driver(**columns: Any) -> Driver:
    return fit_pair(**({"employment": "contractor"} | columns))[0]


def _wish(ride: Ride, *drivers: Driver) -> Ride:
    ride.rider.preferred_driver_ids = [driver.pk for driver in drivers]
    ride.rider.save()
    return ride


def _asked(ride: Ride) -> list[tuple[UUID, str, dt.datetime]]:
    rows = Assignment.objects.filter(ride=ride).order_by("offered_at", "driver_id")
    return [(row.driver_id, row.status, row.offered_at) for row in rows]


def test_preferred_drivers_are_asked_at_the_release_and_once() -> None:
    first, second = sorted((_driver(), _driver()), key=lambda one: one.pk)
    ride = _wish(released(), second, first)

    tick(NOW)
    tick(NOW + MINUTE)
    tick(NOW + 16 * MINUTE)

    assert _asked(ride) == [(first.pk, "offered", NOW), (second.pk, "offered", NOW)]
    row = Assignment.objects.filter(ride=ride).earliest("pk")
    assert (row.method, row.assigned_by, row.respond_by) == ("preferred_driver", "system", NOW + 15 * MINUTE)
    told = Event.objects.filter(subject_id=ride.pk, type="ride.driver_offered")
    assert {event.provider_id for event in told} == {first.provider_id, second.provider_id}
    assert fresh(ride).status == "scheduled"
    assert standing(ride)["unassigned_at_risk"] == "info", "the ladder goes on"


def test_drivers_whom_the_order_prefers_are_asked_too() -> None:
    driver, ride = _driver(), released()
    Ride.objects.filter(pk=ride.pk).update(preferred_driver_ids=[driver.pk])

    tick(NOW)

    assert [one[0] for one in _asked(ride)] == [driver.pk]


def test_who_accepts_has_the_ride_and_the_ladder_ends() -> None:
    driver = _driver()
    ride = _wish(released(), driver)
    tick(NOW)

    offers.accept(ride_id=ride.pk, by=system(), at=NOW + MINUTE)
    tick(NOW + 20 * MINUTE)

    assert fresh(ride).driver_id == driver.pk
    assert "unassigned_at_risk" not in standing(ride)
    assert len(_asked(ride)) == 1


def test_who_is_employed_gone_or_has_no_vehicle_is_not_asked() -> None:
    employed, suspended = _driver(employment="employee"), _driver(activation="suspended", activation_reason="Off")
    on_foot = _driver()
    on_foot.default_vehicle = None
    on_foot.save()
    left = _driver()
    left.provider.active = False
    left.provider.save()
    ride = _wish(released(), employed, suspended, on_foot, left)

    tick(NOW)

    assert _asked(ride) == []
    assert standing(ride) == {}


def test_driver_with_conflict_gets_offer_once_it_is_gone() -> None:
    driver = _driver()
    ride = _wish(released(), driver)
    Driver.objects.filter(pk=driver.pk).update(excluded_rider_ids=[ride.rider_id])
    tick(NOW)
    before = _asked(ride)
    Driver.objects.filter(pk=driver.pk).update(excluded_rider_ids=[])

    tick(NOW + 15 * MINUTE)

    assert before == []
    assert _asked(ride) == [(driver.pk, "offered", NOW + 15 * MINUTE)]


def test_facility_steps_apply_and_firm_discharges_offer_early() -> None:
    driver = _driver()
    later = _wish(released(), driver)
    assert later.facility is not None
    later.facility.escalation_policy = EscalationPolicy.objects.create(name="Slow", step_minutes=[10, 20, 30, 40, 50])
    later.facility.save()
    discharge = {"service_type": "hospital_discharge", "discharge": {"unit": "4 West"}}
    firm = _wish(factories.RideFactory.create(pickup_at=NOW + 90 * MINUTE, **discharge), _driver())

    for minutes in (0, 9, 10, 29, 30):
        tick(NOW + minutes * MINUTE)

    assert [at for *_, at in _asked(later)] == [NOW + 10 * MINUTE]
    assert [at for *_, at in _asked(firm)] == [NOW + 30 * MINUTE]


def test_rides_off_the_ladder_are_not_offered() -> None:
    waiting = _wish(released(will_call=True), _driver())
    Ride.objects.filter(pk=waiting.pk).update(ready_at=None, ready_source="", promised_pickup_by=None)
    ordinary = _wish(factories.RideFactory.create(pickup_at=NOW + 10 * MINUTE), _driver())

    tick(NOW)

    assert _asked(waiting) == _asked(ordinary) == []


def test_a_retracted_release_that_is_given_again_asks_again() -> None:
    driver = _driver()
    ride = _wish(released(), driver)
    tick(NOW)
    again = NOW + 40 * MINUTE
    Assignment.objects.filter(ride=ride).update(status="expired", ended_at=NOW + 15 * MINUTE, end_reason="expired")
    Ride.objects.filter(pk=ride.pk).update(ready_at=again, promised_pickup_by=again + 60 * MINUTE, next_check_at=again)

    tick(again)

    assert [at for *_, at in _asked(ride)] == [NOW, again]


def test_who_was_given_another_ride_in_between_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = _driver()
    ride = _wish(released(), driver)

    def taken(**_: Any) -> None:
        raise AssignmentRejected(found)

    busy, vehicle = factories.RideFactory.create(), factories.VehicleFactory.create()
    with pytest.raises(AssignmentRejected) as refusal:
        assignment.assign(ride_id=busy.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=system(), at=NOW)
    found = refusal.value.violations
    monkeypatch.setattr(assignment, "assign", taken)

    assert offers.offer_to_preferred_drivers(ride.pk, since=NOW, by=system(), at=NOW) == 0


def test_ride_that_has_a_driver_by_then_is_not_offered(dispatcher: Principal) -> None:
    driver = _driver()
    ride = _wish(released(), driver)
    factories.put_driver_on(ride)

    assert offers.offer_to_preferred_drivers(ride.pk, since=NOW, by=system(), at=NOW) == 0


def test_an_offer_that_fails_stops_neither_the_ladder_nor_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rides = [_wish(released(), _driver()) for _ in range(2)]
    whole = offers.offer_to_preferred_drivers

    def broken(ride_id: UUID, **told: Any) -> int:
        if ride_id == rides[0].pk:
            raise RuntimeError
        return whole(ride_id, **told)

    monkeypatch.setattr(offers, "offer_to_preferred_drivers", broken)
    tick(NOW)
    tick(NOW + 15 * MINUTE)

    assert [len(_asked(ride)) for ride in rides] == [0, 1]
    assert "ride not offered" in caplog.text
    assert all(standing(ride)["unassigned_at_risk"] == "info" for ride in rides)
