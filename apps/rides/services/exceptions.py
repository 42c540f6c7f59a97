"""Exceptions: opened and resolved by transitions and timers, acknowledged and closed by people.

An exception of a ride records an event of the ride and updates its counters.  An exception of a standing order records
an event of its own.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.events import services as events
from apps.rides.models import Ride, RideException
from apps.rides.queries.exception_causes import same_cause
from apps.rides.rules.exception_types import (
    DEFAULT_SEVERITY,
    SEVERITY_RANK,
    ExceptionSeverity,
    ExceptionStatus,
    ExceptionType,
    ResolutionCode,
)
from apps.rides.services import escalation
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal
from lib.errors import Code, DomainError, InvalidInput, NotFound, ScopeMissing, StaleVersion
from lib.scopes import Scope

OPENED: Final = "ride.exception"
NOTED: Final = "ride.exception_noted"
ACKNOWLEDGED: Final = "ride.exception_acknowledged"
RESOLVED: Final = "ride.exception_resolved"
# The same events for standing orders, which have no exceptions of severity info.
_ORDER_EVENT_TYPES: Final = {
    OPENED: "standing_order.exception",
    ACKNOWLEDGED: "standing_order.exception_acknowledged",
    RESOLVED: "standing_order.exception_resolved",
}
LONGEST_SNOOZE: Final = timedelta(days=1)  # anything longer should be dismissed
_COUNTERS = ["open_exception_count", "max_exception_severity"]

# Without personal data, because lists, mails and webhooks show it.
SUMMARY_OF = {type_: type_.value.replace("_", " ").capitalize() for type_ in ExceptionType}


class AlreadySettled(DomainError):
    """The exception is resolved or dismissed."""

    code = Code.INVALID_TRANSITION
    template = _("This exception has been closed.")


class AlreadyClaimed(DomainError):
    """Another user has acknowledged it."""

    code = Code.INVALID_TRANSITION
    template = _("Someone else has claimed this exception.")


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
    cause_driver_id: UUID | None = None,
) -> RideException:
    """Open an exception on a locked ride, or raise the severity of the unsettled one of that type; see `event_of`.

    No-op if the unsettled one has at least this severity.  `severity` defaults to that of the type.  `details` may
    contain only ids, times and numbers.
    """
    new_severity = severity or DEFAULT_SEVERITY[type]
    exception = RideException.objects.unsettled().filter(ride=ride, type=type).first()
    if exception is not None and SEVERITY_RANK[ExceptionSeverity(exception.severity)] >= SEVERITY_RANK[new_severity]:
        return exception
    if exception is None:
        exception = RideException.objects.create(
            ride=ride,
            trip_id=ride.trip_id,
            rider_id=ride.rider_id,
            facility_id=ride.facility_id,
            severity=new_severity,
            due_at=due_at,
            details=details or {},
            cause_driver_id=cause_driver_id,
            **_opening(type, by=by, at=at, detected_by=detected_by),
        )
    else:
        exception.severity = new_severity
        exception.due_at = due_at or exception.due_at
        _save(exception, ["severity", "due_at"], at=at)
    _recount(ride)
    _record_event(ride, exception, event_of(new_severity), by=by, at=at, also=_COUNTERS)
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
    """Open an exception on a locked standing order, or update the unsettled one of that type.

    No-op if the unsettled one has the same `due_at` and `details`, which may contain only ids, dates, codes and
    numbers.  Locks the exception.
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
    """Resolve the unsettled exception of this type on a locked standing order, if there is one.

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
    """Return the type of the event when an exception of a ride opens or becomes more severe.

    `ride.exception` requires action.  Exceptions of severity info have a type of their own, so that only clients that
    subscribe to it receive them.
    """
    return NOTED if severity is ExceptionSeverity.INFO else OPENED


def settle(
    ride: Ride, types: Collection[ExceptionType], *, by: Principal, at: datetime, code: ResolutionCode
) -> list[RideException]:
    """Resolve the unsettled exceptions of these types on a locked ride: their cause is gone.  No-op without any."""
    unsettled = RideException.objects.unsettled().filter(ride_id=ride.pk, type__in=types)
    exceptions = list(unsettled.order_by("opened_at", "id"))
    for exception in exceptions:
        _close(ride, exception, ExceptionStatus.RESOLVED, by=by, at=at, code=code, note="")
    return exceptions


@transaction.atomic
def acknowledge(
    *, exception_id: UUID, expected_version: int | None = None, by: Principal, at: datetime
) -> RideException:
    """Acknowledge an exception, and the others with its cause: the caller handles them.  Idempotent.

    Raises:
        NotFound: there is no such exception inside the data scope.
        ScopeMissing: the caller may not change exceptions.
        StaleVersion: the caller read an older version.
        AlreadySettled, AlreadyClaimed: it is closed, or another user has acknowledged it.
    """
    (ride, exception), *others = _locked(exception_id, by, expected_version)
    _require_open(exception)
    if exception.status == ExceptionStatus.ACKNOWLEDGED and exception.acknowledged_by != by.actor:
        raise AlreadyClaimed
    for of_ride, row in [(ride, exception), *others]:
        if row.status == ExceptionStatus.OPEN:
            _acknowledge(of_ride, row, by=by, at=at)
    return exception


def _acknowledge(ride: Ride | None, exception: RideException, *, by: Principal, at: datetime) -> None:
    exception.status = ExceptionStatus.ACKNOWLEDGED
    exception.acknowledged_at = at
    exception.acknowledged_by = by.actor
    if by.kind == "user":
        exception.owner_id = by.id
    _save(exception, ["status", "acknowledged_at", "acknowledged_by", "owner"], at=at)
    _record_event(ride, exception, ACKNOWLEDGED, by=by, at=at)
    _audit("exceptions.acknowledge", exception, by)


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
    """Resolve an exception, and the others with its cause, with a code; `dismiss`: it needed no action.

    Raises:
        NotFound: there is none within the scope.
        ScopeMissing: the caller may not work on exceptions.
        StaleVersion: the caller read an older version.
        AlreadySettled: it is closed.
        InvalidInput: the code `other` came without a note.
    """
    (ride, exception), *others = _locked(exception_id, by, expected_version)
    _require_open(exception)
    if code is ResolutionCode.OTHER and not note.strip():
        raise InvalidInput("note", _("%(field)s is required with the code other."), detail_code="required")
    status = ExceptionStatus.DISMISSED if dismiss else ExceptionStatus.RESOLVED
    for of_ride, row in [(ride, exception), *others]:
        row.closed_by_hand = True
        _close(of_ride, row, status, by=by, at=at, code=code, note=note)
        _audit("exceptions.dismiss" if dismiss else "exceptions.resolve", row, by)
    return exception


@transaction.atomic
def snooze(
    *, exception_id: UUID, until: datetime | None, expected_version: int | None = None, by: Principal, at: datetime
) -> RideException:
    """Snooze an exception, and the others with its cause, until a time, or wake them up with None.  Idempotent.

    It stays open, and wakes up earlier if its severity rises.  Records no event.

    Raises:
        NotFound, ScopeMissing, StaleVersion, AlreadySettled: as for `acknowledge`.
        InvalidInput: the time has passed, or is more than a day ahead.
    """
    (ride, exception), *others = _locked(exception_id, by, expected_version)
    _require_open(exception)
    if until is not None and not at < until <= at + LONGEST_SNOOZE:
        raise InvalidInput("until", _("%(field)s must be within the next 24 hours."))
    for _ride, row in [(ride, exception), *others]:
        if row.snoozed_until != until:
            row.snoozed_until = until
            _save(row, ["snoozed_until"], at=at)
            _audit("exceptions.snooze", row, by)
    return exception


@transaction.atomic
def write_note(
    *, exception_id: UUID, note: str, expected_version: int | None = None, by: Principal, at: datetime
) -> RideException:
    """Replace the note of an open exception, and of the others with its cause; an empty note removes it.  Idempotent.

    Records no event: the note may hold personal data, and the feed and webhooks must not show it.

    Raises:
        NotFound, ScopeMissing, StaleVersion, AlreadySettled: as for `acknowledge`.
    """
    (ride, exception), *others = _locked(exception_id, by, expected_version)
    _require_open(exception)
    for _ride, row in [(ride, exception), *others]:
        if row.note != note.strip():
            row.note = note.strip()
            _save(row, ["note"], at=at)
            _audit("exceptions.note", row, by)
    return exception


_Locked = tuple[Ride | None, RideException]


def _locked(exception_id: UUID, by: Principal, expected_version: int | None) -> list[_Locked]:
    """Lock the rides, if any, then the exceptions: the lock order of all writers.

    The first one is the exception itself; the others are unsettled, have its cause, and are no more severe.
    """
    about = RideException.objects.visible_to(by).filter(pk=exception_id).first()
    if about is None:
        raise NotFound(_("exception"))
    if not by.has_scope(Scope.EXCEPTIONS_WRITE):
        raise ScopeMissing(Scope.EXCEPTIONS_WRITE)
    others = [row for row in same_cause(about, by) if row.ride_id is not None and _rank(row) <= _rank(about)]
    ride_ids = {row.ride_id for row in [about, *others] if row.ride_id is not None}
    rides = {ride_id: locked(ride_id, by) for ride_id in sorted(ride_ids)}
    rows = RideException.objects.select_for_update().filter(pk__in=[about.pk, *(row.pk for row in others)])
    exceptions = {row.pk: row for row in rows.order_by("pk")}
    exception = exceptions.pop(exception_id)
    if expected_version is not None and expected_version != exception.version:
        raise StaleVersion(exception.version)
    still_open = [row for row in exceptions.values() if row.resolved_at is None]
    return [(rides[row.ride_id] if row.ride_id is not None else None, row) for row in [exception, *still_open]]


def _rank(exception: RideException) -> int:
    return SEVERITY_RANK[ExceptionSeverity(exception.severity)]


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
        if escalation.NOTIFIED in exception.details:
            escalation.resolve_alerts([ride.pk], at=at)
    _record_event(ride, exception, RESOLVED, by=by, at=at, also=_COUNTERS)


def _save(exception: RideException, columns: list[str], *, at: datetime) -> None:
    exception.version += 1
    exception.updated_at = at
    exception.save(update_fields=[*columns, "version", "updated_at"])


def _recount(ride: Ride) -> None:
    """Recompute the counters that lists show."""
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
    """Record the event of an exception; `also` lists columns of its ride that the caller has set."""
    payload = payload_of(
        exception.pk,
        exception.type,
        exception.severity,
        status=exception.status,
        due_at=exception.due_at,
        cause_driver_id=exception.cause_driver_id,
    )
    if ride is not None:
        touch(ride, event_type, by=by, at=at, also=also, note=Note(data={"exception": payload}))
        return
    events.record(
        type=_ORDER_EVENT_TYPES[event_type],
        subject_type="exception",
        subject_id=exception.pk,
        sequence=exception.version,
        occurred_at=at,
        by=by,
        facility_id=exception.facility_id,
        data={
            "exceptionId": str(exception.pk),
            "standingOrderId": str(exception.standing_order_id),
            "exception": payload,
        },
    )


def payload_of(
    id: UUID,
    type: str,
    severity: str,
    *,
    status: str,
    due_at: datetime | None,
    cause_driver_id: UUID | None = None,
) -> dict[str, Any]:
    """Return the data of events about an exception; `causeDriverId` only if a driver is the cause."""
    cause = {} if cause_driver_id is None else {"causeDriverId": str(cause_driver_id)}
    return {
        "id": str(id),
        "type": type,
        "severity": severity,
        "status": status,
        "dueAt": due_at.isoformat().replace("+00:00", "Z") if due_at else None,
        **cause,
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
