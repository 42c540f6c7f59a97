"""Responses of standing orders and occurrences.

Context: `disclosure` of the caller; `next_occurrences` of a single order; after a change, `result`, and
`reached`, the conflicting rides inside the caller's data scope.
"""

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet.models import VehicleType
from apps.organizations.rules.opening_hours import DAYS
from apps.organizations.schemas.external_ids import ExternalIdOut
from apps.recurring.models import HoldReason, HoldSource, OrderStatus, ReturnMode, Terms
from apps.recurring.queries.calendar import LegStatus
from apps.recurring.queries.orders import OrderRecord, TermsRecord
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.rules.recurrence import PRESETS, ChangeType, OccurrenceStatus
from apps.riders.rules import disclosure as rider_disclosure
from apps.riders.rules.needs import Mobility
from apps.rides.rules import disclosure as ride_disclosure
from apps.rides.rules.disclosure import Disclosure
from apps.rides.rules.draft import ServiceType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.schemas.ride_input import words
from apps.rides.schemas.ride_parts import NotesOut, OrNull, RideStopOut, TextOrNull
from apps.rides.services.recurring_booking import Refused
from lib.api import fields
from lib.api.serializers import OutShape
from lib.api.unpaginated import WholePageOut

# Fields that an order has at the top level, and a ride within its payer.
_PAYER_KEYS: Final[Mapping[str, str]] = {
    "authorizationNumber": "authorizationNumber",
    "authorizationEndsOn": "authorizationExpires",
}
_DIALYSIS_FIELDS: Final = ("treatmentMinutes", "postTreatmentMinutes")  # `dialysis` of a ride
_RIDER_FIELD: Final = "preferredDriverIds"


class PatternOut(OutShape):
    """Days.  `preset` is null if no preset has these days."""

    preset = serializers.SerializerMethodField("show_preset")
    days_of_week = serializers.SerializerMethodField("show_days_of_week")
    interval_weeks = fields.Integer()
    anchor_date = fields.LocalDate()

    @extend_schema_field(fields.Choice(choices=list(PRESETS), allow_null=True))
    def show_preset(self, terms: Terms) -> str | None:
        return next((name for name, days in PRESETS.items() if days == frozenset(terms.days_of_week)), None)

    @extend_schema_field(fields.List(child=fields.Choice(choices=DAYS)))
    def show_days_of_week(self, terms: Terms) -> list[str]:
        return [DAYS[day] for day in terms.days_of_week]


class OutboundOut(OutShape):
    """The outbound leg.  `pickupTime` null: computed from the drive."""

    may_lack_keys = True

    # Stored in the shape of the API.
    pickup = serializers.SerializerMethodField("show_pickup")
    dropoff = serializers.SerializerMethodField("show_dropoff")
    pickup_time = fields.ClockTime(allow_null=True)

    @extend_schema_field(RideStopOut)
    def show_pickup(self, terms: Terms) -> dict[str, Any]:
        return dict(terms.pickup)

    @extend_schema_field(RideStopOut)
    def show_dropoff(self, terms: Terms) -> dict[str, Any]:
        return dict(terms.dropoff)


class ReturnOut(OutShape):
    """The return.

    Null means for `pickupTime` the end of the treatment, for `mobility` that of the outbound leg, and for `dropoff` the
    outbound pickup.
    """

    may_lack_keys = True

    mode = fields.Choice(choices=ReturnMode.choices, source="return_mode")
    pickup_time = fields.ClockTime(source="return_time", allow_null=True)
    mobility = OrNull(source="return_mobility", choices=Mobility.choices, allow_null=True)
    dropoff = serializers.SerializerMethodField("show_dropoff")

    @extend_schema_field(RideStopOut(allow_null=True))
    def show_dropoff(self, terms: Terms) -> dict[str, Any] | None:
        return terms.return_dropoff


class _TermsOut(OutShape):
    """Terms in wall time of the order's zone; serializes a record with `terms`."""

    pattern = PatternOut(source="terms")
    chair_time = fields.ClockTime(source="terms.chair_time")
    treatment_minutes = fields.Integer(source="terms.treatment_minutes")
    post_treatment_minutes = fields.Integer(source="terms.post_treatment_minutes")
    arrive_early_minutes = fields.Integer(source="terms.arrive_early_minutes")
    outbound = OutboundOut(source="terms")
    return_ = ReturnOut(source="terms")
    accommodation = fields.Anything(
        source="terms.accommodation", help_text="Differences from the rider's profile, in its shape."
    )
    companions = fields.Anything(source="terms.companions")

    def to_representation(self, instance: OrderRecord | TermsRecord) -> dict[str, Any]:
        disclosure, terms = self.context["disclosure"], instance.terms
        data = _disclosed(super().to_representation(instance), disclosure)
        if disclosure.door_codes:
            codes = (
                ("outbound", "pickup", terms.pickup_access),
                ("outbound", "dropoff", terms.dropoff_access),
                ("return", "dropoff", terms.return_dropoff_access),
            )
            for direction, name, code in codes:
                if code:
                    data[direction][name] = {**data[direction][name], "accessCode": code}
        return data


def _disclosed(order: Mapping[str, Any], disclosure: Disclosure) -> dict[str, Any]:
    """Remove what the caller may not see from an order or its terms: the same as of a ride."""
    visible = ride_disclosure.disclosed(order, disclosure)
    visible["outbound"] = ride_disclosure.disclosed(visible["outbound"], disclosure)
    if visible["return"]["dropoff"] is not None:
        visible["return"] = ride_disclosure.disclosed(visible["return"], disclosure)
    # Needs hold only what differs from the rider's profile: keys that were absent stay absent.
    visible["accommodation"] = {
        key: visible["accommodation"][key] for key in order["accommodation"] if key in visible["accommodation"]
    }
    return {name: value for name, value in visible.items() if name not in _hidden_fields(disclosure)}


def _hidden_fields(disclosure: Disclosure) -> set[str]:
    payer_keys = ride_disclosure.PAYER_KEYS[disclosure.phi]
    hidden = {name for name, key in _PAYER_KEYS.items() if key not in payer_keys}
    if ride_disclosure.FIELDS["dialysis"] > disclosure.phi:
        hidden.update(_DIALYSIS_FIELDS)
    if rider_disclosure.FIELDS[_RIDER_FIELD] > disclosure.phi:
        hidden.add(_RIDER_FIELD)
    return hidden


class LaterTermsOut(_TermsOut):
    """Terms that replace the current ones from a pattern date."""

    may_lack_keys = True

    from_date = fields.LocalDate(source="terms.from_date")


class OrderPayerOut(OutShape):
    """The payer."""

    payer_id = fields.Uuid(allow_null=True)
    program_code = fields.Text()


class HoldOut(OutShape):
    """Days without rides, both included; `until` null: until the order is resumed.

    `reviewOn` is the next review of an open-ended hold.
    """

    from_ = fields.LocalDate(source="from_date")
    until = fields.LocalDate(allow_null=True)
    reason = fields.Choice(choices=HoldReason.choices)
    # The field of the contract hides Field.source.
    source = fields.Choice(choices=HoldSource.choices)  # type: ignore[assignment]  # a field named like an attribute of serializers
    set_by = fields.Text()
    set_at = fields.Instant()
    review_on = fields.LocalDate(allow_null=True)


class OverrideOut(OutShape):
    """Changes of one day; null: as in the series."""

    date = fields.LocalDate(source="pattern_date")
    to_date = fields.LocalDate(allow_null=True)
    chair_time = fields.ClockTime(allow_null=True)
    pickup_time = fields.ClockTime(allow_null=True)
    return_time = fields.ClockTime(allow_null=True)


class _HeadOut(OutShape):
    id = fields.Uuid(source="order.id")
    external_ids = ExternalIdOut(many=True)
    rider_id = fields.Uuid(source="order.rider_id")
    facility_id = fields.Uuid(source="order.facility_id")
    service_type = fields.Choice(choices=ServiceType.choices, source="order.service_type")
    status = fields.Choice(choices=OrderStatus.choices, source="order.status")
    timezone = fields.Text(source="order.timezone")
    start_date = fields.LocalDate(source="order.start_date")
    end_date = fields.LocalDate(source="order.end_date", allow_null=True)


class StandingOrderOut(_HeadOut, _TermsOut):
    """A standing order with its current terms; before it starts, its first terms.

    `laterTerms` begin afterwards.  `holds`, `skips` and `overrides` are those that can affect the present or future.
    Fields above the caller's PHI level are left out, as of rides.
    """

    may_lack_keys = True

    payer = OrderPayerOut(source="order")
    authorization_number = fields.Text(source="order.authorization_number")
    authorization_ends_on = fields.LocalDate(source="order.authorization_ends_on", allow_null=True)
    preferred_driver_ids = fields.List(child=fields.Uuid(), source="order.preferred_driver_ids")
    vehicle_type = OrNull(source="order.vehicle_type_requested", choices=VehicleType.choices, allow_null=True)
    notes = NotesOut(source="order")
    generation_horizon_days = fields.Integer(source="order.generation_horizon_days")
    later_terms = LaterTermsOut(many=True, source="later")
    holds = HoldOut(many=True)
    skips = serializers.SerializerMethodField("show_skips")
    overrides = OverrideOut(many=True, source="changes")
    version = fields.Integer(source="order.version")
    created_at = fields.Instant(source="order.created_at")
    updated_at = fields.Instant(source="order.updated_at")

    @extend_schema_field(fields.List(child=fields.LocalDate()))
    def show_skips(self, record: OrderRecord) -> list[str]:
        return [skip.pattern_date.isoformat() for skip in record.skips]


class NextOccurrenceOut(OutShape):
    """A future occurrence in wall time of the order's zone; `date` identifies it permanently.

    `serviceDate` is the day of the chair time.  A `pickupTime` later than `chairTime` means the evening before; an
    earlier `returnTime` means the next morning.  `returnTime` null: no return.
    """

    date = fields.LocalDate(source="pattern_date")
    service_date = fields.LocalDate()
    change = fields.Choice(choices=words(*ChangeType))
    pickup_time = fields.ClockTime()
    chair_time = fields.ClockTime(allow_null=True)
    return_time = fields.ClockTime(allow_null=True)


class StandingOrderShownOut(StandingOrderOut):
    """A single standing order with its next ten occurrences that are booked or planned."""

    next_occurrences = serializers.SerializerMethodField("show_next_occurrences")

    @extend_schema_field(NextOccurrenceOut(many=True))
    def show_next_occurrences(self, record: OrderRecord) -> list[dict[str, Any]]:
        return [dict(row) for row in NextOccurrenceOut(self.context["next_occurrences"], many=True).data]


class UnchangedOut(OutShape):
    """A date with customized rides, which stay as they are."""

    date = fields.LocalDate()
    ride_ids = fields.List(child=fields.Uuid())


class AdoptedOut(OutShape):
    """A date with rides booked by hand before, which are now rides of the order and stay as they are."""

    date = fields.LocalDate()
    ride_ids = fields.List(child=fields.Uuid())


class RefusedOut(OutShape):
    """A date on which a ride could not be booked or amended, with the error code.

    `rideId` is the conflicting ride, if it is inside the caller's data scope.
    """

    date = fields.LocalDate()
    code = fields.Text()
    message = fields.Text()
    ride_id = fields.Uuid(allow_null=True)


class ReconcileOut(OutShape):
    """Changes of an order's rides."""

    created = fields.List(child=fields.Uuid())
    amended = fields.List(child=fields.Uuid())
    cancelled = fields.List(child=fields.Uuid())
    adopted = AdoptedOut(many=True)
    unchanged = UnchangedOut(many=True)
    refused = RefusedOut(many=True)


class StandingOrderChangedOut(StandingOrderShownOut):
    """A created or changed standing order, and the changes of its rides."""

    rides = serializers.SerializerMethodField("show_rides")

    @extend_schema_field(ReconcileOut)
    def show_rides(self, record: OrderRecord) -> dict[str, Any]:
        result, reached = self.context["result"], self.context["reached"]
        shape = {
            "created": result.created,
            "amended": result.amended,
            "cancelled": result.cancelled,
            "adopted": [{"date": day, "ride_ids": ids} for day, ids in sorted(result.adopted.items())],
            "unchanged": [{"date": day, "ride_ids": ids} for day, ids in sorted(result.unchanged.items())],
            "refused": refused_dates(result.refused, reached),
        }
        return dict(ReconcileOut(shape).data)


def refused_dates(refused: Mapping[date, Refused], reached: Collection[UUID]) -> list[dict[str, Any]]:
    """Return refused dates in the shape of `RefusedOut`; `reached` are conflicting rides that the caller sees."""
    return [
        {
            "date": day,
            "code": refusal.code.name,
            "message": refusal.message,
            "ride_id": refusal.existing_id if refusal.existing_id in reached else None,
        }
        for day, refusal in sorted(refused.items())
    ]


class ExistingRideOut(OutShape):
    """A ride booked by hand that a new order would keep in place of a new one."""

    id = fields.Uuid()
    date = fields.LocalDate(source="service_date")
    pickup_time = fields.Instant(source="pickup_at")


class OrderPreviewOut(OutShape):
    """What a new standing order would do within its horizon; nothing is stored."""

    booked_dates = fields.List(child=fields.LocalDate())
    existing_rides = ExistingRideOut(many=True)
    refused = RefusedOut(many=True)


class LegOut(OutShape):
    """One leg of an occurrence, with the times of its ride, or as planned if there is no ride.

    `rideId` is the latest ride; `refusal` is the error code if no ride could be booked.  The pickup time of a
    `willCall` return is an estimate.
    """

    leg = fields.Choice(choices=words(*Leg))
    status = fields.Choice(choices=words(*LegStatus))
    pickup_time = fields.Instant(source="pickup_at")
    appointment_time = fields.Instant(source="appointment_at", allow_null=True)
    ride_id = fields.Uuid(allow_null=True)
    ride_status = fields.Choice(choices=RideStatus.choices, allow_null=True)
    refusal = TextOrNull(allow_null=True)
    will_call = fields.Boolean()


class OccurrenceOut(OutShape):
    """One occurrence.  `date` identifies it permanently; `serviceDate` is the day of the visit.

    `status` is null if the pattern no longer includes the date, but a customized ride remains.  `change` is whether the
    occurrence is as generated, shifted or customized.  `movedByClockChange`: one of its wall times does not exist on
    that day and moved forward.
    """

    date = fields.LocalDate(source="pattern_date")
    service_date = fields.LocalDate()
    status = fields.Choice(choices=words(*OccurrenceStatus), allow_null=True)
    change = fields.Choice(choices=words(*ChangeType))
    moved_by_clock_change = fields.Boolean()
    legs = LegOut(many=True)


class OccurrencesOut(OutShape):
    """All occurrences of the requested days, by day."""

    data = OccurrenceOut(many=True)  # type: ignore[assignment]  # the field of the contract hides Serializer.data
    page = WholePageOut()
