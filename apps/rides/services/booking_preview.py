"""Previews a booking before it is made: its times, promise and review reasons, and the pickup for an appointment."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.organizations.service_levels import service_levels
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from apps.rides.queries import bookings
from apps.rides.queries.ride_needs import place_of
from apps.rides.rules import timing
from apps.rides.rules.booking_rules import Question
from apps.rides.rules.draft import RideDraft
from apps.rides.services import booking, legs
from lib.access import Principal
from lib.travel.places import Place
from lib.travel.times import drive_between


@dataclass(frozen=True, slots=True)
class BookingPreview:
    """The promised times of the ride, its review reasons, and the rides that it would overlap.

    `columns` and `window` are those of the outbound ride; `promised_by` is None for a will-call leg.
    `is_driver_free`: of a pickup as soon as possible, whether a driver is free, by whose arrival it is promised.
    """

    columns: Mapping[str, Any]
    window: timing.Window
    promised_by: datetime | None
    questions: tuple[Question, ...]
    overlapping_ids: tuple[UUID, ...]
    is_driver_free: bool | None = None


def preview(*, draft: RideDraft, rider: Rider, predicts: bool = True, by: Principal, at: datetime) -> BookingPreview:
    """Preview the outbound leg of a draft.  Five queries, one more if no vehicle fits.

    Eleven more for a pickup as soon as possible, unless not `predicts`, see `book`.

    Raises:
        InvalidInput, FieldRefused, RiderNotBookable: as `booking.book` would.
    """
    facilities = bookings.facilities(booking.facility_ids([draft]), by)
    leg = legs.of_draft(
        draft,
        number=1,
        of=1,
        facilities=facilities,
        owner=facilities.get(draft.facility_id) if draft.facility_id else None,
        profile=bookings.current_profile(rider.pk),
        payer=booking.payer_of(draft.payment.payer_id),
    )
    legs.require_sound(leg, at=at)
    columns = legs.columns(leg, not_before=at)
    booking.require_bookable(rider, columns["service_date"])
    overlapping_ids = booking.require_free(rider.pk, columns, allowed=True, by=by)
    is_driver_free = legs.promise_by_availability(columns, rider, at=at) if predicts else None
    return BookingPreview(
        columns=columns,
        window=timing.Window(columns["window_starts_at"], columns["window_ends_at"]),
        promised_by=columns["promised_pickup_by"],
        questions=tuple(Question(code) for code in legs.review_reasons(leg, columns, at=at)),
        overlapping_ids=tuple(overlapping_ids),
        is_driver_free=is_driver_free,
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
    """Compute the pickup time for an appointment; None if the drive is not known.

    At most two queries: the facilities that the stops name.
    """
    named = {UUID(str(stop["facilityId"])) for stop in (pickup, dropoff) if stop.get("facilityId")}
    facilities = bookings.facilities(named | ({facility_id} if facility_id else set()), by)
    ends: list[Place | None] = []
    place = None
    for path, stop_data in (("pickup", pickup), ("dropoff", dropoff)):
        stop, place = legs.resolved_stop(
            {**stop_data, "entranceId": None}, path=path, facilities=facilities, entrances={}
        )
        ends.append(place_of(stop))
    drive = drive_between(*ends, depart_at=appointment_at)
    if drive is None:
        return None
    levels = service_levels(place or (facilities.get(facility_id) if facility_id else None))
    lead = timing.lead_minutes(
        drive.minutes,
        load_minutes=accommodation.default_load_minutes(mobility),
        arrive_early_minutes=levels.arrive_early_minutes,
    )
    return timing.add_minutes(appointment_at, -lead)
