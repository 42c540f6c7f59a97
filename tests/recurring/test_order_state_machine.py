"""Random histories of a standing order compared to a model in plain Python.

The model stores the users' changes (terms, holds, skips, moved days, shifts of the facility, manual cancellations) and
derives from them alone, day by day, the legs and their times.  Past days stay as they were.  After every step the rides
in the table equal those of the model, each leg of each date at most once.

All histories run in one database, each in a savepoint that is rolled back after it.
"""

import datetime as dt
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import status_report
from lib.access import system
from tests.recurring import cast
from tests.tiers import sized

CHICAGO = ZoneInfo("America/Chicago")
DAY = dt.timedelta(days=1)
HORIZON = 10
BEGIN = dt.date(2026, 10, 26)  # a Monday; the clocks go back on the Sunday after it
NOON, ONE, EARLY, LATE = dt.time(12), dt.time(13), dt.time(6), dt.time(18)  # chairs without conflicts
LEGS = ("outbound", "return")
ROWS = """
    SELECT split_part(occurrence_key, ':', 2)::date, split_part(occurrence_key, ':', 3), service_date,
        (appointment_at AT TIME ZONE 'America/Chicago')::time, occurrence_state = 'customized', id
    FROM rides_ride WHERE status <> 'cancelled'
"""

Key = tuple[dt.date, str]
Live = tuple[dt.date, dt.time, bool]  # the service date, the chair, whether a person changed it


class Model:
    """Changes by users, and the legs that result from them."""

    def __init__(self) -> None:
        self.today = BEGIN
        self.terms: list[tuple[dt.date, frozenset[int], dt.time]] = [(BEGIN, frozenset({0, 2, 4}), NOON)]
        self.last: dt.date | None = None
        self.held: list[tuple[dt.date, dt.date]] = []
        self.skips: set[dt.date] = set()
        self.moves: dict[dt.date, dt.date] = {}
        self.shifts: dict[dt.date, dt.date | None] = {}
        self.called_off: set[Key] = set()
        self.live: dict[Key, Live] = {}

    def terms_on(self, day: dt.date) -> tuple[dt.date, frozenset[int], dt.time]:
        return [one for one in self.terms if one[0] <= day][-1]

    def has(self, day: dt.date) -> bool:
        in_time = self.last is None or day <= self.last
        return day >= BEGIN and in_time and day.weekday() in self.terms_on(day)[1]

    def wanted(self, day: dt.date) -> Live | None:
        if day in self.moves:
            found = (self.moves[day], LATE, True)
        elif day in self.shifts:
            to_date = self.shifts[day]
            if to_date is None:
                return None
            found = (to_date, EARLY, False)
        else:
            found = (day, self.terms_on(day)[2], False)
        return None if self.is_held(found[0]) or day in self.skips else found

    def is_held(self, day: dt.date) -> bool:
        return any(first <= day <= until for first, until in self.held)

    def reconcile(self, taken_back: dt.date | None = None) -> None:
        """Update the legs, from a week ago through the horizon; `taken_back` is no longer a customization."""
        known = {day for day, _ in self.live}
        ahead = {self.today + number * DAY for number in range(-7, HORIZON + 1)}
        for day in sorted(known | ahead):
            for leg in LEGS:
                self._reconcile((day, leg), taken_back)

    def _reconcile(self, key: Key, taken_back: dt.date | None) -> None:
        day, now = key[0], self.live.get(key)
        wanted = self.wanted(day) if self.has(day) else None
        if now is not None:
            if now[0] < self.today:
                return
            if not self.has(day) and now[2] and day != taken_back and not self.is_held(now[0]):
                return  # customized, and only the pattern differs
            if wanted is None:
                del self.live[key]
            elif wanted[0] >= self.today:
                self.live[key] = wanted
        elif wanted is not None and wanted[0] >= self.today and key not in self.called_off:
            self.live[key] = wanted


class OrderLives(RuleBasedStateMachine):
    centre: ClassVar[Facility]

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.by = system("state-machine")
        self.entered: dict[dt.date, Any] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    @property
    def now(self) -> dt.datetime:
        """Return 05:00 of today in Chicago, before the first pickup."""
        return dt.datetime.combine(self.model.today, dt.time(5), CHICAGO).astimezone(dt.UTC)

    @initialize()
    def order(self) -> None:
        self.model = Model()
        of = {"days_of_week": (0, 2, 4), "chair_time": NOON}
        self.id = cast.order(
            self.centre, start_date=BEGIN, generation_horizon_days=HORIZON, of=of, by=self.by, at=self.now
        ).pk
        self.model.reconcile()

    @rule(days=st.integers(0, 3), twice=st.booleans())
    def days_pass(self, days: int, twice: bool) -> None:
        self.model.today += days * DAY
        if twice:
            StandingOrder.objects.update(generated_through=None)
        generate_rides.generate(by=self.by, at=self.now)
        self.model.reconcile()

    @rule(ahead=st.integers(0, 14), days=st.frozensets(st.integers(0, 6), min_size=1, max_size=4))
    def days_of_the_week_change(self, ahead: int, days: frozenset[int]) -> None:
        first = self.model.today + ahead * DAY
        self._terms(first, lambda one: (one[0], days, one[2]))
        self._change(from_date=first, terms={"days_of_week": tuple(sorted(days))})

    @rule(ahead=st.integers(0, 14), chair=st.sampled_from([NOON, ONE]))
    def chair_time_changes(self, ahead: int, chair: dt.time) -> None:
        first = self.model.today + ahead * DAY
        self._terms(first, lambda one: (one[0], one[1], chair))
        self._change(from_date=first, terms={"chair_time": chair})

    def _terms(self, first: dt.date, changed: Any) -> None:
        before = [one for one in self.model.terms if one[0] < first]
        begins = (first, *self.model.terms_on(first)[1:])
        later = [one for one in self.model.terms if one[0] > first]
        self.model.terms = before + [changed(one) for one in (begins, *later)]

    def _change(self, **asked: Any) -> None:
        edit_order.change(order_id=self.id, by=self.by, at=self.now, **asked)
        self.model.reconcile()

    @rule(ahead=st.integers(0, 20))
    def end_moves(self, ahead: int) -> None:
        self.model.last = self.model.today + ahead * DAY
        self._change(columns={"end_date": self.model.last})

    @precondition(lambda self: self.model.last is not None)
    @rule()
    def order_goes_on(self) -> None:
        self.model.last = None
        self._change(columns={"end_date": None})

    @rule(ahead=st.integers(-2, 12), days=st.none() | st.integers(2, 12))
    def rider_stays_away(self, ahead: int, days: int | None) -> None:
        first = self.model.today + ahead * DAY
        until = None if days is None else first + days * DAY
        hold_order.hold(order_id=self.id, from_date=first, until=until, reason="travel", by=self.by, at=self.now)
        self.model.held.append((first, until or dt.date.max))
        self.model.reconcile()

    @precondition(lambda self: self.model.held)
    @rule(ahead=st.integers(-2, 12))
    def rider_is_back(self, ahead: int) -> None:
        first = self.model.today + ahead * DAY
        hold_order.resume(order_id=self.id, from_date=first, by=self.by, at=self.now)
        held = [(begin, min(until, first - DAY)) for begin, until in self.model.held]
        self.model.held = [(begin, until) for begin, until in held if begin <= until]
        self.model.reconcile()

    def _dates(self) -> list[dt.date]:
        found = [self.model.today + number * DAY for number in range(16)]
        return [day for day in found if self.model.has(day)]

    @precondition(lambda self: self._dates())
    @rule(data=st.data())
    def day_is_skipped(self, data: st.DataObject) -> None:
        day = data.draw(st.sampled_from(self._dates()))
        edit_order.skip(order_id=self.id, pattern_date=day, by=self.by, at=self.now)
        self.model.skips.add(day)
        self.model.moves.pop(day, None)
        self.model.reconcile()

    @precondition(lambda self: self._dates())
    @rule(data=st.data(), by=st.integers(-3, 3))
    def day_is_moved(self, data: st.DataObject, by: int) -> None:
        day = data.draw(st.sampled_from(self._dates()))
        to_date = day + by * DAY
        taken = [other for one, other in self.model.moves.items() if one != day]
        if to_date < self.model.today or to_date in taken:
            return
        moved = OccurrenceEdit(to_date=to_date, chair_time=LATE)
        edit_order.change_occurrence(order_id=self.id, pattern_date=day, edit=moved, by=self.by, at=self.now)
        self.model.skips.discard(day)
        self.model.moves[day] = to_date
        self.model.reconcile(taken_back=day)

    @precondition(lambda self: self._dates())
    @rule(data=st.data())
    def day_is_restored(self, data: st.DataObject) -> None:
        day = data.draw(st.sampled_from(self._dates()))
        edit_order.restore(order_id=self.id, pattern_date=day, by=self.by, at=self.now)
        self.model.skips.discard(day)
        self.model.moves.pop(day, None)
        self.model.reconcile(taken_back=day)

    @rule(ahead=st.integers(2, 14), by=st.none() | st.integers(-3, 3))
    def facility_moves_a_day(self, ahead: int, by: int | None) -> None:
        day = self.model.today + ahead * DAY
        to_date = None if by is None else day + by * DAY
        if (
            day in self.model.shifts
            or day in self.model.shifts.values()
            or to_date in {None, *self.model.shifts} - {None}
        ):
            return
        if to_date is not None and (to_date <= self.model.today or to_date in self.model.shifts.values()):
            return
        draft = ShiftDraft(day, to_date, new_chair_time=None if to_date is None else EARLY)
        shift = calendar_shifts.enter(facility_id=self.centre.pk, draft=draft, by=self.by, at=self.now)
        calendar_shifts.apply(shift_id=shift.pk, by=self.by, at=self.now)
        generate_rides.generate(by=self.by, at=self.now)
        self.model.shifts[day], self.entered[day] = to_date, shift.pk
        self.model.reconcile()

    def _undoable(self) -> list[dt.date]:
        return [day for day, to in self.model.shifts.items() if min(day, to or day) > self.model.today]

    @precondition(lambda self: self._undoable())
    @rule(data=st.data())
    def facility_moves_a_day_back(self, data: st.DataObject) -> None:
        day = data.draw(st.sampled_from(self._undoable()))
        calendar_shifts.undo(shift_id=self.entered[day], by=self.by, at=self.now)
        generate_rides.generate(by=self.by, at=self.now)
        del self.model.shifts[day]
        self.model.reconcile()

    def _ahead(self) -> list[Key]:
        return sorted(key for key, (day, *_) in self.model.live.items() if day >= self.model.today)

    @precondition(lambda self: self._ahead())
    @rule(data=st.data())
    def ride_is_called_off_by_hand(self, data: st.DataObject) -> None:
        day, leg = key = data.draw(st.sampled_from(self._ahead()))
        ride = Ride.objects.exclude(status="cancelled").get(occurrence_key=f"{self.id}:{day}:{leg}")
        said = StatusReport(RideStatus.CANCELLED, source="phone", reason_code="rider_ill")
        status_report.change_status(ride_id=ride.pk, report=said, by=self.by, at=self.now)
        del self.model.live[key]
        self.model.called_off.add(key)

    @invariant()
    def rides_are_those_of_the_model(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(ROWS)
            rows = cursor.fetchall()
        found = {(day, leg): (service_date, chair, own) for day, leg, service_date, chair, own, _ in rows}
        assert len(found) == len(rows)  # each leg of each date once
        wanted = {
            key: (day, chair if key[1] == "outbound" else None, own)
            for key, (day, chair, own) in self.model.live.items()
        }
        assert found == wanted


@pytest.mark.untraced
@pytest.mark.django_db
def test_random_order_histories_have_the_arranged_rides() -> None:
    class Lives(OrderLives):
        centre = cast.dialysis_centre()

    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=sized(short=15, nightly=40), stateful_step_count=20, suppress_health_check=list(HealthCheck)
        ),
    )
