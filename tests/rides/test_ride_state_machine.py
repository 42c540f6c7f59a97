"""Random histories of rides through the services, compared to a model in plain Python.

The model has the table of the design as text and stores, for each ride, its status, driver and version, its past
statuses, and the number of changes and reads.  After every step: at most one accepted assignment, no driver and no
vehicle on two rides at once without an override, histories that are legal, gapless and those of the model, an event for
every version, exactly one audit entry for every accepted write and every read, and equal counts.

All histories run in one data set, each in a savepoint that is rolled back after it, and one statement reads all the
required data of the rows after a step.
"""

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.core.cache import caches
from django.db import connection, transaction
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

from apps.accounts.rules.roles import TokenRole
from apps.riders.models import Rider
from apps.rides.models import Ride, RideException
from apps.rides.queries.ride_needs import slot_of
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import assignment, booking, will_call
from apps.rides.services import status_report as reporting
from lib.access import system
from lib.errors import DomainError
from tests import factories
from tests.callers import api_with
from tests.fleet.crew import fit_pair
from tests.rides.drafts import draft
from tests.rides.test_lifecycle import DESIGNED
from tests.tiers import sized

STEPS = {tuple(line.split()[1::2]) for line in DESIGNED.replace("\n", " ").split(";")}  # (from, to)
ENDED = {"completed", "cancelled", "no_show", "unfulfilled"}
UNDER_WAY = {"assigned", "en_route", "arrived", "in_progress"}
ONWARD = {"assigned": "en_route", "en_route": "arrived", "arrived": "in_progress", "in_progress": "completed"}
REASONS = {"cancelled": "rider_request", "no_show": "rider_unreachable", "scheduled": "vehicle_breakdown"}
MINUTE = dt.timedelta(minutes=1)
ROWS = """
    SELECT id, status, driver_id, vehicle_id, version, open_exception_count,
        (SELECT count(*) FROM rides_rideexception WHERE ride_id = r.id AND status IN ('open', 'acknowledged')),
        (SELECT coalesce(json_agg(driver_id), '[]') FROM rides_assignment WHERE ride_id = r.id AND status = 'accepted'),
        (SELECT coalesce(json_agg(json_build_array(sequence, type, data ->> 'status') ORDER BY sequence), '[]')
            FROM events_event WHERE subject_type = 'ride' AND subject_id = r.id),
        (SELECT coalesce(json_agg(json_build_array(action, rider_ids)), '[]')
            FROM audit_auditentry WHERE subject_type = 'ride' AND subject_id = r.id)
    FROM rides_ride r
"""


@dataclass
class Known:
    """State of a ride in the model."""

    status: str
    driver: UUID | None
    version: int


class RideRecord(NamedTuple):
    """State of a ride in the tables, read without the code under test."""

    id: UUID
    status: str
    driver_id: UUID | None
    vehicle_id: UUID | None
    version: int
    open_exception_count: int
    unsettled: int
    accepted: list[str]  # drivers of its accepted assignments
    events: list[tuple[int, str, str]]  # sequence, type, status
    trail: list[tuple[str, list[str]]]  # action, riders


def rows_of_all_rides() -> list[RideRecord]:
    with connection.cursor() as cursor:
        cursor.execute(ROWS)
        return [RideRecord(*row) for row in cursor.fetchall()]


class World:
    """Data shared by all histories, created once: users, and two rides that have their drivers.

    Random steps from a booking rarely reach a drive within a few steps.
    """

    def __init__(self) -> None:
        self.by = system("state-machine")
        self.hospital = factories.FacilityFactory.create()
        self.riders = [factories.RiderFactory.create(facility=self.hospital) for _ in range(3)]
        self.crews = [fit_pair() for _ in range(2)]
        self.reader = api_with(TokenRole.FULL_ACCESS)
        self.begun = [
            self.book(rider, pickup_at=factories.NOW + (1 + number) * 60 * MINUTE)
            for number, rider in enumerate(self.riders[:2])
        ]
        for ride, (driver, vehicle) in zip(self.begun, self.crews, strict=True):
            assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=self.by, at=factories.NOW)

    def book(self, rider: Rider, *, at: dt.datetime = factories.NOW, **changes: Any) -> Ride:
        asked = draft(self.hospital, rider, allow_duplicate=True, **changes)
        return booking.book(draft=asked, by=self.by, at=at).ride


class RideLives(RuleBasedStateMachine):
    world: World
    rides = Bundle("rides")

    def __init__(self) -> None:
        super().__init__()
        self.by = self.world.by
        self.now = factories.NOW
        self.known: dict[UUID, Known] = {}
        self.paths: dict[UUID, list[str]] = {}  # past statuses of each ride
        self.rider_of: dict[UUID, UUID] = {}
        # Rides that may overlap others: by an override, or because the rider chose the time.
        self.excused: set[UUID] = set()
        self.trail: Counter[tuple[UUID, str]] = Counter()  # (ride, "write" or "read")
        self.savepoint = transaction.savepoint()

    def teardown(self) -> None:
        transaction.savepoint_rollback(self.savepoint)

    def _attempt(self, call: Any) -> bool:
        """Make one call; a refusal leaves every ride as in the model, which `model_and_rows_agree` checks next."""
        try:
            call()
        except DomainError:
            return False
        return True

    def _learn(self, ride_id: UUID) -> Known:
        before = self.known[ride_id]
        after = Known(*Ride.objects.values_list("status", "driver_id", "version").get(pk=ride_id))
        assert after == before or after.version > before.version
        if after.version > before.version:
            self.trail[ride_id, "write"] += 1
        if after.status != before.status:
            self.paths[ride_id].append(after.status)
        self.known[ride_id] = after
        return after

    @initialize(target=rides)
    def promise(self) -> Any:
        for ride, (driver, _) in zip(self.world.begun, self.world.crews, strict=True):
            self.known[ride.pk] = Known("assigned", driver.pk, 2)
            self.paths[ride.pk] = ["scheduled", "assigned"]
            self.rider_of[ride.pk] = ride.rider_id
            self.trail[ride.pk, "write"] = 2
        return multiple(*self.known)

    # Few rides, close together: each has a longer history, and they conflict.
    @precondition(lambda self: len(self.known) < 4)
    @rule(target=rides, rider=st.integers(0, 2), hours=st.integers(1, 6), waits=st.booleans())
    def book(self, rider: int, hours: int, waits: bool) -> UUID:
        pickup_at = self.now + hours * 60 * MINUTE
        ride = self.world.book(self.world.riders[rider], pickup_at=pickup_at, will_call=waits, at=self.now)
        beside = RideException.objects.filter(ride=ride, type="duplicate_ride").count()
        self.known[ride.pk] = Known("scheduled", None, 1 + beside)
        self.paths[ride.pk] = ["scheduled"]
        self.rider_of[ride.pk] = ride.rider_id
        self.trail[ride.pk, "write"] += 1
        return ride.pk

    @rule(ride_id=rides, crew=st.integers(0, 1), override=st.booleans())
    def assign(self, ride_id: UUID, crew: int, override: bool) -> None:
        driver, vehicle = self.world.crews[crew]
        before = self.known[ride_id]
        done = self._attempt(
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
                return  # already assigned: there is no second check
            assert after.status == ("in_progress" if before.status == "in_progress" else "assigned")
            if override:
                self.excused.add(ride_id)
            else:
                self.excused.discard(ride_id)

    @rule(ride_id=rides, pick=st.integers(0, 9), way=st.sampled_from(["onward", "onward", "designed", "any"]))
    def report(self, ride_id: UUID, pick: int, way: str) -> None:
        """Report a status, mostly one that is permitted from here: random statuses rarely get far."""
        before = self.known[ride_id]
        designed = sorted(target for source, target in STEPS if source == before.status)
        possible = {"onward": [ONWARD.get(before.status, "")], "designed": designed, "any": sorted(RideStatus.values)}
        choice = [*filter(None, possible[way])] or possible["any"]
        wanted = choice[pick % len(choice)]
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
        done = self._attempt(lambda: reporting.change_status(ride_id=ride_id, report=told, by=self.by, at=self.now))
        if done:
            after = self._learn(ride_id)
            corrected = before.status in ENDED
            assert after.status == wanted
            assert corrected or before.status == wanted or (before.status, wanted) in STEPS

    @rule(ride_id=rides, back=st.booleans())
    def release(self, ride_id: UUID, back: bool) -> None:
        call = will_call.retract_ready if back else will_call.mark_ready
        if self._attempt(lambda: call(ride_id=ride_id, by=self.by, at=self.now)):
            before = self.known[ride_id]
            assert self._learn(ride_id).status == before.status
            if self.known[ride_id].version > before.version:
                assert before.status in ("scheduled", "assigned")
                self.excused.add(ride_id)

    @rule(ride_id=rides)
    def read(self, ride_id: UUID) -> None:
        caches["throttles"].clear()  # time is stopped, so that limits do not refill
        response = self.world.reader.get(f"/api/rides/{ride_id}")

        shown, known = response.json(), self.known[ride_id]
        assert (shown["status"], shown["driverId"], shown["version"]) == (
            known.status,
            None if known.driver is None else str(known.driver),
            known.version,
        )
        self.trail[ride_id, "read"] += 1

    @rule(minutes=st.integers(1, 90))
    def wait(self, minutes: int) -> None:
        self.now += minutes * MINUTE

    @invariant()
    def rows_are_as_the_model_has_them(self) -> None:
        rows = rows_of_all_rides()
        self._model_and_rows_agree(rows)
        for row in rows:
            self._one_accepted_assignment_at_most(row)
            self._history_is_legal_dense_and_that_of_the_model(row)
            assert row.open_exception_count == row.unsettled
        self._every_accepted_write_and_every_read_has_one_row_in_the_trail(rows)
        self._nobody_and_no_vehicle_is_planned_for_two_rides_at_once(rows)

    def _model_and_rows_agree(self, rows: list[RideRecord]) -> None:
        assert {row.id: Known(row.status, row.driver_id, row.version) for row in rows} == self.known
        assert Counter(row.status for row in rows) == Counter(known.status for known in self.known.values())

    def _one_accepted_assignment_at_most(self, row: RideRecord) -> None:
        known = self.known[row.id]
        assert row.accepted == ([str(known.driver)] if known.status in UNDER_WAY else [])

    def _history_is_legal_dense_and_that_of_the_model(self, row: RideRecord) -> None:
        assert [sequence for sequence, *_ in row.events] == list(range(1, row.version + 1))
        path: list[str] = []
        for _, type_, status in row.events:
            before = path[-1] if path else "-"
            if status == before:
                continue
            assert (before, status) in STEPS or type_ == "ride.corrected", (before, status)
            path.append(status)
        assert path == self.paths[row.id]

    def _every_accepted_write_and_every_read_has_one_row_in_the_trail(self, rows: list[RideRecord]) -> None:
        found = Counter(
            (row.id, "read" if action == "rides.read" else "write") for row in rows for action, _ in row.trail
        )
        assert found == self.trail
        assert all(riders == [str(self.rider_of[row.id])] for row in rows for _, riders in row.trail)

    def _nobody_and_no_vehicle_is_planned_for_two_rides_at_once(self, rows: list[RideRecord]) -> None:
        planned = [row for row in rows if row.status in ("assigned", "en_route") and row.id not in self.excused]
        for one, other in combinations(planned, 2):
            if one.driver_id == other.driver_id or one.vehicle_id == other.vehicle_id:
                pair = Ride.objects.filter(pk__in=[one.id, other.id])
                mine, theirs = (slot_of(ride, at=self.now).span for ride in pair)
                assert not mine.overlaps(theirs), (one.id, other.id)


@pytest.mark.untraced
@pytest.mark.django_db
def test_random_lives_keep_every_invariant() -> None:
    class Lives(RideLives):
        world = World()

    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=sized(short=30, nightly=100),
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )
