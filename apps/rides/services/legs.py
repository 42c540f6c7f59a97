"""Converts the draft of one leg into the columns of its row; shared by booking and editing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

import orjson
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from apps.organizations import queries as organizations
from apps.organizations.models import BookingPolicy, Facility, Payer
from apps.organizations.rules import stops
from apps.organizations.service_levels import service_levels
from apps.riders.models import AccommodationProfile, Rider
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.queries import bookings
from apps.rides.queries.immediate_pickup import immediate_pickup_at
from apps.rides.queries.ride_needs import place_of
from apps.rides.rules import booking_rules, timing
from apps.rides.rules.draft import RideDraft
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal
from lib.errors import Code, Detail, FieldRefused, InvalidInput
from lib.travel.times import drive_between

KEY_INFO = "keyInfo"  # of discharge.homeAccess: where the key is, encrypted like a door code


class PickupInPast(FieldRefused):
    """The pickup time has passed; the details list it with every other invalid field."""

    code = Code.PICKUP_IN_PAST


class CanCarry(Protocol):
    """Checks whether any vehicle in service has the spaces: `bookings.fleet_can_carry`, or a cached result."""

    def __call__(self, spaces: dict[str, int], vehicle_type: str, *, bariatric: bool) -> bool: ...


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg with all records that it refers to.

    `draft` holds normal stops, filled from their facilities; the access codes have been taken out into `access`.
    """

    draft: RideDraft
    leg_type: str
    sequence: int
    owner: Facility | None
    pickup_facility: Facility | None
    dropoff_facility: Facility | None
    payer: Payer | None
    needs: dict[str, Any]  # the accommodation snapshot
    needs_version: int
    # Access to pickup and drop-off; None keeps the encrypted value.
    access: tuple[Mapping[str, str] | None, Mapping[str, str] | None] = (None, None)
    path: str = ""  # of this leg in the request: "", "returnLeg."

    @property
    def zone(self) -> str:
        places = (self.pickup_facility, self.dropoff_facility, self.owner)
        return timing.first_zone(
            *(place.timezone if place else None for place in places), default=settings.OPERATOR_TIME_ZONE
        )


def of_draft(
    draft: RideDraft,
    *,
    number: int,
    of: int,
    facilities: Mapping[UUID, Facility],
    owner: Facility | None,
    profile: AccommodationProfile | None,
    payer: Payer | None,
    entrances: Mapping[UUID, UUID] | None = None,
) -> Leg:
    """Create leg `number` (1 or 2) `of` the trip.

    `facilities` are those that the caller may name; `entrances` maps entrances to their facility.  One query if the
    draft names entrances and `entrances` is None.

    Raises:
        InvalidInput: a stop or the meeting point of a discharge names a facility or entrance that is not there.
    """
    path = "returnLeg." if number > 1 else ""
    entrances = entrances_of([draft]) if entrances is None else entrances
    pickup, pickup_facility = resolved_stop(
        draft.pickup, path=f"{path}pickup", facilities=facilities, entrances=entrances
    )
    dropoff, dropoff_facility = resolved_stop(
        draft.dropoff, path=f"{path}dropoff", facilities=facilities, entrances=entrances
    )
    if number == 1:
        require_meeting_point(draft, pickup_facility, entrances)
    leg_type = "one_way" if of == 1 else "outbound" if number == 1 else "return"
    base = accommodation.snapshot(profile) if profile else accommodation.complete({})
    return Leg(
        draft=replace(draft, pickup=pickup, dropoff=dropoff),
        leg_type=leg_type,
        sequence=number,
        owner=owner,
        pickup_facility=pickup_facility,
        dropoff_facility=dropoff_facility,
        payer=payer,
        needs=needs_of(base, draft.accommodation, leg_type=leg_type),
        needs_version=profile.number if profile else 0,
        access=(access_of(draft.pickup), access_of(draft.dropoff, draft.discharge)),
        path=path,
    )


def needs_of(base: Mapping[str, Any], changes: Mapping[str, Any], *, leg_type: str) -> dict[str, Any]:
    """Make a leg's accommodation out of the rider's: the way back takes `returnMobility`, then the leg's own changes.

    `overridden` in the answer names what differs from the profile.
    """
    needs = dict(base)
    if leg_type == "return" and base["returnMobility"] and "mobility" not in changes:
        needs = accommodation.overridden(base, {"mobility": base["returnMobility"]})
    if changes:
        needs = accommodation.overridden(needs, changes)
    return {**needs, "overridden": [key for key in accommodation.KEYS if needs[key] != base[key]]}


def require_sound(leg: Leg, *, at: datetime, time_is_new: bool = True) -> None:
    """Apply every hard rule; without `time_is_new` a pickup time that has passed meanwhile may stay.

    Raises:
        PickupInPast: the pickup time has passed; other broken rules are named too.
        FieldRefused: other rules are broken; each is named.
    """
    violations = [
        *booking_rules.refusals(leg.draft, at=at, mobility=leg.needs["mobility"], leg_type=leg.leg_type),
        *accommodation.problems(leg.needs),
    ]
    violations = [violation for violation in violations if time_is_new or violation.field != "pickupTime"]
    if violations:
        is_past = violations[0].code == booking_rules.IN_PAST
        raise (PickupInPast if is_past else FieldRefused)(prefixed(violations, leg.path))


def prefixed(details: list[Detail], path: str) -> list[Detail]:
    """Prefix the fields of details with their path in the request."""
    return [replace(detail, field=f"{path}{detail.field}") if detail.field else detail for detail in details]


def columns(leg: Leg, *, not_before: datetime | None = None) -> dict[str, Any]:
    """Compute all columns of the leg, except status, ids and encrypted ones; see `timed_columns`."""
    lasting = lasting_columns(leg)
    draft = leg.draft
    timed = timed_columns(
        leg,
        draft.pickup_at,
        draft.appointment_at,
        drive_minutes=lasting["estimated_minutes"],
        not_before=not_before,
    )
    return lasting | timed


def lasting_columns(leg: Leg) -> dict[str, Any]:
    """Compute the columns that do not depend on the day."""
    draft = leg.draft
    drive = drive_between(place_of(draft.pickup), place_of(draft.dropoff), depart_at=None)
    places = accommodation.spaces(leg.needs["mobility"], draft.companions)
    return {
        "leg_type": leg.leg_type,
        "leg_sequence": leg.sequence,
        "facility": leg.owner,
        "service_type": draft.service_type,
        "priority": draft.priority or timing.default_priority(draft.service_type),
        "pickup_time_kind": "estimated" if draft.will_call else "firm",
        "scheduling_anchor": draft.scheduling_anchor,
        "timezone": leg.zone,
        "pickup": dict(draft.pickup),
        "dropoff": dict(draft.dropoff),
        "pickup_facility": leg.pickup_facility,
        "dropoff_facility": leg.dropoff_facility,
        "will_call": draft.will_call,
        "accommodation": leg.needs,
        "accommodation_version": leg.needs_version,
        "companions": dict(draft.companions),
        "vehicle_type_requested": draft.vehicle_type_requested,
        "spaces_ambulatory": places.ambulatory,
        "spaces_wheelchair": places.wheelchair,
        "spaces_stretcher": places.stretcher,
        "dialysis": dict(draft.dialysis) if draft.dialysis is not None else None,
        "payer": leg.payer,
        "program_code": draft.payment.program_code,
        "authorization_number": draft.payment.authorization_number,
        "authorization_expires_on": draft.payment.authorization_expires_on,
        "driver_notes": draft.notes.driver,
        "dispatcher_notes": draft.notes.dispatcher,
        "facility_notes": draft.notes.facility,
        "requested_by": dict(draft.requested_by),
        "after_the_fact": draft.after_the_fact,
        "estimated_miles": Decimal(str(drive.miles)) if drive else None,
        "estimated_minutes": drive.minutes if drive else None,
    }


def timed_columns(
    leg: Leg,
    pickup_at: datetime,
    appointment_at: datetime | None,
    *,
    drive_minutes: int | None,
    not_before: datetime | None = None,
) -> dict[str, Any]:
    """Compute the columns that depend on the times; the times in the draft are ignored.

    `not_before` is when the pickup was requested: the promised window begins no earlier.  A ride that is recorded
    after the fact has no promise, and its window is the pickup time.
    """
    draft = leg.draft
    arrive_by = (
        timing.latest_arrival(appointment_at, service_levels(leg.dropoff_facility or leg.owner))
        if appointment_at is not None and draft.scheduling_anchor == "appointment"
        else None
    )
    plan = timing.schedule(
        pickup_at,
        zone=leg.zone,
        levels=service_levels(leg.pickup_facility or leg.owner),
        will_call=draft.will_call,
        arrive_by=arrive_by,
        drive_minutes=drive_minutes,
        not_before=not_before,
    )
    window = timing.Window(pickup_at, pickup_at) if draft.after_the_fact else plan.window
    return {
        "pickup_at": pickup_at,
        "appointment_at": appointment_at,
        "window_starts_at": window.starts_at,
        "window_ends_at": window.ends_at,
        "service_date": plan.service_date,
        "promised_pickup_by": None if draft.after_the_fact else plan.promised_pickup_by,
        "will_call_expires_at": plan.will_call_expires_at,
        "discharge": discharge_of(draft, pickup_at),
    }


def promise_by_availability(columns: dict[str, Any], rider: Rider, *, at: datetime) -> bool | None:
    """Promise a pickup as soon as possible by the predicted arrival of the best free driver.

    Returns whether there is one, else the promise stays; None for another ride.
    """
    is_firm = columns["promised_pickup_by"] is not None and columns["scheduling_anchor"] == "pickup"
    if columns["pickup_at"] > at or not is_firm:
        return None
    arrives_at = immediate_pickup_at(Ride(**columns, rider=rider, status=RideStatus.SCHEDULED), at=at)
    if arrives_at is None:
        return False
    columns["window_ends_at"] = columns["promised_pickup_by"] = timing.promise_of(arrives_at, at=at)
    return True


def new_columns(leg: Leg, questions: list[str], pickup_at: datetime, *, by: Principal, at: datetime) -> dict[str, Any]:
    """Return the initial columns: of a request if there are `questions`, otherwise of a scheduled ride."""
    return {
        "client_id": by.client_id,
        "client_reference": leg.draft.client_reference,
        "requested_at": at,
        "confirm_by": confirm_by(leg, pickup_at, at=at) if questions else None,
        "scheduled_at": None if questions else at,
        "review_reasons": questions,
        "status": status_for(questions),
        "status_changed_at": at,
        "version": 1,
        "created_at": at,
        "updated_at": at,
    }


def review_reasons(leg: Leg, columns: Mapping[str, Any], *, at: datetime) -> list[str]:
    """Apply every soft rule to a leg with these `columns`.  One query, two if no vehicle fits.

    None applies to a ride that is recorded after the fact: it has taken place.
    """
    if leg.draft.after_the_fact:
        return []
    return [question.value for question in booking_rules.review_reasons(facts_of(leg, columns, at=at))]


def facts_of(
    leg: Leg, columns: Mapping[str, Any], *, at: datetime, can_carry: CanCarry = bookings.fleet_can_carry
) -> booking_rules.Facts:
    """Collect what the soft rules look at; `at`, `pickup_at` and `service_date` in it are of one day, the rest lasts.

    Costs the queries of `can_carry`.
    """
    draft = leg.draft
    spaces = {kind: columns[f"spaces_{kind}"] for kind in ("ambulatory", "wheelchair", "stretcher")}
    return booking_rules.Facts(
        at=at,
        pickup_at=draft.pickup_at,
        service_date=columns["service_date"],
        lead_time_minutes=service_levels(leg.owner).lead_time_minutes if leg.owner else 0,
        facility_reviews=leg.owner is not None and leg.owner.booking_policy == BookingPolicy.REVIEW,
        within_area=bookings.within_service_area([draft.pickup, draft.dropoff]),
        area_is_set=bool(settings.SERVICE_AREA),
        vehicle_fits=can_carry(spaces, draft.vehicle_type_requested, bariatric=bool(leg.needs["bariatric"])),
        authorization_required=leg.payer is not None and leg.payer.authorization_required,
        authorization_number=draft.payment.authorization_number,
        authorization_expires_on=draft.payment.authorization_expires_on,
    )


def confirm_by(leg: Leg, pickup_at: datetime, *, at: datetime) -> datetime:
    """Return when a request for the leg has to be answered."""
    owner = leg.owner
    hours, zone = (owner.hours, owner.timezone) if owner else ([], leg.zone)
    return timing.confirm_by(at, pickup_at, hours=hours, zone=zone)


def status_for(questions: list[str]) -> RideStatus:
    return RideStatus.REQUESTED if questions else RideStatus.SCHEDULED


def discharge_of(draft: RideDraft, pickup_at: datetime) -> dict[str, Any] | None:
    """Return the discharge as stored: ready at the pickup time by default, and without the key information."""
    if draft.discharge is None:
        return None
    details = dict(draft.discharge)
    if details.get("expectedReadyAt") is None:
        details["expectedReadyAt"] = pickup_at.isoformat().replace("+00:00", "Z")
    if isinstance(details.get("homeAccess"), Mapping):
        details["homeAccess"] = {key: value for key, value in details["homeAccess"].items() if key != KEY_INFO}
    return details


def access_of(stop_data: Mapping[str, Any], discharge: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the access code of the stop and, for a discharge home, where the key is."""
    home = (discharge or {}).get("homeAccess") or {}
    secrets = {stops.ACCESS_CODE: stops.access_code(stop_data), KEY_INFO: str(home.get(KEY_INFO) or "")}
    return {key: text for key, text in secrets.items() if text}


def seal_access(ride: Ride, *, pickup: Mapping[str, str] | None, dropoff: Mapping[str, str] | None) -> None:
    """Set the encrypted columns of both stops; None keeps a value, an empty mapping clears it."""
    if pickup is not None:
        ride.pickup_access = access_text(pickup)
    if dropoff is not None:
        ride.dropoff_access = access_text(dropoff)


def access_text(ways_in: Mapping[str, str]) -> str:
    """Serialize the access to a stop for encryption."""
    return orjson.dumps(dict(ways_in)).decode() if ways_in else ""


def opened_access(text: str) -> dict[str, str]:
    """Read what `seal_access` sealed, given a ride's `pickup_access` or `dropoff_access`."""
    return dict(orjson.loads(text)) if text else {}


def entrances_of(drafts: Iterable[RideDraft]) -> dict[UUID, UUID]:
    """Return the facility of every entrance in drafts.  One query, none without entrances."""
    entrance_ids = [
        entrance_id
        for draft in drafts
        for entrance_id in (draft.pickup.get("entranceId"), draft.dropoff.get("entranceId"), _meeting_point(draft))
    ]
    return bookings.entrances_of(UUID(str(entrance_id)) for entrance_id in entrance_ids if entrance_id)


def require_meeting_point(draft: RideDraft, facility: Facility | None, entrances: Mapping[UUID, UUID]) -> None:
    """Check the entrance of a discharge pickup.

    Raises:
        InvalidInput: the facility of the pickup has none like it; one of another facility gives the same answer.
    """
    named = _meeting_point(draft)
    if named and (facility is None or entrances.get(UUID(str(named))) != facility.pk):
        raise InvalidInput("discharge.pickupEntranceId", _("The pickup facility has no such entrance."))


def _meeting_point(draft: RideDraft) -> Any:
    return (draft.discharge or {}).get("pickupEntranceId")


def resolved_stop(
    stop_data: Mapping[str, Any], *, path: str, facilities: Mapping[UUID, Facility], entrances: Mapping[UUID, UUID]
) -> tuple[dict[str, Any], Facility | None]:
    """Normalize a stop and fill in the address of its facility.

    Raises:
        InvalidInput: it names a facility or entrance that the caller cannot see; absent ones give the same answer.
    """
    stop = stops.normal(stop_data)
    if stop["facilityId"] is None:
        return stop, None
    facility = facilities.get(UUID(stop["facilityId"]))
    if facility is None:
        raise InvalidInput(f"{path}.facilityId", _("There is no such facility."))
    if stop["entranceId"] is not None and entrances.get(UUID(stop["entranceId"])) != facility.pk:
        raise InvalidInput(f"{path}.entranceId", _("The facility has no such entrance."))
    return stops.at_facility(stop, organizations.place_of(facility)), facility
