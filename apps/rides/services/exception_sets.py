"""Exceptions of many rides at once: what `exceptions` does for one, in a few statements for all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import connection

from apps.events import services as events
from apps.rides.models import RideException
from apps.rides.queries.watched import Known, Watched
from apps.rides.rules.exception_types import (
    SEVERITY_RANK,
    ExceptionSeverity,
    ExceptionStatus,
    ExceptionType,
    ResolutionCode,
)
from apps.rides.services import exceptions, ladder
from apps.rides.services.status import told_of
from lib.access import Principal
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7

_CHANGE: Final = """
    UPDATE rides_rideexception e
    SET severity = c.severity, escalation_level = c.level, due_at = c.due_at, details = e.details || c.details,
        snoozed_until = CASE WHEN c.wakes THEN NULL ELSE e.snoozed_until END,
        version = e.version + 1, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(severities)s::text[], %(levels)s::int[], %(dues)s::timestamptz[],
        %(details)s::jsonb[], %(wakes)s::bool[]) c (id, severity, level, due_at, details, wakes)
    WHERE e.id = c.id
"""
_SETTLE: Final = """
    UPDATE rides_rideexception e
    SET status = 'resolved', resolved_at = %(at)s, resolved_by = %(by)s, resolution_code = c.code,
        resolution_note = c.note, version = e.version + 1, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(codes)s::text[], %(notes)s::text[]) c (id, code, note)
    WHERE e.id = c.id
"""
_TELL: Final = """
    UPDATE rides_ride r
    SET version = c.version, open_exception_count = c.count, max_exception_severity = c.worst, watch_at = c.watch_at,
        updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(versions)s::int[], %(counts)s::int[], %(worst)s::text[],
        %(watch_at)s::timestamptz[]) c (id, version, count, worst, watch_at)
    WHERE r.id = c.id
"""
_PUT_OFF: Final = """
    UPDATE rides_ride r SET watch_at = c.watch_at
    FROM unnest(%(ids)s::uuid[], %(watch_at)s::timestamptz[]) c (id, watch_at)
    WHERE r.id = c.id
"""


class Opening(NamedTuple):
    """An exception to open; `due_at` is when it gets worse."""

    type: ExceptionType
    severity: ExceptionSeverity
    level: int
    due_at: datetime | None
    details: Mapping[str, Any]


class Change(NamedTuple):
    """An unsettled exception that has become another one of its type."""

    known: Known
    to: Opening


class Settlement(NamedTuple):
    """An unsettled exception whose cause has gone."""

    known: Known
    code: ResolutionCode
    note: str = ""


@dataclass(slots=True)
class Outcome:
    """What a look at a locked ride has come to, and when to look again; `unsettled` are its exceptions before."""

    ride: Watched
    unsettled: Sequence[Known]
    watch_at: datetime | None = None
    opened: list[Opening] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    settled: list[Settlement] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.opened or self.changed or self.settled)


def apply(outcomes: Sequence[Outcome], *, by: Principal, at: datetime) -> None:
    """Write what looks at locked rides have come to, with one event for each exception that it concerns.

    At most four statements and two COPYs, however many rides there are.

    Raises:
        django.db.IntegrityError: a ride has an unsettled exception of a type that is opened: it was not locked.
    """
    ids = {(one.ride.id, opening.type): uuid7() for one in outcomes for opening in one.opened}
    told = [one for one in outcomes if one]
    _tell(told, at=at)
    _put_off([one for one in outcomes if not one])
    _change([change for one in outcomes for change in one.changed], at=at)
    _settle([settlement for one in outcomes for settlement in one.settled], by=by, at=at)
    copy_rows(RideException, _rows(outcomes, ids, by=by, at=at))
    events.record_all([event for one in told for event in _events(one, ids, at=at)], by=by)
    over = [one.ride.id for one in told if any(settled.known.on_ladder for settled in one.settled)]
    if over:
        ladder.over(over, at=at)


def put_off(ride_id: UUID, *, until: datetime) -> None:
    """Look at a locked ride again at `until` and not before."""
    _write(_PUT_OFF, ids=[ride_id], watch_at=[until])


def _rows(
    outcomes: Iterable[Outcome], ids: Mapping[tuple[UUID, ExceptionType], UUID], *, by: Principal, at: datetime
) -> Iterator[dict[str, Any]]:
    for one in outcomes:
        for opening in one.opened:
            yield {
                "id": ids[one.ride.id, opening.type],
                "ride_id": one.ride.id,
                "trip_id": one.ride.trip_id,
                "rider_id": one.ride.rider_id,
                "facility_id": one.ride.facility_id,
                "type": opening.type.value,
                "severity": opening.severity.value,
                "opened_at": at,
                "opened_by": by.actor,
                "detected_by": "clock",
                "due_at": opening.due_at,
                "summary": exceptions.SUMMARY_OF[opening.type],
                "details": opening.details,
                "escalation_level": opening.level,
                "updated_at": at,
            }


def _change(changes: Sequence[Change], *, at: datetime) -> None:
    if changes:
        _write(
            _CHANGE,
            at=at,
            ids=[change.known.id for change in changes],
            severities=[change.to.severity.value for change in changes],
            levels=[change.to.level for change in changes],
            dues=[change.to.due_at for change in changes],
            details=[orjson.dumps(dict(change.to.details)).decode() for change in changes],
            wakes=[_is_worse(change) for change in changes],
        )


def _settle(settlements: Sequence[Settlement], *, by: Principal, at: datetime) -> None:
    if settlements:
        _write(
            _SETTLE,
            at=at,
            by=by.actor,
            ids=[one.known.id for one in settlements],
            codes=[one.code.value for one in settlements],
            notes=[one.note for one in settlements],
        )


def _tell(told: Sequence[Outcome], *, at: datetime) -> None:
    if told:
        after = [_unsettled_after(one) for one in told]
        _write(
            _TELL,
            at=at,
            ids=[one.ride.id for one in told],
            versions=[
                one.ride.version + len(one.settled) + len(one.changed) + len(one.opened) for one in told
            ],
            counts=[len(severities) for severities in after],
            worst=[max(severities, key=SEVERITY_RANK.__getitem__, default="") for severities in after],
            watch_at=[one.watch_at for one in told],
        )  # fmt: skip


def _put_off(idle: Sequence[Outcome]) -> None:
    if idle:
        _write(_PUT_OFF, ids=[one.ride.id for one in idle], watch_at=[one.watch_at for one in idle])


def _write(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _is_worse(change: Change) -> bool:
    return SEVERITY_RANK[change.to.severity] > SEVERITY_RANK[ExceptionSeverity(change.known.severity)]


def _unsettled_after(one: Outcome) -> list[ExceptionSeverity]:
    severities = {known.id: ExceptionSeverity(known.severity) for known in one.unsettled}
    for settled in one.settled:
        del severities[settled.known.id]
    for change in one.changed:
        severities[change.known.id] = change.to.severity
    return [*severities.values(), *(opening.severity for opening in one.opened)]


def _events(one: Outcome, ids: Mapping[tuple[UUID, ExceptionType], UUID], *, at: datetime) -> Iterator[dict[str, Any]]:
    told: list[tuple[str, dict[str, Any]]] = []
    for settled in one.settled:
        known = settled.known
        resolved = ExceptionStatus.RESOLVED.value
        shown = exceptions.shown_of(known.id, known.type, known.severity, status=resolved, due_at=known.due_at)
        told.append((exceptions.RESOLVED, shown))
    for change in one.changed:
        known, to = change
        shown = exceptions.shown_of(known.id, known.type, to.severity.value, status=known.status, due_at=to.due_at)
        # What has become less of a matter asks nobody to act.
        told.append((exceptions.event_of(to.severity) if _is_worse(change) else exceptions.NOTED, shown))
    for to in one.opened:
        opened, id_ = ExceptionStatus.OPEN.value, ids[one.ride.id, to.type]
        shown = exceptions.shown_of(id_, to.type.value, to.severity.value, status=opened, due_at=to.due_at)
        told.append((exceptions.event_of(to.severity), shown))
    ride = one.ride
    base = told_of(ride.id, ride.facts.status, ride.facts.status, ride.facts.pickup_at)
    for number, (type_, shown) in enumerate(told, 1):
        yield {
            "type": type_,
            "subject_type": "ride",
            "subject_id": ride.id,
            "sequence": ride.version + number,
            "occurred_at": at,
            "facility_id": ride.facility_id,
            "provider_id": ride.provider_id,
            "data": {**base, "exception": shown},
        }
