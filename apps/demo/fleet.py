"""Drivers and vehicles of two providers, who drives which vehicle and when."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from apps.demo import names
from apps.demo.dice import DAY, HOUR, MINUTE, Dice, wall
from apps.demo.geography import Spot
from apps.demo.places import Places, Provider, phone
from apps.fleet.models import CapacityConfig, Driver, Leave, Shift, Vehicle
from lib.db.bulk_copy import Row, copy_rows

# Per provider: vehicles of each type; the last wheelchair van of the first provider is in the workshop.
VEHICLES: Final = (
    {"sedan": 7, "minivan": 6, "stretcher_van": 2, "wheelchair_van": 15},
    {"sedan": 4, "minivan": 4, "stretcher_van": 2, "wheelchair_van": 14},
)
# Per provider: further drivers without a vehicle, by role or status.
OTHERS: Final = (("attendant", "attendant", "pending"), ("attendant", "inactive"))
SUSPENDED_DAYS_AGO: Final = 3  # the last driver of the second provider, when the license expired

# Name of the configuration -> seats, wheelchairs, stretchers.
CONFIGS: Final = {
    "sedan": (("seats", 3, 0, 0),),
    "minivan": (("seats", 5, 0, 0),),
    "wheelchair_van": (("two chairs", 2, 2, 0), ("one chair", 4, 1, 0)),
    "stretcher_van": (("stretcher", 1, 0, 1), ("two chairs", 1, 2, 0)),
}
_MODELS: Final = {
    "sedan": ("Toyota", "Camry"),
    "minivan": ("Chrysler", "Voyager"),
    "wheelchair_van": ("Ford", "Transit 350"),
    "stretcher_van": ("Ram", "ProMaster 2500"),
}
# Start of duties in local minutes after midnight; a duty lasts eleven hours, a night duty eight.
_STARTS: Final = (285,) * 11 + (360,) * 10 + (435,) * 9 + (540,) * 6 + (660,) * 9
_NIGHT: Final = 21 * 60


@dataclass(slots=True)
class Van:
    id: str
    provider: int
    type: str
    plate: str
    configs: tuple[tuple[str, int, int, int], ...]
    max_chair_in: float
    lift_lb: int
    in_service: bool = True


@dataclass(slots=True)
class DemoDriver:
    """A generated driver; its rows are written once."""

    id: str
    provider: int
    name: str
    part: str  # driving, attendant, pending, inactive, suspended
    female: bool
    license: str
    van: Van | None = None
    qualifications: frozenset[str] = frozenset()
    start: int = 480
    away: frozenset[dt.date] = frozenset()
    last_day: dt.date | None = None  # last day with valid credentials


@dataclass(slots=True)
class DemoDuty:
    """A driver, a vehicle and a part of a day; `free_at`, `planned_free_at` and `at` advance as rides are assigned.

    `free_at` is when the driver has really finished, `planned_free_at` is when planners expect it.
    """

    id: str
    driver: DemoDriver
    van: Van
    starts: int
    ends: int
    at: Spot
    free_at: int
    planned_free_at: int
    attendant: DemoDriver | None = None
    rides: int = 0


@dataclass(slots=True)
class Fleet:
    providers: list[Provider]
    drivers: list[DemoDriver]
    vans: list[Van]
    duties: dict[dt.date, list[DemoDuty]] = field(default_factory=dict)


def make(seed: int, start: int, days: list[dt.date], today: dt.date, places: Places) -> Fleet:
    """Create drivers, vehicles and leave; credentials and duties follow later."""
    fleet = Fleet(places.providers, [], [])
    vehicle_rows: list[Row] = []
    for provider, counts in enumerate(VEHICLES):
        for type_, count in counts.items():
            for _ in range(count):
                fleet.vans.append(_van(seed, start, provider, type_, len(fleet.vans), places, vehicle_rows))
    in_workshop = sum(VEHICLES[0].values()) - 1
    fleet.vans[in_workshop].in_service = False
    vehicle_rows[in_workshop] = {**vehicle_rows[in_workshop], "status": "maintenance"}
    driver_rows = _drivers(seed, start, days, today, fleet)
    copy_rows(Vehicle, vehicle_rows)
    copy_rows(
        CapacityConfig,
        [
            {"id": Dice(seed, "config", van.id, name).id_at(start), "vehicle_id": van.id, "name": name,
             "ambulatory": seats, "wheelchair": chairs, "stretcher": stretchers}
            for van in fleet.vans
            for name, seats, chairs, stretchers in van.configs
        ],
    )  # fmt: skip
    copy_rows(Driver, driver_rows)
    copy_rows(Leave, _leave(seed, fleet))
    return fleet


def plan_duties(seed: int, days: list[dt.date], fleet: Fleet) -> None:
    """Plan the duties; requires that the drivers' last days with valid credentials are set."""
    for day in days:
        fleet.duties[day] = _duties(seed, day, fleet)


def write_shifts(seed: int, now: int, later: list[dt.date], fleet: Fleet) -> int:
    """Create shifts for the duties, and on later days without simulated rides.

    Attendants get none, because a vehicle has one shift at a time.
    """
    days = [*fleet.duties.values(), *(_duties(seed, day, fleet, planned_by=now) for day in later)]
    return copy_rows(
        Shift,
        [
            {
                "id": duty.id,
                "provider_id": fleet.providers[duty.driver.provider].id,
                "driver_id": duty.driver.id,
                "vehicle_id": duty.van.id,
                "starts_at": duty.starts,
                "ends_at": duty.ends,
                "created_at": min(duty.starts - 9 * DAY, now),
                "updated_at": min(duty.starts - 9 * DAY, now),
            }
            for duties in days
            for duty in duties
        ],
    )


def _van(seed: int, start: int, provider: int, type_: str, number: int, places: Places, rows: list[Row]) -> Van:
    dice = Dice(seed, "van", number)
    ramp = type_ in ("wheelchair_van", "stretcher_van")
    roomy = type_ == "stretcher_van"
    van = Van(
        id=dice.id_at(start),
        provider=provider,
        type=type_,
        plate=f"{dice.randrange(100, 999)} {dice.choice('BCDFGHJK')}{dice.choice('LMNPRST')}V",
        configs=CONFIGS[type_],
        max_chair_in=40.0 if roomy else 34.0 if ramp else 0.0,
        lift_lb=1000 if roomy else 800 if ramp else 0,
    )
    make_, model = _MODELS[type_]
    rows.append(
        {
            "id": van.id,
            "provider_id": places.providers[provider].id,
            "unit_number": f"{'LP'[provider]}{101 + number}",
            "make": make_,
            "model": model,
            "year": dice.randrange(2017, 2026),
            "color": dice.choice(("white", "white", "silver", "blue")),
            "license_plate": van.plate,
            "plate_state": "IL",
            "type": type_,
            "lift_type": "lift" if ramp else "none",
            "lift_rating_lb": van.lift_lb or None,
            "max_chair_width_in": van.max_chair_in or None,
            "oxygen_mount": ramp,
            "bariatric": roomy,
            "stair_chair": roomy,
            "odometer_miles": dice.randrange(9_000, 165_000),
            "home_base_id": places.providers[provider].base_id,
            "status": "in_service",
            "created_at": start - 300 * DAY,
            "updated_at": start - 30 * DAY,
        }
    )
    return van


def _drivers(seed: int, start: int, days: list[dt.date], today: dt.date, fleet: Fleet) -> list[Row]:
    rows = []
    starts = [*_STARTS]
    for provider, other_parts in enumerate(OTHERS):
        vans = [van for van in fleet.vans if van.provider == provider and van.in_service]
        for part, van in [*(("driving", van) for van in vans), *((part, None) for part in other_parts)]:
            dice = Dice(seed, "driver", len(fleet.drivers))
            driver = _driver(dice, start, provider, part, van)
            if van is not None:
                # Stretcher vans run by day with a second person; their drivers start at 6:00 and at 9:00.
                if van.type == "stretcher_van":
                    driver.start = 360 if len(fleet.drivers) % 2 else 540
                elif van in vans[-4:-2]:
                    driver.start = _NIGHT
                else:
                    driver.start = starts.pop(dice.randrange(len(starts)))
                driver.away = _days_off(dice, days)
            fleet.drivers.append(driver)
            rows.append(_driver_row(dice, driver, fleet, start, today))
    return rows


def _driver(dice: Dice, start: int, provider: int, part: str, van: Van | None) -> DemoDriver:
    female = dice.hit(0.3)
    qualifications = ["passenger_assist", "oxygen"]
    if van is None or van.type in ("wheelchair_van", "stretcher_van"):
        qualifications.append("wheelchair_securement")
    if part == "attendant" or (van is not None and van.type == "stretcher_van"):
        qualifications += ["stretcher", "bariatric"]
    return DemoDriver(
        id=dice.id_at(start),
        provider=provider,
        name=f"{dice.choice(names.FEMALE if female else names.MALE)} {dice.choice(names.FAMILY)}",
        part=part,
        female=female,
        license=f"{dice.choice('BCDGHKLMPRSW')}{dice.randrange(10**10, 10**11)}",
        van=van,
        qualifications=frozenset(qualifications),
    )


def _days_off(dice: Dice, days: list[dt.date]) -> frozenset[dt.date]:
    """Return the days of leave: about every tenth driver has some inside the period."""
    if not dice.hit(0.1):
        return frozenset()
    first = dice.choice(days)
    return frozenset(first + dt.timedelta(days=count) for count in range(dice.randrange(2, 6)))


def _driver_row(dice: Dice, driver: DemoDriver, fleet: Fleet, start: int, today: dt.date) -> Row:
    if driver.van is not None and driver.van is fleet.vans[-1]:
        driver.part = "suspended"
        driver.last_day = today - dt.timedelta(days=SUSPENDED_DAYS_AGO)
    activation = driver.part if driver.part in ("pending", "inactive", "suspended") else "active"
    reasons = {"suspended": "Driver license expired", "inactive": "Left the company", "pending": ""}
    changed = wall(today - dt.timedelta(days=SUSPENDED_DAYS_AGO - 1), 330) if activation == "suspended" else start
    encrypted = Driver(id=UUID(driver.id))
    encrypted.license_number = driver.license
    first, last = driver.name.split(" ", 1)
    return {
        "id": driver.id,
        "provider_id": fleet.providers[driver.provider].id,
        "first_name": first,
        "last_name": last,
        "phone": phone(dice.randrange(100)),
        "employment": dice.choices(("employee", "contractor"), (85, 15))[0],
        "activation": activation,
        "activation_reason": reasons.get(activation, ""),
        "activation_changed_at": changed,
        "activation_changed_by": "system",
        "home_base_id": fleet.providers[driver.provider].base_id,
        "languages": ["en", *dice.choices(([], ["es"], ["pl"]), (60, 28, 12))[0]],
        "gender": "female" if driver.female else "male",
        "license_number_encrypted": encrypted.license_number_encrypted,
        "license_state": "IL",
        "license_class": "D",
        "qualifications": sorted(driver.qualifications),
        "default_vehicle_id": driver.van.id if driver.van else None,
        "created_at": start - dice.randrange(60, 900) * DAY,
        "updated_at": changed,
    }


def _leave(seed: int, fleet: Fleet) -> list[Row]:
    return [
        {
            "id": Dice(seed, "leave", driver.id).id_at(wall(min(driver.away), 0)),
            "driver_id": driver.id,
            "starts_at": wall(min(driver.away), 0),
            "ends_at": wall(max(driver.away), 1440),
            "reason": "Vacation",
        }
        for driver in fleet.drivers
        if driver.away
    ]


def _duties(seed: int, day: dt.date, fleet: Fleet, planned_by: int | None = None) -> list[DemoDuty]:
    """Plan a day nine days ahead, or before the second `planned_by`."""
    week = day.toordinal() // 7
    attendants = [driver for driver in fleet.drivers if driver.part == "attendant"]
    duties = []
    for number, driver in enumerate(fleet.drivers):
        if driver.van is None or not _works(number, driver, day, week):
            continue
        starts = wall(day, driver.start)
        ends = starts + (8 if driver.start == _NIGHT else 11) * HOUR
        duty = DemoDuty(
            id=Dice(seed, "duty", driver.id, day).id_at(min(starts - 9 * DAY, planned_by or starts)),
            driver=driver,
            van=driver.van,
            starts=starts,
            ends=ends,
            at=fleet.providers[driver.provider].base,
            free_at=starts + 5 * MINUTE,
            planned_free_at=starts + 5 * MINUTE,
        )
        if driver.van.type == "stretcher_van":
            free_attendants = [attendant for attendant in attendants if attendant.provider == driver.provider]
            duty.attendant = free_attendants.pop(0) if free_attendants else None
            attendants = [attendant for attendant in attendants if attendant is not duty.attendant]
        duties.append(duty)
    return duties


def _works(number: int, driver: DemoDriver, day: dt.date, week: int) -> bool:
    """True on all weekdays, two of three Saturdays and one of four Sundays; crews and night drivers always work."""
    if day in driver.away or (driver.last_day is not None and day > driver.last_day):
        return False
    if day.weekday() < 5 or driver.start == _NIGHT:
        return True
    crew = driver.van is not None and driver.van.type == "stretcher_van"
    if day.weekday() == 5:
        return crew or (number + week) % 3 > 0
    return (number + week) % (2 if crew else 4) == 0
