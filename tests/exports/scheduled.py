"""Schedules for tests, and a simulated clock for their workers."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.sessions import principal_of_absent
from apps.exports.destinations.errors import UploadError
from apps.exports.models import ExportDestination, ReportSchedule, ScheduleRun
from apps.exports.services import export_runs, schedule_runs, schedules, uploads
from apps.exports.services.schedule_validation import ScheduleRequest
from lib.access import Principal
from tests import factories
from tests.exports.places import bucket
from tests.factories import NOW

DAY = dt.timedelta(days=1)
SUPERVISOR = UserRole.DISPATCH_SUPERVISOR


def person(role: UserRole = SUPERVISOR, **columns: Any) -> User:
    return factories.UserFactory.create(role=role, **columns)


def exports_daily(**given: Any) -> ScheduleRequest:
    """ScheduleRequest for completions of the day before, every morning at six in Chicago (12:00Z in November)."""
    usual = {
        "kind": "export",
        "name": "Claims",
        "covers": "previous_day",
        "every": "day",
        "at_time": dt.time(6),
        "zone": "America/Chicago",
        "dataset": "completions",
        "format": "csv",
    }
    return ScheduleRequest(**{**usual, **given})


def reports_weekly(**given: Any) -> ScheduleRequest:
    """ScheduleRequest for the main figures of the week before, on Mondays at seven in Chicago (13:00Z)."""
    usual = {
        "kind": "report",
        "name": "Week",
        "covers": "previous_week",
        "every": "week",
        "weekdays": [0],
        "at_time": dt.time(7),
        "zone": "America/Chicago",
        "report": "overview",
    }
    return ScheduleRequest(**{**usual, **given})


def keep(wish: ScheduleRequest, owner: User, at: dt.datetime = NOW) -> ReportSchedule:
    return schedules.create(request=wish, by=principal_of_absent(owner), at=at)


def to_bucket(owner: User, **given: Any) -> ReportSchedule:
    """Create a schedule of an export to a bucket."""
    place = ExportDestination.objects.first() or bucket(phi_agreed_by="system", phi_agreed_at=NOW)
    return keep(exports_daily(destination_id=place.pk, **given), owner)


class Clock:
    """Clock that tests move."""

    def __init__(self, at: dt.datetime = NOW) -> None:
        self.at = at

    def __call__(self) -> dt.datetime:
        return self.at

    def pass_(self, **length: float) -> None:
        self.at += dt.timedelta(**length)


class Places:
    """Replaces the servers of destinations: records the uploads, and refuses on demand."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.puts: list[str] = []
        self.refusal: UploadError | None = None
        self.then: Callable[[], None] = lambda: None

    def put(self, destination: ExportDestination, path: Path, name: str) -> None:
        self.puts.append(name)
        if self.refusal is not None:
            raise self.refusal
        self.files[name] = path.read_bytes()
        self.then()


def stand_in(monkeypatch: Any) -> Places:
    """Replace the function that uploads files."""
    places = Places()
    monkeypatch.setattr(uploads, "upload", places.put)
    return places


def tick(clock: Clock) -> None:
    """Run all due work: plan, make the exports, send."""
    schedule_runs.work(clock=clock)
    export_runs.work(clock=clock, limit=50)
    schedule_runs.work(clock=clock)


def told(schedule: ReportSchedule) -> list[tuple[str, str, str]]:
    """Return the runs of a schedule: the last day that they cover, state, outcome."""
    runs = ScheduleRun.objects.filter(schedule=schedule).order_by("due_at")
    return [(str(run.last_day), run.state, run.outcome) for run in runs]


def only_run(schedule: ReportSchedule) -> ScheduleRun:
    return ScheduleRun.objects.select_related("schedule", "export").get(schedule=schedule)


def by_of(owner: User) -> Principal:
    owner = User.objects.get(pk=owner.pk)
    return principal_of_absent(owner)


def ids(*people: User) -> list[UUID]:
    return [one.pk for one in people]
