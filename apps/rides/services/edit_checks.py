"""Checks of edits: which fields can change at which status, and what a change conflicts with."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from apps.rides.models import Ride
from apps.rides.queries.conflicts import hide_rides, rides_out_of_reach
from apps.rides.rules import booking_rules
from apps.rides.rules.booking_rules import Question
from apps.rides.rules.eligibility import Violation, ViolationKind
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import eligibility_checks, legs
from apps.rides.services.legs import Leg
from apps.rides.services.ride_changes import leg_of
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, FieldRefused, ScopeMissing
from lib.messages import Message, lowered
from lib.scopes import Scope

_ANY: Final = frozenset(
    {
        "pickup_at",
        "pickup",
        "dropoff",
        "service_type",
        "priority",
        "appointment_at",
        "scheduling_anchor",
        "will_call",
        "accommodation",
        "companions",
        "vehicle_type_requested",
        "discharge",
        "dialysis",
        "payment",
        "notes",
        "requested_by",
        "external_ids",
    }
)
_UNDER_WAY: Final = _ANY - {"pickup_at", "will_call", "service_type", "priority", "scheduling_anchor"}
_ON_BOARD: Final = frozenset({"dropoff", "notes", "external_ids"})
_ENDED: Final = frozenset({"payment", "notes", "external_ids"})
EDITABLE: Final[Mapping[RideStatus, frozenset[str]]] = {
    RideStatus.REQUESTED: _ANY,
    RideStatus.SCHEDULED: _ANY,
    RideStatus.ASSIGNED: _ANY,
    RideStatus.EN_ROUTE: _UNDER_WAY,
    RideStatus.ARRIVED: _UNDER_WAY,
    RideStatus.IN_PROGRESS: _ON_BOARD,
    RideStatus.COMPLETED: _ENDED,
    RideStatus.CANCELLED: _ENDED,
    RideStatus.NO_SHOW: _ENDED,
    RideStatus.UNFULFILLED: _ENDED,
}
# Callers who may book can change rides of these statuses; later ones take a dispatcher.
BEFORE_DEPARTURE: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED})
_WIRE: Final = {"pickup_at": "pickupTime", "appointment_at": "appointmentTime", "payment": "payer"}


class FieldLocked(DomainError):
    """The status of the ride does not allow these changes."""

    code = Code.RULE_VIOLATION

    def __init__(self, names: list[str], status: RideStatus) -> None:
        message = Message(
            _("This cannot be changed while the status is %(status)s."), {"status": lowered(status.label)}
        )
        details = [Detail(field=name, code="locked", message=message) for name in names]
        super().__init__(message, details=details)


class AlreadyReleased(DomainError):
    """A released ride cannot change its will-call setting."""

    code = Code.RULE_VIOLATION
    template = _("The rider is marked ready. Undo that first.")


def require_editable(ride: Ride, changes: Mapping[str, Any], by: Principal) -> None:
    """Check that the caller may make these changes at the status of the ride.

    Raises:
        ScopeMissing: the caller may not book, or a driver is en route and they may not dispatch.
        FieldLocked, AlreadyReleased: the status of the ride does not allow the change.
    """
    if not by.has_scope(Scope.RIDES_WRITE):
        raise ScopeMissing(Scope.RIDES_WRITE)
    status = RideStatus(ride.status)
    if status not in BEFORE_DEPARTURE and not by.has_scope(Scope.ASSIGNMENTS_WRITE):
        raise ScopeMissing(Scope.ASSIGNMENTS_WRITE)
    if too_late := [wire_name(name) for name in changes if name not in EDITABLE[status]]:
        raise FieldLocked(too_late, status)
    if ride.ready_at is not None and changes.get("will_call", True) is False:
        raise AlreadyReleased


def wire_name(part: str) -> str:
    """Return the API's name of a part of a draft."""
    if part in _WIRE:
        return _WIRE[part]
    first, *rest = part.split("_")
    return first + "".join(word.capitalize() for word in rest)


def review_reasons(ride: Ride, leg: Leg, *, at: datetime, time_is_new: bool = True) -> list[str]:
    """List the soft rules that the current ride breaks; `leg` is the ride as a leg.

    Without `time_is_new` the rule of the lead time keeps its result from when the time was requested.  One query, two
    if no vehicle fits.
    """
    names = ("service_date", "spaces_ambulatory", "spaces_wheelchair", "spaces_stretcher")
    broken = {*legs.review_reasons(leg, {name: getattr(ride, name) for name in names}, at=at)}
    if not time_is_new:
        broken = broken - {Question.LEAD_TIME} | {*ride.review_reasons} & {Question.LEAD_TIME}
    return [question.value for question in Question if question in broken]


# Legs with these statuses do not count for the sequence.
_NOT_RIDDEN: Final = (RideStatus.CANCELLED, RideStatus.NO_SHOW, RideStatus.UNFULFILLED)
# Soft rules of a new time or place; needs and payer are facts that need no override.
_OF_TIME: Final = frozenset({Question.LEAD_TIME, Question.AUTHORIZATION_EXPIRED})
_OF_PLACE: Final = frozenset({Question.SERVICE_AREA, Question.UNKNOWN_COORDINATES})
_MOVED_BY: Final = ("pickup_at", "pickup", "dropoff", "estimated_minutes", "will_call")


class ChangeQuestioned(DomainError):
    """The change breaks soft rules, listed in the details; it needs an override with a reason."""

    code = Code.RULE_VIOLATION


def require_order(ride: Ride, *, field: str, instead: Sequence[Ride] = ()) -> None:
    """Refuse a time that puts the legs of a trip out of sequence.  One query, none without a trip.

    `instead` are legs with times that are not saved yet.

    Raises:
        FieldRefused: names `field`.
    """
    if ride.trip_id is None:
        return
    rows = Ride.objects.filter(trip_id=ride.trip_id).exclude(status__in=_NOT_RIDDEN)
    legs_by_id = {leg.pk: leg for leg in rows.only("leg_sequence", "pickup_at", "appointment_at")}
    legs_by_id |= {leg.pk: leg for leg in instead}
    for other_leg in legs_by_id.values():
        if other_leg.pk == ride.pk:
            continue
        first, second = sorted((ride, other_leg), key=lambda leg: leg.leg_sequence)
        if not booking_rules.follows(second.pickup_at, first.pickup_at, first.appointment_at):
            message = _("The legs of a trip must stay in order.")
            raise FieldRefused([Detail(field=field, code="leg_order", message=message)])


def needs_check(before: Ride, after: Ride) -> bool:
    """Return whether the change is a new time or place of a ride whose driver is not en route yet."""
    moved = any(getattr(before, name) != getattr(after, name) for name in _MOVED_BY)
    return moved and after.status in (RideStatus.SCHEDULED, RideStatus.ASSIGNED)


def violation_details(violations: Iterable[Violation]) -> list[Detail]:
    """Return conflicts of a driver as details of an error."""
    return [
        Detail(
            code=violation.code.value,
            message=violation.message,
            also={"kind": violation.kind.value, "subjectId": str(violation.subject_id)},
        )
        for violation in violations
    ]


def questions(before: Ride, after: Ride, leg: Leg, *, at: datetime) -> list[Detail]:
    """List the soft rules of booking that a new time or place breaks; `leg` is `after` as a leg.

    Counts only what the change causes.
    """
    was = review_reasons(before, leg_of(before), at=at)
    if after.pickup_at < before.pickup_at:
        was = [question for question in was if question != Question.LEAD_TIME]
    new_questions = [Question(code) for code in review_reasons(after, leg, at=at) if code not in was]
    place = "dropoff" if before.pickup == after.pickup else "pickup"
    return [
        Detail(
            field=f"{leg.path}{'pickupTime' if question in _OF_TIME else place}",
            code=question.value,
            message=booking_rules.QUESTION_TEXTS[question],
            also={"kind": ViolationKind.SOFT.value},
        )
        for question in new_questions
        if question in _OF_TIME | _OF_PLACE
    ]


def crew_violations(ride: Ride, *, by: Principal, at: datetime) -> list[Violation]:
    """List all violations of the crew of a locked ride; rides outside the caller's data scope are not named.

    Locks the crew; no query without a crew.
    """
    if ride.driver_id is None or ride.vehicle_id is None:
        return []
    crew = eligibility_checks.locked_crew(
        driver_id=ride.driver_id,
        vehicle_id=ride.vehicle_id,
        attendant_ids=ride.attendant_ids,
        by=by.elevated(),
    )
    every_violation = eligibility_checks.judge(ride, crew, by=by.elevated(), at=at)
    return hide_rides(every_violation, rides_out_of_reach(every_violation, by), driver_id=ride.driver_id)


def new_violations(before: Ride, after: Ride, *, by: Principal, at: datetime) -> list[Violation]:
    """List the soft violations of the crew of a locked ride that a change causes, such as the end of a shift.

    Considers rides outside the caller's data scope without naming them.  Locks the crew; no query without a crew.
    """
    if after.driver_id is None:
        return []
    everybody = by.elevated()
    earlier = {(violation.code, violation.subject_id) for violation in crew_violations(before, by=everybody, at=at)}
    new = [
        violation
        for violation in crew_violations(after, by=everybody, at=at)
        if violation.kind is ViolationKind.SOFT and (violation.code, violation.subject_id) not in earlier
    ]
    return hide_rides(new, rides_out_of_reach(new, by), driver_id=after.driver_id)
