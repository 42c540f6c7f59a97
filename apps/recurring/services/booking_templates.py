"""From an order's terms to drafts of its rides, in the words in which any ride is booked."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from apps.recurring.models import ReturnMode, StandingOrder, Terms
from apps.recurring.rules.recurrence import Occurrence
from apps.riders.models import AccommodationProfile, Rider
from apps.rides.queries import bookings
from apps.rides.rules.draft import Notes, Payment, ReturnLeg, RideDraft
from apps.rides.services import booking, recurring_booking
from apps.rides.services.recurring_booking import Refused, RidePlan
from lib.access import Principal
from lib.errors import DomainError


def drafts(order: StandingOrder, terms: Terms, occurrence: Occurrence) -> list[RideDraft]:
    """Make the drafts of one day: the way there and, where the terms have one, the way back.

    Raises:
        InvalidInput: the way back would lie before the way there.
    """
    out = RideDraft(
        pickup_at=occurrence.pickup_at,
        appointment_at=occurrence.chair_at,
        scheduling_anchor="appointment",
        pickup=_stop(terms.pickup, terms.pickup_access),
        dropoff=_stop({"facilityId": str(order.facility_id), **terms.dropoff}, terms.dropoff_access),
        rider_id=order.rider_id,
        facility_id=order.facility_id,
        service_type=order.service_type,
        accommodation=terms.accommodation,
        companions=terms.companions,
        vehicle_type_requested=order.vehicle_type_requested,
        dialysis=_treatment(order, terms),
        payment=Payment(
            payer_id=order.payer_id,
            program_code=order.program_code,
            authorization_number=order.authorization_number,
            authorization_expires_on=order.authorization_ends_on,
        ),
        notes=Notes(driver=order.driver_notes, dispatcher=order.dispatcher_notes, facility=order.facility_notes),
    )
    if terms.return_mode == ReturnMode.NONE:
        return [out]
    back = ReturnLeg(
        pickup_at=occurrence.return_at,
        will_call=terms.return_mode == ReturnMode.WILL_CALL,
        dropoff=_stop(terms.return_dropoff, terms.return_dropoff_access) if terms.return_dropoff else None,
        accommodation={"mobility": terms.return_mobility} if terms.return_mobility else {},
    )
    return [out, booking.way_back(out, back)]


def _stop(stop: Mapping[str, Any], access_code: str) -> dict[str, Any]:
    # An empty code says that there is none: a ride that is amended keeps no code of another door.
    return {**stop, "accessCode": access_code}


def _treatment(order: StandingOrder, terms: Terms) -> dict[str, Any] | None:
    if order.service_type != "dialysis":
        return None
    return {"treatmentMinutes": terms.treatment_minutes, "postTreatmentMinutes": terms.post_treatment_minutes}


def changes_of(draft: RideDraft) -> dict[str, Any]:
    """Give everything of a draft that an order decides, as changes of a ride."""
    payment, notes = draft.payment, draft.notes
    return {
        "pickup": draft.pickup,
        "dropoff": draft.dropoff,
        "will_call": draft.will_call,
        "accommodation": draft.accommodation,
        "companions": draft.companions,
        "vehicle_type_requested": draft.vehicle_type_requested,
        "dialysis": draft.dialysis,
        "payment": {
            "payer_id": payment.payer_id,
            "program_code": payment.program_code,
            "authorization_number": payment.authorization_number,
            "authorization_expires_on": payment.authorization_expires_on,
        },
        "notes": {"driver": notes.driver, "dispatcher": notes.dispatcher, "facility": notes.facility},
    }


@dataclass(frozen=True, slots=True)
class TermsSample:
    """A course to be worked out: an order, its terms, and the first day that they are needed for."""

    order: StandingOrder
    terms: Terms
    occurrence: Occurrence


def ride_plans(
    asked: Collection[TermsSample], riders: Mapping[UUID, Rider], *, by: Principal, at: datetime
) -> dict[UUID, RidePlan | Refused]:
    """Work out the courses of many orders, by the ids of their terms; refused where a hard rule stands against all.

    Their `riders` are locked.  Four queries, and those of `Resources.can_carry`.
    """
    profiles = AccommodationProfile.objects.filter(rider_id__in=riders, current=True)
    profile_of = {profile.rider_id: profile for profile in profiles}
    found: dict[UUID, RidePlan | Refused] = {}
    planned: dict[UUID, list[RideDraft]] = {}
    for one in asked:
        try:
            planned[one.terms.pk] = drafts(one.order, one.terms, one.occurrence)
        except DomainError as refusal:
            found[one.terms.pk] = Refused(refusal.code, refusal.text)
    resources = recurring_booking.read_resources(chain.from_iterable(planned.values()), by=by)
    for one in asked:
        if one.terms.pk in planned:
            rider = riders[one.order.rider_id]
            try:
                found[one.terms.pk] = recurring_booking.course(
                    planned[one.terms.pk],
                    rider=rider,
                    profile=profile_of.get(rider.pk),
                    owner=resources.known.get(one.order.facility_id),
                    resources=resources,
                    at=at,
                )
            except DomainError as refusal:
                found[one.terms.pk] = Refused(refusal.code, refusal.text)
    return found


def require_bookable(one: TermsSample, *, by: Principal, at: datetime) -> None:
    """Apply every hard rule of booking to the rides of one day, but whether the payer still pays.

    Who pays was judged when the order got its payer: one that was switched off since hinders new rides, and no edit.

    Raises:
        InvalidInput, FieldRefused: some are broken; each is named, as in a booking.
    """
    order = one.order
    planned = drafts(order, one.terms, one.occurrence)
    resources = recurring_booking.read_resources(planned, by=by)
    recurring_booking.course(
        planned,
        rider=order.rider,
        profile=bookings.current_profile(order.rider_id),
        owner=order.facility,
        resources=replace(resources, payers={order.payer.pk: order.payer} if order.payer else {}),
        at=at,
    )
