"""Requests that come in during the day: discharges with short notice or at once, and returns that were not booked.

How many there are, when, and of which kind is drawn from the seed and the day.  Who rides depends on the rides of that
day as well: a rider who has one is not discharged.  Bookings go through the service, as from a hospital's system.
"""

import datetime as dt
import logging
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from apps.demo.demand import DischargeFacts, discharge_details, room_of
from apps.demo.desk import Staff
from apps.demo.dice import DAY, MINUTE, Dice, local, wall
from apps.demo.drivers import moment_of, second_of
from apps.demo.places import PAYERS
from apps.organizations.models import Contact, Facility, Payer
from apps.riders.models import AccommodationProfile, Rider
from apps.riders.rules.accommodation import ON_STRETCHER
from apps.rides.models import Ride
from apps.rides.rules.draft import Payment, RideDraft
from apps.rides.services import booking
from lib.errors import DomainError

log = logging.getLogger(__name__)

# Per weekday, Saturday, Sunday: assumptions, as many as the loaded days have.
COUNTS: Final = (20, 14, 12)
# Share of requests: a patient who can leave now; one who can leave later today; somebody who was brought by family and
# needs a ride back.
KINDS: Final = {"ready_now": 35, "ready_later": 40, "return": 25}
# Local hours in which patients become ready: most in the early afternoon (apps/demo/demand.py).
_READY_HOURS: Final = (9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 14, 15, 15, 15, 16, 16, 17, 18, 19)
_CLOSED_AFTER: Final = 17  # local hour, of clinics


@dataclass(frozen=True, slots=True)
class Request:
    """A request that comes in at `at`, for a pickup at `pickup_at`; seconds since 1970."""

    at: int
    number: int
    kind: str
    pickup_at: int


def requests_of(seed: int, day: dt.date) -> list[Request]:
    """Draw the requests of a local day."""
    count = COUNTS[0 if day.weekday() < 5 else day.weekday() - 4]
    return [_request(Dice(seed, "request", day, number), day, number) for number in range(count)]


def _request(dice: Dice, day: dt.date, number: int) -> Request:
    kind = dice.choices(list(KINDS), list(KINDS.values()))[0]
    hour = dice.choice(_READY_HOURS)
    if kind == "return":
        hour = min(hour, _CLOSED_AFTER - 1)
    pickup_at = wall(day, hour * 60 + dice.randrange(60))
    notice = {"ready_now": 0, "ready_later": dice.randrange(60, 200), "return": dice.choice((0, 30, 45, 60))}[kind]
    return Request(pickup_at - notice * MINUTE, number, kind, pickup_at)


def book(seed: int, start: dt.datetime, end: dt.datetime, *, staff: Staff) -> int:
    """Book the requests of a period, each at its time; return how many.  A refused request comes to nothing."""
    begins, ends = second_of(start), second_of(end)
    days = sorted({local(second).date() for second in (begins, begins + DAY, ends)})
    due = [(request, day) for day in days for request in requests_of(seed, day) if begins <= request.at < ends]
    booked = 0
    for request, day in sorted(due, key=lambda each: each[0].at):
        try:
            with transaction.atomic():
                booked += _book(Dice(seed, "booking", day, request.number), request, staff)
        except DomainError as error:
            log.info("request of the demo refused", extra={"code": error.code.value})
    return booked


def _book(dice: Dice, request: Request, staff: Staff) -> bool:
    ride_id = UUID(dice.id_at(request.at))
    origin = _origin(dice, request.kind)
    rider = None if origin is None else _rider(dice, request, origin)
    if origin is None or rider is None:
        return False
    draft = _draft(dice, request, origin, rider)
    booking.book(draft=draft, ride_id=ride_id, by=staff.facilities, at=moment_of(request.at))
    return True


def _origin(dice: Dice, kind: str) -> Facility | None:
    """Choose the hospital, or the clinic, of the loaded ones."""
    kinds = ("clinic",) if kind == "return" else ("hospital",)
    places = list(Facility.objects.filter(kind__in=kinds, active=True).order_by("pk"))
    return dice.choice(places) if places else None


def _rider(dice: Dice, request: Request, origin: Facility) -> AccommodationProfile | None:
    """Choose a rider without a ride that day whom one driver can take, near the hospital that knows the rider."""
    busy = Ride.objects.filter(service_date=local(request.at).date()).values("rider_id")
    profiles = AccommodationProfile.objects.filter(current=True, second_person=False, home_steps__lt=4)
    profiles = profiles.exclude(mobility__in=sorted(ON_STRETCHER)).exclude(mobility__endswith="bariatric")
    profiles = profiles.exclude(rider__in=busy).filter(rider__home_address__isnull=False, rider__status="active")
    if request.kind != "return":
        profiles = profiles.filter(rider__riderfacility__facility=origin)
    free = list(profiles.select_related("rider").order_by("rider_id"))
    return dice.choice(free) if free else None


def _draft(dice: Dice, request: Request, origin: Facility, profile: AccommodationProfile) -> RideDraft:
    rider = profile.rider
    is_discharge = request.kind != "return"
    unit, room = room_of(dice)
    desk = Contact.objects.filter(facility=origin).order_by("role", "pk").first()
    desk_phone = "" if desk is None else desk.phone
    pickup: dict[str, Any] = {"facilityId": str(origin.pk)}
    if is_discharge:
        pickup |= {"unit": unit, "room": room}
    return RideDraft(
        pickup_at=moment_of(request.pickup_at),
        pickup=pickup,
        dropoff=rider.home_address or {},
        rider_id=rider.pk,
        facility_id=origin.pk,
        service_type="hospital_discharge" if is_discharge else "appointment",
        # Of those who cannot leave at once, some wait for a last result: the unit calls when they are ready.
        will_call=request.at < request.pickup_at and dice.hit(0.4 if is_discharge else 0.7),
        discharge=_discharge(dice, request, profile, (unit, room), desk_phone) if is_discharge else None,
        payment=Payment(payer_id=_payer_of(dice, rider, is_discharge=is_discharge)),
        requested_by={
            "name": "Care coordination" if is_discharge else "Front desk",
            "phone": desk_phone,
            "role": "discharge_planning" if is_discharge else "scheduling",
        },
    )


def _discharge(
    dice: Dice, request: Request, profile: AccommodationProfile, room: tuple[str, str], desk_phone: str
) -> dict[str, Any]:
    home = profile.rider.home_address or {}
    in_care = bool(home.get("facilityId"))
    details = discharge_details(
        dice,
        DischargeFacts(
            ready_at=request.pickup_at,
            unit=room[0],
            room=room[1],
            entrance_id="",
            desk_phone=desk_phone,
            receiving_phone=(home.get("contact") or {}).get("phone") if in_care else None,
            steps=profile.home_steps,
            second_person=profile.second_person,
            oxygen=profile.oxygen_uses,
        ),
    )
    return {key: value for key, value in details.items() if key != "pickupEntranceId"}


def _payer_of(dice: Dice, rider: Rider, *, is_discharge: bool) -> UUID | None:
    """Choose who pays: the hospital for half of the discharges and for riders without Medicaid."""
    medicaid, _, by_facility = (name for name, *_ in PAYERS)
    by_hospital = rider.medicaid_id_index is None or (is_discharge and dice.hit(0.5))
    return Payer.objects.filter(name=by_facility if by_hospital else medicaid).values_list("pk", flat=True).first()
