"""What booking a draft would make of it, told beforehand.  Nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.organizations.service_levels import service_levels
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from apps.rides.queries import bookings
from apps.rides.rules import booking_rules, timing
from apps.rides.rules.booking_rules import Question
from apps.rides.rules.draft import RideDraft
from apps.rides.services import booking, legs
from lib.access import Principal


@dataclass(frozen=True, slots=True)
class Foreseen:
    """How the ride would be promised, what a person would be asked about it, and which rides it would overlap.

    `columns` are those that the ride of the way there would have.  `window` is its own; `promised_by` None of a
    will-call leg, which promises nothing.
    """

    columns: Mapping[str, Any]
    window: timing.Window
    promised_by: datetime | None
    questions: tuple[Question, ...]
    beside: tuple[UUID, ...]


def foresee(*, draft: RideDraft, rider: Rider, by: Principal, at: datetime) -> Foreseen:
    """Look ahead at the way there of a draft of a rider in reach.  Five queries, one more where no vehicle fits.

    Raises:
        InvalidInput, FieldRefused, RiderNotBookable: as `booking.book` would.
    """
    known = bookings.facilities(booking.facility_ids([draft]), by)
    leg = legs.of_draft(
        draft,
        number=1,
        of=1,
        known=known,
        owner=known.get(draft.facility_id) if draft.facility_id else None,
        profile=bookings.current_profile(rider.pk),
        payer=booking.payer_of(draft.payment.payer_id),
    )
    legs.require_sound(leg, at=at)
    made = legs.columns(leg)
    booking.require_bookable(rider, made["service_date"])
    beside = booking.require_free(rider.pk, made, allowed=True, by=by)
    return Foreseen(
        columns=made,
        window=timing.Window(made["window_starts_at"], made["window_ends_at"]),
        promised_by=made["promised_pickup_by"],
        questions=tuple(booking_rules.review_reasons(legs.facts_of(leg, made, at=at))),
        beside=tuple(beside),
    )


def pickup_for(
    appointment_at: datetime,
    *,
    pickup: Mapping[str, Any],
    dropoff: Mapping[str, Any],
    facility_id: UUID | None,
    mobility: str,
    by: Principal,
) -> datetime | None:
    """Work out when to set out for an appointment; None where the drive is not known.

    At most two queries: the facilities that the stops name.
    """
    named = {UUID(str(stop["facilityId"])) for stop in (pickup, dropoff) if stop.get("facilityId")}
    known = bookings.facilities(named | ({facility_id} if facility_id else set()), by)
    ends: list[tuple[float | None, float | None]] = []
    place = None
    for path, given in (("pickup", pickup), ("dropoff", dropoff)):
        stop, place = legs.resolved_stop({**given, "entranceId": None}, path=path, known=known, entrances={})
        ends.append((stop["lat"], stop["lng"]))
    drive = timing.estimated_drive(*ends)
    if drive is None:
        return None
    levels = service_levels(place or (known.get(facility_id) if facility_id else None))
    lead = timing.lead_minutes(
        drive.minutes,
        load_minutes=accommodation.default_load_minutes(mobility),
        arrive_early_minutes=levels.arrive_early_minutes,
    )
    return timing.add_minutes(appointment_at, -lead)
