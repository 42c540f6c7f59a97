"""Input and output serializers of facilities."""

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.organizations.models import (
    BookingPolicy,
    Contact,
    ContactRole,
    Entrance,
    ExternalId,
    Facility,
    FacilityKind,
    ReturnLegPolicy,
)
from apps.organizations.rules.opening_hours import DAYS
from apps.organizations.schemas.calendar_shifts import CalendarShiftOut
from apps.organizations.schemas.external_ids import ExternalIdIn, ExternalIdOut
from apps.organizations.schemas.stop_input import AsShown, Degrees
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import In, Out, OutShape

MINUTES_OF_A_WEEK = 7 * 24 * 60
PARTS_MAX = 50  # doors, contacts, periods or names of one facility


def minutes(**kwargs: Any) -> fields.Integer:
    return fields.Integer(min_value=0, max_value=MINUTES_OF_A_WEEK, required=False, **kwargs)


class AddressIn(In):
    """A US postal address with WGS84 coordinates."""

    address_line1 = fields.Text(max_length=200)
    address_line2 = fields.Text(max_length=200, required=False, allow_blank=True)
    city = fields.Text(max_length=100)
    state = fields.Text(max_length=50)
    postal_code = fields.Text(max_length=20)
    lat = Degrees(most=90, required=False, allow_null=True)
    lng = Degrees(most=180, required=False, allow_null=True)


class ServiceLevelsIn(In):
    """Service levels of the facility, in minutes."""

    discharge_target_minutes = minutes()
    discharge_max_minutes = minutes()
    will_call_response_minutes = minutes()
    pickup_late_minutes = minutes()
    pickup_early_minutes = minutes()
    arrive_early_minutes = minutes()
    arrive_too_early_minutes = minutes()


class EntranceIn(In):
    """An entrance.  Without `id`, it is the entrance with the same name, or a new one."""

    id = fields.Uuid(required=False)
    name = fields.Text(max_length=100)
    lat = Degrees(most=90, required=False, allow_null=True)
    lng = Degrees(most=180, required=False, allow_null=True)
    instructions = fields.Text(max_length=500, required=False, allow_blank=True, multiline=True)
    hours = fields.Text(max_length=200, required=False, allow_blank=True)
    curb_rules = fields.Text(max_length=200, required=False, allow_blank=True)
    wheelchair_ok = fields.Boolean(required=False)


class ContactIn(In):
    """A contact of a role."""

    id = fields.Uuid(required=False)
    role = fields.Choice(choices=ContactRole.choices)
    name = fields.Text(max_length=100)
    phone = fields.Phone()
    ext = fields.Text(max_length=10, required=False, allow_blank=True)


class WallClock(fields.ClockTime):
    """HH:MM, stored as text."""

    def to_internal_value(self, value: Any) -> str:  # type: ignore[override]  # a time of JSON columns
        return super().to_internal_value(value).strftime("%H:%M")


class HoursIn(AsShown):
    """Opening hours in local time; if `closes` is not after `opens`, the period ends on the next day."""

    days = fields.List(child=fields.Choice(choices=DAYS), min_length=1, max_length=len(DAYS))
    opens = WallClock()
    closes = WallClock()


class FacilityIn(In):
    """A care facility."""

    example: ClassVar[dict[str, Any]] = {
        "name": "Lakeview Dialysis",
        "kind": "dialysis",
        "timezone": "America/Chicago",
        "address": {
            "addressLine1": "3200 N Clark St",
            "city": "Chicago",
            "state": "IL",
            "postalCode": "60657",
            "lat": 41.9401,
            "lng": -87.6506,
        },
        "externalIds": [{"system": "urn:epic:department", "value": "D-19"}],
        "entrances": [{"name": "North door", "instructions": "Ring twice.", "wheelchairOk": True}],
        "contacts": [{"role": "charge_nurse", "name": "Nurse station", "phone": "+13125550140"}],
        "hours": [{"days": ["mon", "wed", "fri"], "opens": "05:00", "closes": "21:30"}],
        "sla": {"willCallResponseMinutes": 45},
    }

    name = fields.Text(max_length=200)
    kind = fields.Choice(choices=FacilityKind.choices)
    timezone = fields.Zone()
    address = AddressIn(source="*")
    external_ids = fields.List(child=ExternalIdIn(), required=False, max_length=PARTS_MAX)
    geofence_radius_meters = fields.Integer(min_value=10, max_value=50_000, required=False)
    entrances = fields.List(child=EntranceIn(), required=False, max_length=PARTS_MAX)
    contacts = fields.List(child=ContactIn(), required=False, max_length=PARTS_MAX)
    hours = fields.List(child=HoursIn(), required=False, max_length=PARTS_MAX)
    booking_policy = fields.Choice(choices=BookingPolicy.choices, required=False)
    lead_time_minutes = minutes()
    sla = ServiceLevelsIn(source="*", required=False)
    no_show_wait_minutes = minutes(allow_null=True)
    late_cancel_minutes = minutes()
    return_leg_policy = fields.Choice(choices=ReturnLegPolicy.choices, required=False)
    escalation_policy_id = fields.Uuid(required=False, allow_null=True)
    active = fields.Boolean(required=False)


class FacilityQuery(PageQuery):
    kind = fields.List(
        child=fields.Choice(choices=FacilityKind.choices), required=False, help_text="One or several kinds."
    )
    active = fields.Boolean(required=False)
    external_id = fields.Text(
        required=False, max_length=201, help_text="`system|value` of an external id; an exact match."
    )


class AddressOut(Out):
    class Meta:
        model = Facility
        fields = ("address_line1", "address_line2", "city", "state", "postal_code", "lat", "lng")


class ServiceLevelsOut(Out):
    class Meta:
        model = Facility
        fields = (
            "discharge_target_minutes",
            "discharge_max_minutes",
            "will_call_response_minutes",
            "pickup_late_minutes",
            "pickup_early_minutes",
            "arrive_early_minutes",
            "arrive_too_early_minutes",
        )


class EntranceOut(Out):
    class Meta:
        model = Entrance
        fields = ("id", "name", "lat", "lng", "instructions", "hours", "curb_rules", "wheelchair_ok")


class ContactOut(Out):
    class Meta:
        model = Contact
        fields = ("id", "role", "name", "phone", "ext")


class HoursOut(OutShape):
    days = fields.List(child=fields.Choice(choices=DAYS))
    opens = fields.Text()
    closes = fields.Text()


class FacilityOut(Out):
    """A care facility, its entrances, contacts and service levels."""

    may_lack_keys = True

    address = AddressOut(source="*")
    # Of `context["external_ids"]`: they have no foreign key.
    external_ids = serializers.SerializerMethodField("get_external_ids")
    sla = ServiceLevelsOut(source="*")
    entrances = EntranceOut(many=True)
    contacts = ContactOut(many=True)
    calendar_shifts = CalendarShiftOut(many=True)
    hours = HoursOut(many=True)
    escalation_policy_id = fields.Uuid(allow_null=True)

    @extend_schema_field(ExternalIdOut(many=True))
    def get_external_ids(self, facility: Facility) -> list[dict[str, Any]]:
        by_facility: dict[UUID, list[ExternalId]] = self.context["external_ids"]
        return list(ExternalIdOut(by_facility[facility.pk], many=True).data)

    class Meta:
        model = Facility
        fields = (
            "id",
            "external_ids",
            "name",
            "kind",
            "address",
            "timezone",
            "geofence_radius_meters",
            "entrances",
            "contacts",
            "hours",
            "calendar_shifts",
            "booking_policy",
            "lead_time_minutes",
            "sla",
            "no_show_wait_minutes",
            "late_cancel_minutes",
            "return_leg_policy",
            "escalation_policy_id",
            "modifier_code",
            "active",
            "version",
            "created_at",
            "updated_at",
        )
