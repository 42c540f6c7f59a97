"""Update the daily rollups from the events of rides, and rebuild them on demand.

Rollups (`MetricsRow`, `BreakdownCount`) hold the measures of one day of one facility; reports read them instead of
millions of rides.  Every event of a ride names the facility days whose measures it may have changed: the day of the
ride, and its earlier days if it was moved.  `apply_events` recomputes those days as a whole from the rides
(metrics_rows.py), so an event that is applied twice changes nothing.

One transaction reads a batch of events, rewrites the rows of their facility days and moves the checkpoint
(`RollupCheckpoint`), whose row it locks: a crash rolls back all three, and a second worker finds the row locked and
returns.  Only settled events are read, so that no event is skipped because its transaction commits late
(apps/events/queries.py).  The first run sets the checkpoint to the end of the feed; earlier days are filled in from the
rides in batches, latest first (backfill.py).

A day is closed `REPORT_LOCK_AFTER_DAYS` after it ended.  If a later event changes a closed day, the closed rows are
kept beside the live ones (`Basis`), and a `Restatement` names the event.  Changes to rides without an event are not
detected here: `manage.py check_reports` finds them and `manage.py rebuild_reports` repairs them.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction

from apps.events import queries as feed
from apps.events.models import Event
from apps.reporting.models import Restatement, RollupCheckpoint
from apps.reporting.services import backfill, metrics_rows
from apps.reporting.services.metrics_rows import FacilityDay
from apps.rides.models import Ride
from lib.access import Principal

EVENTS_PER_BATCH: Final = 5000
MAX_SECONDS: Final = 20.0  # of one run of the task; the next run continues
# Events that change no measure.
_WITHOUT_MEASURES: Final = frozenset({"ride.eta_changed", "ride.driver_offered"})
# A change of these fields may move a ride to another local day, and the event does not name the earlier day.
_MOVING: Final = frozenset({"pickup", "dropoff", "timezone"})
_DAY: Final = timedelta(days=1)


def refresh(*, by: Principal, at: datetime, seconds: float = MAX_SECONDS) -> int:
    """Apply new events and fill in old days until both are done or the time is up; return how many events were read.

    `seconds` limits one run.  Any number of workers may call it concurrently: all but one return immediately.
    """
    deadline = time.monotonic() + seconds
    create_checkpoint()
    read = 0
    while True:
        count = apply_events(by=by, at=at)
        if count is None:
            return read
        read += count
        if time.monotonic() >= deadline:
            return read
        if count < EVENTS_PER_BATCH and not backfill.backfill_days():
            return read


def create_checkpoint() -> None:
    """Create the checkpoint at the end of the feed if there is none; earlier rides are filled in from their rows."""
    if not RollupCheckpoint.objects.exists():
        position, event_id = feed.frontier()
        checkpoint = RollupCheckpoint(transaction=position, event_id=event_id)
        RollupCheckpoint.objects.bulk_create([checkpoint], ignore_conflicts=True)


@transaction.atomic
def apply_events(*, by: Principal, at: datetime) -> int | None:
    """Apply the next batch of events and return its size; None while another process writes rollups."""
    checkpoint = RollupCheckpoint.objects.select_for_update(skip_locked=True).first()
    if checkpoint is None:
        return None
    after = (checkpoint.transaction, checkpoint.event_id)
    batch = feed.feed(by=by, types=None, after=after, limit=EVENTS_PER_BATCH)
    ride_events = [
        event for event in batch.events if event.subject_type == "ride" and event.type not in _WITHOUT_MEASURES
    ]
    causes = _causes(ride_events)
    filled_in = {item for item in causes if checkpoint.filled or _is_filled_in(checkpoint, item[0])}
    for facility_day in metrics_rows.write(filled_in, closed_through=checkpoint.closed_through):
        _record_restatement(facility_day, causes[facility_day], at=at)
    checkpoint.transaction, checkpoint.event_id = batch.position
    columns = ["transaction", "event_id"]
    if batch.has_more:
        checkpoint.as_of = batch.events[-1].recorded_at if checkpoint.filled else None
    else:
        columns += _close_days(checkpoint, at)
        checkpoint.as_of = at if checkpoint.filled else None
    checkpoint.save(update_fields=[*columns, "as_of"])
    return len(batch.events)


def _is_filled_in(checkpoint: RollupCheckpoint, day: date) -> bool:
    return checkpoint.backfilled_from is not None and day >= checkpoint.backfilled_from


def _close_days(checkpoint: RollupCheckpoint, at: datetime) -> list[str]:
    """Close the days that are due, once all earlier events are included; return the changed columns."""
    today = at.astimezone(ZoneInfo(settings.OPERATOR_TIME_ZONE)).date()
    last = today - timedelta(days=settings.REPORT_LOCK_AFTER_DAYS + 1)
    if not checkpoint.filled or (checkpoint.closed_through is not None and last <= checkpoint.closed_through):
        return []
    checkpoint.closed_through = last
    return ["closed_through"]


def _causes(events: Sequence[Event]) -> dict[FacilityDay, list[Event]]:
    """Map each facility day that these events may have changed to its events.  One query.

    The service never deletes rides.  If a ride was deleted by SQL, its events name no facility day and are skipped;
    `rollup_check` reports the day.
    """
    rides = Ride.objects.filter(pk__in={event.subject_id for event in events})
    places = {
        ride_id: (day, facility, ZoneInfo(zone))
        for ride_id, day, facility, zone in rides.values_list("pk", "service_date", "facility_id", "timezone")
    }
    causes: dict[FacilityDay, list[Event]] = {}
    for event in (event for event in events if event.subject_id in places):
        today, facility, zone = places[event.subject_id]
        for day in {today, *_earlier_days(event.data, zone)}:
            causes.setdefault((day, facility), []).append(event)
    return causes


def _earlier_days(data: dict[str, Any], zone: ZoneInfo) -> Iterator[date]:
    """Yield the days on which the ride may have been counted before the event, and the day right after it."""
    may_move = "previousPickupTime" in data or not _MOVING.isdisjoint(data.get("changed", ()))
    for text in filter(None, (data.get("pickupTime"), data.get("previousPickupTime"))):
        day = datetime.fromisoformat(text).astimezone(zone).date()
        # The time zone may have changed, which shifts the day by at most one.
        yield from (day - _DAY, day, day + _DAY) if may_move else (day,)


def _record_restatement(facility_day: FacilityDay, events: Iterable[Event], *, at: datetime) -> None:
    day, facility = facility_day
    Restatement.objects.bulk_create(
        [
            Restatement(service_date=day, facility_id=facility, event_id=event.pk, ride_id=event.subject_id, at=at)
            for event in events
        ],
        ignore_conflicts=True,
    )


def rebuild(*, first: date, last: date, discard_closed: bool, at: datetime) -> set[FacilityDay]:
    """Recompute the days of a period, both ends included; return the closed facility days that changed.

    `discard_closed` replaces the closed rows by the current ones: for measures that are new in a release.  One
    transaction per day; waits for other processes that write rollups.
    """
    create_checkpoint()
    changed: set[FacilityDay] = set()
    for number in range((last - first).days + 1):
        changed |= _rebuild_day(first + timedelta(days=number), discard_closed=discard_closed, at=at)
    return changed


@transaction.atomic
def _rebuild_day(day: date, *, discard_closed: bool, at: datetime) -> set[FacilityDay]:
    checkpoint = RollupCheckpoint.objects.select_for_update().get()
    facility_days = backfill.facility_days_of(day)
    if discard_closed:
        metrics_rows.discard_closed(facility_days)
        Restatement.objects.filter(service_date=day).delete()
    changed = metrics_rows.write(facility_days, closed_through=None if discard_closed else checkpoint.closed_through)
    for service_date, facility in changed:
        restatement = Restatement(service_date=service_date, facility_id=facility, at=at)
        Restatement.objects.bulk_create([restatement], ignore_conflicts=True)
    return changed
