"""Converts the terms of an order into drafts of its rides, and those into ride plans for booking in sets."""

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
    """Create the drafts of one day: the outbound leg and, if the terms have one, the return.

    Raises:
        InvalidInput: the return would be before the outbound leg.
    """
    outbound = RideDraft(
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
        return [outbound]
    return_leg = ReturnLeg(
        pickup_at=occurrence.return_at,
        will_call=terms.return_mode == ReturnMode.WILL_CALL,
        dropoff=_stop(terms.return_dropoff, terms.return_dropoff_access) if terms.return_dropoff else None,
        accommodation={"mobility": terms.return_mobility} if terms.return_mobility else {},
    )
    return [outbound, booking.return_draft(outbound, return_leg)]


def _stop(stop: Mapping[str, Any], access_code: str) -> dict[str, Any]:
    # An empty code removes the one of an amended ride, which may be of another entrance.
    return {**stop, "accessCode": access_code}


def _treatment(order: StandingOrder, terms: Terms) -> dict[str, Any] | None:
    if order.service_type != "dialysis":
        return None
    return {"treatmentMinutes": terms.treatment_minutes, "postTreatmentMinutes": terms.post_treatment_minutes}


def changes_of(draft: RideDraft) -> dict[str, Any]:
    """Return everything of a draft that the order determines, as changes of a ride."""
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
    """One day of an order's terms, which stands for all days with these terms."""

    order: StandingOrder
    terms: Terms
    occurrence: Occurrence


def ride_plans(
    samples: Collection[TermsSample], riders: Mapping[UUID, Rider], *, by: Principal, at: datetime
) -> dict[UUID, RidePlan | Refused]:
    """Plan the rides of many orders, by the ids of their terms; `Refused` if a hard rule applies to every day.

    `riders` are locked, by id.  Four queries, and those of `Resources.can_carry`.
    """
    profiles = AccommodationProfile.objects.filter(rider_id__in=riders, current=True)
    profile_of = {profile.rider_id: profile for profile in profiles}
    plans: dict[UUID, RidePlan | Refused] = {}
    drafts_of: dict[UUID, list[RideDraft]] = {}
    for sample in samples:
        try:
            drafts_of[sample.terms.pk] = drafts(sample.order, sample.terms, sample.occurrence)
        except DomainError as error:
            plans[sample.terms.pk] = Refused(error.code, error.text)
    resources = recurring_booking.read_resources(chain.from_iterable(drafts_of.values()), by=by)
    for sample in samples:
        if sample.terms.pk in drafts_of:
            rider = riders[sample.order.rider_id]
            try:
                plans[sample.terms.pk] = recurring_booking.plan_rides(
                    drafts_of[sample.terms.pk],
                    rider=rider,
                    profile=profile_of.get(rider.pk),
                    owner=resources.facilities.get(sample.order.facility_id),
                    resources=resources,
                    at=at,
                )
            except DomainError as error:
                plans[sample.terms.pk] = Refused(error.code, error.text)
    return plans


def require_bookable(sample: TermsSample, *, by: Principal, at: datetime) -> None:
    """Apply every hard rule of booking to the rides of one day, except that the payer has to be active.

    The payer was checked when it was set.  If it was switched off since, new rides are refused, but edits are not.

    Raises:
        InvalidInput, FieldRefused: a rule is broken; the field is named as in a booking.
    """
    order = sample.order
    planned = drafts(order, sample.terms, sample.occurrence)
    resources = recurring_booking.read_resources(planned, by=by)
    recurring_booking.plan_rides(
        planned,
        rider=order.rider,
        profile=bookings.current_profile(order.rider_id),
        owner=order.facility,
        resources=replace(resources, payers={order.payer.pk: order.payer} if order.payer else {}),
        at=at,
    )
