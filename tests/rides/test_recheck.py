"""A changed ride checks its driver and vehicle again: opened exceptions and their severity."""

import datetime as dt
from typing import Any

import pytest

from apps.events.models import Event
from apps.fleet.models import Credential, Driver, Vehicle
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import editing, exceptions
from lib.access import Principal, system
from tests import factories
from tests.rides.looks import SECOND, fresh, standing, tick
from tests.rides.rides_in import ride_in
from tests.rides.traces import everything

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "change", "violation"),
    [
        (Driver, {"activation": "inactive"}, "DRIVER_INACTIVE"),
        (Vehicle, {"status": "maintenance"}, "VEHICLE_OUT_OF_SERVICE"),
        (Credential, {"expires_on": dt.date(2026, 11, 20)}, "CREDENTIAL_INVALID"),
    ],
    ids=["driver", "vehicle", "credentials"],
)
@pytest.mark.parametrize(("days", "severity"), [(1, "warning"), (0, "critical")])
def test_driver_not_allowed_on_road_is_credential_lapse(
    model: Any, change: dict[str, Any], violation: str, days: int, severity: str, dispatcher: Principal
) -> None:
    ride = factories.RideFactory.create(companions={})
    factories.put_driver_on(ride)
    model.objects.update(**change)
    if model is Credential and days == 0:
        Credential.objects.update(expires_on=dt.date(2026, 11, 19))

    move(ride, dt.timedelta(days=days, hours=1), dispatcher)

    opened = RideException.objects.get()
    assert (opened.type, opened.severity) == ("credential_lapse", severity)
    assert violation in opened.details["violations"]


def test_lapse_is_settled_when_the_ride_moves_back_before_it(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(companions={})
    factories.put_driver_on(ride)
    Credential.objects.update(expires_on=dt.date(2026, 11, 20))

    move(ride, dt.timedelta(days=1), dispatcher)
    move(ride, -dt.timedelta(days=1), dispatcher)

    assert RideException.objects.get().status == "resolved"
    assert Ride.objects.get().open_exception_count == 0


def move(ride: Ride, by_how_much: dt.timedelta, by: Principal) -> None:
    pickup_at = Ride.objects.get(pk=ride.pk).pickup_at + by_how_much
    editing.edit(ride_id=ride.pk, changes={"pickup_at": pickup_at}, by=by, at=factories.NOW)


def test_a_lapse_turns_critical_when_the_day_comes(dispatcher: Principal) -> None:
    ride = _lapsed(dispatcher)
    midnight = dt.datetime(2026, 11, 22, 6, tzinfo=dt.UTC)  # in Chicago, of the day of the ride

    tick(factories.NOW)
    assert (fresh(ride).next_check_at or midnight) <= midnight
    tick(midnight - SECOND)
    before = standing(ride)
    tick(midnight)
    after = everything()
    tick(midnight + SECOND)

    assert before["credential_lapse"] == "warning"
    assert standing(ride)["credential_lapse"] == "critical"
    assert fresh(ride).max_exception_severity == "critical"
    assert Event.objects.filter(type="ride.exception", occurred_at=midnight).exists()
    assert everything() == after


def test_a_lapse_that_is_seen_to_in_time_stays_as_it_was(dispatcher: Principal) -> None:
    ride = _lapsed(dispatcher)

    move(ride, -dt.timedelta(days=2), dispatcher)
    tick(dt.datetime(2026, 11, 22, 6, tzinfo=dt.UTC))

    exception = RideException.objects.get(type="credential_lapse")
    assert (exception.status, exception.severity) == ("resolved", "warning")


def test_a_lapse_of_a_ride_that_has_ended_expires_and_escalates_never() -> None:
    ride = ride_in(RideStatus.CANCELLED)
    exceptions.open_exception(
        ride, ExceptionType.CREDENTIAL_LAPSE, by=system(), at=factories.NOW, detected_by="dispatcher"
    )

    tick(factories.NOW + dt.timedelta(days=3))

    lapse = RideException.objects.get(ride=ride, type="credential_lapse")
    assert (lapse.severity, lapse.resolution_code) == ("warning", "expired")


def _lapsed(by: Principal) -> Ride:
    """A ride in two days whose driver's credentials expire before, as its amendment detected."""
    ride: Ride = factories.RideFactory.create(companions={})
    factories.put_driver_on(ride)
    Credential.objects.update(expires_on=dt.date(2026, 11, 20))
    move(ride, dt.timedelta(days=2), by)
    return ride
