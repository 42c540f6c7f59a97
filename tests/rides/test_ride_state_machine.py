"""R-20: random lives of rides through the services, against a model in plain Python.

The model knows the table of the design as text and keeps, for each ride, its status, driver and version.  After every
step: one accepted assignment at most, no driver on two rides at once without an override, histories that are legal and
dense, an event for every version, an audit row for every accepted write, and counts that agree.
"""

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from apps.accounts.models import AuditEntry
from apps.events.models import Event
from apps.rides.lifecycle import RideStatus
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.services import assignment, booking, will_call
from apps.rides.services import report as reporting
from apps.rides.status_report import StatusReport
from lib.access import system
from lib.errors import DomainError
from tests import factories
from tests.fleet.crew import fit_pair
from tests.rides.drafts import draft
from tests.rides.test_lifecycle import DESIGNED

STEPS = {tuple(line.split()[1::2]) for line in DESIGNED.replace("\n", " ").split(";")}  # (from, to)
ENDED = {"completed", "cancelled", "no_show", "unfulfilled"}
UNDER_WAY = {"assigned", "en_route", "arrived", "in_progress"}
REASONS = {"cancelled": "rider_request", "no_show": "rider_unreachable", "scheduled": "vehicle_breakdown"}
MINUTE = dt.timedelta(minutes=1)


@dataclass
class Known:
    """What the model believes of a ride."""

    status: str
    driver: UUID | None
    version: int


class RideLives(RuleBasedStateMachine):
    rides = Bundle("rides")

    def __init__(self) -> None:
        super().__init__()
        self.by = system("state-machine")
        self.now = factories.NOW
        self.hospital = factories.FacilityFactory.create()
        self.riders = [factories.RiderFactory.create(facility=self.hospital) for _ in range(3)]
        self.crews = [fit_pair() for _ in range(2)]
        self.known: dict[UUID, Known] = {}
        self.overridden: set[UUID] = set()
        self.accepted = 0
        self.audited_before = AuditEntry.objects.count()

    def _attempt(self, ride_id: UUID, call: Any) -> bool:
        """Make one call; a refusal has to leave the ride as the model knows it."""
        try:
            call()
        except DomainError:
            self._unchanged(ride_id)
            return False
        return True

    def _unchanged(self, ride_id: UUID) -> None:
        row = Ride.objects.get(pk=ride_id)
        assert Known(row.status, row.driver_id, row.version) == self.known[ride_id]

    def _learn(self, ride_id: UUID) -> Known:
        row = Ride.objects.get(pk=ride_id)
        before = self.known[ride_id]
        assert row.version >= before.version
        if row.version > before.version:
            self.accepted += 1
        self.known[ride_id] = Known(row.status, row.driver_id, row.version)
        return self.known[ride_id]

    @rule(target=rides, rider=st.integers(0, 2), hours=st.integers(1, 30), waits=st.booleans())
    def book(self, rider: int, hours: int, waits: bool) -> UUID:
        asked = draft(
            self.hospital,
            self.riders[rider],
            pickup_at=self.now + hours * 60 * MINUTE,
            will_call=waits,
            allow_duplicate=True,
        )
        ride = booking.book(draft=asked, by=self.by, at=self.now).ride
        self.known[ride.pk] = Known("scheduled", None, 1)
        self.accepted += 1
        return ride.pk

    @rule(ride_id=rides, crew=st.integers(0, 1), override=st.booleans())
    def assign(self, ride_id: UUID, crew: int, override: bool) -> None:
        driver, vehicle = self.crews[crew]
        before = self.known[ride_id]
        done = self._attempt(
            ride_id,
            lambda: assignment.assign(
                ride_id=ride_id,
                driver_id=driver.pk,
                vehicle_id=vehicle.pk,
                override=override,
                override_reason="Agreed by phone." if override else "",
                handover=assignment.Handover(reason_code="vehicle_breakdown", rider_location="On Ashland Ave"),
                by=self.by,
                at=self.now,
            ),
        )
        assert not done or before.status not in ENDED | {"requested"}
        if done:
            after = self._learn(ride_id)
            assert after.driver == driver.pk
            assert after.status == ("in_progress" if before.status == "in_progress" else "assigned")
            if override:
                self.overridden.add(ride_id)

    @rule(ride_id=rides, wanted=st.sampled_from(sorted(RideStatus.values)))
    def report(self, ride_id: UUID, wanted: str) -> None:
        before = self.known[ride_id]
        on_board = before.status == "in_progress"
        failed = "aborted_safety" if on_board else "vehicle_breakdown"
        told = StatusReport(
            status=RideStatus(wanted),
            source="dispatcher_manual",
            reason_code=failed if wanted == "unfulfilled" else REASONS.get(wanted, ""),
            rider_location="On Ashland Ave",
            note="Corrected by a supervisor.",
        )
        done = self._attempt(
            ride_id, lambda: reporting.change_status(ride_id=ride_id, report=told, by=self.by, at=self.now)
        )
        if done:
            after = self._learn(ride_id)
            corrected = before.status in ENDED
            assert after.status == wanted
            assert corrected or before.status == wanted or (before.status, wanted) in STEPS

    @rule(ride_id=rides, back=st.booleans())
    def release(self, ride_id: UUID, back: bool) -> None:
        call = will_call.retract_ready if back else will_call.mark_ready
        if self._attempt(ride_id, lambda: call(ride_id=ride_id, by=self.by, at=self.now)):
            before = self.known[ride_id].status
            assert self._learn(ride_id).status == before in ("scheduled", "assigned")

    @rule(minutes=st.integers(1, 90))
    def wait(self, minutes: int) -> None:
        self.now += minutes * MINUTE

    @invariant()
    def model_and_rows_agree(self) -> None:
        rows = Ride.objects.filter(pk__in=self.known)
        assert {row.pk: Known(row.status, row.driver_id, row.version) for row in rows} == self.known
        counted = Counter(rows.values_list("status", flat=True))
        assert counted == Counter(known.status for known in self.known.values())

    @invariant()
    def one_accepted_assignment_at_most(self) -> None:
        with_driver = {
            pk for pk, known in self.known.items() if known.status in ("assigned", "en_route", "arrived", "in_progress")
        }
        accepted = Assignment.objects.filter(ride_id__in=self.known, status="accepted")
        assert sorted(accepted.values_list("ride_id", flat=True)) == sorted(with_driver)

    @invariant()
    def histories_are_legal_and_dense(self) -> None:
        for ride_id, known in self.known.items():
            events = Event.objects.filter(subject_id=ride_id).order_by("sequence")
            assert [event.sequence for event in events] == list(range(1, known.version + 1))
            status: str | None = None
            for event in events:
                step = (status or "-", event.data["status"])
                moved = event.data["status"] != status
                assert not moved or step in STEPS or event.type == "ride.corrected", step
                status = event.data["status"]
            assert status == known.status

    @invariant()
    def every_accepted_write_is_audited(self) -> None:
        assert AuditEntry.objects.count() - self.audited_before >= self.accepted

    @invariant()
    def counters_count_the_rows(self) -> None:
        for row in Ride.objects.filter(pk__in=self.known):
            unsettled = RideException.objects.unsettled().filter(ride=row)
            assert row.open_exception_count == unsettled.count()

    @invariant()
    def no_driver_is_in_two_vehicles_at_once(self) -> None:
        for driver, _ in self.crews:
            on_board = [
                pk for pk, known in self.known.items() if known.driver == driver.pk and known.status == "assigned"
            ]
            planned = Ride.objects.filter(pk__in=set(on_board) - self.overridden).order_by("pickup_at")
            instants = list(planned.values_list("pickup_at", flat=True))
            assert len(instants) == len(set(instants)), instants


@pytest.mark.untraced
@pytest.mark.django_db
def test_random_lives_keep_every_invariant() -> None:
    run_state_machine_as_test(
        RideLives,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )
