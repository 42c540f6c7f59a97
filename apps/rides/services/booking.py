"""Booking: creates a scheduled ride from a draft, or a request that a person has to confirm (T01, T02)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.organizations import services as organizations
from apps.organizations.models import Facility, Payer, SubjectType
from apps.riders import services as riders
from apps.riders.models import Rider
from apps.riders.rules import rider_status
from apps.rides.models import Ride, Trip
from apps.rides.models.ride import ONE_REFERENCE, LegType
from apps.rides.queries import bookings
from apps.rides.rules import booking_rules, timing
from apps.rides.rules.draft import ReturnLeg, RideDraft, Shape
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.services import arrival_times, exceptions, legs
from apps.rides.services.legs import Leg
from apps.rides.services.status import Note, locked, record_created, touch, watching_of
from lib.access import Principal
from lib.constraints import constraint_of
from lib.errors import Code, Detail, DomainError, InvalidInput, ScopeMissing
from lib.messages import FieldName, Message
from lib.scopes import Scope


class RiderNotBookable(DomainError):
    """The rider has died, is not to be booked, or is on hold on that day."""

    code = Code.RIDER_NOT_BOOKABLE


class OverlappingRide(DomainError):
    """The rider already has a ride at this time; the request may override this with `override_field`."""

    code = Code.DUPLICATE_RIDE

    def __init__(self, existing_id: UUID, *, override_field: str = "allowDuplicate", path: str = "") -> None:
        message = Message(
            _("The rider has a ride at this time. Send %(override_field)s to book it anyway."),
            {"override_field": override_field},
        )
        detail = Detail(
            field=f"{path}pickupTime", code="overlap", message=message, also={"existingId": str(existing_id)}
        )
        super().__init__(message, details=[detail])


class ReferenceTaken(DomainError):
    """The client has a ride with this clientReference."""

    code = Code.DUPLICATE_RESOURCE

    def __init__(self, existing_id: UUID | None, *, path: str = "") -> None:
        message = _("A ride with this clientReference exists.")
        also = {"existingId": str(existing_id)} if existing_id else {}
        super().__init__(
            message, details=[Detail(field=f"{path}clientReference", code="taken", message=message, also=also)]
        )


class BookedAlready(DomainError):
    """There is a ride with the id chosen by the caller: the same request was sent twice."""

    code = Code.DUPLICATE_RESOURCE
    template = _("This ride was booked already.")


class BoundToProviders(DomainError):
    """A caller bound to a transport provider could not see the ride that it books."""

    code = Code.FORBIDDEN


@dataclass(frozen=True, slots=True)
class Booked:
    """The rides of a draft; `return_ride` if it has a return leg."""

    ride: Ride
    return_ride: Ride | None = None


@transaction.atomic
def book(
    *, draft: RideDraft, ride_id: UUID | None = None, predicts: bool = True, by: Principal, at: datetime
) -> Booked:
    """Book one ride, or two linked rides if there is a return leg.

    `ride_id` is the id of the first leg, chosen by the caller so that a repeated request books only once.

    A pickup as soon as possible is promised by the prediction for the best free driver; not `predicts`, or without such
    a driver, by the minutes of the facility.

    A ride that breaks a soft rule becomes `requested`, with the rules as review reasons and a time to answer by;
    otherwise it is `scheduled`.  An allowed overlap opens `duplicate_ride`, and a predicted late arrival opens
    `late_to_appointment`.  Locks the rider's row, so that two callers cannot book the same rider at once.

    Raises:
        ScopeMissing, BoundToProviders: the caller may not book, or not after the fact.
        InvalidInput, FieldRefused, legs.PickupInPast: a hard rule is broken; the field is named.
        BookedAlready: there is a ride with this `ride_id`; nothing else was checked.
        RiderNotBookable: the rider's record does not allow it on that day.
        OverlappingRide: the rider has a ride then, and the draft does not allow another.
        ReferenceTaken, organizations.services.ExternalIdTaken: another ride has the reference or external id.
    """
    require_right(by)
    if draft.after_the_fact and not may_record(by):
        raise ScopeMissing(Scope.RIDES_CORRECT)
    drafts = [draft] if draft.return_leg is None else [draft, return_draft(draft, draft.return_leg, at=at)]
    records = bookings.booking_records(facility_ids(drafts), draft.rider_id, by)
    if ride_id is not None and Ride.objects.filter(pk=ride_id).exists():
        raise BookedAlready
    owner = _owner(draft, records.facilities, by)
    rider = _rider(draft, records.rider, owner, by, at)
    profile = records.profile if rider is records.rider else bookings.current_profile(rider.pk)
    payer = payer_of(draft.payment.payer_id)
    planned = [
        legs.of_draft(
            leg_draft,
            number=number,
            of=len(drafts),
            facilities=records.facilities,
            owner=owner,
            profile=profile,
            payer=payer,
        )
        for number, leg_draft in enumerate(drafts, 1)
    ]
    for leg in planned:
        legs.require_sound(leg, at=at)
    leg_columns = [legs.columns(leg, not_before=at) for leg in planned]
    if predicts:
        legs.promise_by_availability(leg_columns[0], rider, at=at)
    overlaps = []
    for leg, columns in zip(planned, leg_columns, strict=True):
        require_bookable(rider, columns["service_date"])
        overlaps.append(require_free(rider.pk, columns, allowed=leg.draft.allow_duplicate, by=by, path=leg.path))
    booked = _written(planned, leg_columns, first_id=ride_id, rider=rider, by=by, at=at)
    rides = [ride for ride in (booked.ride, booked.return_ride) if ride is not None]
    for ride, overlapping_ids in zip(rides, overlaps, strict=True):
        open_duplicate(ride, overlapping_ids, detected_by="booking", by=by, at=at)
        arrival_times.check_appointment(ride, detected_by="booking", by=by, at=at)
    return booked


def _written(
    planned: Sequence[Leg],
    leg_columns: Sequence[dict[str, Any]],
    *,
    first_id: UUID | None,
    rider: Rider,
    by: Principal,
    at: datetime,
) -> Booked:
    trip = (
        Trip.objects.create(rider=rider, service_date=leg_columns[0]["service_date"]) if len(leg_columns) > 1 else None
    )
    ids = [first_id, *[None] * len(planned)]
    rides = [
        _insert(leg, columns, ride_id=id_, rider=rider, trip=trip, by=by, at=at)
        for leg, columns, id_ in zip(planned, leg_columns, ids, strict=False)
    ]
    audit.record(
        by=by,
        action="rides.book",
        subject_type="ride",
        subject_id=rides[0].pk,
        rider_ids=[rider.pk],
        facility_id=rides[0].facility_id,
        details={"rides": [str(ride.pk) for ride in rides]},
    )
    return Booked(rides[0], rides[1] if len(rides) > 1 else None)


def return_draft(draft: RideDraft, return_leg: ReturnLeg, *, at: datetime | None = None) -> RideDraft:
    """Create the draft of the return leg: stops swapped, will-call for dialysis, estimated from the treatment.

    The return leg of a ride that is recorded after the fact is recorded likewise if its pickup has passed `at`.

    Raises:
        InvalidInput: the pickup time is missing and cannot be estimated, or it precedes the outbound leg; or a
            discharge has a return leg.
    """
    if draft.service_type == "hospital_discharge":
        raise InvalidInput("returnLeg", _("A hospital discharge has no return leg."))
    pickup_at = return_leg.pickup_at
    if pickup_at is None and draft.service_type == "dialysis" and draft.appointment_at is not None:
        dialysis = draft.dialysis or {}
        pickup_at = timing.end_of_treatment(
            draft.appointment_at,
            treatment_minutes=dialysis.get("treatmentMinutes"),
            post_treatment_minutes=dialysis.get("postTreatmentMinutes"),
        )
    if pickup_at is None:
        raise InvalidInput(
            "returnLeg.pickupTime",
            _("%(field)s is required: the exact or, with %(will_call)s, the estimated time."),
            detail_code="required",
            will_call=FieldName("willCall"),
        )
    if not booking_rules.follows(pickup_at, draft.pickup_at, draft.appointment_at):
        raise InvalidInput("returnLeg.pickupTime", booking_rules.OUT_OF_ORDER)
    after_the_fact = draft.after_the_fact and at is not None and pickup_at <= at
    default_will_call = draft.service_type == "dialysis" and not after_the_fact
    return replace(
        draft,
        pickup_at=pickup_at,
        after_the_fact=after_the_fact,
        will_call=default_will_call if return_leg.will_call is None else return_leg.will_call,
        pickup=return_leg.pickup if return_leg.pickup is not None else draft.dropoff,
        dropoff=return_leg.dropoff if return_leg.dropoff is not None else draft.pickup,
        appointment_at=None,
        scheduling_anchor="pickup",
        accommodation=_needs_on_return(draft.accommodation, return_leg.accommodation),
        vehicle_type_requested=return_leg.vehicle_type_requested or draft.vehicle_type_requested,
        notes=return_leg.notes or draft.notes,
        client_reference=return_leg.client_reference,
        external_ids=return_leg.external_ids,
        return_leg=None,
    )


def _needs_on_return(outbound: Shape, return_needs: Shape) -> Shape:
    """Merge the needs of the trip and of its return leg; the mobility is the trip's `returnMobility` by default."""
    needs = {**outbound, **return_needs}
    if "mobility" not in return_needs and outbound.get("returnMobility"):
        needs["mobility"] = outbound["returnMobility"]
    return needs


def require_right(by: Principal) -> None:
    """Check that the caller may book.

    Raises:
        ScopeMissing, BoundToProviders: see `book`.
    """
    if not by.has_scope(Scope.RIDES_WRITE):
        raise ScopeMissing(Scope.RIDES_WRITE)
    if by.provider_ids is not None:
        raise BoundToProviders(_("A caller bound to transport providers cannot book rides."))


def may_record(by: Principal) -> bool:
    """Return whether the caller may record rides after the fact: with the scope to correct rides, or as a dispatcher.

    Dispatchers enter what happened while the service was down, or what a driver reports by phone.  This gives them no
    other correction, and integrations need the scope.
    """
    return by.has_scope(Scope.RIDES_CORRECT) or (by.kind == "user" and by.has_scope(Scope.ASSIGNMENTS_WRITE))


def facility_ids(drafts: Sequence[RideDraft]) -> set[UUID]:
    """List the ids of facilities in drafts."""
    named = [draft.facility_id for draft in drafts]
    named += [
        UUID(str(stop["facilityId"]))
        for draft in drafts
        for stop in (draft.pickup, draft.dropoff)
        if stop.get("facilityId")
    ]
    return {facility_id for facility_id in named if facility_id is not None}


def _owner(draft: RideDraft, facilities: Mapping[UUID, Facility], by: Principal) -> Facility | None:
    """Choose the facility of the ride: of the draft, else of the pickup, the drop-off, or the caller's only facility.

    Raises:
        InvalidInput: the facility is outside the caller's data scope, or the draft has to name one and does not.
    """
    if draft.facility_id is not None:
        if draft.facility_id not in facilities:
            raise InvalidInput("facilityId", _("There is no such facility."))
        return facilities[draft.facility_id]
    for stop in (draft.pickup, draft.dropoff):
        if stop.get("facilityId") and UUID(str(stop["facilityId"])) in facilities:
            return facilities[UUID(str(stop["facilityId"]))]
    if by.facility_ids is None:
        return None
    if len(by.facility_ids) == 1:
        only = bookings.facilities(by.facility_ids, by)
        if only:
            return next(iter(only.values()))
    raise InvalidInput("facilityId", _("%(field)s is required."), detail_code="required")


def _rider(draft: RideDraft, existing: Rider | None, owner: Facility | None, by: Principal, at: datetime) -> Rider:
    """Return the rider: `existing`, which is locked, or the inline rider, matched by external id or created.

    Raises:
        InvalidInput: the rider does not exist or is outside the caller's data scope.
        ScopeMissing: the draft has an inline rider, and the caller may not write riders.
    """
    if (draft.rider_id is None) == (draft.rider is None):
        raise InvalidInput("riderId", _("%(field)s is required, or a rider, and not both."), detail_code="required")
    if draft.rider is not None:
        if not by.has_scope(Scope.RIDERS_WRITE):
            raise ScopeMissing(Scope.RIDERS_WRITE)
        # Also locks the row.
        return riders.match_or_register(draft=draft.rider, facility_id=owner.pk if owner else None, by=by, at=at)
    if existing is None:
        raise InvalidInput("riderId", _("There is no such rider."))
    return existing


def payer_of(payer_id: UUID | None, *, among: Mapping[UUID, Payer] | None = None) -> Payer | None:
    """Return the payer, from `among` if given.

    Raises:
        InvalidInput: there is no such payer, or it no longer pays.
    """
    if payer_id is None:
        return None
    payer = bookings.payer(payer_id) if among is None else among.get(payer_id)
    if payer is None:
        raise InvalidInput("payer.payerId", _("There is no such payer."))
    return payer


def require_bookable(rider: Rider, day: date) -> None:
    """Refuse a rider whose record does not allow a ride on that service date.

    Raises:
        RiderNotBookable: says why.
    """
    if why := rider_status.barred(rider, day):
        raise RiderNotBookable(why)


def require_free(
    rider_id: UUID,
    columns: Mapping[str, Any],
    *,
    besides: Sequence[UUID] = (),
    allowed: bool = False,
    override_field: str = "allowDuplicate",
    by: Principal,
    path: str = "",
) -> list[UUID]:
    """Refuse a ride that overlaps other open rides, or list those if it is `allowed`.  One query.

    Raises:
        OverlappingRide: names the first of them, and the `override_field` to book it all the same.
    """
    ends_at = timing.busy_until(columns["pickup_at"], columns["estimated_minutes"])
    overlapping_ids = bookings.overlapping(
        rider_id, starts_at=columns["pickup_at"], ends_at=ends_at, by=by, besides=besides
    )
    if overlapping_ids and not allowed:
        raise OverlappingRide(overlapping_ids[0], override_field=override_field, path=path)
    return overlapping_ids


def open_duplicate(
    ride: Ride, overlapping_ids: Sequence[UUID], *, detected_by: str, by: Principal, at: datetime
) -> None:
    """Open `duplicate_ride` on a locked ride that was allowed to overlap others of its rider.

    Not on a ride that is recorded after the fact.
    """
    if overlapping_ids and not ride.after_the_fact:
        details = {"rideIds": [str(pk) for pk in overlapping_ids]}
        type_ = ExceptionType.DUPLICATE_RIDE
        exceptions.open_exception(ride, type_, by=by, at=at, detected_by=detected_by, details=details)


def legs_of_trip(ride: Ride) -> list[UUID]:
    """List the legs of a ride's trip with itself; they do not conflict.  No query without a trip."""
    if ride.trip_id is None:
        return [ride.pk]
    return list(Ride.objects.filter(trip_id=ride.trip_id).values_list("pk", flat=True))


def locked_rider(ride_id: UUID, by: Principal) -> Rider | None:
    """Lock the rider of a ride, so that no other ride of the rider is booked or moved in the meantime.

    Call it before locking the ride: booking locks in the same order.
    """
    rides = Ride.objects.visible_to(by).filter(pk=ride_id)
    return Rider.objects.select_for_update(no_key=True).filter(pk__in=rides.values("rider_id")).first()


def _insert(
    leg: Leg,
    columns: dict[str, Any],
    *,
    ride_id: UUID | None,
    rider: Rider,
    trip: Trip | None,
    by: Principal,
    at: datetime,
) -> Ride:
    questions = legs.review_reasons(leg, columns, at=at)
    ride = Ride(
        **columns,
        **legs.new_columns(leg, questions, columns["pickup_at"], by=by, at=at),
        trip=trip,
        rider=rider,
        **({} if ride_id is None else {"id": ride_id}),
    )
    legs.seal_access(ride, pickup=leg.access[0], dropoff=leg.access[1])
    ride.payer_member_id = leg.draft.payment.member_id
    ride.next_check_at = watching_of(ride, at=at)
    _save_once(ride, path=leg.path, may_be_there=ride_id is not None)
    if leg.draft.external_ids:
        organizations.replace_external_ids(
            subject_type=SubjectType.RIDE,
            subject_id=ride.pk,
            external_ids=[
                {"system": external_id.system, "value": external_id.value, "type": external_id.type}
                for external_id in leg.draft.external_ids
            ],
            in_reach=lambda pk: Ride.objects.visible_to(by).filter(pk=pk).exists(),
        )
    record_created(ride, by=by, at=at)
    return ride


def _save_once(ride: Ride, *, path: str, may_be_there: bool = False) -> None:
    """Insert the row; unique constraints decide between two calls with the same clientReference or id."""
    if not ride.client_reference and not may_be_there:
        ride.save(force_insert=True)
        return
    try:
        with transaction.atomic():
            ride.save(force_insert=True)
    except IntegrityError as refusal:
        if constraint_of(refusal) not in (ONE_REFERENCE, "rides_ride_pkey"):
            raise
        if may_be_there and Ride.objects.filter(pk=ride.pk).exists():
            raise BookedAlready from refusal
        same = Ride.objects.filter(client_id=ride.client_id, client_reference=ride.client_reference)
        raise ReferenceTaken(same.values_list("pk", flat=True).first(), path=path) from refusal


MAX_BULK = 500


class TooManyRides(DomainError):
    """A bulk request has too many rides for one transaction."""

    code = Code.VALIDATION_ERROR
    template = _("At most %(most)s rides at a time.")


@transaction.atomic
def book_many(
    *, drafts: Sequence[RideDraft], per_item: bool = False, by: Principal, at: datetime
) -> list[Booked | DomainError]:
    """Book up to `MAX_BULK` drafts: all or none, or with `per_item` each by itself, with its error in the result.

    Promises of pickups as soon as possible go by the minutes of the facility: a prediction for each would take long.

    Locks all named riders by id before the first booking, so that two requests with the same riders in a different
    order do not deadlock.

    Raises:
        TooManyRides: there are more drafts.
        DomainError: not `per_item`, and one was refused as `book` refuses it; the details say which.
    """
    if len(drafts) > MAX_BULK:
        raise TooManyRides(most=MAX_BULK)
    _lock_riders(drafts, by)
    outcomes: list[Booked | DomainError] = []
    for position, draft in enumerate(drafts):
        try:
            with transaction.atomic():
                outcomes.append(book(draft=draft, predicts=False, by=by, at=at))
        except DomainError as refusal:
            refusal.details = _placed(refusal, position)
            if not per_item:
                raise
            outcomes.append(refusal)
    return outcomes


def _lock_riders(drafts: Sequence[RideDraft], by: Principal) -> None:
    names = [name for draft in drafts if draft.rider for name in draft.rider.get("external_ids") or []]
    riders.lock_named([draft.rider_id for draft in drafts if draft.rider_id], names, by=by)


def _placed(refusal: DomainError, position: int) -> list[Detail]:
    """Prefix the fields of details with the ride of the request."""
    if not refusal.details:
        return [Detail(field=f"rides[{position}]", code="refused", message=refusal.text)]
    return legs.prefixed(refusal.details, f"rides[{position}].")


@transaction.atomic
def trip_of(*, ride_id: UUID, by: Principal, at: datetime) -> UUID:
    """Return the trip of a ride; a ride without a trip becomes the outbound leg of a new one (`ride.updated`).

    Raises:
        NotFound: there is no such ride in reach.
    """
    ride = locked(ride_id, by)
    if ride.trip_id is not None:
        return ride.trip_id
    trip = Trip.objects.create(rider_id=ride.rider_id, service_date=ride.service_date)
    ride.trip, ride.leg_type = trip, LegType.OUTBOUND
    touch(ride, "ride.updated", by=by, at=at, also=["trip", "leg_type"], note=Note({"changed": ["tripId", "legType"]}))
    audit.record(
        by=by,
        action="rides.amend",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        details={"fields": ["trip", "leg_type"]},
    )
    return trip.pk
