"""Order and reasons of candidates, over plain facts: no database."""

import datetime as dt
from dataclasses import replace

import pytest

from apps.rides.rules.driver_timeline import (
    UNKNOWN_LOCATION,
    Delay,
    DriverNow,
    Insertion,
    Location,
    LocationSource,
    RemainingRide,
    insert,
)
from apps.rides.rules.facts import Span
from apps.rides.rules.ranking import Prospect, order, reasons
from tests.factories import NOW
from tests.rides.slots import HERE, MINUTE, THERE, slot
from tests.rides.test_eligibility import RIDE, needs, vehicle

ZONE = "America/Chicago"


def _insertion(driver: DriverNow) -> Insertion:
    return insert(needs(slot=slot(60, 90)).slot, driver, at=NOW)


def _first(driver: DriverNow) -> str:
    ride = needs(slot=slot(60, 90))
    return str(reasons(Prospect(insert(ride.slot, driver, at=NOW), None), ride, zone=ZONE, at=NOW)[0].message)


@pytest.mark.parametrize(
    ("driver", "text"),
    [
        (DriverNow(UNKNOWN_LOCATION), "Location not known, so that no arrival is predicted"),
        (DriverNow(Location(THERE, LocationSource.POSITION)), "Free now, 23 min away (reported position)"),
        (DriverNow(Location(THERE, LocationSource.LAST_STOP)), "Free now, 23 min away"),
        (
            DriverNow(
                Location(THERE, LocationSource.HOME_BASE, "Yard"),
                duty=(Span(NOW + 10 * MINUTE, NOW + 300 * MINUTE),),
            ),
            "Free from 09:10 at Yard, then 23 min away",
        ),
        (
            DriverNow(Location(HERE, LocationSource.POSITION), (RemainingRide(one := slot(0, 30), one.span),)),
            "Free from 09:30, then 0 min away",
        ),
    ],
)
def test_first_reason_says_when_and_where_the_driver_is_free(driver: DriverNow, text: str) -> None:
    assert _first(driver) == text


def test_order_puts_promises_of_life_sustaining_rides_first() -> None:
    ride = needs()
    plain = _insertion(DriverNow(Location(HERE, LocationSource.POSITION)))
    unknown = _insertion(DriverNow(UNKNOWN_LOCATION))
    dialysis = replace(plain, delays=(Delay(RIDE, 5, breaks_promise=True, life_sustaining=True),))
    routine = replace(plain, delays=(Delay(RIDE, 5, breaks_promise=True), Delay(RIDE, 5, breaks_promise=True)))
    late = replace(plain, late_minutes=20)
    far = replace(plain, added_drive_minutes=plain.added_drive_minutes + 40)

    ranked = sorted((unknown, dialysis, routine, late, far, plain), key=lambda row: order(Prospect(row, None), ride))

    assert ranked == [plain, far, late, routine, dialysis, unknown]


def test_order_prefers_a_vehicle_of_the_size_and_a_known_driver() -> None:
    ride = needs()
    plain = _insertion(DriverNow(Location(HERE, LocationSource.POSITION)))
    van, known, preferred = (
        Prospect(plain, vehicle()),
        Prospect(plain, None, shared_rides=3),
        Prospect(plain, None, preferred=True),
    )

    ranked = sorted((van, Prospect(plain, None), known, preferred), key=lambda row: order(row, ride))

    assert ranked == [preferred, known, Prospect(plain, None), van]


def test_consequences_are_late_arrival_and_broken_promises() -> None:
    ride = needs(slot=slot(60, 90))
    plain = _insertion(DriverNow(Location(HERE, LocationSource.POSITION)))
    bad = replace(plain, late_minutes=12, delays=(Delay(None, 5, breaks_promise=True),))

    found = reasons(Prospect(bad, None), ride, zone=ZONE, at=NOW)

    assert [str(reason.message) for reason in found[1:]] == ["Predicted 12 min late", "Makes 1 other pickup late"]
    assert dt.datetime.fromisoformat(str(found[0].parameters["until"])) == NOW
