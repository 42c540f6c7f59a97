"""A changed ride looks at its driver and vehicle again: what opens, and how bad it is."""

import datetime as dt
from typing import Any

import pytest

from apps.fleet.models import Credential, Driver, Vehicle
from apps.rides.models import Ride, RideException
from apps.rides.services import amending
from lib.access import Principal
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "change", "violation"),
    [
        (Driver, {"activation": "inactive"}, "DRIVER_INACTIVE"),
        (Vehicle, {"status": "maintenance"}, "VEHICLE_OUT_OF_SERVICE"),
        (Credential, {"expires_on": dt.date(2026, 11, 20)}, "CREDENTIAL_INVALID"),
    ],
    ids=["driver", "vehicle", "papers"],
)
@pytest.mark.parametrize(("days", "severity"), [(1, "warning"), (0, "critical")])
def test_crew_that_may_not_be_on_the_road_is_no_question_of_the_riders_needs(
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
    amending.amend(ride_id=ride.pk, changes={"pickup_at": pickup_at}, by=by, at=factories.NOW)
