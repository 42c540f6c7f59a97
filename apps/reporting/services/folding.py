"""Keeping rollups up: events say which cells to compute anew, a bookmark says how far it has come.

One transaction reads some events, computes their cells and moves the bookmark, with the row of `Upkeep` locked: a crash
undoes all three, and a second worker finds the row taken and leaves.  Only settled events are read, so that none is
passed by (apps/events/queries.py).
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
from apps.reporting.models import Restatement, Upkeep
from apps.reporting.services import cells, filling
from apps.reporting.services.cells import Place
from apps.rides.models import Ride
from lib.access import Principal

EVENTS_AT_ONCE: Final = 5000
# A tick ends after this long; the next one goes on.
LONGEST: Final = 20.0  # seconds
# What these tell of is in no figure.
_WITHOUT_FIGURES: Final = frozenset({"ride.eta_changed", "ride.driver_offered"})
# Changes of these may move a ride to another local day without saying from which.
_MOVING: Final = frozenset({"pickup", "dropoff", "timezone"})
_DAY: Final = timedelta(days=1)


def keep_up(*, by: Principal, at: datetime, seconds: float = LONGEST) -> int:
    """Bring the rollups up to now, as far as the time allows, and say how many events were read.

    The first time, old rides are filled in by portions, latest first.  Any number of workers may call it.
    """
    until = time.monotonic() + seconds
    begin()
    read = 0
    while True:
        count = fold(by=by, at=at)
        if count is None:
            return read
        read += count
        if time.monotonic() >= until:
            return read
        if count < EVENTS_AT_ONCE and not filling.fill_some():
            return read


def begin() -> None:
    """Set the bookmark where the feed is now, if there is none: what happened before is filled in from the rows."""
    if not Upkeep.objects.exists():
        position, event_id = feed.frontier()
        Upkeep.objects.bulk_create([Upkeep(transaction=position, event_id=event_id)], ignore_conflicts=True)


@transaction.atomic
def fold(*, by: Principal, at: datetime) -> int | None:
    """Bring the next events into the rollups and say how many were read; None: somebody else is at work."""
    upkeep = Upkeep.objects.select_for_update(skip_locked=True).first()
    if upkeep is None:
        return None
    batch = feed.feed(by=by, types=None, after=(upkeep.transaction, upkeep.event_id), limit=EVENTS_AT_ONCE)
    told = [event for event in batch.events if event.subject_type == "ride" and event.type not in _WITHOUT_FIGURES]
    causes = _causes(told)
    wanted = {place for place in causes if upkeep.filled or _is_filled(upkeep, place[0])}
    for place in cells.write(wanted, closed_through=upkeep.closed_through):
        _remember(place, causes[place], at=at)
    upkeep.transaction, upkeep.event_id = batch.position
    columns = ["transaction", "event_id"]
    if batch.has_more:
        upkeep.as_of = batch.events[-1].recorded_at if upkeep.filled else None
    else:
        columns += _close(upkeep, at)
        upkeep.as_of = at if upkeep.filled else None
    upkeep.save(update_fields=[*columns, "as_of"])
    return len(batch.events)


def _is_filled(upkeep: Upkeep, day: date) -> bool:
    return upkeep.filled_from is not None and day >= upkeep.filled_from


def _close(upkeep: Upkeep, at: datetime) -> list[str]:
    """Close the days whose time has come, now that all that happened before is in them."""
    today = at.astimezone(ZoneInfo(settings.OPERATOR_TIME_ZONE)).date()
    last = today - timedelta(days=settings.REPORT_LOCK_AFTER_DAYS + 1)
    if not upkeep.filled or (upkeep.closed_through is not None and last <= upkeep.closed_through):
        return []
    upkeep.closed_through = last
    return ["closed_through"]


def _causes(events: Sequence[Event]) -> dict[Place, list[Event]]:
    """List the cells that these events of rides may have changed, each with its events.  One query.

    We remove no ride.  Figures do not stand still because somebody removed one by hand: the events of it name no cell,
    and `checking` finds the cells it was in.
    """
    rides = Ride.objects.filter(pk__in={event.subject_id for event in events})
    found = {
        ride_id: (day, facility, ZoneInfo(zone))
        for ride_id, day, facility, zone in rides.values_list("pk", "service_date", "facility_id", "timezone")
    }
    causes: dict[Place, list[Event]] = {}
    for event in (event for event in events if event.subject_id in found):
        day, facility, zone = found[event.subject_id]
        for one in {day, *_days_before(event.data, zone)}:
            causes.setdefault((one, facility), []).append(event)
    return causes


def _days_before(data: dict[str, Any], zone: ZoneInfo) -> Iterator[date]:
    """Give the days on which the ride may have been counted up to the event, and the day it was on right after."""
    told = [data.get("pickupTime"), data.get("previousPickupTime")]
    may_move = "previousPickupTime" in data or not _MOVING.isdisjoint(data.get("changed", ()))
    for text in filter(None, told):
        day = datetime.fromisoformat(text).astimezone(zone).date()
        # The zone may have been another one then, which is a day's difference at the most.
        yield from (day - _DAY, day, day + _DAY) if may_move else (day,)


def _remember(place: Place, events: Iterable[Event], *, at: datetime) -> None:
    day, facility = place
    Restatement.objects.bulk_create(
        [
            Restatement(service_date=day, facility_id=facility, event_id=event.pk, ride_id=event.subject_id, at=at)
            for event in events
        ],
        ignore_conflicts=True,
    )


def rebuild(*, first: date, last: date, anew: bool, at: datetime) -> set[Place]:
    """Compute the cells of a period, both ends included, and answer the closed ones that changed.

    With `anew` they count as closed the way they are now: for measures that came with a release.  One transaction for
    each day.
    """
    begin()
    changed: set[Place] = set()
    for number in range((last - first).days + 1):
        changed |= _rebuild_day(first + timedelta(days=number), anew=anew, at=at)
    return changed


@transaction.atomic
def _rebuild_day(day: date, *, anew: bool, at: datetime) -> set[Place]:
    upkeep = Upkeep.objects.select_for_update().get()
    places = filling.places_of(day)
    if anew:
        cells.forget_closing(places)
        Restatement.objects.filter(service_date=day).delete()
    changed = cells.write(places, closed_through=None if anew else upkeep.closed_through)
    for place in changed:
        day_of, facility = place
        Restatement.objects.bulk_create(
            [Restatement(service_date=day_of, facility_id=facility, at=at)], ignore_conflicts=True
        )
    return changed
