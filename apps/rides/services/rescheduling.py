"""What stands against a ride as it is moved: the other legs of its trip, soft rules of booking, those who drive it."""

from datetime import datetime
from typing import Final

from django.utils.translation import gettext_lazy as _

from apps.rides.models import Ride
from apps.rides.queries.conflicts import rides_out_of_reach, veiled
from apps.rides.rules import booking_rules
from apps.rides.rules.booking_rules import Question
from apps.rides.rules.eligibility import Kind, Violation
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import amended_leg, overriding, pairing
from apps.rides.services.legs import Leg
from apps.rides.services.overriding import Override
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, FieldRefused

# A leg that nobody rode has no place among the others.
_NOT_RIDDEN: Final = (RideStatus.CANCELLED, RideStatus.NO_SHOW, RideStatus.UNFULFILLED)
# What a new time or place is asked; what a rider needs and who pays are facts, which nobody is asked about.
_OF_TIME: Final = frozenset({Question.LEAD_TIME, Question.AUTHORIZATION_EXPIRED})
_OF_PLACE: Final = frozenset({Question.SERVICE_AREA, Question.UNKNOWN_COORDINATES})
_MOVED_BY: Final = ("pickup_at", "pickup", "dropoff", "estimated_minutes", "will_call")


class ChangeQuestioned(DomainError):
    """The change breaks soft rules; the details list all of them, and an override with a reason makes it."""

    code = Code.RULE_VIOLATION


def require_order(ride: Ride, *, field: str) -> None:
    """Refuse a time by which the legs of a trip would pass one another.  One query, none without a trip.

    Raises:
        FieldRefused: names `field`.
    """
    if ride.trip_id is None:
        return
    others = Ride.objects.filter(trip_id=ride.trip_id).exclude(pk=ride.pk).exclude(status__in=_NOT_RIDDEN)
    for other in others.only("leg_sequence", "pickup_at", "appointment_at"):
        first, second = sorted((ride, other), key=lambda leg: leg.leg_sequence)
        if not booking_rules.follows(second.pickup_at, first.pickup_at, first.appointment_at):
            message = _("The legs of a trip have to stay in their order.")
            raise FieldRefused([Detail(field=field, code="leg_order", message=message)])


def ask(before: Ride, after: Ride, leg: Leg, override: Override, *, by: Principal, at: datetime) -> list[str]:
    """Refuse a promised ride's new time or place that breaks soft rules, or answer which of them were overridden.

    Counts what the change brings about, not what stood against the ride already.  Once the driver is under way nobody
    is asked: what a rider on the road needs is done.  `leg` is `after` as a leg.  Locks the crew.

    Raises:
        ChangeQuestioned: lists questions of booking, by code, and violations, with what they are about.
        ScopeMissing, InvalidInput: see `overriding.require_right`.
    """
    moved = any(getattr(before, name) != getattr(after, name) for name in _MOVED_BY)
    if not moved or after.status not in (RideStatus.SCHEDULED, RideStatus.ASSIGNED):
        return []
    found = _questions(before, after, leg, at=at)
    found += [
        Detail(
            code=one.code.value, message=one.message, also={"kind": one.kind.value, "subjectId": str(one.subject_id)}
        )
        for one in brought_about(before, after, by=by, at=at)
    ]
    if not found:
        return []
    if not override.wanted:
        raise ChangeQuestioned(found[0].message, details=found)
    overriding.require_right(override, by)
    return list(dict.fromkeys(detail.code for detail in found))


def _questions(before: Ride, after: Ride, leg: Leg, *, at: datetime) -> list[Detail]:
    was = amended_leg.review_reasons(before, amended_leg.leg_of(before), at=at)
    if after.pickup_at < before.pickup_at:
        was = [question for question in was if question != Question.LEAD_TIME]
    new = [Question(one) for one in amended_leg.review_reasons(after, leg, at=at) if one not in was]
    place = "dropoff" if before.pickup == after.pickup else "pickup"
    return [
        Detail(
            field="pickupTime" if one in _OF_TIME else place,
            code=one.value,
            message=booking_rules.IN_WORDS[one],
            also={"kind": Kind.SOFT.value},
        )
        for one in new
        if one in _OF_TIME | _OF_PLACE
    ]


def brought_about(before: Ride, after: Ride, *, by: Principal, at: datetime) -> list[Violation]:
    """List the soft violations for those on a locked ride that a change brings about: another ride, the end of a shift.

    Looks beyond the caller's reach, and names nothing there.  Locks the crew; no query where nobody is on the ride.
    """
    if after.driver_id is None or after.vehicle_id is None:
        return []
    crew = pairing.locked_crew(
        driver_id=after.driver_id,
        vehicle_id=after.vehicle_id,
        attendant_ids=after.attendant_ids,
        by=by.elevated(),
    )
    everybody = by.elevated()
    stood = {(one.code, one.subject_id) for one in pairing.judge(before, crew, by=everybody, at=at)}
    soft = [one for one in pairing.judge(after, crew, by=everybody, at=at) if one.kind is Kind.SOFT]
    new = [one for one in soft if (one.code, one.subject_id) not in stood]
    return veiled(new, rides_out_of_reach(new, by), driver_id=after.driver_id)
