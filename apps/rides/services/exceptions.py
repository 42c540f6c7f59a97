"""Exceptions: opened and settled by transitions and timers, claimed and closed by people.

One of a ride is told as an event of the ride, whose counters follow; one of a standing order as an event of its own.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.events import services as events
from apps.rides.models import Ride, RideException
from apps.rides.queries.monitored_rides import Known, Watched
from apps.rides.rules.exception_types import (
    DEFAULT_SEVERITY,
    SEVERITY_RANK,
    ExceptionSeverity,
    ExceptionStatus,
    ExceptionType,
    ResolutionCode,
)
from apps.rides.services import escalation
from apps.rides.services.status import Note, locked, told_of, touch
from lib.access import Principal
from lib.db.bulk_copy import copy_rows
from lib.errors import Code, DomainError, InvalidInput, NotFound, ScopeMissing, StaleVersion
from lib.ids import uuid7
from lib.scopes import Scope

OPENED: Final = "ride.exception"
NOTED: Final = "ride.exception_noted"
_ACKNOWLEDGED: Final = "ride.exception_acknowledged"
RESOLVED: Final = "ride.exception_resolved"
# What the same is called of a standing order, none of whose exceptions are for information alone.
_TOLD_OF_ORDER: Final = {
    OPENED: "standing_order.exception",
    _ACKNOWLEDGED: "standing_order.exception_acknowledged",
    RESOLVED: "standing_order.exception_resolved",
}
LONGEST_SNOOZE: Final = timedelta(days=1)  # what nobody wants to see for longer is to be dismissed
_COUNTERS = ["open_exception_count", "max_exception_severity"]

# Without personal data: it stands in lists, mails and webhooks.
SUMMARY_OF = {type_: type_.value.replace("_", " ").capitalize() for type_ in ExceptionType}


class AlreadySettled(DomainError):
    """The exception is resolved or dismissed."""

    code = Code.INVALID_TRANSITION
    template = _("This exception has been closed.")


class AlreadyClaimed(DomainError):
    """Somebody else has acknowledged it."""

    code = Code.INVALID_TRANSITION
    template = _("Somebody else has acknowledged this exception.")


def open_exception(
    ride: Ride,
    type: ExceptionType,
    *,
    by: Principal,
    at: datetime,
    detected_by: str,
    severity: ExceptionSeverity | None = None,
    due_at: datetime | None = None,
    details: dict[str, Any] | None = None,
) -> RideException:
    """Open an exception on a locked ride, or sharpen the unsettled one of that type, and record it: see `event_of`.

    Nothing happens, and nothing is recorded, when one of at least this severity is unsettled already.  `severity`
    None: the type's own.  `details` hold ids, instants and numbers only.
    """
    wanted = severity or DEFAULT_SEVERITY[type]
    exception = RideException.objects.unsettled().filter(ride=ride, type=type).first()
    if exception is not None and SEVERITY_RANK[ExceptionSeverity(exception.severity)] >= SEVERITY_RANK[wanted]:
        return exception
    if exception is None:
        exception = RideException.objects.create(
            ride=ride,
            trip_id=ride.trip_id,
            rider_id=ride.rider_id,
            facility_id=ride.facility_id,
            severity=wanted,
            due_at=due_at,
            details=details or {},
            **_opening(type, by=by, at=at, detected_by=detected_by),
        )
    else:
        exception.severity = wanted
        exception.due_at = due_at or exception.due_at
        _save(exception, ["severity", "due_at"], at=at)
    _recount(ride)
    _record_event(ride, exception, event_of(wanted), by=by, at=at, also=_COUNTERS)
    return exception


def open_on_order(
    standing_order_id: UUID,
    type: ExceptionType,
    *,
    rider_id: UUID,
    facility_id: UUID,
    by: Principal,
    at: datetime,
    detected_by: str,
    due_at: datetime | None = None,
    details: dict[str, Any] | None = None,
) -> RideException:
    """Open an exception on a locked standing order, or bring the unsettled one of that type up to date, and record it.

    Nothing happens, and nothing is recorded, when an unsettled one says the same already: `due_at` and `details`, which
    hold ids, dates, codes and numbers only.  Locks the exception.
    """
    exception = _of_order(standing_order_id, type)
    if exception is not None and (exception.due_at, exception.details) == (due_at, details or {}):
        return exception
    if exception is None:
        exception = RideException.objects.create(
            standing_order_id=standing_order_id,
            rider_id=rider_id,
            facility_id=facility_id,
            severity=DEFAULT_SEVERITY[type],
            due_at=due_at,
            details=details or {},
            **_opening(type, by=by, at=at, detected_by=detected_by),
        )
    else:
        exception.due_at, exception.details = due_at, details or {}
        _save(exception, ["due_at", "details"], at=at)
    _record_event(None, exception, OPENED, by=by, at=at)
    return exception


def settle_on_order(
    standing_order_id: UUID, type: ExceptionType, *, by: Principal, at: datetime, code: ResolutionCode
) -> RideException | None:
    """Resolve the unsettled exception of this type on a locked standing order: its cause has gone.  None is no error.

    Locks the exception.
    """
    exception = _of_order(standing_order_id, type)
    if exception is not None:
        _close(None, exception, ExceptionStatus.RESOLVED, by=by, at=at, code=code, note="")
    return exception


def _of_order(standing_order_id: UUID, type: ExceptionType) -> RideException | None:
    unsettled = RideException.objects.unsettled().filter(standing_order_id=standing_order_id, type=type)
    return unsettled.select_for_update().first()  # people acknowledge and resolve it without locking the order


def _opening(type: ExceptionType, *, by: Principal, at: datetime, detected_by: str) -> dict[str, Any]:
    return {
        "type": type,
        "opened_at": at,
        "opened_by": by.actor,
        "detected_by": detected_by,
        "summary": SUMMARY_OF[type],
        "updated_at": at,
    }


def event_of(severity: ExceptionSeverity) -> str:
    """Name the event of a ride's exception that opens, or gets worse.

    `ride.exception` asks somebody to act; what is for information has a type of its own, so that it reaches those alone
    who subscribe to it.
    """
    return NOTED if severity is ExceptionSeverity.INFO else OPENED


def settle(
    ride: Ride, types: Collection[ExceptionType], *, by: Principal, at: datetime, code: ResolutionCode
) -> list[RideException]:
    """Resolve the unsettled exceptions of these types on a locked ride: their cause has gone.  None is an error."""
    unsettled = RideException.objects.unsettled().filter(ride_id=ride.pk, type__in=types)
    exceptions = list(unsettled.order_by("opened_at", "id"))
    for exception in exceptions:
        _close(ride, exception, ExceptionStatus.RESOLVED, by=by, at=at, code=code, note="")
    return exceptions


@transaction.atomic
def acknowledge(
    *, exception_id: UUID, expected_version: int | None = None, by: Principal, at: datetime
) -> RideException:
    """Say that the caller takes care of it.  Repeating it changes nothing.

    Raises:
        NotFound: there is none within the scope.
        ScopeMissing: the caller may not work on exceptions.
        StaleVersion: the caller read an older version.
        AlreadySettled, AlreadyClaimed: it is closed, or somebody else's.
    """
    ride, exception = _locked(exception_id, by, expected_version)
    _require_open(exception)
    if exception.status == ExceptionStatus.ACKNOWLEDGED:
        if exception.acknowledged_by != by.actor:
            raise AlreadyClaimed
        return exception
    exception.status = ExceptionStatus.ACKNOWLEDGED
    exception.acknowledged_at = at
    exception.acknowledged_by = by.actor
    if by.kind == "user":
        exception.owner_id = by.id
    _save(exception, ["status", "acknowledged_at", "acknowledged_by", "owner"], at=at)
    _record_event(ride, exception, _ACKNOWLEDGED, by=by, at=at)
    _audit("exceptions.acknowledge", exception, by)
    return exception


@transaction.atomic
def resolve(
    *,
    exception_id: UUID,
    code: ResolutionCode,
    note: str = "",
    dismiss: bool = False,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> RideException:
    """Close an exception with a code; `dismiss` says that it needed no action.

    Raises:
        NotFound: there is none within the scope.
        ScopeMissing: the caller may not work on exceptions.
        StaleVersion: the caller read an older version.
        AlreadySettled: it is closed.
        InvalidInput: the code `other` came without a note.
    """
    ride, exception = _locked(exception_id, by, expected_version)
    _require_open(exception)
    if code is ResolutionCode.OTHER and not note.strip():
        raise InvalidInput("note", _("%(field)s is required with the code other."), detail_code="required")
    status = ExceptionStatus.DISMISSED if dismiss else ExceptionStatus.RESOLVED
    exception.closed_by_hand = True
    _close(ride, exception, status, by=by, at=at, code=code, note=note)
    _audit("exceptions.dismiss" if dismiss else "exceptions.resolve", exception, by)
    return exception


@transaction.atomic
def snooze(
    *, exception_id: UUID, until: datetime | None, expected_version: int | None = None, by: Principal, at: datetime
) -> RideException:
    """Put an exception aside until a moment, or, with None, take it up again.  Repeating it changes nothing.

    It stays open, and comes back before that where it gets worse.  Nobody is told.

    Raises:
        NotFound, ScopeMissing, StaleVersion, AlreadySettled: as for `acknowledge`.
        InvalidInput: the moment has passed, or lies more than a day ahead.
    """
    _ride, exception = _locked(exception_id, by, expected_version)
    _require_open(exception)
    if until is not None and not at < until <= at + LONGEST_SNOOZE:
        raise InvalidInput("until", _("%(field)s has to lie within a day from now."))
    if exception.snoozed_until != until:
        exception.snoozed_until = until
        _save(exception, ["snoozed_until"], at=at)
        _audit("exceptions.snooze", exception, by)
    return exception


def _locked(exception_id: UUID, by: Principal, expected_version: int | None) -> tuple[Ride | None, RideException]:
    """Lock the ride, if it is of one, then the exception: every writer takes them in this order."""
    about = RideException.objects.visible_to(by).filter(pk=exception_id).values_list("ride_id").first()
    if about is None:
        raise NotFound(_("exception"))
    if not by.has_scope(Scope.EXCEPTIONS_WRITE):
        raise ScopeMissing(Scope.EXCEPTIONS_WRITE)
    ride = locked(about[0], by) if about[0] is not None else None
    exception = RideException.objects.select_for_update().get(pk=exception_id)
    if expected_version is not None and expected_version != exception.version:
        raise StaleVersion(exception.version)
    return ride, exception


def _require_open(exception: RideException) -> None:
    if exception.status in (ExceptionStatus.RESOLVED, ExceptionStatus.DISMISSED):
        raise AlreadySettled


def _close(
    ride: Ride | None,
    exception: RideException,
    status: ExceptionStatus,
    *,
    by: Principal,
    at: datetime,
    code: ResolutionCode,
    note: str,
) -> None:
    exception.status = status
    exception.resolved_at = at
    exception.resolved_by = by.actor
    exception.resolution_code = code
    exception.resolution_note = note
    columns = ["status", "resolved_at", "resolved_by", "resolution_code", "resolution_note", "closed_by_hand"]
    _save(exception, columns, at=at)
    if ride is not None:
        _recount(ride)
        if escalation.TOLD in exception.details:
            escalation.over([ride.pk], at=at)
    _record_event(ride, exception, RESOLVED, by=by, at=at, also=_COUNTERS)


def _save(exception: RideException, columns: list[str], *, at: datetime) -> None:
    exception.version += 1
    exception.updated_at = at
    exception.save(update_fields=[*columns, "version", "updated_at"])


def _recount(ride: Ride) -> None:
    """Set the counters that lists show, from the rows."""
    severities = RideException.objects.unsettled().filter(ride=ride).values_list("severity", flat=True)
    unsettled = [ExceptionSeverity(severity) for severity in severities]
    ride.open_exception_count = len(unsettled)
    ride.max_exception_severity = max(unsettled, key=SEVERITY_RANK.__getitem__).value if unsettled else ""


def _record_event(
    ride: Ride | None,
    exception: RideException,
    event_type: str,
    *,
    by: Principal,
    at: datetime,
    also: Sequence[str] = (),
) -> None:
    """Record what became of an exception; `also` names the columns of its ride that the caller has set."""
    shown = shown_of(exception.pk, exception.type, exception.severity, status=exception.status, due_at=exception.due_at)
    if ride is not None:
        touch(ride, event_type, by=by, at=at, also=also, note=Note(data={"exception": shown}))
        return
    events.record(
        type=_TOLD_OF_ORDER[event_type],
        subject_type="exception",
        subject_id=exception.pk,
        sequence=exception.version,
        occurred_at=at,
        by=by,
        facility_id=exception.facility_id,
        data={
            "exceptionId": str(exception.pk),
            "standingOrderId": str(exception.standing_order_id),
            "exception": shown,
        },
    )


def shown_of(id: UUID, type: str, severity: str, *, status: str, due_at: datetime | None) -> dict[str, Any]:
    """Lay out what events say of an exception."""
    return {
        "id": str(id),
        "type": type,
        "severity": severity,
        "status": status,
        "dueAt": due_at.isoformat().replace("+00:00", "Z") if due_at else None,
    }


def _audit(action: str, exception: RideException, by: Principal) -> None:
    audit.record(
        by=by,
        action=action,
        subject_type="exception",
        subject_id=exception.pk,
        rider_ids=[exception.rider_id],
        facility_id=exception.facility_id,
    )


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
class ExceptionChanges:
    """What a look at a locked ride has come to, and when to look again; `unsettled` are its exceptions before."""

    ride: Watched
    unsettled: Sequence[Known]
    watch_at: datetime | None = None
    opened: list[Opening] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    settled: list[Settlement] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.opened or self.changed or self.settled)


def apply(outcomes: Sequence[ExceptionChanges], *, by: Principal, at: datetime) -> None:
    """Write what looks at locked rides have come to, with one event for each exception that it concerns.

    At most four statements and two COPYs, however many rides there are.

    Raises:
        django.db.IntegrityError: a ride has an unsettled exception of a type that is opened: it was not locked.
    """
    ids = {(one.ride.id, opening.type): uuid7() for one in outcomes for opening in one.opened}
    told = [one for one in outcomes if one]
    _record_events_in_sets(told, at=at)
    _put_off([one for one in outcomes if not one])
    _change([change for one in outcomes for change in one.changed], at=at)
    _settle([settlement for one in outcomes for settlement in one.settled], by=by, at=at)
    copy_rows(RideException, _rows(outcomes, ids, by=by, at=at))
    events.record_all([event for one in told for event in _events(one, ids, at=at)], by=by)
    over = [one.ride.id for one in told if any(settled.known.on_ladder for settled in one.settled)]
    if over:
        escalation.over(over, at=at)


def put_off(ride_id: UUID, *, until: datetime) -> None:
    """Look at a locked ride again at `until` and not before."""
    _write(_PUT_OFF, ids=[ride_id], watch_at=[until])


def _rows(
    outcomes: Iterable[ExceptionChanges], ids: Mapping[tuple[UUID, ExceptionType], UUID], *, by: Principal, at: datetime
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
                "summary": SUMMARY_OF[opening.type],
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


def _record_events_in_sets(told: Sequence[ExceptionChanges], *, at: datetime) -> None:
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


def _put_off(idle: Sequence[ExceptionChanges]) -> None:
    if idle:
        _write(_PUT_OFF, ids=[one.ride.id for one in idle], watch_at=[one.watch_at for one in idle])


def _write(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _is_worse(change: Change) -> bool:
    return SEVERITY_RANK[change.to.severity] > SEVERITY_RANK[ExceptionSeverity(change.known.severity)]


def _unsettled_after(one: ExceptionChanges) -> list[ExceptionSeverity]:
    severities = {known.id: ExceptionSeverity(known.severity) for known in one.unsettled}
    for settled in one.settled:
        del severities[settled.known.id]
    for change in one.changed:
        severities[change.known.id] = change.to.severity
    return [*severities.values(), *(opening.severity for opening in one.opened)]


def _events(
    one: ExceptionChanges, ids: Mapping[tuple[UUID, ExceptionType], UUID], *, at: datetime
) -> Iterator[dict[str, Any]]:
    told: list[tuple[str, dict[str, Any]]] = []
    for settled in one.settled:
        known = settled.known
        resolved = ExceptionStatus.RESOLVED.value
        shown = shown_of(known.id, known.type, known.severity, status=resolved, due_at=known.due_at)
        told.append((RESOLVED, shown))
    for change in one.changed:
        known, to = change
        shown = shown_of(known.id, known.type, to.severity.value, status=known.status, due_at=to.due_at)
        # What has become less of a matter asks nobody to act.
        told.append((event_of(to.severity) if _is_worse(change) else NOTED, shown))
    for to in one.opened:
        opened, id_ = ExceptionStatus.OPEN.value, ids[one.ride.id, to.type]
        shown = shown_of(id_, to.type.value, to.severity.value, status=opened, due_at=to.due_at)
        told.append((event_of(to.severity), shown))
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
