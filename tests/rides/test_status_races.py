"""Many concurrent writers on the same rides.  Every accepted change is one event, and histories stay legal.

32,000 attempts every night, 3,200 before each commit.
"""

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, OperationalError, connection
from psycopg.errors import LockNotAvailable

from apps.events.models import Event
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import TRANSITIONS, RideStatus
from apps.rides.services import status_report as service
from lib.access import Principal, system
from lib.errors import DomainError
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import AT, report_to
from tests.tiers import sized

WRITERS = 8
RIDES = 12
ATTEMPTS = 80  # per writer
ROUNDS = sized(short=5, nightly=50)
LEGAL = {(row.source, row.target) for row in TRANSITIONS if row.source is not None}
WANTED = [
    RideStatus.EN_ROUTE,
    RideStatus.ARRIVED,
    RideStatus.IN_PROGRESS,
    RideStatus.COMPLETED,
    RideStatus.CANCELLED,
    RideStatus.UNFULFILLED,
]


def attempt_at_random(seed: int, rides: list[UUID]) -> Counter[str]:
    """Report random statuses on random rides; count the results."""
    choose = random.Random(seed)
    outcomes: Counter[str] = Counter()
    try:
        for _ in range(ATTEMPTS):
            outcomes[attempt(choose.choice(WANTED), choose.choice(rides))] += 1
    finally:
        connection.close()
    return outcomes


def attempt(target: RideStatus, ride_id: UUID) -> str:
    reason = {RideStatus.CANCELLED: "weather", RideStatus.UNFULFILLED: "vehicle_breakdown"}.get(target, "")
    report = report_to(target, reason_code=reason, occurred_at=AT)
    try:
        service.change_status(ride_id=ride_id, report=report, by=system(), at=AT)
    except DomainError:
        return "refused"
    except IntegrityError:  # a version written twice
        return "broken"
    except OperationalError as failure:
        return "busy" if isinstance(failure.__cause__, LockNotAvailable) else "broken"  # else a deadlock
    return "accepted"


def race() -> tuple[Counter[str], list[UUID]]:
    rides = [ride_in(RideStatus.ASSIGNED).pk for _ in range(RIDES)]
    with ThreadPoolExecutor(WRITERS) as writers:
        runs = writers.map(lambda seed: attempt_at_random(seed, rides), range(WRITERS))
        return sum(runs, Counter()), rides


def illegal_histories(rides: list[UUID]) -> list[Any]:
    """Replay the events of each ride; return every transition that the table does not contain and every gap."""
    wrong: list[Any] = []
    for ride_id in rides:
        version, status = 1, "assigned"
        for event in Event.objects.filter(subject_id=ride_id).order_by("sequence"):
            version += 1
            if event.sequence != version:
                wrong.append((ride_id, "gap before", event.sequence))
            if event.data["status"] != status and (event.data["previousStatus"], event.data["status"]) not in LEGAL:
                wrong.append((ride_id, event.data["previousStatus"], event.data["status"]))
            if event.data["previousStatus"] not in (status, event.data["status"]):
                wrong.append((ride_id, "lost", status))
            status = event.data["status"]
        row = Ride.objects.get(pk=ride_id)
        if (row.version, row.status) != (version, status):
            wrong.append((ride_id, "row says", row.version, row.status))
    return wrong


@pytest.mark.untraced
@pytest.mark.django_db(transaction=True)
def test_concurrent_reports_leave_legal_histories() -> None:
    for _ in range(ROUNDS):
        outcomes, rides = race()

        assert outcomes["broken"] == 0
        assert outcomes["accepted"] >= RIDES
        assert sum(outcomes.values()) == WRITERS * ATTEMPTS
        assert illegal_histories(rides) == []


@pytest.mark.django_db(transaction=True)
def test_without_the_row_lock_the_race_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: two sessions read the unlocked row, both before either writes."""
    ride, both_have_read = ride_in(RideStatus.ASSIGNED), threading.Barrier(2, timeout=60)

    def unlocked(ride_id: UUID, by: Principal, *, expected_version: int | None = None) -> Ride:
        row = Ride.objects.select_related("facility", "pickup_facility", "payer").get(pk=ride_id)
        both_have_read.wait()
        return row

    def report(target: RideStatus) -> str:
        try:
            return attempt(target, ride.pk)
        finally:
            connection.close()

    monkeypatch.setattr("apps.rides.services.status_report.locked", unlocked)

    with ThreadPoolExecutor(2) as writers:
        outcomes = Counter(writers.map(report, [RideStatus.EN_ROUTE, RideStatus.CANCELLED]))

    assert outcomes == {"accepted": 1, "broken": 1}
