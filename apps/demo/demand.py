"""Requested rides of a day: dialysis three times a week, day programs, therapy, appointments, discharges."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Final

from apps.demo.dice import DAY, HOUR, MINUTE, Dice, iso, wall
from apps.demo.fleet import CONFIGS
from apps.demo.geography import drive_seconds, miles_between
from apps.demo.legs import DemoLeg, End, Journey, Run
from apps.demo.people import Person
from apps.demo.places import DemoPlace, Places, phone
from apps.organizations import service_levels
from apps.riders.rules.accommodation import Spaces
from apps.rides.rules import timing
from lib.travel.places import Place
from lib.travel.times import drive_between

# Round-trip appointments, one-way appointments, discharges, transfers, admissions; on weekdays, Saturday, Sunday.
_COUNTS: Final = ((56, 22, 24, 8, 5), (56, 16, 18, 6, 4), (36, 14, 16, 6, 4))
_CANCEL_REASONS: Final = (
    ("rider_request", 24), ("rider_ill", 17), ("appointment_moved", 15), ("appointment_cancelled", 14),
    ("rider_hospitalized", 10), ("rider_other_transport", 9), ("treatment_changed", 5), ("duplicate", 3),
    ("booking_error", 3),
)  # fmt: skip
# Per mille of outbound and single legs; the rest is completed.
_FATES: Final = (
    ("cancel_advance", 14), ("cancel_same_day", 8), ("cancel_en_route", 4), ("cancel_door", 2), ("no_show", 50),
    ("unf_given_back", 2), ("unf_breakdown", 2), ("unf_aborted", 1),
)  # fmt: skip
_RETURN_FACTOR: Final = 0.3  # return legs depend on their outbound leg; their own failure rate is this multiple
# Local hours of discharges: the statewide median is 15:00.
_DISCHARGE_HOURS: Final = (9, 10, 11, 11, 12, 12, 13, 13, 14, 14, 14, 15, 15, 15, 16, 16, 17, 17, 18, 19, 20, 21, 23, 2)


@dataclass(slots=True)
class DayDemand:
    """Legs and runs of one local day."""

    date: dt.date
    legs: list[DemoLeg] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    visits: dict[tuple[str, int], list[DemoLeg]] = field(default_factory=dict)  # by place and half hour


def of_day(seed: int, day: dt.date, people: list[Person], places: Places) -> DayDemand:
    """Generate a day.  Each rider makes at most one journey; there is no dialysis and no day program on Sundays."""
    demand = DayDemand(day)
    free = [person for person in people if day.weekday() not in person.days]
    for group in ("dialysis", "day_program", "therapy"):
        riders = [person for person in people if person.group == group and day.weekday() in person.days]
        _routine(seed, demand, riders, group)
    dice = Dice(seed, "demand", day)
    dice.shuffle(free)
    counts = _COUNTS[0 if day.weekday() < 5 else day.weekday() - 4]
    for make, count in zip((_round_trip, _one_way, _discharge, _transfer, _admission), counts, strict=True):
        for person in [free.pop() for _ in range(min(count, len(free)))]:
            make(seed, demand, person, places)
    for (slot, _), legs in demand.visits.items():
        for called in (False, True):
            for shared in _share([leg for leg in legs if leg.will_call is called], 2):
                _put_on_run(demand, shared, gather=not slot.startswith("back"))
    for leg in demand.legs:
        finish(Dice(seed, "fate", leg.key), leg)
    return demand


def finish(dice: Dice, leg: DemoLeg) -> None:
    """Set the promised window and the outcome of the leg, which depend on its final pickup time."""
    moment = dt.datetime.fromtimestamp(leg.pickup_at, dt.UTC)
    arrive_by = leg.appointment_at and dt.datetime.fromtimestamp(leg.appointment_at - 15 * MINUTE, dt.UTC)
    origin, destination = leg.origin.spot, leg.destination.spot
    places = Place(origin.lat, origin.lng), Place(destination.lat, destination.lng)
    leg.estimate = drive_between(*places, depart_at=moment)
    window = timing.pickup_window(
        moment,
        service_levels.DEFAULTS,
        arrive_by=arrive_by or None,
        drive_minutes=leg.estimate.minutes if leg.estimate else None,
    )
    leg.window_starts, leg.window_ends = int(window.starts_at.timestamp()), int(window.ends_at.timestamp())
    if not leg.freeze:
        _draw_fate(dice, leg)


def _draw_fate(dice: Dice, leg: DemoLeg) -> None:
    """Draw the outcome of a leg; a missing driver or a road block may still change it."""
    drawn = dice.random() * 1000 / (_RETURN_FACTOR if leg.leg_type == "return" else 1.0)
    for fate, share in _FATES:
        drawn -= share
        if drawn < 0:
            leg.fate = fate
            break
    if leg.service == "hospital_discharge" and leg.fate == "cancel_advance":
        leg.fate = "cancel_same_day"
    if leg.fate == "cancel_advance":
        evening = wall(leg.day, 0) - HOUR
        leg.decided_at = min(max(leg.requested_at + HOUR, wall(leg.day, 9 * 60) - dice.randrange(1, 5) * DAY), evening)
    elif leg.fate == "cancel_same_day":
        leg.decided_at = max(leg.pickup_at - dice.randrange(20, 300) * MINUTE, leg.requested_at + 10 * MINUTE)
    if leg.fate == "cancel_door":
        leg.reason = "rider_refused_at_door"
    elif leg.fate.startswith("cancel"):
        discharge = leg.service == "hospital_discharge"
        leg.reason = "discharge_cancelled" if discharge else dice.choices(*zip(*_CANCEL_REASONS, strict=True))[0]


def _routine(seed: int, demand: DayDemand, riders: list[Person], group: str) -> None:
    """Generate round trips; neighbors with the same hour at the same place share a vehicle."""
    by_slot: dict[tuple[str, int], list[DemoLeg]] = {}
    for person in riders:
        dice = Dice(seed, demand.date, person.number)
        centre = person.goes_to
        assert centre is not None  # noqa: S101 - every rider of these groups has one
        outbound = _leg(dice, demand, person, group, "outbound", _home(person), _at(centre), centre)
        outbound.appointment_at = wall(demand.date, person.chair_minutes)
        outbound.is_recurring = True
        outbound.requested_at = wall(
            demand.date - dt.timedelta(days=10 + person.number % 4), 7 * 60 + person.number % 50
        )
        back = _back(dice, demand, outbound, 30 if group == "dialysis" else 5)
        if group == "dialysis":
            back.will_call = True
            back.ready_at = back.pickup_at + int(dice.gauss(2, 11)) * MINUTE
            outbound.dialysis = back.dialysis = {
                "treatmentMinutes": person.treatment_minutes,
                "postTreatmentMinutes": 30,
                "chair": person.chair,
                "shift": str(person.shift),
            }
        # Chairs a quarter of an hour apart still share a vehicle; the earlier chair sets the pickup times.
        by_slot.setdefault((centre.id, person.chair_minutes // 30), []).append(outbound)
        if not back.will_call:
            by_slot.setdefault((f"back {centre.id}", back.pickup_at), []).append(back)
        else:
            by_slot.setdefault((f"back {centre.id}", back.ready_at // 1200), []).append(back)
    for (slot, _), legs in by_slot.items():
        for shared in _share(legs, 4 if group == "day_program" else 3):
            _put_on_run(demand, shared, gather=not slot.startswith("back"))


def _share(legs: list[DemoLeg], size: int) -> list[list[DemoLeg]]:
    """Group neighbors, by direction from the common place, up to the capacity of one vehicle."""
    groups: list[list[DemoLeg]] = []
    for leg in sorted(legs, key=lambda leg: (leg.person.spot.lat, leg.key)):
        last = groups[-1] if groups else []
        together = [*last, leg]
        near = bool(last) and _is_detour_short(last[-1], leg)
        alone = any(leg.person.crew_of_two for leg in together)
        if last and near and len(together) <= size and not alone and fits_one_vehicle(together):
            last.append(leg)
        else:
            groups.append([leg])
    return groups


def _is_detour_short(leg: DemoLeg, other: DemoLeg) -> bool:
    """True if the homes of two riders are close, also against their ways to or from the common place."""
    apart = miles_between(leg.person.spot, other.person.spot)
    ways = [miles_between(each.origin.spot, each.destination.spot) for each in (leg, other)]
    return apart < min(3.2, *(0.7 * way for way in ways))


def fits_one_vehicle(legs: list[DemoLeg]) -> bool:
    total = sum_of(legs)
    return any(
        total.ambulatory <= seats and total.wheelchair <= chairs and total.stretcher <= stretchers
        for configs in CONFIGS.values()
        for _, seats, chairs, stretchers in configs
    )


def sum_of(legs: list[DemoLeg]) -> Spaces:
    return Spaces(
        sum(leg.spaces.ambulatory for leg in legs),
        sum(leg.spaces.wheelchair for leg in legs),
        sum(leg.spaces.stretcher for leg in legs),
    )


def _put_on_run(demand: DayDemand, legs: list[DemoLeg], *, gather: bool) -> None:
    """Order the stops, farthest first on the outbound trip, and set pickup times back from the appointment."""
    common = legs[0].destination if gather else legs[0].origin
    if not gather and legs[0].will_call:
        legs.sort(key=lambda leg: leg.ready_at)  # riders board in the order in which they are ready
        demand.runs.append(Run(legs, gather))
        return
    legs.sort(key=lambda leg: miles_between(leg.person.spot, common.spot), reverse=gather)
    if gather:
        at = min(leg.appointment_at or leg.pickup_at for leg in legs) - 25 * MINUTE
        onward = common.spot
        for leg in reversed(legs):
            at -= int(drive_seconds(leg.origin.spot, onward, at) * 1.15) + leg.person.needs["loadMinutes"] * MINUTE
            leg.pickup_at = at - at % 300
            onward = leg.origin.spot
    demand.runs.append(Run(legs, gather))


def _round_trip(seed: int, demand: DayDemand, person: Person, places: Places) -> None:
    dice = Dice(seed, demand.date, person.number)
    clinic = _choose(dice, person, places.of_kind("clinic") + places.of_kind("hospital"))
    outbound = _leg(dice, demand, person, "appointment", "outbound", _home(person), _at(clinic), clinic)
    outbound.appointment_at = wall(demand.date, 8 * 60 + 30 + 15 * dice.randrange(0, 30))
    _booked_ahead(dice, outbound)
    back = _back(dice, demand, outbound, dice.choice((45, 60, 60, 75, 90, 120)))
    if dice.hit(0.3):
        back.will_call = True
        back.ready_at = back.pickup_at + int(dice.gauss(6, 18)) * MINUTE
    demand.visits.setdefault((clinic.id, outbound.appointment_at // 1800), []).append(outbound)
    demand.visits.setdefault((f"back {clinic.id}", back.due_at // 1200), []).append(back)


def _one_way(seed: int, demand: DayDemand, person: Person, places: Places) -> None:
    dice = Dice(seed, demand.date, person.number)
    clinic = _choose(dice, person, places.of_kind("clinic"))
    service = dice.choices(("appointment", "pharmacy_stop", "other"), (80, 12, 8))[0]
    leg = _leg(dice, demand, person, service, "one_way", _home(person), _at(clinic), clinic)
    leg.appointment_at = wall(demand.date, 8 * 60 + 15 * dice.randrange(2, 36))
    _booked_ahead(dice, leg)
    _put_on_run(demand, [leg], gather=True)


def _transfer(seed: int, demand: DayDemand, person: Person, places: Places) -> None:
    dice = Dice(seed, demand.date, person.number)
    origin = person.lives_at or dice.choice(places.of_kind("snf"))
    hospital = _choose(dice, person, places.of_kind("hospital"))
    leg = _leg(dice, demand, person, "interfacility_transfer", "one_way", _at(origin), _at(hospital), origin)
    leg.pickup_at = wall(demand.date, dice.randrange(8 * 12, 19 * 12) * 5)
    _booked_ahead(dice, leg)
    demand.runs.append(Run([leg]))


def _admission(seed: int, demand: DayDemand, person: Person, places: Places) -> None:
    dice = Dice(seed, demand.date, person.number)
    hospital = _choose(dice, person, places.of_kind("hospital"))
    leg = _leg(dice, demand, person, "admission", "one_way", _home(person), _at(hospital), hospital)
    leg.appointment_at = wall(demand.date, dice.randrange(7 * 4, 13 * 4) * 15)
    _booked_ahead(dice, leg)
    _put_on_run(demand, [leg], gather=True)


def _discharge(seed: int, demand: DayDemand, person: Person, places: Places) -> None:
    dice = Dice(seed, demand.date, person.number)
    minutes = dice.choice(_DISCHARGE_HOURS) * 60 + 5 * dice.randrange(12)
    if person.crew_of_two:
        minutes = max(10 * 60, min(15 * 60, minutes))  # crews of two work by day only
    leg = discharge_leg(dice, demand, person, places, wall(demand.date, minutes))
    evening_before = dice.hit(0.35)
    leg.requested_at = (
        wall(demand.date - dt.timedelta(days=1), 16 * 60 + dice.randrange(180))
        if evening_before
        else leg.pickup_at - dice.randrange(100, 300) * MINUTE
    )
    demand.runs.append(Run([leg], gather=False))


def discharge_leg(
    dice: Dice, demand: DayDemand, person: Person, places: Places, pickup_at: int, key: str = ""
) -> DemoLeg:
    """Generate the ride home, or to the nursing home, from a nearby hospital, with the discharge planner's details."""
    hospital = _choose(dice, person, places.of_kind("hospital"))
    unit, room = room_of(dice)
    origin = _at(hospital, unit=unit, room=room)
    leg = _leg(dice, demand, person, "hospital_discharge", "one_way", origin, _home(person), hospital, key)
    leg.pickup_at = pickup_at
    leg.will_call = dice.hit(0.4)
    leg.ready_at = pickup_at + max(-20, int(dice.gauss(14, 25))) * MINUTE if leg.will_call else 0
    needs, home = person.needs, person.lives_at
    leg.discharge = discharge_details(
        dice,
        DischargeFacts(
            ready_at=pickup_at,
            unit=unit,
            room=room,
            entrance_id=hospital.entrances[-1][0],
            desk_phone=hospital.phone,
            receiving_phone=home.phone if home else None,
            steps=needs["stairs"]["home"],
            second_person=needs["stairs"]["secondPerson"],
            oxygen=needs["oxygen"]["uses"],
        ),
    )
    return leg


def room_of(dice: Dice) -> tuple[str, str]:
    """Draw a unit of a hospital and a room on its floor; observation beds are on the third."""
    unit = dice.choice(("4 West", "5 East", "6 North", "7 South", "Observation"))
    floor = unit[0] if unit[0].isdigit() else "3"
    return unit, f"{floor}{dice.randrange(1, 60):02}"


@dataclass(frozen=True, slots=True)
class DischargeFacts:
    """What the details of a discharge say: who leaves, from which room, to which place (None: to a home)."""

    ready_at: int
    unit: str
    room: str
    entrance_id: str
    desk_phone: str
    receiving_phone: str | None
    steps: int
    second_person: bool
    oxygen: bool


def discharge_details(dice: Dice, facts: DischargeFacts) -> dict[str, Any]:
    """Return all keys of a discharge; the phone of the unit comes from the range for fiction."""
    ready_at, in_care = facts.ready_at, facts.receiving_phone is not None
    receiving = {"name": "Admissions desk", "phone": facts.receiving_phone, "acceptBy": iso(ready_at + 5 * HOUR)}
    return {
        "encounterId": f"ENC{dice.randrange(10**7, 10**8)}",
        "unit": facts.unit,
        "room": facts.room,
        "bed": dice.choice("AB"),
        "floor": facts.room[0],
        "unitPhone": phone(dice.randrange(100)),
        "planner": {"name": "Care coordination", "phone": facts.desk_phone, "email": "planner@demo.example"},
        "chargeNursePhone": phone(dice.randrange(100)),
        "dischargeOrderAt": iso(ready_at - dice.randrange(70, 160) * MINUTE),
        "expectedReadyAt": iso(ready_at),
        "pickupEntranceId": facts.entrance_id,
        "meetAt": dice.choice(("bedside", "unit_desk", "discharge_lounge", "lobby")),
        "destinationKind": "snf" if in_care else "home",
        "receiving": receiving if in_care else None,
        "homeAccess": {
            "someoneHome": dice.hit(0.7),
            "steps": facts.steps,
            "secondPerson": facts.second_person,
        },
        "checklist": {
            "orderSigned": True,
            "medsInHand": dice.choice((True, True, None)),
            "belongings": True,
            "oxygenDelivered": True if facts.oxygen else None,
            "receivingConfirmed": True if in_care else None,
            "pcsOnFile": None,
            "paperwork": dice.choice((True, True, False)),
        },
        "pcs": {"required": False, "onFile": None, "signerRole": None, "validUntil": None},
    }


def _leg(
    dice: Dice,
    demand: DayDemand,
    person: Person,
    service: str,
    leg_type: str,
    origin: End,
    to: End,
    owner: DemoPlace,
    key: str = "",
) -> DemoLeg:
    leg = DemoLeg(
        key=key or f"{demand.date}/{person.number}/{leg_type}",
        person=person,
        day=demand.date,
        service={"day_program": "other"}.get(service, service),
        leg_type=leg_type,
        origin=origin,
        destination=to,
        owner=owner,
        pickup_at=0,
        journey=Journey(),
    )
    leg.journey.legs.append(leg)
    demand.legs.append(leg)
    return leg


def _back(dice: Dice, demand: DayDemand, outbound: DemoLeg, extra_minutes: int) -> DemoLeg:
    """Generate the return leg: it starts after the treatment or visit, rounded to five minutes."""
    person = outbound.person
    stays = person.treatment_minutes if outbound.is_recurring else 0
    back = _leg(dice, demand, person, outbound.service, "return", outbound.destination, outbound.origin, outbound.owner)
    back.journey = outbound.journey
    back.journey.legs.append(back)
    back.sequence = 2
    back.pickup_at = ((outbound.appointment_at or 0) + (stays + extra_minutes) * MINUTE + 299) // 300 * 300
    back.requested_at, back.is_recurring = outbound.requested_at, outbound.is_recurring
    back.question, back.confirmed_at = outbound.question, outbound.confirmed_at
    return back


def _booked_ahead(dice: Dice, leg: DemoLeg) -> None:
    """Set the booking time, mostly one or two weeks ahead in office hours; some requests wait for confirmation."""
    days = dice.randrange(8, 16) if dice.hit(0.84) else dice.randrange(1, 7)
    leg.requested_at = wall(leg.day - dt.timedelta(days=days), dice.randrange(8 * 60, 17 * 60))
    if dice.hit(0.07):
        leg.question = dice.choice(("authorization_missing", "lead_time"))
        leg.confirmed_at = leg.requested_at + dice.randrange(4, 45) * MINUTE


def _choose(dice: Dice, person: Person, places: list[DemoPlace]) -> DemoPlace:
    """Choose a place: mostly the nearest, else one of the nearest three."""
    near = sorted(places, key=lambda place: miles_between(place.spot, person.spot))
    return near[0] if dice.hit(0.6) else dice.choice(near[:3])


def _home(person: Person) -> End:
    return End(person.spot, person.home_json, person.lives_at)


def _at(place: DemoPlace, **details: str) -> End:
    if not details:
        return End(place.spot, place.stop_json, place)
    return End(place.spot, place.stop_with(details), place)
