"""Participants: hospitals, dialysis centers, nursing facilities, clinics, transport providers, payers."""

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any, Final

from apps.demo.dice import DAY, ZONE, Dice
from apps.demo.geography import Spot, spot
from apps.organizations.models import (
    CalendarShift,
    Contact,
    Entrance,
    EscalationPolicy,
    ExternalId,
    Facility,
    HomeBase,
    Payer,
    TransportProvider,
)
from apps.organizations.rules.stops import normal
from lib.db.bulk_copy import copy_rows

# Kind, name, neighborhood, letter on claims, entrances.
FACILITIES: Final = (
    ("hospital", "St. Brigid Medical Center", "Near North", "H", ("Main lobby", "Patient tower", "Discharge lounge")),
    ("hospital", "Prairie Mercy Hospital", "Little Village", "H", ("Main lobby", "West pavilion")),
    ("hospital", "Calumet Grove Hospital", "Chatham", "H", ("Main lobby", "Ambulance court")),
    ("dialysis", "Lakefront Kidney Care", "Edgewater", "J", ("Front door",)),
    ("dialysis", "Westbrook Dialysis", "Austin", "J", ("Front door", "Side ramp")),
    ("dialysis", "Archer Dialysis Center", "Brighton Park", "J", ("Front door",)),
    ("dialysis", "South Prairie Dialysis", "Auburn Gresham", "J", ("Front door", "Rear ramp")),
    ("dialysis", "Logan Kidney Center", "Logan Square", "J", ("Front door",)),
    ("snf", "Willowmere Nursing and Rehab", "Uptown", "N", ("Main entrance",)),
    ("snf", "Oakshade Care Center", "Oak Park", "N", ("Main entrance", "Courtyard")),
    ("snf", "Maple Terrace Living", "Irving Park", "N", ("Main entrance",)),
    ("snf", "Harborview Nursing Home", "South Shore", "N", ("Main entrance",)),
    ("snf", "Bridgeport Manor", "Bridgeport", "N", ("Main entrance",)),
    ("snf", "Evergreen Pines Care", "Evergreen Park", "N", ("Main entrance",)),
    ("rehab", "Cornerstone Rehabilitation", "West Town", "D", ("Therapy entrance",)),
    ("rehab", "Southside Therapy Partners", "Englewood", "D", ("Therapy entrance",)),
    ("adult_day", "Sunflower Adult Day Center", "Belmont Cragin", "D", ("Front door",)),
    ("adult_day", "Golden Oak Day Program", "Bronzeville", "D", ("Front door",)),
    ("clinic", "Northwind Primary Care", "Rogers Park", "P", ("Front door",)),
    ("clinic", "Logan Heart and Vascular", "Logan Square", "P", ("Front door",)),
    ("clinic", "Lakeside Eye Institute", "Lakeview", "P", ("Front door",)),
    ("clinic", "Pilsen Community Clinic", "Pilsen", "P", ("Front door",)),
    ("clinic", "Prairie Cancer Center", "Little Village", "P", ("Front door", "Infusion suite")),
    ("clinic", "Hyde Park Orthopedics", "Hyde Park", "P", ("Front door",)),
    ("clinic", "Midway Wound Care", "Garfield Ridge", "P", ("Front door",)),
    ("clinic", "Chatham Family Medicine", "Chatham", "P", ("Front door",)),
)  # fmt: skip
PROVIDERS: Final = (
    ("Lakeshore Medical Transit", "Humboldt Park", "+13125550110"),
    ("Prairie Path Mobility", "Bridgeport", "+13125550120"),
)
# Name, stops with a signature, signers, odometer required, authorization required.
PAYERS: Final = (
    ("Illinois Prairie Medicaid (demo)", "both", "both", True, False),
    ("Lakeland Medicare Advantage (demo)", "dropoff", "any", False, True),
    ("Facility account", "none", "any", False, False),
)
_HOURS: Final = {
    "hospital": ("00:00", "23:59", "mon tue wed thu fri sat sun"),
    "snf": ("00:00", "23:59", "mon tue wed thu fri sat sun"),
    "dialysis": ("04:45", "22:00", "mon tue wed thu fri sat"),
    "adult_day": ("07:30", "17:30", "mon tue wed thu fri sat"),
    "rehab": ("07:00", "18:00", "mon tue wed thu fri sat"),
    "clinic": ("07:30", "18:00", "mon tue wed thu fri sat"),
}
_CONTACTS: Final = {
    "hospital": (
        ("charge_nurse", "Charge nurse"), ("social_work", "Care coordination"), ("after_hours", "House supervisor"),
    ),
    "dialysis": (("charge_nurse", "Treatment floor"), ("scheduling", "Front desk")),
    "snf": (("unit", "Nursing station"), ("scheduling", "Admissions")),
}  # fmt: skip


@dataclass(slots=True)
class DemoPlace:
    """A facility, as the rest of the demo uses it: position, entrances, and its stop as JSON text."""

    id: str
    kind: str
    name: str
    spot: Spot
    entrances: list[tuple[str, str]]  # id, name
    phone: str
    stop: dict[str, Any] = field(default_factory=dict)
    stop_json: str = ""

    def stop_with(self, details: dict[str, str]) -> str:
        """Return the stop as JSON text with a unit, a room or another entrance."""
        return json.dumps({**self.stop, **details})


@dataclass(slots=True)
class Provider:
    id: str
    name: str
    base_id: str
    base: Spot


@dataclass(slots=True)
class Places:
    facilities: list[DemoPlace]
    providers: list[Provider]
    payers: list[str]

    def of_kind(self, kind: str) -> list[DemoPlace]:
        return [place for place in self.facilities if place.kind == kind]


def phone(number: int) -> str:
    """Return one of the area's hundred numbers that are reserved for fiction (555-0100 to 555-0199)."""
    return f"+1312555{100 + number % 100:04}"


def make(seed: int, start: int) -> Places:
    """Create facilities with entrances and contacts, providers with bases, and payers, as of the instant `start`."""
    dice = Dice(seed, "places")
    policy = dice.id_at(start)
    copy_rows(EscalationPolicy, [{"id": policy, "name": "Discharge ladder", "step_minutes": [0, 15, 30, 45, 60]}])
    facilities = [_facility(dice, start, number, *facts, policy=policy) for number, facts in enumerate(FACILITIES)]
    copy_rows(Facility, [row for _, row in facilities])
    places = [place for place, _ in facilities]
    _entrances_and_contacts(dice, start, places)
    copy_rows(
        ExternalId,
        [
            {"id": dice.id_at(start), "subject_type": "facility", "subject_id": place.id, "system": "urn:demo:ehr",
             "value": f"LOC-{100 + number}", "type": "location"}
            for number, place in enumerate(places)
        ],
    )  # fmt: skip
    return Places(places, _providers(dice, start), _payers(dice, start))


def add_holiday(seed: int, places: Places, today: dt.date, start: int) -> None:
    """Move the Thanksgiving patients of one dialysis center to the day before, an hour earlier."""
    november = dt.date(today.year + (today > dt.date(today.year, 11, 28)), 11, 1)
    thanksgiving = november + dt.timedelta(days=(3 - november.weekday()) % 7 + 21)
    dice = Dice(seed, "holiday")
    copy_rows(
        CalendarShift,
        [
            {"id": dice.id_at(start), "facility_id": place.id, "from_date": thanksgiving,
             "to_date": thanksgiving - dt.timedelta(days=1), "offset_minutes": -60, "applies_to": "tts"}
            for place in places.of_kind("dialysis")[:1]
        ],
    )  # fmt: skip


def _facility(
    dice: Dice,
    start: int,
    number: int,
    kind: str,
    name: str,
    area: str,
    letter: str,
    doors: tuple[str, ...],
    *,
    policy: str,
) -> tuple[DemoPlace, dict[str, Any]]:
    at = spot(dice, area)
    opens, closes, days = _HOURS[kind]
    place = DemoPlace(
        id=dice.id_at(start),
        kind=kind,
        name=name,
        spot=at,
        entrances=[(dice.id_at(start), door) for door in doors],
        phone=phone(30 + number),
    )
    place.stop = normal(
        {
            "facilityId": place.id,
            "name": name,
            "addressLine1": at.line1,
            "city": at.city,
            "state": "IL",
            "postalCode": at.postal_code,
            "lat": at.lat,
            "lng": at.lng,
            "entranceId": place.entrances[0][0],
            "entranceText": place.entrances[0][1],
            "contact": {"name": "Front desk", "phone": place.phone, "ext": "", "role": "scheduling"},
        }
    )
    place.stop_json = json.dumps(place.stop)
    row = {
        "id": place.id,
        "name": name,
        "kind": kind,
        "timezone": ZONE,
        "hours": [{"days": days.split(), "opens": opens, "closes": closes}],
        "escalation_policy_id": policy if kind == "hospital" else None,
        "modifier_code": letter,
        "created_at": start - 400 * DAY,
        "updated_at": start - 90 * DAY,
    }
    return place, row | _address(at)


def _address(at: Spot) -> dict[str, Any]:
    return {
        "address_line1": at.line1,
        "city": at.city,
        "state": "IL",
        "postal_code": at.postal_code,
        "lat": at.lat,
        "lng": at.lng,
    }


def _entrances_and_contacts(dice: Dice, start: int, places: list[DemoPlace]) -> None:
    entrances, contacts = [], []
    for number, place in enumerate(places):
        for door, (entrance_id, name) in enumerate(place.entrances):
            entrances.append(
                {
                    "id": entrance_id,
                    "facility_id": place.id,
                    "name": name,
                    "lat": round(place.spot.lat + door * 0.0006, 6),
                    "lng": round(place.spot.lng - door * 0.0004, 6),
                    "instructions": "Wait under the canopy; call the desk on arrival." if door == 0 else "",
                    "curb_rules": "10 minutes of loading" if place.kind == "hospital" else "",
                }
            )
        for role, name in _CONTACTS.get(place.kind, (("scheduling", "Front desk"),)):
            contacts.append(
                {
                    "id": dice.id_at(start),
                    "facility_id": place.id,
                    "role": role,
                    "name": name,
                    "phone": phone(30 + number),
                    "ext": str(dice.randrange(1000, 9999)),
                }
            )
    copy_rows(Entrance, entrances)
    copy_rows(Contact, contacts)


def _providers(dice: Dice, start: int) -> list[Provider]:
    providers = []
    for name, area, _ in PROVIDERS:
        providers.append(Provider(dice.id_at(start), name, dice.id_at(start), spot(dice, area)))
    copy_rows(
        TransportProvider,
        [
            {
                "id": provider.id,
                "name": provider.name,
                "phone": number,
                "timezone": ZONE,
                "created_at": start - 400 * DAY,
            }
            for provider, (_, _, number) in zip(providers, PROVIDERS, strict=True)
        ],
    )
    copy_rows(
        HomeBase,
        [
            {"id": provider.base_id, "provider_id": provider.id, "name": "Main garage"} | _address(provider.base)
            for provider in providers
        ],
    )
    return providers


def _payers(dice: Dice, start: int) -> list[str]:
    rows = [
        {"id": dice.id_at(start), "name": name, "signature_rule": rule, "signers": signers,
         "odometer_required": odometer, "authorization_required": authorization}
        for name, rule, signers, odometer, authorization in PAYERS
    ]  # fmt: skip
    copy_rows(Payer, rows)
    return [str(row["id"]) for row in rows]
