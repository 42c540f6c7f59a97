"""Writes what the exception monitor found about a set of rides: exceptions, counters, events and the next checks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import connection

from apps.events import services as events
from apps.rides.models import RideException
from apps.rides.queries.monitored_rides import MonitoredException, Watched
from apps.rides.rules.exception_types import (
    SEVERITY_RANK,
    ExceptionSeverity,
    ExceptionStatus,
    ExceptionType,
    ResolutionCode,
)
from apps.rides.services import escalation, exceptions
from apps.rides.services.status import event_data
from lib.access import Principal
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7

_CHANGE: Final = """
    UPDATE rides_rideexception e
    SET severity = c.severity, escalation_level = c.level, due_at = c.due_at, details = e.details || c.details,
        snoozed_until = CASE WHEN c.wakes THEN NULL ELSE e.snoozed_until END,
        cause_driver_id = c.cause, version = e.version + 1, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(severities)s::text[], %(levels)s::int[], %(dues)s::timestamptz[],
        %(details)s::jsonb[], %(wakes)s::bool[], %(causes)s::uuid[])
        c (id, severity, level, due_at, details, wakes, cause)
    WHERE e.id = c.id
"""
_RESOLVE: Final = """
    UPDATE rides_rideexception e
    SET status = 'resolved', resolved_at = %(at)s, resolved_by = %(by)s, resolution_code = c.code,
        resolution_note = c.note, version = e.version + 1, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(codes)s::text[], %(notes)s::text[]) c (id, code, note)
    WHERE e.id = c.id
"""
_SAVE_RIDES: Final = """
    UPDATE rides_ride r
    SET version = c.version, open_exception_count = c.count, max_exception_severity = c.worst,
        next_check_at = c.next_check_at, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(versions)s::int[], %(counts)s::int[], %(worst)s::text[],
        %(next_check_at)s::timestamptz[]) c (id, version, count, worst, next_check_at)
    WHERE r.id = c.id
"""
_SAVE_NEXT_CHECKS: Final = """
    UPDATE rides_ride r SET next_check_at = c.next_check_at
    FROM unnest(%(ids)s::uuid[], %(next_check_at)s::timestamptz[]) c (id, next_check_at)
    WHERE r.id = c.id
"""


class Opening(NamedTuple):
    """An exception to open; `due_at` is when its severity rises, `cause` a driver who runs late."""

    type: ExceptionType
    severity: ExceptionSeverity
    level: int
    due_at: datetime | None
    details: Mapping[str, Any]
    cause: UUID | None = None


class Change(NamedTuple):
    """An unsettled exception with a new severity, level or details."""

    exception: MonitoredException
    to: Opening


class Settlement(NamedTuple):
    """An unsettled exception to resolve."""

    exception: MonitoredException
    code: ResolutionCode
    note: str = ""


@dataclass(slots=True)
class ExceptionChanges:
    """The result of evaluating a locked ride, and its next evaluation; `unsettled` are its exceptions before."""

    ride: Watched
    unsettled: Sequence[MonitoredException]
    next_check_at: datetime | None = None
    opened: list[Opening] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    settled: list[Settlement] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.opened or self.changed or self.settled)


def apply(outcomes: Sequence[ExceptionChanges], *, by: Principal, at: datetime) -> None:
    """Save the results of evaluating locked rides, with one event per changed exception.

    At most four statements and two COPYs, however many rides there are.

    Raises:
        django.db.IntegrityError: a ride has an unsettled exception of a type that is opened: it was not locked.
    """
    ids = {(outcome.ride.id, opening.type): uuid7() for outcome in outcomes for opening in outcome.opened}
    with_changes = [outcome for outcome in outcomes if outcome]
    _save_rides(with_changes, at=at)
    _save_next_checks([outcome for outcome in outcomes if not outcome])
    _change([change for outcome in outcomes for change in outcome.changed], at=at)
    _resolve([settlement for outcome in outcomes for settlement in outcome.settled], by=by, at=at)
    copy_rows(RideException, _rows(outcomes, ids, by=by, at=at))
    events.record_all([event for outcome in with_changes for event in _events(outcome, ids, at=at)], by=by)
    settled_ride_ids = [
        outcome.ride.id for outcome in with_changes if any(change.exception.on_ladder for change in outcome.settled)
    ]
    if settled_ride_ids:
        escalation.resolve_alerts(settled_ride_ids, at=at)


def postpone(ride_id: UUID, *, until: datetime) -> None:
    """Postpone the evaluation of a locked ride until `until`."""
    _write(_SAVE_NEXT_CHECKS, ids=[ride_id], next_check_at=[until])


def _rows(
    outcomes: Iterable[ExceptionChanges], ids: Mapping[tuple[UUID, ExceptionType], UUID], *, by: Principal, at: datetime
) -> Iterator[dict[str, Any]]:
    for outcome in outcomes:
        for opening in outcome.opened:
            yield {
                "id": ids[outcome.ride.id, opening.type],
                "ride_id": outcome.ride.id,
                "trip_id": outcome.ride.trip_id,
                "rider_id": outcome.ride.rider_id,
                "facility_id": outcome.ride.facility_id,
                "type": opening.type.value,
                "severity": opening.severity.value,
                "opened_at": at,
                "opened_by": by.actor,
                "detected_by": "clock",
                "due_at": opening.due_at,
                "summary": exceptions.SUMMARY_OF[opening.type],
                "details": opening.details,
                "escalation_level": opening.level,
                "cause_driver_id": opening.cause,
                "updated_at": at,
            }


def _change(changes: Sequence[Change], *, at: datetime) -> None:
    if changes:
        _write(
            _CHANGE,
            at=at,
            ids=[change.exception.id for change in changes],
            severities=[change.to.severity.value for change in changes],
            levels=[change.to.level for change in changes],
            dues=[change.to.due_at for change in changes],
            details=[orjson.dumps(dict(change.to.details)).decode() for change in changes],
            wakes=[_is_worse(change) for change in changes],
            causes=[change.to.cause for change in changes],
        )


def _resolve(settlements: Sequence[Settlement], *, by: Principal, at: datetime) -> None:
    if settlements:
        _write(
            _RESOLVE,
            at=at,
            by=by.actor,
            ids=[settlement.exception.id for settlement in settlements],
            codes=[settlement.code.value for settlement in settlements],
            notes=[settlement.note for settlement in settlements],
        )


def _save_rides(outcomes: Sequence[ExceptionChanges], *, at: datetime) -> None:
    if outcomes:
        after = [_unsettled_after(outcome) for outcome in outcomes]
        _write(
            _SAVE_RIDES,
            at=at,
            ids=[outcome.ride.id for outcome in outcomes],
            versions=[
                outcome.ride.version + len(outcome.settled) + len(outcome.changed) + len(outcome.opened)
                for outcome in outcomes
            ],
            counts=[len(severities) for severities in after],
            worst=[max(severities, key=SEVERITY_RANK.__getitem__, default="") for severities in after],
            next_check_at=[outcome.next_check_at for outcome in outcomes],
        )  # fmt: skip


def _save_next_checks(unchanged: Sequence[ExceptionChanges]) -> None:
    if unchanged:
        _write(
            _SAVE_NEXT_CHECKS,
            ids=[outcome.ride.id for outcome in unchanged],
            next_check_at=[outcome.next_check_at for outcome in unchanged],
        )


def _write(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _is_worse(change: Change) -> bool:
    return SEVERITY_RANK[change.to.severity] > SEVERITY_RANK[ExceptionSeverity(change.exception.severity)]


def _unsettled_after(outcome: ExceptionChanges) -> list[ExceptionSeverity]:
    severities = {exception.id: ExceptionSeverity(exception.severity) for exception in outcome.unsettled}
    for settlement in outcome.settled:
        del severities[settlement.exception.id]
    for change in outcome.changed:
        severities[change.exception.id] = change.to.severity
    return [*severities.values(), *(opening.severity for opening in outcome.opened)]


def _events(
    outcome: ExceptionChanges, ids: Mapping[tuple[UUID, ExceptionType], UUID], *, at: datetime
) -> Iterator[dict[str, Any]]:
    entries: list[tuple[str, dict[str, Any]]] = []
    for settlement in outcome.settled:
        exception = settlement.exception
        resolved = ExceptionStatus.RESOLVED.value
        payload = exceptions.payload_of(
            exception.id,
            exception.type,
            exception.severity,
            status=resolved,
            due_at=exception.due_at,
            cause_driver_id=exception.cause_driver_id,
        )
        entries.append((exceptions.RESOLVED, payload))
    for change in outcome.changed:
        exception, to = change
        payload = exceptions.payload_of(
            exception.id,
            exception.type,
            to.severity.value,
            status=exception.status,
            due_at=to.due_at,
            cause_driver_id=to.cause,
        )
        # A lower severity needs no action.
        entries.append((exceptions.event_of(to.severity) if _is_worse(change) else exceptions.NOTED, payload))
    for to in outcome.opened:
        opened, id_ = ExceptionStatus.OPEN.value, ids[outcome.ride.id, to.type]
        payload = exceptions.payload_of(
            id_, to.type.value, to.severity.value, status=opened, due_at=to.due_at, cause_driver_id=to.cause
        )
        entries.append((exceptions.event_of(to.severity), payload))
    ride = outcome.ride
    base = event_data(ride.id, ride.facts.status, ride.facts.status, ride.facts.pickup_at)
    for number, (type_, payload) in enumerate(entries, 1):
        yield {
            "type": type_,
            "subject_type": "ride",
            "subject_id": ride.id,
            "sequence": ride.version + number,
            "occurred_at": at,
            "facility_id": ride.facility_id,
            "provider_id": ride.provider_id,
            "data": {**base, "exception": payload},
        }
