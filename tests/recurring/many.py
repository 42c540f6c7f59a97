"""Thousands of standing orders, as the service would write them: for `make bench`, and a test of their validity."""

import datetime as dt
from collections.abc import Iterator
from itertools import count as numbers
from typing import Any, Final
from zoneinfo import ZoneInfo

from apps.fleet.models import CapacityConfig, Vehicle
from apps.organizations import queries as organizations
from apps.organizations.models import Facility, Payer, TransportProvider
from apps.organizations.rules import stops
from apps.recurring.models import StandingOrder, Terms
from apps.recurring.services import create_order
from apps.riders.models import AccommodationProfile, Rider, RiderFacility
from apps.riders.rules.accommodation import columns, complete
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7

ORDERS_OF_ONE: Final = 150  # per center: two patterns, three shifts, 25 chairs
ZONES: Final = ("America/Chicago", "America/New_York", "America/Phoenix")
DAYS: Final = ((0, 2, 4), (1, 3, 5))
CHAIRS: Final = (dt.time(6, 15), dt.time(10, 45), dt.time(16, 45))
MOBILITIES: Final = ("ambulatory", "ambulatory_assist", "wheelchair", "wheelchair_transfer", "wheelchair_power")
WITH_CODE: Final = 10  # one address in this many has an access code, which every ride encrypts again
SCHEDULED_BACK: Final = 5  # one return leg in this many has a fixed time

Rows = list[dict[str, Any]]


def make(count: int, *, at: dt.datetime) -> None:
    """Write this many active orders, each for its own rider, three times a week from tomorrow on.  Needs a transaction.

    The first 28 days contain twelve dates of each: 24 legs.  No order has been reconciled yet.
    """
    Vehicle.objects.create(provider=_provider(), unit_number="V1", license_plate="CL1", type="wheelchair_van")
    CapacityConfig.objects.create(vehicle=Vehicle.objects.get(), name="standard", ambulatory=4, wheelchair=2)
    payer = Payer.objects.create(name="Prairie Health Plan", authorization_required=True)
    written: dict[type[Any], Rows] = {Rider: [], RiderFacility: [], AccommodationProfile: [], StandingOrder: []}
    terms: Rows = []
    for number, centre in zip(range(count), _centres(), strict=False):
        rider = uuid7()
        needs = complete({"mobility": MOBILITIES[number % len(MOBILITIES)], "assistLevel": "door_to_door"})
        home = _home(number)
        order = _order(number, centre, rider, payer, at)
        written[Rider].append(_rider(rider, number, home, at))
        written[RiderFacility].append({"id": uuid7(), "rider_id": rider, "facility_id": centre.pk})
        written[AccommodationProfile].append(_profile(rider, needs, at))
        written[StandingOrder].append(order)
        terms.append(_terms(number, centre, order, home, needs["mobility"]))
    for model, rows in written.items():
        copy_rows(model, rows)
    copy_rows(Terms, terms)


def _provider() -> TransportProvider:
    return TransportProvider.objects.create(name="Lakeshore Transit", timezone=ZONES[0])


def _centres() -> Iterator[Facility]:
    """Return the center of each order, one after the other."""
    for number in numbers():
        centre = Facility.objects.create(
            name=f"Lakeview Dialysis {number}",
            kind="dialysis",
            address_line1=f"{100 + number} W Monroe St",
            city="Chicago",
            state="IL",
            postal_code="60606",
            lat=f"{41.7 + number % 50 * 0.005:.6f}",
            lng="-87.700000",
            timezone=ZONES[number % len(ZONES)],
        )
        for _ in range(ORDERS_OF_ONE):
            yield centre


def _home(number: int) -> stops.Stop:
    return stops.normal(
        {
            "name": "Home",
            "addressLine1": f"{1000 + number % 7000} N Kedzie Ave",
            "city": "Chicago",
            "state": "IL",
            "postalCode": f"606{number % 60:02}",
            "lat": round(41.65 + number % 400 * 0.001, 6),
            "lng": round(-87.90 + number % 300 * 0.001, 6),
            "entranceText": "Side door on the alley",
            "instructions": "Ring twice and wait: she needs a minute to reach the door.",
            "contact": {"name": "Daughter", "phone": f"+1312555{number % 10000:04}", "role": "family"},
        }
    )


def _rider(rider: Any, number: int, home: stops.Stop, at: dt.datetime) -> dict[str, Any]:
    return {
        "id": rider,
        "first_name": "Orla",
        "last_name": f"Canarywell{number}",
        "phones": [{"number": f"+1312555{number % 10000:04}", "ext": "", "kind": "mobile"}],
        "home_address": home,
        "created_at": at,
        "updated_at": at,
    }


def _profile(rider: Any, needs: dict[str, Any], at: dt.datetime) -> dict[str, Any]:
    who = {"id": uuid7(), "rider_id": rider, "number": 1, "current": True, "recorded_at": at, "recorded_by": "system"}
    return {**who, **columns(needs)}


def _order(number: int, centre: Facility, rider: Any, payer: Payer, at: dt.datetime) -> dict[str, Any]:
    return {
        "id": uuid7(),
        "rider_id": rider,
        "facility_id": centre.pk,
        "timezone": centre.timezone,
        "start_date": at.astimezone(ZoneInfo(centre.timezone)).date() + dt.timedelta(days=1),
        "payer_id": payer.pk,
        "program_code": "MCD",
        "authorization_number": f"A{number:08}",
        "driver_notes": "Bring the folding chair.",
        "version": 1,
        "created_at": at,
        "updated_at": at,
    }


def _terms(number: int, centre: Facility, order: dict[str, Any], home: stops.Stop, mobility: str) -> dict[str, Any]:
    place = organizations.place_of(centre)
    chair = CHAIRS[number // 2 % 3]
    terms = Terms(
        standing_order_id=order["id"],
        from_date=order["start_date"],
        days_of_week=list(DAYS[number % 2]),
        anchor_date=order["start_date"],
        chair_time=chair,
        arrive_early_minutes=15,
        treatment_minutes=240,
        post_treatment_minutes=30,
        return_mode="scheduled" if number % SCHEDULED_BACK == 0 else "will_call",
        pickup=home,
        dropoff=stops.at_facility(stops.normal({"facilityId": str(centre.pk)}), place),
    )
    terms.lead_minutes = create_order.lead_minutes(centre, terms, mobility)
    if number % WITH_CODE == 0:
        terms.pickup_access = "4711"
    return {field.attname: getattr(terms, field.attname) for field in Terms._meta.concrete_fields}
