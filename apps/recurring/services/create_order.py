"""Creates standing orders and their terms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Driver
from apps.organizations.models import Facility
from apps.organizations.rules import stops
from apps.organizations.service_levels import service_levels
from apps.recurring.models import HORIZON_DAYS, OrderStatus, StandingOrder, Terms
from apps.recurring.queries import plans
from apps.recurring.rules import order_validation
from apps.recurring.rules.draft import OrderDraft, TermsDraft
from apps.recurring.rules.recurrence import occurrences
from apps.recurring.services import booking_templates, order_state
from apps.recurring.services.booking_templates import TermsSample
from apps.recurring.services.reconcile_rides import ReconcileResult
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.queries import bookings
from apps.rides.queries.ride_needs import place_of
from apps.rides.rules import booking_rules, timing
from apps.rides.services import booking, legs
from apps.rides.services.recurring_booking import Refused
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, FieldRefused, InvalidInput, NotFound
from lib.ids import uuid7
from lib.travel.times import drive_between

SEARCH_AHEAD: Final = timedelta(days=366)
# Stops of terms, and their names in the API.
STOPS: Final[Mapping[str, str]] = {
    "pickup": "outbound.pickup",
    "dropoff": "outbound.dropoff",
    "return_dropoff": "return.dropoff",
}
# Fields of a ride, and their names in an order.
_FIELDS: Final[Mapping[str, str]] = {
    "pickup": STOPS["pickup"],
    "dropoff": STOPS["dropoff"],
    "vehicleTypeRequested": "vehicleType",
}


@dataclass(frozen=True, slots=True)
class OrderResult:
    """A standing order and the changes of its rides."""

    order: StandingOrder
    result: ReconcileResult


@dataclass(frozen=True, slots=True)
class OrderPreview:
    """What a new order would do: the days it books, the rides booked by hand that it keeps, and refused dates."""

    booked_days: list[date]
    existing_rides: list[Ride]
    refused: dict[date, Refused]


class OrderExists(DomainError):
    """There is an order with this id: the same request was sent twice."""

    code = Code.DUPLICATE_RESOURCE
    template = _("This standing order already exists.")


@transaction.atomic
def create(
    *, rider_id: UUID, draft: OrderDraft, order_id: UUID | None = None, by: Principal, at: datetime
) -> OrderResult:
    """Create a standing order of a rider, and book its rides within the horizon unless it is a draft.

    Rides booked by hand that are a leg of it already become its rides, and are not booked twice.

    With an `order_id` chosen by the caller, repeated requests create one order.

    Raises:
        ScopeMissing: the caller lacks the scope.
        NotFound: there is no such rider in the data scope.
        OrderExists: there is an order with this id.
        InvalidInput, FieldRefused, ExternalIdTaken: a hard rule is broken; the field is named.
    """
    order_state.require_right(by)
    # Locked, so that a repeated request finds the order of the first.
    rows = Rider.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    rider = rows.filter(pk=rider_id).first()
    if rider is None:
        raise NotFound(_("rider"))
    if order_id is not None and StandingOrder.objects.filter(pk=order_id).exists():
        raise OrderExists
    facility = bookings.facilities([draft.facility_id], by).get(draft.facility_id)
    if facility is None:
        raise InvalidInput("facilityId", _("There is no such facility."))
    zone = ZoneInfo(facility.timezone)
    raise_if_any(
        [*order_validation.of_order(draft, today=at.astimezone(zone).date()), *order_validation.of_terms(draft.terms)]
    )
    payment = draft.payment
    payer = booking.payer_of(payment.payer_id)
    require_drivers(draft.preferred_driver_ids)
    order = StandingOrder(
        id=order_id or uuid7(),
        client_id=by.client_id,
        rider=rider,
        facility=facility,
        service_type=draft.service_type,
        status=OrderStatus.DRAFT if draft.is_draft else OrderStatus.ACTIVE,
        timezone=facility.timezone,
        start_date=draft.start_date,
        end_date=draft.end_date,
        payer=payer,
        program_code=payment.program_code,
        authorization_number=payment.authorization_number,
        authorization_ends_on=payment.authorization_expires_on,
        preferred_driver_ids=list(draft.preferred_driver_ids),
        vehicle_type_requested=draft.vehicle_type_requested,
        driver_notes=draft.notes.driver,
        dispatcher_notes=draft.notes.dispatcher,
        facility_notes=draft.notes.facility,
        generation_horizon_days=draft.generation_horizon_days or HORIZON_DAYS,
        created_at=at,
        updated_at=at,
    )
    order.save(force_insert=True)
    order_state.set_external_ids(order, draft.external_ids, by=by)
    save_terms(order, draft.terms, draft.start_date, by=by, at=at)
    data = {"startDate": order.start_date.isoformat()}
    order_state.record(order, "standing_order.created", data=data, action="standing_orders.order", by=by, at=at)
    return OrderResult(order, order_state.reconcile(order, by=by, at=at))


def preview(*, rider_id: UUID, draft: OrderDraft, by: Principal, at: datetime) -> OrderPreview:
    """Say what `create` would do, and store nothing.

    Raises:
        As `create`.
    """
    with transaction.atomic():
        result = create(rider_id=rider_id, draft=draft, by=by, at=at).result
        days = Ride.objects.filter(pk__in=result.created).values_list("service_date", flat=True)
        booked_days = sorted(set(days))
        transaction.set_rollback(True)
    existing_ids = [ride_id for ride_ids in result.adopted.values() for ride_id in ride_ids]
    existing_rides = Ride.objects.filter(pk__in=existing_ids).order_by("pickup_at", "pk")
    return OrderPreview(booked_days, list(existing_rides), result.refused)


def raise_if_any(problems: list[Detail]) -> None:
    """Raise the problems, if there are any.

    Raises:
        FieldRefused: with all of them.
    """
    if problems:
        raise FieldRefused(problems)


def require_drivers(driver_ids: tuple[UUID, ...]) -> None:
    """Check that the preferred drivers exist.

    Raises:
        InvalidInput: one does not.
    """
    existing_ids = set(Driver.objects.filter(pk__in=driver_ids).values_list("pk", flat=True))
    if missing := [pk for pk in driver_ids if pk not in existing_ids]:
        raise InvalidInput("preferredDriverIds", _("There is no driver %(driver_id)s."), driver_id=missing[0])


def save_terms(order: StandingOrder, draft: TermsDraft, from_date: date, *, by: Principal, at: datetime) -> Terms:
    """Save the terms of a locked order from a pattern date, replacing terms that begin on the same date.

    Raises:
        InvalidInput, FieldRefused: a ride with these terms could not be booked.
    """
    raise_if_any(order_validation.of_terms(draft))
    rider = order.rider
    pickup = draft.pickup or rider.home_address
    if not pickup:
        raise InvalidInput("outbound.pickup", _("%(field)s is required: the rider has no home address."))
    columns = {**_columns(order, draft, from_date), **_stops(order, replace(draft, pickup=pickup), by)}
    terms = Terms.objects.filter(standing_order=order, from_date=from_date).first()
    terms = terms or Terms(standing_order=order, from_date=from_date)
    for name, value in columns.items():
        setattr(terms, name, value)
    profile = bookings.current_profile(rider.pk)
    needs = accommodation.snapshot(profile) if profile else accommodation.complete({})
    mobility = draft.accommodation.get("mobility") or needs["mobility"]
    terms.lead_minutes = lead_minutes(order.facility, terms, mobility)
    for name in STOPS:
        setattr(terms, f"{name}_access", stops.access_code(getattr(draft, name)))
    terms.save()
    _require_bookable(order, terms, by=by, at=at)
    return terms


def _columns(order: StandingOrder, draft: TermsDraft, from_date: date) -> dict[str, Any]:
    is_dialysis = order.service_type == "dialysis"
    treatment = timing.TREATMENT_MINUTES if is_dialysis else timing.VISIT_MINUTES
    post_treatment = timing.POST_TREATMENT_MINUTES if is_dialysis else 0
    return {
        "days_of_week": sorted(draft.days_of_week),
        "interval_weeks": draft.interval_weeks,
        "anchor_date": draft.anchor_date or from_date,
        "chair_time": draft.chair_time,
        "arrive_early_minutes": _or_default(
            draft.arrive_early_minutes, service_levels(order.facility).arrive_early_minutes
        ),
        "treatment_minutes": _or_default(draft.treatment_minutes, treatment),
        "post_treatment_minutes": _or_default(draft.post_treatment_minutes, post_treatment),
        "pickup_time": draft.pickup_time,
        "return_mode": draft.return_mode,
        "return_time": draft.return_time,
        "return_mobility": draft.return_mobility,
        "accommodation": dict(draft.accommodation),
        "companions": dict(draft.companions),
    }


def _or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def _stops(order: StandingOrder, draft: TermsDraft, by: Principal) -> dict[str, dict[str, Any] | None]:
    """Return the stops in their stored shape, with the addresses of their facilities."""
    stops_of = {name: getattr(draft, name) for name in STOPS}
    stops_of["dropoff"] = {"facilityId": str(order.facility_id), **draft.dropoff}
    facility_ids = {UUID(str(stop["facilityId"])) for stop in stops_of.values() if stop.get("facilityId")}
    entrance_ids = [UUID(str(stop["entranceId"])) for stop in stops_of.values() if stop.get("entranceId")]
    facilities: dict[UUID, Facility] = {**bookings.facilities(facility_ids, by), order.facility_id: order.facility}
    entrances = bookings.entrances_of(entrance_ids)
    return {
        name: legs.resolved_stop(stop, path=STOPS[name], facilities=facilities, entrances=entrances)[0]
        if stop
        else None
        for name, stop in stops_of.items()
    }


def lead_minutes(facility: Facility, terms: Terms, mobility: str) -> int:
    """Return the minutes from pickup to chair time: drive, boarding and early arrival, rounded up to five.

    0 if the drive is not known, which requires a pickup time.

    Raises:
        InvalidInput: the drive is not known and there is no pickup time, or the drive is too long.
    """
    drive = drive_between(place_of(terms.pickup), place_of(terms.dropoff), depart_at=None)
    if drive is None:
        if terms.pickup_time is None:
            message = _("%(field)s is required: without coordinates, the drive time cannot be estimated.")
            raise InvalidInput("outbound.pickupTime", message, detail_code="required")
        return 0
    load = accommodation.default_load_minutes(mobility)
    minutes = timing.lead_minutes(drive.minutes, load_minutes=load, arrive_early_minutes=terms.arrive_early_minutes)
    if minutes > order_validation.LONGEST_LEAD:
        raise InvalidInput("outbound.pickup", _("The drive from there takes more than six hours."))
    return minutes


def _require_bookable(order: StandingOrder, terms: Terms, *, by: Principal, at: datetime) -> None:
    """Apply the rules of booking to the first future day of these terms, so that bad terms are refused at once."""
    plan = plans.plan_of(order, [terms])
    first = max(terms.from_date, at.astimezone(plan.zone).date())
    until = at + booking_rules.FARTHEST_PICKUP
    # A day on which a clock change puts the times out of order says nothing of the terms.
    candidates = (
        occurrence
        for occurrence in occurrences(plan, first, first + SEARCH_AHEAD)
        if at < occurrence.pickup_at and occurrence.chair_at < occurrence.return_at < until
    )
    if (occurrence := next(candidates, None)) is None:
        return
    try:
        booking_templates.require_bookable(TermsSample(order, terms, occurrence), by=by, at=at)
    except FieldRefused as error:
        raise FieldRefused([replace(detail, field=_field(detail.field)) for detail in error.details]) from error


def _field(name: str | None) -> str:
    """Convert the name of a field of a booking into the name in an order.

    Only the drop-off of the return has a field of its own; its other fields are those of the outbound leg.
    """
    without_prefix = (name or "").removeprefix("returnLeg.")
    first, dot, rest = without_prefix.partition(".")
    is_return_dropoff = without_prefix != name and first == "dropoff"
    return f"{STOPS['return_dropoff'] if is_return_dropoff else _FIELDS.get(first, first)}{dot}{rest}"
