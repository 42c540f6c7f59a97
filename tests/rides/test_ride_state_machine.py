"""R-20: random lives of rides through the services, against a model in plain Python.

The model knows the table of the design as text and keeps, for each ride, its status, driver and version, and how often
it was changed and read.  After every step: one accepted assignment at most, no driver and no vehicle on two rides at
once without an override, histories that are legal and dense, an event for every version, exactly one audit row for
every accepted write and every read, and counts that agree.
"""

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import caches
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from apps.accounts.models import AuditEntry
from apps.accounts.roles import TokenRole
from apps.events.models import Event
from apps.rides.lifecycle import RideStatus
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.queries.ride_needs import errand_of
from apps.rides.services import assignment, booking, will_call
from apps.rides.services import report as reporting
from apps.rides.status_report import MilestoneReport, StatusReport
from lib.access import system
from lib.errors import DomainError
from tests import factories
from tests.callers import api_with
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
        self.reader = api_with(TokenRole.FULL_ACCESS)
        # Rides that may stand beside others: somebody overrode it, or the rider said when they were ready.
        self.excused: set[UUID] = set()
        self.trail: Counter[tuple[UUID, str]] = Counter()  # (ride, "write" or "read")

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
            self.trail[ride_id, "write"] += 1
        self.known[ride_id] = Known(row.status, row.driver_id, row.version)
        return self.known[ride_id]

    @initialize(target=rides)
    def promise(self) -> Any:
        """Begin with two rides that have their drivers: the road is longer than chance goes in a few steps."""
        begun = [self.book(rider=number, hours=1 + number, waits=False) for number in range(2)]
        for number, ride_id in enumerate(begun):
            self.assign(ride_id=ride_id, crew=number, override=False)
        return multiple(*begun)

    # Few rides, close together: each lives longer, and they get into each other's way.
    @precondition(lambda self: len(self.known) < 4)
    @rule(target=rides, rider=st.integers(0, 2), hours=st.integers(1, 6), waits=st.booleans())
    def book(self, rider: int, hours: int, waits: bool) -> UUID:
        asked = draft(
            self.hospital,
            self.riders[rider],
            pickup_at=self.now + hours * 60 * MINUTE,
            will_call=waits,
            allow_duplicate=True,
        )
        ride = booking.book(draft=asked, by=self.by, at=self.now).ride
        beside = RideException.objects.filter(ride=ride, type="duplicate_ride").count()
        self.known[ride.pk] = Known("scheduled", None, 1 + beside)
        self.trail[ride.pk, "write"] += 1
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
                handover=assignment.Handover(
                    reason_code="vehicle_breakdown",
                    rider_location="On Ashland Ave" if before.status == "in_progress" else "",
                ),
                by=self.by,
                at=self.now,
            ),
        )
        assert not done or before.status not in ENDED | {"requested"}
        if done:
            after = self._learn(ride_id)
            assert after.driver == driver.pk
            if after.version == before.version:
                return  # they were on it already: nobody is asked again
            assert after.status == ("in_progress" if before.status == "in_progress" else "assigned")
            if override:
                self.excused.add(ride_id)
            else:
                self.excused.discard(ride_id)

    @rule(ride_id=rides, pick=st.integers(0, 9), designed=st.sampled_from([True, True, True, False]))
    def report(self, ride_id: UUID, pick: int, designed: bool) -> None:
        """Report some status; mostly one that the design has from here, for chance alone never gets far on the road."""
        before = self.known[ride_id]
        possible = sorted(target for source, target in STEPS if source == before.status) if designed else []
        possible = possible or sorted(RideStatus.values)
        wanted = possible[pick % len(possible)]
        on_board = before.status == "in_progress"
        tried = MilestoneReport(type="contact_attempt", occurred_at=self.now, contacted="rider")
        failed = "aborted_safety" if on_board else "vehicle_breakdown"
        told = StatusReport(
            status=RideStatus(wanted),
            source="dispatcher_manual",
            reason_code=failed if wanted == "unfulfilled" else REASONS.get(wanted, ""),
            rider_location="On Ashland Ave",
            note="Corrected by a supervisor.",
            milestones=(tried,) if wanted == "no_show" and before.status == "arrived" else (),
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
            before = self.known[ride_id]
            assert self._learn(ride_id).status == before.status
            if self.known[ride_id].version > before.version:
                assert before.status in ("scheduled", "assigned")
                self.excused.add(ride_id)

    @rule(ride_id=rides)
    def read(self, ride_id: UUID) -> None:
        caches["throttles"].clear()  # time stands still, and nothing refills them
        response = self.reader.get(f"/api/rides/{ride_id}")

        shown, known = response.json(), self.known[ride_id]
        assert (shown["status"], shown["driverId"], shown["version"]) == (
            known.status,
            None if known.driver is None else str(known.driver),
            known.version,
        )
        entry = AuditEntry.objects.get(request_id=response.headers["X-Request-Id"])
        assert (entry.action, entry.rider_ids) == ("rides.read", [Ride.objects.get(pk=ride_id).rider_id])
        self.trail[ride_id, "read"] += 1

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
    def every_accepted_write_and_every_read_has_one_row_in_the_trail(self) -> None:
        rows = AuditEntry.objects.filter(subject_id__in=self.known).values_list("subject_id", "action")
        assert self.trail == Counter((pk, "read" if action == "rides.read" else "write") for pk, action in rows)

    @invariant()
    def counters_count_the_rows(self) -> None:
        for row in Ride.objects.filter(pk__in=self.known):
            unsettled = RideException.objects.unsettled().filter(ride=row)
            assert row.open_exception_count == unsettled.count()

    @invariant()
    def nobody_and_no_vehicle_is_planned_for_two_rides_at_once(self) -> None:
        waiting = [pk for pk, known in self.known.items() if known.status in ("assigned", "en_route")]
        planned = Ride.objects.filter(pk__in=set(waiting) - self.excused)
        for one, other in combinations(planned, 2):
            if one.driver_id == other.driver_id or one.vehicle_id == other.vehicle_id:
                mine, theirs = (errand_of(ride, at=self.now).span for ride in (one, other))
                assert not mine.overlaps(theirs), (one.pk, other.pk)


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
