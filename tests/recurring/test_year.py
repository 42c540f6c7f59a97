"""A year of a dialysis center: simulated day by day, its rides equal those of a run with all changes known before."""

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.rides.models import Ride
from lib.access import system
from tests import factories
from tests.recurring import cast
from tests.tiers import sized

DAY: Final = dt.timedelta(days=1)
FIRST: Final = dt.date(2026, 10, 5)  # a Monday
LAST: Final = FIRST + 363 * DAY
HORIZON: Final = 8
PATIENTS = sized(short=24, nightly=120)  # twelve cover each combination of zone, pattern and chair time once
STAYS, CHANGES = PATIENTS // 4, PATIENTS // 8
ZONES: Final = ("America/Chicago", "America/Phoenix")  # one with clock changes, one without
MWF, TTS = (0, 2, 4), (1, 3, 5)
CHAIRS: Final = (dt.time(6), dt.time(10, 45), dt.time(15, 30))
# Thanksgiving, Christmas, New Year and the Fourth of July: the moved days, by pattern.
HOLIDAYS: Final = (
    (dt.date(2026, 11, 26), dt.date(2026, 11, 25), "tts"),
    (dt.date(2026, 11, 28), dt.date(2026, 11, 29), "tts"),
    (dt.date(2026, 12, 25), dt.date(2026, 12, 27), "mwf"),
    (dt.date(2027, 1, 1), dt.date(2027, 1, 3), "mwf"),
    (dt.date(2027, 7, 5), dt.date(2027, 7, 4), "mwf"),
)


@dataclass(frozen=True)
class Patient:
    """One patient's order, and the changes during the year by day."""

    zone: str
    days: tuple[int, ...]
    chair: dt.time
    stays: list[tuple[dt.date, dt.date]] = field(default_factory=list)  # hospital stays: first day, day of return
    changes: list[tuple[dt.date, dict[str, Any]]] = field(default_factory=list)


def _patients() -> list[Patient]:
    chance = random.Random(20261005)
    made = [
        Patient(ZONES[number % 2], (MWF, TTS)[number // 2 % 2], CHAIRS[number // 4 % 3]) for number in range(PATIENTS)
    ]
    for patient in chance.sample(made, STAYS):
        begins = FIRST + chance.randrange(10, 300) * DAY
        patient.stays.append((begins, begins + chance.randrange(3, 25) * DAY))
    for patient in chance.sample(made, CHANGES):
        when = FIRST + chance.randrange(20, 320) * DAY
        days = {"days_of_week": TTS if patient.days == MWF else MWF}
        patient.changes.append((when, chance.choice([days, {"chair_time": dt.time(12, 15)}])))
    return made


class Clinic:
    """Two centers of one operator, each in its own zone, with the same patients in the same order."""

    def __init__(self, patients: list[Patient], *, horizon: int) -> None:
        self.by = system("year")
        self.at = self.morning_of(FIRST)
        self.centres = {zone: cast.dialysis_centre(timezone=zone) for zone in ZONES}
        self.orders = [self._order(patient, horizon) for patient in patients]

    @staticmethod
    def morning_of(day: dt.date) -> dt.datetime:
        """Return an instant before the first pickup of that day in either zone, and after midnight in both."""
        return dt.datetime.combine(day, dt.time(2), ZoneInfo("America/Phoenix")).astimezone(dt.UTC)

    def _order(self, patient: Patient, horizon: int) -> UUID:
        centre: Facility = self.centres[patient.zone]
        return cast.order(
            centre,
            factories.RiderFactory.create(facility=centre),
            by=self.by,
            at=self.at,
            start_date=FIRST,
            end_date=LAST,
            generation_horizon_days=horizon,
            of={"days_of_week": patient.days, "chair_time": patient.chair},
        ).pk

    def stay(self, order_id: UUID, first: dt.date, until: dt.date | None) -> None:
        hold_order.hold(order_id=order_id, from_date=first, until=until, reason="hospital_stay", by=self.by, at=self.at)

    def home_again(self, order_id: UUID, day: dt.date) -> None:
        hold_order.resume(order_id=order_id, from_date=day, by=self.by, at=self.at)

    def change(self, order_id: UUID, day: dt.date, terms: dict[str, Any]) -> None:
        edit_order.change(order_id=order_id, terms=terms, from_date=day, by=self.by, at=self.at)

    def move(self, zone: str, from_date: dt.date, to_date: dt.date, cohort: str) -> None:
        draft = ShiftDraft(from_date, to_date, applies_to=cohort, offset_minutes=-30)
        shift = calendar_shifts.enter(facility_id=self.centres[zone].pk, draft=draft, by=self.by, at=self.at)
        calendar_shifts.apply(shift_id=shift.pk, by=self.by, at=self.at)

    def generate(self) -> None:
        generate_rides.generate(by=self.by, at=self.at)

    def rides(self) -> Counter[tuple[Any, ...]]:
        """Count the rides: patient, date and leg, and time."""
        number_of = {order_id: number for number, order_id in enumerate(self.orders)}
        rows = Ride.objects.filter(standing_order_id__in=self.orders).exclude(status="cancelled")
        columns = ("standing_order_id", "occurrence_key", "pickup_at", "appointment_at", "service_date")
        return Counter(
            (number_of[order_id], key.partition(":")[2], *times) for order_id, key, *times in rows.values_list(*columns)
        )


def _lived(patients: list[Patient]) -> Clinic:
    """Simulate the year day by day: changes are made when they come up, and the generator runs every morning."""
    clinic = Clinic(patients, horizon=HORIZON)
    diary: dict[dt.date, list[Callable[[], None]]] = {}

    def on(day: dt.date, call: Callable[..., None], *given: Any) -> None:
        diary.setdefault(day, []).append(lambda: call(*given))

    for patient, order_id in zip(patients, clinic.orders, strict=True):
        for begins, ends in patient.stays:
            on(begins, clinic.stay, order_id, begins, None)
            on(ends, clinic.home_again, order_id, ends)
        for when, terms in patient.changes:
            on(when - 5 * DAY, clinic.change, order_id, when, terms)
    for zone in ZONES:
        for holiday in HOLIDAYS:
            on(holiday[0] - 9 * DAY, clinic.move, zone, *holiday)
    for number in range((LAST - FIRST).days + 1):
        day = FIRST + number * DAY
        clinic.at = clinic.morning_of(day)
        for entry in diary.get(day, ()):
            entry()
        clinic.generate()
    return clinic


def _foreseen(patients: list[Patient]) -> Clinic:
    """Enter all changes beforehand, and generate the year in one run."""
    clinic = Clinic(patients, horizon=1)
    for patient, order_id in zip(patients, clinic.orders, strict=True):
        for when, terms in patient.changes:
            clinic.change(order_id, when, terms)
        for begins, ends in patient.stays:
            clinic.stay(order_id, begins, ends - DAY)
    for zone in ZONES:
        for holiday in HOLIDAYS:
            clinic.move(zone, *holiday)
    StandingOrder.objects.filter(pk__in=clinic.orders).update(generation_horizon_days=366, generated_through=None)
    clinic.generate()
    return clinic


@pytest.mark.untraced
@pytest.mark.django_db(transaction=True)
def test_year_generated_day_by_day_matches_the_forecast() -> None:
    patients = _patients()

    lived, foreseen = _lived(patients).rides(), _foreseen(patients).rides()

    assert set(lived.values()) == {1}
    assert lived == foreseen
    counts = Counter[str]()
    assert _on_the_wall(lived, patients) == _counted(patients, counts)
    assert counts["rides"] == len(lived)
    print(f"a year of {PATIENTS} patients: {dict(counts)}")  # noqa: T201  # for people: shown by `pytest -rP`


def _on_the_wall(rides: Counter[tuple[Any, ...]], patients: list[Patient]) -> set[tuple[Any, ...]]:
    """Return rides in the form of `_counted`: patient, date and leg, service date, and chair time."""
    found = set()
    for number, key, _, chair, service_date in rides:
        wall = chair.astimezone(ZoneInfo(patients[number].zone)) if chair else None
        assert wall is None or wall.date() == service_date
        found.add((number, key, service_date, wall and wall.time()))
    return found


def _counted(patients: list[Patient], counts: Counter[str]) -> set[tuple[Any, ...]]:
    """Compute the expected rides by plain arithmetic day by day, and count them."""
    found = set()
    for number, patient in enumerate(patients):
        for after in range((LAST - FIRST).days + 1):
            day = FIRST + after * DAY
            days, chair = patient.days, patient.chair
            for when, terms in patient.changes:
                if day >= when:
                    days, chair = terms.get("days_of_week", days), terms.get("chair_time", chair)
            if day.weekday() not in days:
                continue
            counts["legs of the pattern"] += 2
            cohort = "mwf" if days == MWF else "tts"
            moved = [to_date for from_date, to_date, meant in HOLIDAYS if (from_date, meant) == (day, cohort)]
            if any(begins <= (moved or [day])[0] < ends for begins, ends in patient.stays):
                counts["in hospital"] += 2
                continue
            if moved:
                counts["moved"] += 2
                chair = (dt.datetime.combine(day, chair) - dt.timedelta(minutes=30)).time()
            counts["rides"] += 2
            there = moved[0] if moved else day
            found |= {(number, f"{day}:outbound", there, chair), (number, f"{day}:return", there, None)}
    return found
