"""Credentials of drivers and vehicles, in every status."""

import datetime as dt
from typing import Any, Final

from apps.demo.dice import DAY, Dice, wall
from apps.demo.fleet import DemoDriver, Fleet
from apps.fleet.models import Credential
from lib.db.bulk_copy import Row, copy_rows

# Credentials of drivers: months of validity, and whether their expiry blocks the driver.
_DRIVER_CREDENTIALS: Final = {
    "driver_license": (48, True),
    "background_check": (24, True),
    "mvr": (12, True),
    "drug_screen": (12, False),
    "cpr_first_aid": (24, False),
    "passenger_assistance": (36, False),
    "hipaa_training": (12, False),
    "securement_training": (24, False),
}
_UNVERIFIED: Final = {"verified_at": None, "verified_by": ""}
_VEHICLE_CREDENTIALS: Final = {"registration": 12, "insurance": 12, "inspection": 12}


def make(seed: int, start: int, days: list[dt.date], today: dt.date, fleet: Fleet) -> int:
    """Create credentials: most valid, some that expire within 5, 20 and 45 days, some expired or missing.

    An expired credential that a driver needs also ends their duties; exclusion checks are monthly, older ones replaced.
    """
    rows: list[Row] = []
    for number, driver in enumerate(fleet.drivers):
        rows += _credentials_of_driver(Dice(seed, "papers", number), start, days, today, number, driver)
    for number, van in enumerate(fleet.vans):
        dice = Dice(seed, "vehicle papers", number)
        for type_, months in _VEHICLE_CREDENTIALS.items():
            day = today + dt.timedelta(days=dice.randrange(70, months * 30 - 40))
            if type_ == "inspection" and number in (5, 19):
                day = today + dt.timedelta(days=18 if van.in_service else -4)
            rows.append(
                _credential(dice, start, type_, day - dt.timedelta(days=months * 30), day, True, vehicle_id=van.id)
            )
    return copy_rows(Credential, rows)


def _credentials_of_driver(
    dice: Dice, start: int, days: list[dt.date], today: dt.date, number: int, driver: DemoDriver
) -> list[Row]:
    ends = _expiration_dates(dice, today, number, driver)
    rows: list[Row] = []
    for type_, day in ends.items():
        months, blocking = _DRIVER_CREDENTIALS[type_]
        row = _credential(dice, start, type_, day - dt.timedelta(days=months * 30), day, blocking, driver_id=driver.id)
        if driver.part == "pending" and type_ == "background_check":
            row |= {"rejected": True, **_UNVERIFIED}
        if number == 12 and type_ == "cpr_first_aid":
            row |= _UNVERIFIED
        rows.append(row)
    return rows + _exclusion_checks(dice, start, days, today, driver)


def _expiration_dates(dice: Dice, today: dt.date, number: int, driver: DemoDriver) -> dict[str, dt.date]:
    """Return the last day of each type of credential that the driver has."""
    ends = {
        type_: today + dt.timedelta(days=dice.randrange(60, months * 30 - 40))
        for type_, (months, _) in _DRIVER_CREDENTIALS.items()
    }
    if number == 3:
        ends["driver_license"] = driver.last_day = today + dt.timedelta(days=5)
    if number == 8:
        ends["mvr"] = today + dt.timedelta(days=20)
    if number == 12:
        ends["cpr_first_aid"] = today + dt.timedelta(days=45)
    if number == 15:
        ends["cpr_first_aid"] = today - dt.timedelta(days=9)
    if driver.part == "suspended" and driver.last_day is not None:
        ends["driver_license"] = driver.last_day
    if driver.part == "inactive":
        ends["mvr"] = today - dt.timedelta(days=70)
    if driver.part == "pending":
        del ends["mvr"]
    return ends


def _exclusion_checks(dice: Dice, start: int, days: list[dt.date], today: dt.date, driver: DemoDriver) -> list[Row]:
    rows: list[Row] = []
    until = today + dt.timedelta(days=dice.randrange(12, 30))
    current = True
    while until >= days[0]:
        issued = until - dt.timedelta(days=31)
        rows.append(
            _credential(dice, start, "exclusion_check_oig", issued, until, True, driver_id=driver.id)
            | {"replaced": not current, "warn_days": 7}
        )
        until, current = issued, False
    return rows


def _credential(
    dice: Dice, start: int, type_: str, issued: dt.date, until: dt.date, blocking: bool, **subject: str
) -> dict[str, Any]:
    return {
        "id": dice.id_at(start),
        "driver_id": None,
        "vehicle_id": None,
        **subject,
        "type": type_,
        "number": f"D{dice.randrange(10**6, 10**7)}",
        "issuer": "Demo registry",
        "issued_on": issued,
        "expires_on": until,
        "verified_at": wall(issued, 600) + 2 * DAY,
        "verified_by": "system",
        "rejected": False,
        "blocking": blocking,
        "warn_days": 30,
        "replaced": False,
        "created_at": wall(issued, 600) + DAY,
    }
