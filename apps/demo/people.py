"""Four hundred riders: names, homes, needs and destinations."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from apps.demo import names
from apps.demo.dice import DAY, HOUR, Dice
from apps.demo.geography import NEIGHBOURHOODS, Spot, areas_around, miles_between, spot
from apps.demo.places import DemoPlace, Places, phone
from apps.organizations.models import ExternalId
from apps.organizations.rules.stops import normal
from apps.riders.models import AccommodationProfile, Rider, RiderFacility
from apps.riders.rules.accommodation import ON_STRETCHER, Spaces, columns, complete, spaces
from lib.db.bulk_copy import Row, copy_rows

RIDERS: Final = 400
# In the order of the riders' numbers: riders to dialysis, to a day program, to therapy; the rest rides as needed.
DIALYSIS: Final = 150
DAY_PROGRAM: Final = 90
THERAPY: Final = 50
NEEDS_TWO_PEOPLE_FROM_STEPS: Final = 4

# Mobility of riders, per mille.
_MOBILITY: Final = (
    ("ambulatory", 450),
    ("ambulatory_assist", 150),
    ("wheelchair_transfer", 100),
    ("wheelchair", 175),
    ("wheelchair_power", 50),
    ("recliner_chair", 20),
    ("wheelchair_bariatric", 16),
    ("stretcher", 34),
    ("stretcher_bariatric", 5),
)
# Local start of the three shifts of a dialysis center, in minutes after midnight.
SHIFT_STARTS: Final = (6 * 60 + 15, 10 * 60 + 45, 16 * 60 + 45)

# Sessions of a day program: local start in minutes after midnight, and minutes of stay.
_PROGRAMS: Final = ((7 * 60 + 45, 345), (9 * 60, 345), (10 * 60 + 15, 330))


@dataclass(slots=True)
class Person:
    """A rider, as the rest of the demo uses it."""

    id: str
    number: int
    group: str  # dialysis, day_program, therapy, general
    name: str
    phone: str
    spot: Spot
    home_json: str
    lives_at: DemoPlace | None
    needs: dict[str, Any]
    needs_json: str
    return_needs_json: str
    profile: int  # number of the current profile
    outbound_spaces: Spaces
    return_spaces: Spaces
    crew_of_two: bool
    goes_to: DemoPlace | None = None  # the center or program
    days: frozenset[int] = frozenset()  # weekdays, Monday is 0
    chair_minutes: int = 0
    treatment_minutes: int = 240
    chair: str = ""
    shift: int = 0
    payer: int = 0  # index
    order: str = ""  # the standing order of dialysis riders, created by apps/recurring


def make(seed: int, start: int, today: dt.date, places: Places) -> list[Person]:
    """Create riders with profiles, external ids and the facilities that may see them."""
    people, rows = [], _Rows([], [], [], [])
    for number in range(RIDERS):
        person = _person(Dice(seed, "rider", number), number, start, today, places, rows)
        if person.group == "dialysis":
            person.order = Dice(seed, "order", number).id_at(start)
        people.append(person)
    copy_rows(Rider, rows.riders)
    copy_rows(AccommodationProfile, rows.profiles)
    copy_rows(RiderFacility, rows.memberships)
    copy_rows(ExternalId, rows.external_ids)
    return people


@dataclass(slots=True)
class _Rows:
    riders: list[Row]
    profiles: list[Row]
    memberships: list[Row]
    external_ids: list[Row]


def _person(dice: Dice, number: int, start: int, today: dt.date, places: Places, rows: _Rows) -> Person:
    group = _group(number)
    rider_id = dice.id_at(start - (RIDERS - number) * HOUR)
    needs = _needs(dice, group)
    nursing = needs["mobility"] in ON_STRETCHER or dice.hit(0.3 if "chair" in needs["mobility"] else 0.1)
    centre = _centre(dice, group, number, places)
    around = areas_around(centre.spot, 5) if centre else [area[0] for area in NEIGHBOURHOODS]
    homes = sorted(places.of_kind("snf"), key=lambda home: miles_between(home.spot, centre.spot) if centre else 0.0)
    lives_at = dice.choice(homes[:3]) if nursing and needs["stairs"]["home"] == 0 else None
    at = lives_at.spot if lives_at else spot(dice, dice.choice(around))
    home = _home(dice, at, lives_at, needs)
    returns = complete({**needs, "mobility": needs["returnMobility"] or needs["mobility"], "returnMobility": None})
    female = dice.hit(0.55)
    first = dice.choice(names.FEMALE if female else names.MALE)
    last = dice.choice(names.FAMILY)
    person = Person(
        id=rider_id,
        number=number,
        group=group,
        name=f"{first} {last}",
        phone=phone(dice.randrange(100)),
        spot=at,
        home_json=json.dumps(home),
        lives_at=lives_at,
        needs=needs,
        needs_json=json.dumps(needs),
        return_needs_json=json.dumps(returns),
        profile=2 if dice.hit(0.08) else 1,
        outbound_spaces=spaces(needs["mobility"]),
        return_spaces=spaces(returns["mobility"]),
        crew_of_two=needs["mobility"] in ON_STRETCHER
        or needs["bariatric"]
        or needs["stairs"]["home"] >= NEEDS_TWO_PEOPLE_FROM_STEPS,
        payer=0 if dice.hit(0.7) else 1,
    )
    person.goes_to = centre
    _routine(dice, person)
    rows.riders.append(_rider_row(dice, person, first, last, female, home, start, today))
    rows.profiles.extend(_profile_rows(dice, person, start))
    _memberships(dice, person, places, start, rows)
    return person


def _group(number: int) -> str:
    if number < DIALYSIS:
        return "dialysis"
    if number < DIALYSIS + DAY_PROGRAM:
        return "day_program"
    return "therapy" if number < DIALYSIS + DAY_PROGRAM + THERAPY else "general"


def _needs(dice: Dice, group: str) -> dict[str, Any]:
    """Draw the rider's needs; riders with a routine need at most one helper."""
    mobility = dice.choices([name for name, _ in _MOBILITY], [share for _, share in _MOBILITY])[0]
    heavy = mobility.endswith("bariatric")
    lying = mobility in ON_STRETCHER
    if (heavy or lying) and group != "general":
        mobility, heavy, lying = "wheelchair", False, False
    in_chair = "chair" in mobility
    weight = dice.randrange(330, 440) if heavy else min(295, max(95, round(dice.gauss(172, 34))))
    oxygen = dice.hit(0.09)
    steps = 0 if in_chair or lying else dice.choice((0, 0, 0, 1, 2, 3))
    if group == "general" and not lying and dice.hit(0.07):
        steps = dice.randrange(4, 15)
    tired = group == "dialysis" and mobility == "ambulatory_assist" and dice.hit(0.4)  # walks in, leaves by wheelchair
    walker = mobility == "ambulatory_assist" or (mobility == "ambulatory" and dice.hit(0.2))
    needs = {
        "mobility": mobility,
        "returnMobility": "wheelchair" if tired else None,
        "assistLevel": "bed_to_bed" if lying else "door_through_door" if in_chair and dice.hit(0.4) else "door_to_door",
        "handoffRequired": dice.hit(0.06),
        "mustNotBeLeftAlone": dice.hit(0.05),
        "chair": {
            "widthIn": dice.choice((33.0, 34.0, 36.0)) if heavy and in_chair else dice.choice((24.0, 25.5, 26.0, 28.0)),
            "weightLb": dice.randrange(240, 330) if mobility == "wheelchair_power" else dice.randrange(32, 75),
            "provide": dice.hit(0.06),
        }
        if in_chair
        else None,
        "riderWeightLb": weight,
        "oxygen": {
            "uses": True,
            "litersPerMinute": dice.choice((1.0, 2.0, 2.0, 3.0, 4.0)),
            "source": dice.choice(("own_tank", "own_tank", "concentrator")),
        }
        if oxygen
        else None,
        "stairs": {
            "home": steps,
            "equipment": "stair_chair" if steps >= NEEDS_TWO_PEOPLE_FROM_STEPS and in_chair else "none",
            "secondPerson": steps >= NEEDS_TWO_PEOPLE_FROM_STEPS,
        },
        "serviceAnimal": dice.hit(0.012),
        "hearing": dice.choices(("none", "some", "severe"), (86, 11, 3))[0],
        "vision": dice.choices(("none", "some", "severe"), (84, 12, 4))[0],
        "cognition": dice.choices(("none", "some", "severe"), (87, 10, 3))[0],
        "speech": dice.choices(("none", "some"), (95, 5))[0],
        "precautions": dice.choices(("none", "contact", "droplet"), (96, 3, 1))[0],
        "equipment": ["walker"] if walker else [],
        "driverNotes": dice.choice(("", "", "", "Ring the bell twice.", "Please allow extra time at the door.")),
    }  # fmt: skip
    return complete(needs)


def _home(dice: Dice, at: Spot, lives_at: DemoPlace | None, needs: dict[str, Any]) -> dict[str, Any]:
    if lives_at is not None:
        return {
            **lives_at.stop,
            "unit": dice.choice(("1 North", "2 East", "2 West", "3 South")),
            "room": str(dice.randrange(101, 340)),
        }
    tall = dice.hit(0.3)
    return normal(
        {
            "name": "Home",
            "addressLine1": at.line1,
            "addressLine2": f"Apt {dice.randrange(1, 24)}{dice.choice('ABC')}" if tall else "",
            "city": at.city,
            "state": "IL",
            "postalCode": at.postal_code,
            "lat": at.lat,
            "lng": at.lng,
            "steps": needs["stairs"]["home"],
            "elevator": tall and dice.hit(0.5),
            "stairEquipment": needs["stairs"]["equipment"],
        }
    )


def _centre(dice: Dice, group: str, number: int, places: Places) -> DemoPlace | None:
    """Choose the regular destination of a rider; the home address is drawn near it."""
    kind = {"dialysis": "dialysis", "day_program": "adult_day", "therapy": "rehab"}.get(group)
    sites = places.of_kind(kind) if kind else []
    return sites[number % len(sites)] if sites and dice.hit(0.97) else dice.choice(sites) if sites else None


def _routine(dice: Dice, person: Person) -> None:
    """Set days and hours of a rider with a routine."""
    if person.goes_to is None:
        return
    if person.group == "dialysis":
        person.days = frozenset({0, 2, 4}) if person.number // 5 % 2 else frozenset({1, 3, 5})
        person.shift = dice.choices((1, 2, 3), (42, 43, 15))[0]
        person.chair_minutes = SHIFT_STARTS[person.shift - 1] + 15 * dice.randrange(0, 6)
        person.treatment_minutes = dice.choice((195, 210, 225, 240, 240, 240))
        person.chair = str(dice.randrange(1, 25))
    elif person.group == "day_program":
        person.days = frozenset(dice.sample(range(5), dice.choice((4, 5, 5))))
        person.chair_minutes, person.treatment_minutes = dice.choice(_PROGRAMS)
    else:
        person.days = dice.choice((frozenset({0, 2, 4}), frozenset({1, 3, 5}), frozenset({1, 3})))
        person.chair_minutes = 9 * 60 + 30 * dice.randrange(0, 13)
        person.treatment_minutes = dice.choice((60, 75, 90))


def _rider_row(
    dice: Dice, person: Person, first: str, last: str, female: bool, home: dict[str, Any], start: int, today: dt.date
) -> Row:
    age = max(19, min(97, round(dice.gauss(68, 13))))
    known_since = start - dice.randrange(10, 700) * DAY
    consent = dice.choices(("granted", "denied", "unknown"), (62, 10, 28))[0]
    # Encrypted columns are written through their properties: the row's id is part of the encryption context.
    encrypted = Rider(id=UUID(person.id))
    encrypted.medicaid_id = f"{dice.randrange(100_000_000, 999_999_999)}" if person.payer == 0 else ""
    encrypted.member_id = f"LMA{dice.randrange(1_000_000, 9_999_999)}" if person.payer == 1 else ""
    relation = dice.choice(("daughter", "son", "spouse", "sister", "neighbor", "niece"))
    relative = f"{dice.choice(names.FEMALE)} {last}"
    caregivers = [{"name": relative, "phone": phone(dice.randrange(100)), "relation": relation, "notify": []}]
    return {
        "id": person.id,
        "first_name": first,
        "last_name": last,
        "preferred_name": "",
        "date_of_birth": today.replace(day=1) - dt.timedelta(days=age * 365 + dice.randrange(365)),
        "medicaid_id_encrypted": encrypted.medicaid_id_encrypted,
        "medicaid_id_index": encrypted.medicaid_id_index,
        "member_id_encrypted": encrypted.member_id_encrypted,
        "member_id_index": encrypted.member_id_index,
        "phones": [{"number": person.phone, "ext": "", "kind": dice.choice(("mobile", "mobile", "home"))}],
        "sms_consent": consent,
        "sms_consent_at": known_since if consent == "granted" else None,
        "language": dice.choices(("en", "es", "pl"), (70, 22, 8))[0],
        "interpreter_needed": dice.hit(0.06),
        "contact_preference": dice.choices(("sms", "voice", "facility", "caregiver"), (45, 38, 9, 8))[0],
        "home_address": home,
        "caregivers": caregivers if dice.hit(0.35) else [],
        "emergency_contact": {"name": relative, "phone": phone(dice.randrange(100)), "relation": relation},
        "driver_gender_preference": "female" if female and dice.hit(0.04) else "",
        "verified": dice.hit(0.92),
        "created_at": known_since,
        "updated_at": known_since,
    }


def _profile_rows(dice: Dice, person: Person, start: int) -> list[Row]:
    rows: list[Row] = []
    for number in range(1, person.profile + 1):
        at = start - (200 if number < person.profile else 60) * DAY
        shape = person.needs if number == person.profile else complete({**person.needs, "equipment": ["cane"]})
        rows.append(
            {
                "id": dice.id_at(at),
                "rider_id": person.id,
                "number": number,
                "current": number == person.profile,
                "recorded_at": at,
                "recorded_by": "system",
                **columns(shape),
            }
        )
    return rows


def _memberships(dice: Dice, person: Person, places: Places, start: int, rows: _Rows) -> None:
    """Give the rider a membership at every place that books for them, and a record number at the hospital."""
    hospitals = sorted(places.of_kind("hospital"), key=lambda place: miles_between(place.spot, person.spot))
    seen_by = {hospitals[0].id, *(place.id for place in (person.goes_to, person.lives_at) if place)}
    rows.memberships.extend(
        {"id": dice.id_at(start), "rider_id": person.id, "facility_id": facility_id} for facility_id in sorted(seen_by)
    )
    rows.external_ids.append(
        {
            "id": dice.id_at(start),
            "subject_type": "rider",
            "subject_id": person.id,
            "system": "urn:demo:mrn",
            "value": f"MRN{500_000 + person.number * 7}",
            "type": "mrn",
        }
    )
