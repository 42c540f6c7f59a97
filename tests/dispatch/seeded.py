"""A day of a medium-sized operator: 1,500 rides, 80 drivers, 600 riders; written in bulk, in under two seconds."""

import datetime as dt
import random
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.dispatch.rules.axis import Axis
from apps.fleet.models import CapacityConfig, Driver, Shift, Vehicle
from apps.organizations.models import Facility, TransportProvider
from apps.riders.models import Rider
from apps.riders.rules.accommodation import complete
from apps.rides.models import Assignment, Ride
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7
from tests import factories

ZONE = "America/Chicago"
RESERVE = 3
BEFORE, WINDOW = dt.timedelta(days=3), dt.timedelta(minutes=15)
KINDS = (["ambulatory"] * 5) + (["wheelchair"] * 4) + ["stretcher"]
FIRST = ("Ada", "Ben", "Cleo", "Dev", "Ema", "Finn", "Grace", "Hugo", "Ines", "Jamal", "Kira", "Liam", "Mona", "Noor")
LAST = ("Alvarez", "Brooks", "Chen", "Diaz", "Evans", "Fischer", "Grant", "Hayes", "Ito", "Jones", "Khan", "Lopez")


NEEDS = {kind: complete({"mobility": kind}) for kind in KINDS}
HOSPITAL = factories.stop(name="Riverbend General Hospital")
Crew = tuple[Driver, Vehicle]


@dataclass(frozen=True)
class SeededDay:
    """The seeded day, and its unassigned rides in the order of their pickups."""

    date: dt.date
    drivers: list[Driver]
    waiting: list[Ride]
    will_calls: list[Ride]


def seed(date: dt.date, *, rides: int = 1500, drivers: int = 80, riders: int = 600) -> SeededDay:
    """Write a day: one ride in 32 is unassigned, one in 125 is an unreleased will-call, and all others have a driver.

    The first three drivers have no rides and all credentials.
    """
    dice = random.Random(20261120)
    axis = Axis(date, ZONE)
    facility = factories.FacilityFactory.create(name="Riverbend General Hospital")
    crews = _crews(drivers, axis, dice)
    known: list[dict[str, Any]] = [
        {
            "id": uuid7(),
            "first_name": dice.choice(FIRST),
            "last_name": dice.choice(LAST),
            "created_at": axis.starts_at,
            "updated_at": axis.starts_at,
        }
        for _ in range(riders)
    ]
    copy_rows(Rider, known)
    made = []
    for number in range(rides):
        crew = crews[RESERVE + number % (drivers - RESERVE)]
        begins = axis.starts_at + dt.timedelta(minutes=60 + number // (drivers - RESERVE) * 46 + dice.randrange(0, 20))
        made.append(_ride(number, begins, dice.choice(known)["id"], facility, crew, dice))
    copy_rows(Ride, made)
    copy_rows(Assignment, [_accepted(ride) for ride in made if "driver_id" in ride])
    waiting = Ride.objects.filter(driver=None).order_by("pickup_at", "pk")
    return SeededDay(
        date,
        [driver for driver, _ in crews],
        list(waiting.filter(will_call=False)),
        list(waiting.filter(will_call=True)),
    )


def _crews(count: int, axis: Axis, dice: random.Random) -> list[Crew]:
    provider = factories.TransportProviderFactory.create()
    vehicles = Vehicle.objects.bulk_create(_vehicle(number, provider) for number in range(count))
    CapacityConfig.objects.bulk_create(
        CapacityConfig(vehicle=vehicle, name="standard", ambulatory=3, wheelchair=1) for vehicle in vehicles
    )
    people = Driver.objects.bulk_create(
        Driver(
            provider=provider,
            first_name=dice.choice(FIRST),
            last_name=dice.choice(LAST),
            phone="+13125550122",
            activation="active",
            qualifications=["wheelchair_securement"],
            default_vehicle=vehicle,
        )
        for vehicle in vehicles
    )
    Shift.objects.bulk_create(
        Shift(
            provider=provider,
            driver=driver,
            vehicle=vehicle,
            starts_at=axis.starts_at + dt.timedelta(minutes=30),
            ends_at=axis.starts_at + dt.timedelta(hours=17),
        )
        for driver, vehicle in zip(people, vehicles, strict=True)
    )
    for driver, vehicle in zip(people[:RESERVE], vehicles[:RESERVE], strict=True):
        factories.file_credentials(driver, vehicle)
    return list(zip(people, vehicles, strict=True))


def _vehicle(number: int, provider: TransportProvider) -> Vehicle:
    return Vehicle(
        provider=provider,
        unit_number=f"V{number:03}",
        license_plate=f"CL{number:05}",
        type="wheelchair_van",
        lift_type="lift",
        lift_rating_lb=800,
    )


def _ride(
    number: int, begins: dt.datetime, rider_id: UUID, facility: Facility, crew: Crew, dice: random.Random
) -> dict[str, Any]:
    driver, vehicle = crew
    will_call = number % 125 == 7
    waits = will_call or number % 32 == 3
    row: dict[str, Any] = {
        "id": uuid7(),
        "facility_id": facility.pk,
        "pickup_facility_id": facility.pk,
        "rider_id": rider_id,
        "status": "scheduled",
        "status_changed_at": begins - BEFORE,
        "pickup_at": begins,
        "window_starts_at": begins - WINDOW,
        "window_ends_at": begins + WINDOW,
        "timezone": ZONE,
        "service_date": begins.date(),
        "pickup": HOSPITAL,
        "dropoff": factories.stop(lat=41.85 + dice.random() / 10, lng=-87.72 + dice.random() / 10),
        "accommodation": NEEDS["ambulatory" if waits else dice.choice(KINDS)],
        "accommodation_version": 1,
        "spaces_ambulatory": 1,
        "estimated_minutes": dice.randrange(8, 26),
        "requested_at": begins - BEFORE,
        "scheduled_at": begins - BEFORE,
        "created_at": begins - BEFORE,
        "updated_at": begins - BEFORE,
        "version": 1,
    }
    if will_call:
        waiting = {"pickup_time_kind": "estimated", "will_call_expires_at": begins + dt.timedelta(hours=12)}
        return row | waiting | {"will_call": True}
    row["promised_pickup_by"] = begins + WINDOW
    if waits:
        return row
    crewed = {"driver_id": driver.pk, "vehicle_id": vehicle.pk, "provider_id": driver.provider_id}
    return row | crewed | {"status": "assigned", "assignment_id": uuid7()}


def _accepted(ride: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": ride["assignment_id"],
        "ride_id": ride["id"],
        "provider_id": ride["provider_id"],
        "driver_id": ride["driver_id"],
        "vehicle_id": ride["vehicle_id"],
        "status": Assignment.Status.ACCEPTED,
        "offered_at": ride["requested_at"],
        "responded_at": ride["requested_at"],
        "assigned_by": "system",
    }
