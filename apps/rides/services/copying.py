"""Books a copy of a ride: on another day, for another rider, or in the other direction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _

from apps.organizations.rules import stops
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.queries import bookings, rides
from apps.rides.rules.draft import Payment, RideDraft, ServiceType
from apps.rides.services import booking, legs
from apps.rides.services.accommodation_change import own_needs
from apps.rides.services.ride_changes import draft_of
from lib.access import Principal
from lib.errors import InvalidInput
from lib.time_parsing import instants

_HOME_KEYS: Final = ("addressLine1", "city", "postalCode")


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """What differs from the copied ride: its `day` or its pickup time, its rider, its direction."""

    day: date | None = None
    pickup_at: datetime | None = None
    rider_id: UUID | None = None
    is_reversed: bool = False
    allow_duplicate: bool = False
    client_reference: str = ""


def copy_ride(*, ride_id: UUID, request: CopyRequest, by: Principal, at: datetime) -> Ride:
    """Book a copy of a ride of the caller's data scope.

    Another day keeps the local times; another pickup time moves the appointment by as much.  The copy in the other
    direction has no appointment, discharge or dialysis.  For another rider the needs are those of their profile, and
    their home replaces the home of the rider.  Door codes are copied for the same rider.

    Raises:
        NotFound: there is no such ride.
        InvalidInput: nothing differs, or the local time does not exist on that day.
        Other errors: as `booking.book`.
    """
    source = rides.ride(ride_id, by)
    booking.require_right(by)
    if request.day is None and request.pickup_at is None and request.rider_id is None and not request.is_reversed:
        message = _("%(field)s is required, or another pickup time, rider or direction.")
        raise InvalidInput("date", message, detail_code="required")
    return booking.book(draft=_draft(source, request, by), by=by, at=at).ride


def _draft(source: Ride, request: CopyRequest, by: Principal) -> RideDraft:
    is_other_rider = request.rider_id not in (None, source.rider_id)
    pickup_at, appointment_at = _times(source, request)
    pickup = _stop(source.pickup, source.pickup_access, is_other_rider)
    dropoff = _stop(source.dropoff, source.dropoff_access, is_other_rider)
    if is_other_rider:
        homes = _homes(source.rider_id, request.rider_id, by)
        pickup, dropoff = (_at_other_home(stop, *homes) for stop in (pickup, dropoff))
    draft = replace(
        draft_of(source),
        rider_id=request.rider_id or source.rider_id,
        facility_id=source.facility_id,
        pickup_at=pickup_at,
        appointment_at=appointment_at,
        pickup=pickup,
        dropoff=dropoff,
        accommodation={} if is_other_rider else _needs(source),
        payment=Payment() if is_other_rider else replace(draft_of(source).payment, member_id=source.payer_member_id),
        discharge=_fresh_discharge(source.discharge),
        client_reference=request.client_reference,
        allow_duplicate=request.allow_duplicate,
        after_the_fact=False,
    )
    return _reversed(draft) if request.is_reversed else draft


def _times(source: Ride, request: CopyRequest) -> tuple[datetime, datetime | None]:
    if request.pickup_at is not None:
        delay = request.pickup_at - source.pickup_at
        return request.pickup_at, None if source.appointment_at is None else source.appointment_at + delay
    if request.day is None:
        return source.pickup_at, source.appointment_at
    delay_days = request.day - source.service_date
    moved: list[datetime | None] = []
    for moment in (source.pickup_at, source.appointment_at):
        if moment is None:
            moved.append(None)
            continue
        local = moment.astimezone(ZoneInfo(source.timezone))
        candidates = instants(local.date() + delay_days, local.time(), source.timezone)
        if not candidates:
            raise InvalidInput("date", _("The time of the ride does not exist on that day: the clocks go forward."))
        moved.append(candidates[0])
    pickup_at, appointment_at = moved
    return pickup_at or source.pickup_at, appointment_at


def _stop(stop: Mapping[str, Any], access: str, is_other_rider: bool) -> dict[str, Any]:
    code = {} if is_other_rider else legs.opened_access(access)
    return {**stops.normal(stop), **({stops.ACCESS_CODE: code[stops.ACCESS_CODE]} if stops.ACCESS_CODE in code else {})}


def _homes(rider_id: UUID, other_id: UUID | None, by: Principal) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the home addresses of both riders; empty if the caller does not see the other one."""
    known = Rider.objects.visible_to(by).filter(pk__in=[rider_id, other_id])
    homes: dict[UUID | None, Any] = dict(known.values_list("pk", "home_address"))
    return homes.get(rider_id) or {}, homes.get(other_id) or {}


def _at_other_home(stop: dict[str, Any], home: Mapping[str, Any], other_home: Mapping[str, Any]) -> dict[str, Any]:
    is_home = bool(home) and all((stop.get(key) or "") == (home.get(key) or "") for key in _HOME_KEYS)
    return dict(other_home) if is_home and other_home else stop


def _needs(source: Ride) -> dict[str, Any]:
    profile = bookings.current_profile(source.rider_id)
    return own_needs(source, accommodation.snapshot(profile) if profile else accommodation.complete({}))


def _fresh_discharge(discharge: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the details without what belongs to the day: the ready time and the checklist."""
    if discharge is None:
        return None
    return {key: value for key, value in discharge.items() if key not in ("expectedReadyAt", "checklist")}


def _reversed(draft: RideDraft) -> RideDraft:
    has_details = draft.service_type in (ServiceType.HOSPITAL_DISCHARGE, ServiceType.DIALYSIS)
    return replace(
        draft,
        pickup=draft.dropoff,
        dropoff=draft.pickup,
        appointment_at=None,
        scheduling_anchor="pickup",
        service_type=ServiceType.OTHER.value if has_details else draft.service_type,
        priority="" if has_details else draft.priority,
        discharge=None,
        dialysis=None,
    )
