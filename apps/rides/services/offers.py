"""Offers to drivers: accept, decline, expire, and offering to preferred drivers.

An offer is in reach of the provider it was made to, though the ride has no provider yet; that is shown to it, for it to
decide by, and can be changed by it once it has accepted.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import Activation, Driver, Employment
from apps.rides.models import Assignment, Ride
from apps.rides.queries.assignment_facts import gather
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.eligibility import ViolationKind, violations
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import Action, RideStatus
from apps.rides.services import assignment, exceptions
from apps.rides.services.assignment import Handover, attach
from apps.rides.services.eligibility_checks import AssignmentRejected, judge, locked_crew
from apps.rides.services.status import locked, require_permission, transition_of
from lib.access import Principal
from lib.errors import Code, DomainError, InvalidInput, NotFound, ScopeMissing, StaleVersion
from lib.scopes import Scope

EXPIRED_AT_ONCE = 100  # offers per run of the task, which runs every second


class OfferOver(DomainError):
    """The offer has expired; the ride may have another driver."""

    code = Code.ASSIGNMENT_CONFLICT
    template = _("The time to respond to this offer has passed.")


@transaction.atomic
def accept(
    *,
    ride_id: UUID,
    assignment_id: UUID | None = None,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Assignment:
    """Accept an offer after repeating the checks, and withdraw other offers.

    `assignment_id` may be left out where one offer alone is open.  What was overridden with the offer stays so.

    Raises:
        NotFound: there is no such offer in the caller's reach.
        StaleVersion: the ride has changed since the caller read it.
        InvalidInput: several offers are open and none is named.
        ScopeMissing: the caller may not assign.
        InvalidTransition: the ride no longer waits for a driver.
        OfferOver: the time to respond has passed.
        AssignmentRejected: something stands against it by now that was not overridden.
    """
    offer = _locked_offer(ride_id, assignment_id, by, expected_version)
    ride = offer.ride
    require_permission(transition_of(ride, Action.ASSIGN), by)
    if offer.respond_by is not None and at >= offer.respond_by:
        raise OfferOver
    crew = locked_crew(driver_id=offer.driver_id, vehicle_id=offer.vehicle_id, attendant_ids=offer.attendant_ids, by=by)
    violations = judge(ride, crew, by=by, at=at)
    if any(
        violation.kind is ViolationKind.HARD or violation.code.value not in offer.overridden for violation in violations
    ):
        raise AssignmentRejected(violations)
    attach(offer, Action.ASSIGN, Handover(), None, by=by, at=at)
    _audit("rides.accept", offer, by)
    return offer


@transaction.atomic
def decline(
    *,
    ride_id: UUID,
    assignment_id: UUID | None = None,
    reason: str = "",
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Assignment:
    """Decline an offer; the ride stays as it is, and `assignment_declined` is opened.

    Raises:
        NotFound, StaleVersion, InvalidInput, ScopeMissing: as `accept`.
    """
    offer = _locked_offer(ride_id, assignment_id, by, expected_version)
    if not by.has_scope(Scope.ASSIGNMENTS_WRITE):
        raise ScopeMissing(Scope.ASSIGNMENTS_WRITE)
    offer.decline_reason = reason
    _end(offer, Assignment.Status.DECLINED, by=by, at=at)
    _audit("rides.decline", offer, by)
    return offer


def expire_due(*, by: Principal, at: datetime) -> int:
    """Expire unanswered offers, each in its own transaction, and return their number.

    A ride that somebody is changing right now is left for the next run.
    """
    due = Assignment.objects.filter(status=Assignment.Status.OFFERED, respond_by__lte=at).order_by("respond_by", "id")
    return sum(_expire(offer_id, by=by, at=at) for offer_id in due.values_list("pk", flat=True)[:EXPIRED_AT_ONCE])


@transaction.atomic
def _expire(offer_id: UUID, *, by: Principal, at: datetime) -> bool:
    rides = Ride.objects.filter(assignments=offer_id).select_for_update(of=("self",), skip_locked=True)
    ride = rides.first()
    offer = Assignment.objects.filter(pk=offer_id, status=Assignment.Status.OFFERED).first() if ride else None
    if ride is None or offer is None:
        return False
    offer.ride = ride
    _end(offer, Assignment.Status.EXPIRED, by=by, at=at)
    _audit("rides.expire_offer", offer, by)
    return True


def withdraw(ride: Ride, driver_id: UUID, *, why: str, by: Principal, at: datetime) -> bool:
    """End the open offer of a locked ride to a driver who cannot answer it; return whether there was one.

    The exception is that of an offer that was declined, because the ride needs another driver.
    """
    offer = Assignment.objects.filter(ride=ride, driver_id=driver_id, status=Assignment.Status.OFFERED).first()
    if offer is None:
        return False
    offer.ride = ride
    _end(offer, Assignment.Status.EXPIRED, why=why, by=by, at=at)
    _audit("rides.withdraw_offer", offer, by)
    return True


def _locked_offer(ride_id: UUID, assignment_id: UUID | None, by: Principal, expected_version: int | None) -> Assignment:
    """Lock the ride of an offer to a provider inside the data scope, and read the offer."""
    rides = Ride.objects.filter(pk=ride_id)
    if by.facility_ids is not None:
        rides = rides.filter(facility_id__in=by.facility_ids)
    ride = rides.select_for_update(of=("self",)).select_related("facility", "pickup_facility", "payer").first()
    if ride is None:
        raise NotFound(_("ride"))
    offers = Assignment.objects.filter(ride=ride, status=Assignment.Status.OFFERED)
    if by.provider_ids is not None:
        offers = offers.filter(provider_id__in=by.provider_ids)
    if assignment_id is not None:
        offers = offers.filter(pk=assignment_id)
    candidates = list(offers[:2])
    if not candidates:
        # Callers who cannot see the ride get the same error as for a missing ride.
        raise NotFound(_("offer") if Ride.objects.visible_to(by).filter(pk=ride_id).exists() else _("ride"))
    if expected_version is not None and expected_version != ride.version:
        raise StaleVersion(ride.version)
    if len(candidates) > 1:
        raise InvalidInput("assignmentId", _("Several offers are open. Specify one."), detail_code="required")
    candidates[0].ride = ride
    return candidates[0]


def _end(offer: Assignment, status: Assignment.Status, *, why: str = "", by: Principal, at: datetime) -> None:
    offer.status, offer.ended_at = status, at
    offer.end_reason = why or status.value
    if status is Assignment.Status.DECLINED:
        offer.responded_at = at
    offer.save(update_fields=["status", "ended_at", "end_reason", "responded_at", "decline_reason"])
    exceptions.open_exception(
        offer.ride,
        ExceptionType.ASSIGNMENT_DECLINED,
        by=by,
        at=at,
        detected_by=f"offer_{why or status.value}",
        details={"assignmentId": str(offer.pk), "driverId": str(offer.driver_id)},
    )


def _audit(action: str, offer: Assignment, by: Principal) -> None:
    audit.record(
        by=by,
        action=action,
        subject_type="ride",
        subject_id=offer.ride_id,
        rider_ids=[offer.ride.rider_id],
        facility_id=offer.ride.facility_id,
        details={"assignmentId": str(offer.pk)},
    )


_METHOD: Final = Assignment.Method.PREFERRED_DRIVER


def rides_with_preferred_drivers(ride_ids: Collection[UUID]) -> list[UUID]:
    """Return the rides whose rider or standing order has preferred drivers.  One query, none without rides."""
    if not ride_ids:
        return []
    wished = ~Q(preferred_driver_ids=[]) | ~Q(rider__preferred_driver_ids=[])
    return list(Ride.objects.filter(wished, pk__in=ride_ids).order_by("pk").values_list("pk", flat=True))


def offer_to_preferred_drivers(ride_id: UUID, *, since: datetime, by: Principal, at: datetime) -> int:
    """Offer a ride to every preferred driver without violations, and return their number.

    Who has been asked since `since` is not asked again.  Each offer is a transaction of its own, as each locks a driver
    and a vehicle.
    """
    ride = Ride.objects.select_related("rider").get(pk=ride_id)
    needs = needs_of(ride, at=at)
    preferred = Driver.objects.filter(pk__in=needs.preferred_driver_ids, activation=Activation.ACTIVE)
    drivers = list(preferred.filter(provider__active=True).exclude(employment=Employment.EMPLOYEE).order_by("pk"))
    facts = gather(needs, drivers=drivers, at=at)
    offered_count = 0
    for driver in drivers:
        vehicle_id = facts.vehicle_of.get(driver.pk)
        vehicle = None if vehicle_id is None else facts.vehicles[vehicle_id]
        if vehicle_id is not None and not violations(needs, facts.drivers[driver.pk], vehicle):
            offered_count += _ask(ride_id, driver.pk, vehicle_id, since=since, by=by, at=at)
    return offered_count


def _ask(ride_id: UUID, driver_id: UUID, vehicle_id: UUID, *, since: datetime, by: Principal, at: datetime) -> bool:
    try:
        with transaction.atomic():
            ride = locked(ride_id, by)
            before = Assignment.objects.filter(ride=ride, driver_id=driver_id, method=_METHOD, offered_at__gte=since)
            if ride.status != RideStatus.SCHEDULED or before.exists():
                return False
            crew: dict[str, Any] = {"driver_id": driver_id, "vehicle_id": vehicle_id}
            assignment.assign(ride_id=ride_id, **crew, method=_METHOD, offer=True, by=by, at=at)
    except DomainError:  # the driver or the ride has changed meanwhile: continue with the other drivers
        return False
    return True
