"""In any order of changes and evaluations, the open exceptions are those of the pure rules for the present facts.

Histories run through the services, with users who resolve and claim, facilities that change their settings, and
evaluations at any time.  After every step: a ride that differs from the rules is due; a ride that is not due agrees
with them, and is evaluated again no later than they require.  After every evaluation: all of them agree.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.organizations.models import EscalationPolicy, Facility
from apps.rides.models import Ride, RideException
from apps.rides.queries import monitored_rides, ride_forecasts
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.exception_rules import RECHECK_WITHIN, Outlook, evaluate, predicted_from, settles
from apps.rides.rules.exception_types import SEVERITY_RANK, ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import (
    assignment,
    booking,
    editing,
    exception_monitor,
    exceptions,
    recurring_booking,
    will_call,
)
from apps.rides.services import status as reporting_status
from apps.rides.services import status_report as reporting
from apps.rides.services.eligibility_checks import Override
from lib.access import Principal, system
from lib.errors import DomainError
from tests import factories
from tests.fleet.crew import fit_pair
from tests.rides.drafts import dialysis, draft
from tests.rides.sets import book_set
from tests.rides.status_calls import report_to

pytestmark = pytest.mark.untraced

NOW, PICKUP = factories.NOW, factories.PICKUP
MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
PATIENT: Final = {"unit": "4 West", "unitPhone": "+13125550140", "planner": {"name": "Pat"},
                  "checklist": {"orderSigned": True}}  # fmt: skip
CLOCKED: Final = frozenset(type_ for type_ in ExceptionType if settles(type_, "scheduled")) | {
    ExceptionType.DISCHARGE_SLIPPED
}

PREDICTED: Final = frozenset({"late_pickup_predicted", "late_to_appointment"})


class World:
    """Users, a hospital and one crew; rides are created and removed."""

    def __init__(self) -> None:
        self.by: Principal = system("clock-test")
        self.hospital: Facility = factories.FacilityFactory.create(
            hours=[{"days": ["fri", "sat", "sun"], "opens": "06:00", "closes": "19:00"}]
        )
        self.riders = [factories.RiderFactory.create(facility=self.hospital) for _ in range(3)]
        self.crew = fit_pair()
        self.policy = EscalationPolicy.objects.create(name="Quick", step_minutes=[0, 5, 10, 20, 25])


class Life:
    """One run: the current instant, and the possible next steps."""

    def __init__(self, world: World) -> None:
        self.world, self.by, self.now = world, world.by, NOW

    def rides(self) -> list[Ride]:
        return list(Ride.objects.order_by("created_at", "pk"))

    def pick(self, number: int) -> UUID:
        rides = self.rides()
        return rides[number % len(rides)].pk

    def book(self, number: int) -> None:
        rider = self.world.riders[number % 3]
        kinds: list[Any] = [
            draft(self.world.hospital, rider),
            draft(self.world.hospital, rider, will_call=True),
            draft(self.world.hospital, rider, service_type="hospital_discharge", discharge=PATIENT),
            draft(self.world.hospital, rider, service_type="hospital_discharge", discharge=PATIENT, will_call=True),
            dialysis(self.world.hospital, rider, return_leg=ReturnLeg(pickup_at=PICKUP + 4 * HOUR)),
        ]
        asked = kinds[number % len(kinds)]
        booking.book(draft=asked, by=self.by, at=self.now)

    def book_set(self, number: int) -> None:
        asked = dialysis(self.world.hospital, self.world.riders[number % 3], return_leg=ReturnLeg(None))
        book_set(asked, self.world.hospital, self.by, offsets=(number % 4,))

    def wait(self, number: int) -> None:
        self.now += (number % 300) * MINUTE

    def amend(self, number: int) -> None:
        moments = [self.now + minutes * MINUTE for minutes in (5, 90, 600, 3000)]
        changes: list[dict[str, Any]] = [
            *({"pickup_at": moment} for moment in moments),
            {"appointment_at": moments[number % 4]},
            {
                "discharge": {
                    "expectedReadyAt": moments[1].isoformat(),
                    "receiving": {"acceptBy": moments[1].isoformat()},
                }
            },
            {"notes": {"driver": f"Ring {number} times."}},
            {"will_call": bool(number % 2)},
        ]
        options = editing.EditOptions(allow_duplicate=True, override=Override(True, "As agreed."))
        editing.edit(
            ride_id=self.pick(number), changes=changes[number % len(changes)], options=options,
            by=self.by, at=self.now,
        )  # fmt: skip

    def ready(self, number: int) -> None:
        will_call.mark_ready(ride_id=self.pick(number), override=True, override_reason="Now.", by=self.by, at=self.now)

    def unready(self, number: int) -> None:
        will_call.retract_ready(ride_id=self.pick(number), by=self.by, at=self.now)

    def assign(self, number: int) -> None:
        driver, vehicle = self.world.crew
        assignment.assign(
            ride_id=self.pick(number), driver_id=driver.pk, vehicle_id=vehicle.pk, override=True,
            override_reason="Somebody has to.", by=self.by, at=self.now,
        )  # fmt: skip

    def unassign(self, number: int) -> None:
        assignment.unassign(ride_id=self.pick(number), reason_code="vehicle_breakdown", by=self.by, at=self.now)

    def set_out(self, number: int) -> None:
        self.assign(number)
        self.go_on(number)

    def go_on(self, number: int) -> None:
        onward = {"assigned": "en_route", "en_route": "arrived", "arrived": "in_progress", "in_progress": "completed"}
        ride = Ride.objects.get(pk=self.pick(number))
        self.report(ride, onward.get(ride.status, "scheduled"))

    def skip_departure(self, number: int) -> None:
        self.assign(number)
        self.report(Ride.objects.get(pk=self.pick(number)), "arrived")

    def cancel(self, number: int) -> None:
        self.report(Ride.objects.get(pk=self.pick(number)), "cancelled", reason_code="rider_request")

    def fail(self, number: int) -> None:
        self.report(Ride.objects.get(pk=self.pick(number)), "unfulfilled", reason_code="vehicle_breakdown")

    def estimate(self, number: int) -> None:
        ride = Ride.objects.get(pk=self.pick(number))
        self.report(ride, ride.status, eta_pickup=self.now + (number % 120) * MINUTE)

    def report(self, ride: Ride, status: str, **more: Any) -> None:
        report = report_to(RideStatus(status), occurred_at=self.now, securement_confirmed=True, **more)
        reporting.change_status(ride_id=ride.pk, report=report, by=self.by, at=self.now)

    def close_by_hand(self, number: int) -> None:
        found = list(RideException.objects.unsettled().order_by("pk"))
        if found:
            exceptions.resolve(
                exception_id=found[number % len(found)].pk, code=ResolutionCode.FALSE_ALARM, by=self.by, at=self.now
            )

    def claim(self, number: int) -> None:
        found = list(RideException.objects.unsettled().order_by("pk"))
        if found:
            exceptions.acknowledge(exception_id=found[number % len(found)].pk, by=self.by, at=self.now)

    def settle_otherwise(self, number: int) -> None:
        """Change the settings of a facility; its rides follow at the next evaluation."""
        columns: list[dict[str, Any]] = [
            {"will_call_response_minutes": 10 + number % 90},
            {"no_show_wait_minutes": number % 20},
            {"escalation_policy": self.world.policy if number % 2 else None},
            {"hours": [{"days": ["fri", "sat", "sun"], "opens": "06:00", "closes": f"{12 + number % 12}:00"}]},
        ]
        Facility.objects.filter(pk=self.world.hospital.pk).update(**columns[number % len(columns)])
        self.look(number)

    def look(self, number: int) -> None:
        exception_monitor.watch(by=self.by, at=self.now)
        assert_all_agree(self.now)


STEPS: Final[tuple[Callable[[Life, int], None], ...]] = (
    Life.wait, Life.book, Life.look, Life.amend, Life.ready, Life.assign, Life.set_out, Life.go_on, Life.wait,
    Life.unready, Life.unassign, Life.skip_departure, Life.cancel, Life.fail, Life.estimate, Life.close_by_hand,
    Life.claim, Life.settle_otherwise, Life.book_set,
)  # fmt: skip


def outlook_of(ride: Ride, at: dt.datetime) -> Outlook:
    (row,) = monitored_rides._locked(f"{monitored_rides._LOCKED} r.id = %(ride_id)s", {"ride_id": ride.pk})
    unsettled = RideException.objects.unsettled().filter(ride=ride)
    terms = monitored_rides.terms_of([row])[ride.pk]._replace(
        forecast=ride_forecasts.forecasts_of([row], at=at).get(ride.pk),
        foreseen=unsettled.filter(type=ExceptionType.LATE_PICKUP_PREDICTED).exists(),
    )
    return evaluate(row.facts, terms, at)


def is_predicted(ride: Ride, at: dt.datetime) -> bool:
    since = predicted_from(monitored_rides.facts_of(ride))
    return since is not None and since <= at


def differences(ride: Ride, at: dt.datetime) -> list[str]:
    """Return exceptions that are open without reason, and missing ones.

    Reports about other rides of a driver change what is predicted for this one, which the monitor reads within ten
    minutes: such differences are left out.
    """
    findings = {type_.value: finding for type_, finding in outlook_of(ride, at).findings.items()}
    left_out = PREDICTED if is_predicted(ride, at) else frozenset()
    findings = {type_: finding for type_, finding in findings.items() if type_ not in left_out}
    unsettled = dict(RideException.objects.unsettled().filter(ride=ride).values_list("type", "severity"))
    aside = list(
        RideException.objects.filter(ride=ride, closed_by_hand=True).values_list("type", "resolved_at", "severity")
    )
    wrong = []
    for type_, finding in findings.items():
        put_aside = any(
            one == type_
            and resolved_at
            and resolved_at > finding.since
            and SEVERITY_RANK[ExceptionSeverity(severity)] >= SEVERITY_RANK[finding.severity]
            for one, resolved_at, severity in aside
        )
        if type_ not in unsettled and not put_aside:
            wrong.append(f"{type_} is not open")
        if type_ in unsettled and unsettled[type_] != finding.severity:
            wrong.append(f"{type_} is {unsettled[type_]}")
    too_many = (set(unsettled) & {one.value for one in CLOCKED}) - set(findings) - left_out
    return wrong + [f"{type_} is open" for type_ in too_many if settles(ExceptionType(type_), ride.status)]


def assert_all_agree(at: dt.datetime) -> None:
    for ride in Ride.objects.all():
        assert differences(ride, at) == []
        assert not outlook_of(ride, at).ends_unused
        assert ride.next_check_at is None or ride.next_check_at > at


def assert_what_differs_is_due(at: dt.datetime) -> None:
    for ride in Ride.objects.all():
        if ride.next_check_at is not None and ride.next_check_at <= at:
            continue
        outlook = outlook_of(ride, at)
        assert differences(ride, at) == []
        assert not outlook.ends_unused
        if outlook.next_at is not None:
            assert ride.next_check_at is not None
            latest = at + RECHECK_WITHIN[1] if is_predicted(ride, at) else outlook.next_at
            assert ride.next_check_at <= max(latest, outlook.next_at)


def assert_ride_is_due_in_time(at: dt.datetime) -> None:
    """Look at each of the next hours, because exceptions expire."""
    for hours in range(60):
        assert_what_differs_is_due(at + hours * HOUR)


@pytest.mark.django_db
def test_what_is_open_is_what_the_rules_say() -> None:
    world = World()
    taken: dict[str, int] = {}

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 10_000)), min_size=5, max_size=30))
    def lead(steps: list[tuple[Callable[[Life, int], None], int]]) -> None:
        savepoint = transaction.savepoint()
        life = Life(world)
        try:
            life.book(steps[0][1])
            for step, number in steps:
                try:
                    with transaction.atomic():
                        step(life, number)
                except DomainError:
                    continue
                taken[step.__name__] = taken.get(step.__name__, 0) + 1
                assert_what_differs_is_due(life.now)
        finally:
            transaction.savepoint_rollback(savepoint)

    lead()

    assert set(taken) == {step.__name__ for step in STEPS}  # every step succeeds at least once


@pytest.mark.django_db
@pytest.mark.parametrize("door", ["booking", "series", "status"])
def test_change_that_says_nothing_of_the_clock_is_found_out(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: if one writer of rides omits the next check time, rides are evaluated too late."""
    never = NOW + 9000 * HOUR
    if door == "series":
        monkeypatch.setattr(recurring_booking._Set, "_next_check_at", lambda *_: never)
    else:
        module = booking if door == "booking" else reporting_status
        monkeypatch.setattr(module, "watching_of", lambda *_, **__: never)
    life = Life(World())
    if door == "series":
        life.book_set(0)
    else:
        life.book(1)
        if door == "status":
            life.ready(0)

    with pytest.raises(AssertionError):
        assert_ride_is_due_in_time(life.now)
