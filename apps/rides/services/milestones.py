"""Milestones of a ride with their source, time and place of reporting."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrPromise

from apps.fleet.services.positions import CLOCK_TOLERANCE
from apps.rides.models import Milestone, Ride, RideException
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.status_report import MilestoneReport
from apps.rides.services import exceptions
from lib.access import Principal
from lib.errors import Code, Detail, DomainError
from lib.messages import Message, lowered
from lib.travel.places import meters_between

ENTERED_LATE = timedelta(
    days=1
)  # a ride that has been driven may be booked a day later, with what happened before that

# In sequence, with the column of the ride that has the same time.
COLUMN_OF: Final = {
    Milestone.Type.DEPARTED: "departed_at",
    Milestone.Type.ARRIVED_PICKUP: "arrived_pickup_at",
    Milestone.Type.BOARDED: "boarded_at",
    Milestone.Type.ARRIVED_DROPOFF: "arrived_dropoff_at",
    Milestone.Type.DROPPED_OFF: "dropped_off_at",
}
_AT_PICKUP: Final = frozenset({Milestone.Type.ARRIVED_PICKUP, Milestone.Type.BOARDED, Milestone.Type.READY})
_AT_DROPOFF: Final = frozenset({Milestone.Type.ARRIVED_DROPOFF, Milestone.Type.DROPPED_OFF, Milestone.Type.HANDOFF})


class MilestoneOutOfOrder(DomainError):
    """The time is before the ride or an earlier milestone, after a later milestone, or in the future."""

    code = Code.MILESTONE_OUT_OF_ORDER

    def __init__(self, template: StrPromise, *, field: str = "occurredAt", **parameters: object) -> None:
        detail = Detail(field=field, code="out_of_order", message=Message(template, parameters))
        super().__init__(detail.text, details=[detail])


def check_order(ride: Ride, milestone: Milestone.Type, occurred_at: datetime, *, at: datetime) -> None:
    """Refuse a milestone whose time contradicts recorded ones.

    Raises:
        MilestoneOutOfOrder: as above.
    """
    field = "readyAt" if milestone is Milestone.Type.READY else "occurredAt"
    if occurred_at > at + CLOCK_TOLERANCE:
        raise MilestoneOutOfOrder(_("%(field)s is more than two minutes in the future."), field=field)
    # Timing, waits and the period for corrections depend on the time: it must not be before the booking.
    if occurred_at < min(ride.requested_at, ride.pickup_at - ENTERED_LATE):
        raise MilestoneOutOfOrder(_("%(field)s is before the ride was requested."), field=field)
    if milestone not in COLUMN_OF:
        return
    order = list(COLUMN_OF)
    place = order.index(milestone)
    for other_type in order[:place]:
        recorded = getattr(ride, COLUMN_OF[other_type])
        if recorded is not None and occurred_at < recorded:
            raise MilestoneOutOfOrder(_("%(field)s is before %(other)s."), other=lowered(other_type.label))
    for other_type in order[place + 1 :]:
        recorded = getattr(ride, COLUMN_OF[other_type])
        if recorded is not None and occurred_at > recorded:
            raise MilestoneOutOfOrder(_("%(field)s is after %(other)s."), other=lowered(other_type.label))


def check_ending(ride: Ride, occurred_at: datetime, *, at: datetime) -> None:
    """Refuse an outcome or other decision dated before recorded milestones, because its timing depends on it.

    Raises:
        MilestoneOutOfOrder: it is before a recorded moment or in the future.
    """
    check_order(ride, Milestone.Type.DROPPED_OFF, occurred_at, at=at)


def record(ride: Ride, report: MilestoneReport, *, source: str, by: Principal, at: datetime) -> list[str]:
    """Save a milestone of a locked ride and set its column; return the columns to save.

    A second word on the same moment voids the first and is marked as edited; contact attempts add up instead.

    Raises:
        MilestoneOutOfOrder: see `check_order`.
    """
    milestone = Milestone.Type(report.type)
    check_order(ride, milestone, report.occurred_at, at=at)
    column = COLUMN_OF.get(milestone)
    adds_up = milestone is Milestone.Type.CONTACT_ATTEMPT
    # An empty column means that there is no milestone to void.
    first = column is not None and getattr(ride, column) is None
    voided = 0 if adds_up or first else void(ride, [milestone])
    place = report.place
    Milestone.objects.create(
        ride=ride,
        type=milestone,
        occurred_at=report.occurred_at,
        source=source,
        lat=place.lat if place else None,
        lng=place.lng if place else None,
        accuracy_meters=place.accuracy_meters if place else None,
        distance_from_stop_meters=distance_from_stop(ride, milestone, report),
        actor=by.actor,
        edited=voided > 0,
        note=report.note,
        contacted=report.contacted,
    )
    if column is None:
        return []
    setattr(ride, column, report.occurred_at)
    return [column]


def has_passed(ride: Ride, milestone: Milestone.Type) -> bool:
    """Check whether this milestone or a later one is recorded, so that a report no longer changes the status."""
    order = list(COLUMN_OF)
    return any(getattr(ride, COLUMN_OF[type_]) is not None for type_ in order[order.index(milestone) :])


def missing(ride: Ride) -> list[Milestone.Type]:
    """List unreported milestones before a recorded one."""
    order = list(COLUMN_OF)
    recorded = [type_ for type_ in order if getattr(ride, COLUMN_OF[type_]) is not None]
    return [
        type_
        for type_ in order
        if recorded and order.index(type_) < order.index(recorded[-1]) and type_ not in recorded
    ]


def is_known(ride: Ride, report: MilestoneReport) -> bool:
    """Check whether the same milestone is recorded: devices repeat unconfirmed reports.  One query."""
    same_reports = Milestone.objects.filter(ride=ride, type=report.type, occurred_at=report.occurred_at, voided=False)
    return same_reports.filter(contacted=report.contacted).exists()


def void(ride: Ride, types: list[Milestone.Type]) -> int:
    """Void the current milestones of these types, and return their number."""
    return Milestone.objects.filter(ride=ride, type__in=types, voided=False).update(voided=True)


def void_approach(ride: Ride) -> None:
    """Void what the driver did on the way to the pickup, and attempts to reach the rider there; earlier calls stay."""
    void(ride, [Milestone.Type.DEPARTED, Milestone.Type.ARRIVED_PICKUP])
    if ride.arrived_pickup_at is not None:
        attempts = Milestone.objects.filter(ride=ride, type=Milestone.Type.CONTACT_ATTEMPT, voided=False)
        attempts.filter(occurred_at__gte=ride.arrived_pickup_at).update(voided=True)


def stop_of(milestone: Milestone.Type) -> str | None:
    """Return the stop of a milestone: "pickup", "dropoff", or None between them."""
    return "pickup" if milestone in _AT_PICKUP else "dropoff" if milestone in _AT_DROPOFF else None


def distance_from_stop(ride: Ride, milestone: Milestone.Type, report: MilestoneReport) -> int | None:
    """Return the distance in meters from the stop at which it was reported; None if unknown."""
    name = stop_of(milestone)
    if report.place is None or name is None:
        return None
    stop = getattr(ride, name)
    if stop.get("lat") is None or stop.get("lng") is None:
        return None
    return round(meters_between(float(report.place.lat), float(report.place.lng), stop["lat"], stop["lng"]))


MISMATCH_METERS: Final = 250  # `address_problem`


def check_reported_location(ride: Ride, moment: MilestoneReport, *, by: Principal, at: datetime) -> None:
    """Open `address_problem` on a locked ride if a milestone at a stop was reported from too far away.

    A better word on the same moment, from near enough, settles it.  No query where the distance is not known, or is
    small and nothing open.
    """
    milestone = Milestone.Type(moment.type)
    meters = distance_from_stop(ride, milestone, moment)
    if meters is None:
        return
    if meters > MISMATCH_METERS:
        exceptions.open_exception(
            ride,
            ExceptionType.ADDRESS_PROBLEM,
            by=by,
            at=at,
            detected_by="distance",
            details={"stop": stop_of(milestone), "milestone": milestone.value, "distanceMeters": meters},
        )
    elif ride.open_exception_count:
        _resolve_address_problem(ride, "milestone", [milestone.value], by=by, at=at)


def settle_address_exceptions(ride: Ride, stops: Collection[str], *, by: Principal, at: datetime) -> None:
    """Settle `address_problem` of a locked ride about one of these changed stops ("pickup", "dropoff")."""
    if ride.open_exception_count:
        _resolve_address_problem(ride, "stop", stops, by=by, at=at)


def _resolve_address_problem(ride: Ride, key: str, about: Collection[str], *, by: Principal, at: datetime) -> None:
    problem = RideException.objects.unsettled().filter(ride=ride, type=ExceptionType.ADDRESS_PROBLEM).first()
    if problem is not None and problem.details.get(key) in about:
        code = ResolutionCode.RECOVERED_ON_TIME
        exceptions.settle(ride, [ExceptionType.ADDRESS_PROBLEM], by=by, at=at, code=code)
