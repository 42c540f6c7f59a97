"""The one place where the status of a ride changes, and the record of every change.

`locked` takes the row, `move` follows the table of lifecycle.py, `touch` records a change that leaves the status alone.
Each event takes the next version of the ride, so that events are dense and a lost update cannot be written down.  With
each change goes the instant at which the clock next means something to the ride.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrPromise

from apps.audit.services import audit
from apps.events import services as events
from apps.rides.models import Ride
from apps.rides.queries import monitored_rides
from apps.rides.rules import exception_rules
from apps.rides.rules.lifecycle import BY_ACTION, TERMINAL, WITH_DRIVER, Action, RideStatus, Transition, allowed_from
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, NotFound, ScopeMissing, StaleVersion
from lib.messages import Message, listed, lowered

CORRECTED_EVENT = "ride.corrected"
CREATED_EVENT: Mapping[RideStatus, str] = {
    RideStatus.REQUESTED: "ride.requested",
    RideStatus.SCHEDULED: "ride.scheduled",
}


class OfferedOnly(DomainError):
    """The caller sees the ride only because of an offer, and can change it after accepting."""

    code = Code.FORBIDDEN
    template = _("The ride is offered to you. Accept it first.")


# What has to happen before the ride can go on from here.
_FIRST: Final[Mapping[RideStatus, StrPromise]] = {
    RideStatus.REQUESTED: _("This ride is only requested. Confirm it first."),
    RideStatus.SCHEDULED: _("This ride is unassigned. Assign a driver first."),
    RideStatus.ASSIGNED: _("The driver is not at the pickup yet. Log the departure or the arrival first."),
    RideStatus.EN_ROUTE: _("The vehicle is not at the pickup yet. Log its arrival first."),
    RideStatus.ARRIVED: _("The rider is not on board yet. Log the boarding first, or record a no-show."),
    RideStatus.IN_PROGRESS: _(
        "The rider is already on board. Hand the ride over to another driver, complete it, or record why it was not"
        " completed."
    ),
    RideStatus.COMPLETED: _("The ride is completed. To change that, correct its ending."),
    RideStatus.CANCELLED: _("The ride is canceled. Reinstate it, or book another ride."),
    RideStatus.NO_SHOW: _("The ride ended as a no-show. To change that, correct its ending."),
    RideStatus.UNFULFILLED: _("The ride was not carried out. To change that, correct its ending."),
}
# What an action needs that is not a step of the lifecycle.
_NEEDS: Final[Mapping[str, StrPromise]] = {
    "handover": _("No rider is on board. Assign another driver instead."),
    "reinstate": _("Only a canceled ride can be reinstated. If the ride ended otherwise, correct its ending."),
    Action.CORRECT.value: _("The ride has not ended, so there is no ending to correct."),
}
_HAS_DRIVER: Final = _("The ride has a driver already. Reassign it, or unassign the driver first.")


class InvalidTransition(DomainError):
    """The lifecycle has no such transition from the status of the ride.  The message says what to do first."""

    code = Code.INVALID_TRANSITION

    def __init__(self, was: RideStatus, target: str) -> None:
        allowed = allowed_from(was)
        possible = listed([lowered(status.label) for status in allowed]) if allowed else _("none, the ride has ended")
        detail = Detail(
            field="status",
            code="invalid_transition",
            message=Message(_("Possible next statuses: %(statuses)s."), {"statuses": possible}),
            also={"from": was.value, "to": target, "allowed": [status.value for status in allowed]},
        )
        if _is_back(was, target):
            template = _("The status cannot change from %(was)s back to %(target)s. Correct the logged times instead.")
            super().__init__(
                template, was=lowered(was.label), target=lowered(RideStatus(target).label), details=[detail]
            )
        elif target in ("offer", Action.ASSIGN.value) and was in WITH_DRIVER:
            super().__init__(_HAS_DRIVER, details=[detail])
        else:
            super().__init__(_NEEDS.get(target, _FIRST[was]), details=[detail])


def _is_back(was: RideStatus, target: str) -> bool:
    """Return whether the target is an earlier status of a vehicle on its way."""
    way = [RideStatus.ASSIGNED, RideStatus.EN_ROUTE, RideStatus.ARRIVED, RideStatus.IN_PROGRESS]
    return target in way and was in way and way.index(RideStatus(target)) < way.index(was)


@dataclass(frozen=True, slots=True)
class Note:
    """Data of an event besides the status of the ride; `provider_id` if it is not the current one."""

    data: Mapping[str, Any] = field(default_factory=dict)
    provider_id: UUID | None = None


def locked(ride_id: UUID, by: Principal, *, expected_version: int | None = None) -> Ride:
    """Lock one ride of the caller's data scope until the transaction ends.  One query, which joins its facility.

    Raises:
        NotFound: there is no such ride within the scope.
        OfferedOnly: it is offered to the caller, who has not accepted it.
        StaleVersion: the caller read an older version.
    """
    rows = Ride.objects.in_charge_of(by).select_related("facility").filter(pk=ride_id)
    ride = rows.select_for_update(of=("self",)).first()
    if ride is None:
        if by.provider_ids is not None and Ride.objects.visible_to(by).filter(pk=ride_id).exists():
            raise OfferedOnly
        raise NotFound(_("ride"))
    if expected_version is not None and expected_version != ride.version:
        raise StaleVersion(ride.version)
    return ride


def transition_of(ride: Ride, action: Action) -> Transition:
    """Return the transition of the lifecycle for this action.

    Raises:
        InvalidTransition: there is none.
    """
    row = BY_ACTION.get((RideStatus(ride.status), action))
    if row is None:
        raise InvalidTransition(RideStatus(ride.status), action.value)
    return row


def require_permission(row: Transition, by: Principal) -> None:
    """Check that the caller may perform this transition.

    Raises:
        ScopeMissing: the caller has none of the scopes in `row.scopes`.
    """
    if not any(by.has_scope(scope) for scope in row.scopes):
        raise ScopeMissing(*row.scopes)


def move(
    ride: Ride,
    action: Action,
    *,
    by: Principal,
    at: datetime,
    occurred_at: datetime | None = None,
    also: Sequence[str] = (),
    notes: Mapping[str, Note] | None = None,
) -> Ride:
    """Change the status of a locked ride and record it.  The only function in the project that sets `status`.

    `at` is the server's clock, `occurred_at` the reporter's (default: the same).  `also` names the other columns that
    the caller has set.  Records the row's events but for `ride.exception`, which opening the exception records.  One
    update, one insert per event.

    Raises:
        InvalidTransition: the table has no such step from here.
        ScopeMissing: the caller may not take it.
    """
    row = transition_of(ride, action)
    require_permission(row, by)
    if row.target in TERMINAL:
        ride.status_before_end = ride.status
    return _set_status(
        ride,
        row.target,
        [event for event in row.events if event != "ride.exception"],
        by=by,
        at=at,
        occurred_at=occurred_at or at,
        also=[*also, "status_before_end"],
        notes=notes or {},
    )


def move_back(ride: Ride, *, by: Principal, at: datetime, also: Sequence[str], note: Note) -> Ride:
    """Return an ended ride to the status it ended from (T29).  `services.corrections` decides whether it may.

    Raises:
        InvalidTransition: the ride has not ended.
    """
    was = RideStatus(ride.status)
    if was not in TERMINAL:
        raise InvalidTransition(was, Action.CORRECT.value)
    target = RideStatus(ride.status_before_end)
    ride.status_before_end = ""
    return _set_status(
        ride,
        target,
        [CORRECTED_EVENT],
        by=by,
        at=at,
        occurred_at=at,
        also=[*also, "status_before_end"],
        notes={CORRECTED_EVENT: note},
    )


def _set_status(
    ride: Ride,
    target: RideStatus,
    event_types: Sequence[str],
    *,
    by: Principal,
    at: datetime,
    occurred_at: datetime,
    also: Sequence[str],
    notes: Mapping[str, Note],
) -> Ride:
    was = ride.status
    ride.status = target
    ride.status_changed_at = occurred_at
    ride.updated_at = at
    first = ride.version + 1
    ride.version += len(event_types)
    ride.next_check_at = watching_of(ride, at=at)
    ride.save(update_fields=["status", "status_changed_at", "updated_at", "version", "next_check_at", *also])
    for number, event_type in enumerate(event_types):
        _record(
            ride,
            event_type,
            sequence=first + number,
            by=by,
            occurred_at=occurred_at,
            note=notes.get(event_type, Note()),
            previous_status=was,
        )
    return ride


def touch(
    ride: Ride,
    event_type: str,
    *,
    by: Principal,
    at: datetime,
    also: Sequence[str] = (),
    occurred_at: datetime | None = None,
    note: Note | None = None,
) -> Ride:
    """Save the columns in `also` of a locked ride and record one event; the status stays."""
    ride.updated_at = at
    ride.version += 1
    ride.next_check_at = watching_of(ride, at=at)
    ride.save(update_fields=["updated_at", "version", "next_check_at", *also])
    _record(
        ride,
        event_type,
        sequence=ride.version,
        by=by,
        occurred_at=occurred_at or at,
        note=note or Note(),
        previous_status=ride.status,
    )
    return ride


def watching_of(ride: Ride, *, at: datetime) -> datetime | None:
    """Compute when the exception monitor has to evaluate this ride again, or None if nothing known requires it.

    Never too late: `services.exception_monitor` computes the exact instant.  At once if exceptions are open, because
    the change may have settled one.
    """
    return at if ride.open_exception_count else exception_rules.first_check_at(monitored_rides.facts_of(ride))


def audit_step(
    ride: Ride,
    was: RideStatus,
    *,
    by: Principal,
    overridden: Sequence[str] = (),
    reason_code: str = "",
    reason: str = "",
) -> None:
    """Write the audit entry of a change from status `was` to the current one."""
    audit.record(
        by=by,
        action="rides.status",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        reason=reason,
        details={
            "from": was.value,
            "to": ride.status,
            "overridden": list(overridden),
            **({"reasonCode": reason_code} if reason_code else {}),
        },
    )


def record_created(ride: Ride, *, by: Principal, at: datetime) -> None:
    """Record that a ride now exists.  Call once, right after its insert with `version=1`."""
    _record(
        ride,
        CREATED_EVENT[RideStatus(ride.status)],
        sequence=1,
        by=by,
        occurred_at=at,
        note=Note({"afterTheFact": True} if ride.after_the_fact else {}),
        previous_status=None,
    )


def record_all_created(rides: Iterable[Mapping[str, Any]], *, by: Principal, at: datetime) -> None:
    """Record the creation of many rides, given by their columns.  One COPY."""
    events.record_all(
        (
            {
                "type": CREATED_EVENT[ride["status"]],
                "subject_type": "ride",
                "subject_id": ride["id"],
                "sequence": 1,
                "occurred_at": at,
                "facility_id": ride["facility_id"],
                "data": event_data(ride["id"], ride["status"], None, ride["pickup_at"]),
            }
            for ride in rides
        ),
        by=by,
    )


def _record(
    ride: Ride,
    event_type: str,
    *,
    sequence: int,
    by: Principal,
    occurred_at: datetime,
    note: Note,
    previous_status: str | None,
) -> None:
    events.record(
        type=event_type,
        subject_type="ride",
        subject_id=ride.pk,
        sequence=sequence,
        occurred_at=occurred_at,
        by=by,
        facility_id=ride.facility_id,
        provider_id=note.provider_id or ride.provider_id,
        data={**event_data(ride.pk, ride.status, previous_status, ride.pickup_at), **note.data},
    )


def event_data(ride_id: UUID, status: str, previous_status: str | None, pickup_at: datetime) -> dict[str, Any]:
    """Return the `data` of every event of a ride; `previous_status` None: the ride is new."""
    return {
        "rideId": str(ride_id),
        "status": status,
        "previousStatus": previous_status,
        "pickupTime": pickup_at.isoformat().replace("+00:00", "Z"),
    }
