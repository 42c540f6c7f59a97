"""Input and output serializers of drivers, vehicles, credentials and shifts."""

from decimal import Decimal
from typing import Any

from django.core.validators import EmailValidator, URLValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from apps.fleet.models import (
    CredentialType,
    Driver,
    Employment,
    LiftType,
    Qualification,
    Shift,
    Vehicle,
    VehicleStatus,
    VehicleType,
)
from apps.fleet.queries import CredentialShown, credentials_for
from apps.fleet.rules.credentials import Subject
from apps.fleet.services.positions import MAX_POSITIONS
from apps.organizations.schemas.external_ids import ExternalIdIn, ExternalIdOut
from apps.organizations.schemas.stop_input import Degrees
from lib.access import Phi, Principal
from lib.api import fields
from lib.api.serializers import In, Out, OutShape
from lib.api.unpaginated import WholePageOut
from lib.openapi_examples import UUID_EXAMPLE
from lib.scopes import Scope

PROVIDER_EXAMPLE = "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"
GENDERS = ["female", "male"]
STORED, REFUSED = "stored", "refused"  # status of a position
EMAIL = EmailValidator("must be an e-mail address.")
HTTPS = URLValidator(["https"], message="must be an https address.")


def may_see_numbers(by: Principal) -> bool:
    """Return whether license and credential numbers are shown: to callers who may change drivers, with full PHI."""
    return by.has_scope(Scope.DRIVERS_WRITE) and by.phi is Phi.FULL


class LeaveIn(In):
    starts_at = fields.Instant()
    ends_at = fields.Instant()
    reason = fields.Text(max_length=100, allow_blank=True, default="")


class DriverChangesIn(In):
    example = {
        "firstName": "Nadia",
        "lastName": "Doe",
        "phone": "+13125550133",
        "employment": "employee",
        "licenseState": "IL",
        "qualifications": ["wheelchair_securement", "passenger_assist"],
    }

    first_name = fields.Text(max_length=100)
    last_name = fields.Text(max_length=100)
    phone = fields.Phone()
    email = fields.Text(max_length=254, required=False, allow_blank=True, validators=[EMAIL])
    photo_url = fields.Text(max_length=200, required=False, allow_blank=True, validators=[HTTPS])
    employment = fields.Choice(choices=Employment.choices, required=False)
    on_break = fields.Boolean(required=False)
    home_base_id = fields.Uuid(required=False, allow_null=True)
    languages = fields.List(child=fields.Language(max_length=35), required=False, max_length=20)
    gender = fields.Choice(choices=GENDERS, required=False, allow_null=True)
    license_number = fields.Text(max_length=50, required=False, allow_blank=True)
    license_state = fields.Text(max_length=2, required=False, allow_blank=True)
    license_class = fields.Text(max_length=10, required=False, allow_blank=True)
    qualifications = fields.List(child=fields.Choice(choices=Qualification.choices), required=False, max_length=20)
    excluded_rider_ids = fields.List(child=fields.Uuid(), required=False, max_length=200)
    default_vehicle_id = fields.Uuid(required=False, allow_null=True)
    leave = fields.List(child=LeaveIn(), required=False, max_length=100)
    external_ids = fields.List(child=ExternalIdIn(), required=False, max_length=20)

    def to_internal_value(self, data: Any) -> Any:
        validated = super().to_internal_value(data)
        return {**validated, "gender": validated["gender"] or ""} if "gender" in validated else validated


class DriverIn(DriverChangesIn):
    example = {"providerId": PROVIDER_EXAMPLE, **DriverChangesIn.example}

    provider_id = fields.Uuid()


class CredentialIn(In):
    example = {"type": "driver_license", "number": "D400-7836-0001", "issuer": "IL SOS", "expiresOn": "2028-04-30"}

    type = fields.Choice(choices=CredentialType.choices)
    number = fields.Text(max_length=50, required=False, allow_blank=True)
    issuer = fields.Text(max_length=100, required=False, allow_blank=True)
    issued_on = fields.LocalDate(required=False, allow_null=True)
    expires_on = fields.LocalDate(required=False, allow_null=True)
    document_id = fields.Uuid(required=False, allow_null=True)
    blocking = fields.Boolean(required=False)
    warn_days = fields.Integer(required=False, min_value=0, max_value=365)


class RejectionIn(In):
    reason = fields.Text(max_length=500)


class CredentialOut(OutShape):
    """A credential; `id` is null if it is required but missing, `number` for callers who may not see it."""

    id = fields.Uuid(allow_null=True)
    type = fields.Choice(choices=CredentialType.choices)
    status = fields.Choice(choices=["valid", "expiring", "expired", "missing", "rejected"])
    blocking = fields.Boolean()
    number = serializers.SerializerMethodField(method_name="shown_number")
    issuer = fields.Text()
    issued_on = fields.LocalDate(allow_null=True)
    expires_on = fields.LocalDate(allow_null=True)
    verified_at = fields.Instant(allow_null=True)
    verified_by = fields.Text()
    document_id = fields.Uuid(allow_null=True)
    warn_days = fields.Integer(allow_null=True)

    def shown_number(self, credential: CredentialShown) -> str | None:
        return credential.number if may_see_numbers(self.context["view"].principal) else None


class CredentialListOut(OutShape):
    """All credentials in force, and required ones that are missing."""

    data = CredentialOut(many=True)  # type: ignore[assignment]  # the word of the contract hides Serializer.data
    page = WholePageOut()


class ShiftOut(Out):
    provider_id = fields.Uuid()
    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()

    class Meta:
        model = Shift
        fields = (
            "id",
            "provider_id",
            "driver_id",
            "vehicle_id",
            "starts_at",
            "ends_at",
            "break_starts_at",
            "break_ends_at",
            "status",
            "version",
            "created_at",
            "updated_at",
        )


class ShiftIn(In):
    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()
    starts_at = fields.Instant()
    ends_at = fields.Instant()
    break_starts_at = fields.Instant(
        required=False, allow_null=True, help_text="A planned break, inside the shift; null for none."
    )
    break_ends_at = fields.Instant(required=False, allow_null=True)


class ShiftChangesIn(ShiftIn):
    status = fields.Choice(
        choices=Shift.Status.choices, help_text='"cancelled" cancels the shift; this cannot be undone.'
    )


class LeaveOut(OutShape):
    starts_at = fields.Instant()
    ends_at = fields.Instant()
    reason = fields.Text()


class LocationOut(OutShape):
    example = {"heading": 270, "speedMph": 27.5}

    lat = fields.Number(max_digits=9, decimal_places=6, source="last_lat")
    lng = fields.Number(max_digits=9, decimal_places=6, source="last_lng")
    at = fields.Instant(source="last_located_at")
    heading = fields.Integer(
        source="last_heading", allow_null=True, help_text="Degrees clockwise from north, if the device reported them."
    )
    speed_mph = fields.Number(
        source="last_speed_mph", allow_null=True, max_digits=4, decimal_places=1, help_text="If the device reported it."
    )


class MilesPerHour(fields.Number):
    """A speed, rounded to tenths."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=4, decimal_places=1, min_value=0, max_value=200, **kwargs)

    def to_internal_value(self, data: Any) -> Decimal:
        return super().to_internal_value(round(data, 1) if isinstance(data, float) else data)


class PositionIn(In):
    """The position of a driver, or of a vehicle; the latter is stored for the driver of the vehicle."""

    driver_id = fields.Uuid(required=False)
    vehicle_id = fields.Uuid(required=False)
    at = fields.Instant()
    lat = Degrees(most=90)
    lng = Degrees(most=180)
    heading = fields.Integer(
        min_value=0, max_value=359, required=False, allow_null=True, help_text="Degrees clockwise from north."
    )
    speed_mph = MilesPerHour(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "driver_id" in attrs and "vehicle_id" in attrs:
            raise ValidationError({"vehicleId": [ErrorDetail("must not be sent with driverId.", code="exclusive")]})
        if "driver_id" not in attrs and "vehicle_id" not in attrs:
            raise ValidationError({"driverId": [ErrorDetail("or vehicleId is required.", code="required")]})
        return attrs


class PositionsIn(In):
    """Up to 500 positions."""

    example = {
        "positions": [
            {
                "driverId": UUID_EXAMPLE,
                "at": "2026-11-20T13:52:00Z",
                "lat": 41.8809,
                "lng": -87.6338,
                "heading": 270,
                "speedMph": 27.5,
            }
        ]
    }

    positions = fields.List(child=PositionIn(), min_length=1, max_length=MAX_POSITIONS)


class PositionErrorOut(OutShape):
    """Why a position is refused, as in the error object."""

    example = {
        "code": "VALIDATION_ERROR",
        "message": "There is no such driver.",
        "details": [{"field": "positions[1].driverId", "code": "unknown", "message": "There is no such driver."}],
    }

    code = fields.Text()
    message = fields.Text()
    details = fields.Anything()


class PositionResultOut(OutShape):
    """Whether a position is stored; `error` is only in refused ones."""

    may_lack_keys = True
    example = {"index": 1, "status": REFUSED}

    index = fields.Integer(help_text="Its place in the request, from 0.")
    status = fields.Choice(choices=[STORED, REFUSED])
    error = PositionErrorOut()


class PositionsOut(OutShape):
    """The result of each position, in the order of the request."""

    def finished(self, declared: dict[str, Any]) -> dict[str, Any]:
        return super().finished({**declared, "data": PositionResultOut(many=True)})  # `data` is a property of the class


class DriverOut(Out):
    """A driver.  `licenseNumber` is null unless a caller who may see it reads a single driver.

    `excludedRiderIds` contains riders in the data scope, and is omitted below PHI level limited.
    """

    may_lack_keys = True

    provider_id = fields.Uuid()
    home_base_id = fields.Uuid(allow_null=True)
    default_vehicle_id = fields.Uuid(allow_null=True)
    gender = serializers.SerializerMethodField(method_name="shown_gender")
    duty = serializers.SerializerMethodField(method_name="present_duty")
    current_assignment_id = serializers.SerializerMethodField(method_name="present_assignment")
    license_number = serializers.SerializerMethodField(method_name="shown_license_number")
    excluded_rider_ids = serializers.SerializerMethodField(method_name="shown_excluded_riders")
    credentials = serializers.SerializerMethodField(method_name="shown_credentials")
    shifts = ShiftOut(many=True, source="coming_shifts")
    leave = LeaveOut(many=True, source="coming_leave")
    last_location = serializers.SerializerMethodField(method_name="shown_location")
    external_ids = serializers.SerializerMethodField(method_name="shown_external_ids")

    class Meta:
        model = Driver
        fields = (
            "id",
            "external_ids",
            "provider_id",
            "first_name",
            "last_name",
            "phone",
            "email",
            "photo_url",
            "employment",
            "activation",
            "activation_reason",
            "activation_changed_at",
            "activation_changed_by",
            "duty",
            "current_assignment_id",
            "home_base_id",
            "languages",
            "gender",
            "license_number",
            "license_state",
            "license_class",
            "qualifications",
            "excluded_rider_ids",
            "credentials",
            "shifts",
            "leave",
            "default_vehicle_id",
            "last_location",
            "version",
            "created_at",
            "updated_at",
        )

    def get_fields(self) -> dict[str, Any]:
        declared = super().get_fields()
        if self.context.get("phi", Phi.FULL) < Phi.LIMITED:
            del declared["excludedRiderIds"]
        return declared

    @extend_schema_field(fields.List(child=fields.Uuid()))
    def shown_excluded_riders(self, driver: Driver) -> list[str]:
        return [str(rider_id) for rider_id in self.context["excluded_riders"][driver.pk]]

    @extend_schema_field(ExternalIdOut(many=True))
    def shown_external_ids(self, driver: Driver) -> list[dict[str, Any]]:
        return list(ExternalIdOut(self.context["external_ids"][driver.pk], many=True).data)

    @extend_schema_field(fields.Choice(choices=GENDERS, allow_null=True))
    def shown_gender(self, driver: Driver) -> str | None:
        return driver.gender or None

    @extend_schema_field(fields.Choice(choices=["off", "available", "on_ride", "break"]))
    def present_duty(self, driver: Driver) -> str:
        return str(self.context["duties"][driver.pk].state)

    @extend_schema_field(fields.Uuid(allow_null=True))
    def present_assignment(self, driver: Driver) -> str | None:
        assignment_id = self.context["duties"][driver.pk].assignment_id
        return None if assignment_id is None else str(assignment_id)

    def shown_license_number(self, driver: Driver) -> str | None:
        view = self.context["view"]
        if view.action == "list" or not may_see_numbers(view.principal):
            return None
        return driver.license_number or None

    @extend_schema_field(CredentialOut(many=True))
    def shown_credentials(self, driver: Any) -> list[dict[str, Any]]:
        credentials = credentials_for(Subject.DRIVER, driver, driver.active_credentials, self.context["view"].at)
        return list(CredentialOut(credentials, many=True, context=self.context).data)

    @extend_schema_field(LocationOut(allow_null=True))
    def shown_location(self, driver: Driver) -> dict[str, Any] | None:
        return None if driver.last_located_at is None else dict(LocationOut(driver).data)


class CapacityConfigIn(In):
    name = fields.Text(max_length=50)
    ambulatory = fields.Integer(default=0, min_value=0, max_value=60)
    wheelchair = fields.Integer(default=0, min_value=0, max_value=20)
    stretcher = fields.Integer(default=0, min_value=0, max_value=4)


class CapacityConfigOut(OutShape):
    name = fields.Text()
    ambulatory = fields.Integer()
    wheelchair = fields.Integer()
    stretcher = fields.Integer()


class VehicleChangesIn(In):
    example = {
        "unitNumber": "W-12",
        "licensePlate": "CL 10412",
        "plateState": "IL",
        "type": "wheelchair_van",
        "capacityConfigs": [
            {"name": "one chair", "ambulatory": 3, "wheelchair": 1},
            {"name": "two chairs", "ambulatory": 1, "wheelchair": 2},
        ],
        "liftType": "lift",
        "liftRatingLb": 800,
        "maxChairWidthIn": 34,
    }

    unit_number = fields.Text(max_length=20)
    license_plate = fields.Text(max_length=12)
    type = fields.Choice(choices=VehicleType.choices)
    capacity_configs = fields.List(child=CapacityConfigIn(), min_length=1, max_length=20)
    make = fields.Text(max_length=50, required=False, allow_blank=True)
    model = fields.Text(max_length=50, required=False, allow_blank=True)
    year = fields.Integer(required=False, allow_null=True, min_value=1950, max_value=2100)
    color = fields.Text(max_length=30, required=False, allow_blank=True)
    vin = fields.Text(max_length=17, required=False, allow_blank=True)
    plate_state = fields.Text(max_length=2, required=False, allow_blank=True)
    lift_type = fields.Choice(choices=LiftType.choices, required=False)
    lift_rating_lb = fields.Integer(required=False, allow_null=True, min_value=1, max_value=5000)
    max_chair_width_in = fields.Number(
        max_digits=4, decimal_places=1, required=False, allow_null=True, min_value=1, max_value=100
    )
    oxygen_mount = fields.Boolean(required=False)
    bariatric = fields.Boolean(required=False)
    stair_chair = fields.Boolean(required=False)
    odometer_miles = fields.Integer(required=False, allow_null=True, min_value=0, max_value=5_000_000)
    home_base_id = fields.Uuid(required=False, allow_null=True)
    external_ids = fields.List(child=ExternalIdIn(), required=False, max_length=20)


class VehicleIn(VehicleChangesIn):
    example = {"providerId": PROVIDER_EXAMPLE, **VehicleChangesIn.example}

    provider_id = fields.Uuid()


class VehicleOut(Out):
    provider_id = fields.Uuid()
    home_base_id = fields.Uuid(allow_null=True)
    capacity_configs = CapacityConfigOut(many=True)
    credentials = serializers.SerializerMethodField(method_name="shown_credentials")
    status = fields.Choice(choices=VehicleStatus.choices)
    external_ids = serializers.SerializerMethodField(method_name="shown_external_ids")

    class Meta:
        model = Vehicle
        fields = (
            "id",
            "external_ids",
            "provider_id",
            "unit_number",
            "make",
            "model",
            "year",
            "color",
            "vin",
            "license_plate",
            "plate_state",
            "type",
            "status",
            "capacity_configs",
            "lift_type",
            "lift_rating_lb",
            "max_chair_width_in",
            "oxygen_mount",
            "bariatric",
            "stair_chair",
            "odometer_miles",
            "home_base_id",
            "credentials",
            "version",
            "created_at",
            "updated_at",
        )

    @extend_schema_field(ExternalIdOut(many=True))
    def shown_external_ids(self, vehicle: Vehicle) -> list[dict[str, Any]]:
        return list(ExternalIdOut(self.context["external_ids"][vehicle.pk], many=True).data)

    @extend_schema_field(CredentialOut(many=True))
    def shown_credentials(self, vehicle: Any) -> list[dict[str, Any]]:
        credentials = credentials_for(Subject.VEHICLE, vehicle, vehicle.active_credentials, self.context["view"].at)
        return list(CredentialOut(credentials, many=True, context=self.context).data)
