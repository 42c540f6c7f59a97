"""What callers send about rides: strict shape here, rules in the services."""

from datetime import date, datetime
from typing import Any, ClassVar, Final
from uuid import UUID

from apps.fleet.models import VehicleType
from apps.organizations.rules import stops
from apps.organizations.schemas.stop_input import StopWithAccessIn
from apps.riders.schemas.accommodation import AccommodationIn
from apps.riders.schemas.rider_input import RiderIn
from apps.rides import pickup_points
from apps.rides.models.ride import Priority, SchedulingAnchor
from apps.rides.rules.draft import ExternalName, Notes, Payment, ReturnLeg, RideDraft, ServiceType
from apps.rides.services.booking import MAX_BULK
from apps.rides.services.editing import CrewAction, CrewChoice, EditOptions
from apps.rides.services.eligibility_checks import Override
from apps.rides.services.trips import MAX_LEGS
from lib.api import fields
from lib.api.serializers import In, camel

NOTE = 1000  # characters
MAX_MINUTES = 24 * 60


class Shaped(In):
    """An object that is stored in the shape of the API: `validated_data` has the keys of the request."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        return {camel(name): _plain(value) for name, value in super().to_internal_value(data).items()}


def _plain(value: Any) -> Any:
    """Bring ids and instants into the text that JSON columns hold."""
    if isinstance(value, datetime):
        return fields.instant_text(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


class CompanionsIn(Shaped):
    """Who comes along; each takes a place."""

    escorts = fields.Integer(min_value=0, max_value=9, required=False)
    attendants_provided = fields.Integer(min_value=0, max_value=9, required=False)
    children = fields.Integer(min_value=0, max_value=9, required=False)
    service_animal = fields.Boolean(required=False)


class DischargePlannerIn(Shaped):
    """A person to contact."""

    name = fields.Text(max_length=100)
    phone = fields.Phone(required=False)
    email = fields.Text(max_length=254, required=False)


class ReceivingIn(Shaped):
    """Who takes the patient in, and until when."""

    name = fields.Text(max_length=200, required=False)
    phone = fields.Phone(required=False)
    accept_by = fields.Instant(required=False, allow_null=True)


class HomeAccessIn(Shaped):
    """How to get a patient into their home."""

    someone_home = fields.Boolean(required=False, allow_null=True)
    key_info = fields.Text(max_length=200, allow_blank=True, required=False)
    steps = fields.Integer(min_value=0, max_value=stops.MAX_STEPS, required=False)
    second_person = fields.Boolean(required=False)


class ChecklistIn(Shaped):
    """What has to be ready before a patient leaves; null: not known."""

    order_signed = fields.Boolean(required=False, allow_null=True)
    meds_in_hand = fields.Boolean(required=False, allow_null=True)
    belongings = fields.Boolean(required=False, allow_null=True)
    oxygen_delivered = fields.Boolean(required=False, allow_null=True)
    receiving_confirmed = fields.Boolean(required=False, allow_null=True)
    pcs_on_file = fields.Boolean(required=False, allow_null=True)
    paperwork = fields.Boolean(required=False, allow_null=True)


class PcsIn(Shaped):
    """The physician's certification, as flags and dates only."""

    required = fields.Boolean(required=False)  # type: ignore[assignment]  # the word of the contract
    on_file = fields.Boolean(required=False)
    signer_role = fields.Text(max_length=50, required=False)
    valid_until = fields.LocalDate(required=False, allow_null=True)


def words(*words: str) -> list[tuple[str, str]]:
    return [(word, word) for word in words]


class DischargeIn(Shaped):
    """A discharge from hospital; unit, unitPhone and planner are required for that service type."""

    encounter_id = fields.Text(max_length=100, allow_blank=True, required=False)
    unit = fields.Text(max_length=50, required=False)
    room = fields.Text(max_length=50, allow_blank=True, required=False)
    bed = fields.Text(max_length=50, allow_blank=True, required=False)
    floor = fields.Text(max_length=50, allow_blank=True, required=False)
    unit_phone = fields.Phone(required=False)
    planner = DischargePlannerIn(required=False)
    charge_nurse_phone = fields.Phone(required=False, allow_null=True)
    discharge_order_at = fields.Instant(required=False, allow_null=True)
    expected_ready_at = fields.Instant(required=False, allow_null=True)
    pickup_entrance_id = fields.Uuid(required=False, allow_null=True)
    meet_at = fields.Choice(choices=words(*pickup_points.PLACES), required=False)
    destination_kind = fields.Choice(
        choices=words("home", "snf", "rehab", "hospital", "hospice", "shelter", "other"), required=False
    )
    receiving = ReceivingIn(required=False, allow_null=True)
    home_access = HomeAccessIn(required=False, allow_null=True)
    checklist = ChecklistIn(required=False, allow_null=True)
    pcs = PcsIn(required=False, allow_null=True)


class DialysisIn(Shaped):
    """A dialysis treatment, in minutes on the machine and after it."""

    treatment_minutes = fields.Integer(min_value=0, max_value=MAX_MINUTES, required=False, allow_null=True)
    post_treatment_minutes = fields.Integer(min_value=0, max_value=MAX_MINUTES, required=False, allow_null=True)
    chair = fields.Text(max_length=50, allow_blank=True, required=False)
    shift = fields.Text(max_length=50, allow_blank=True, required=False)


class PaymentIn(In):
    """Who pays, and by which authorization."""

    payer_id = fields.Uuid(required=False, allow_null=True)
    program_code = fields.Text(max_length=30, allow_blank=True, required=False)
    authorization_number = fields.Text(max_length=50, allow_blank=True, required=False)
    authorization_expires = fields.LocalDate(source="authorization_expires_on", required=False, allow_null=True)
    member_id = fields.Text(max_length=50, allow_blank=True, required=False)


class NotesIn(In):
    """Free text for one reader each; the dispatcher's never reaches drivers or webhooks."""

    driver = fields.Text(max_length=NOTE, allow_blank=True, multiline=True, required=False)
    dispatcher = fields.Text(max_length=NOTE, allow_blank=True, multiline=True, required=False)
    facility = fields.Text(max_length=NOTE, allow_blank=True, multiline=True, required=False)


class RideExternalIdIn(In):
    """What another system calls the ride."""

    system = fields.Text(max_length=100)
    value = fields.Text(max_length=100)
    type = fields.Text(max_length=50, allow_blank=True, default="")


class RequestedByIn(Shaped):
    """Who requested the ride."""

    user_id = fields.Text(max_length=100, required=False)
    name = fields.Text(max_length=100, required=False)
    phone = fields.Phone(required=False)
    role = fields.Text(max_length=50, required=False)


class ReturnLegIn(In):
    """The way back; what is left out follows from the way there."""

    pickup_time = fields.Instant(source="pickup_at", required=False)
    will_call = fields.Boolean(required=False)
    pickup = StopWithAccessIn(required=False)
    dropoff = StopWithAccessIn(required=False)
    accommodation = AccommodationIn(required=False)
    vehicle_type_requested = fields.Choice(choices=VehicleType.choices, required=False)
    notes = NotesIn(required=False)
    client_reference = fields.Text(max_length=100, required=False)
    external_ids = fields.List(child=RideExternalIdIn(), required=False, max_length=20)


class AskedIn(In):
    """The fields of a booking or a change."""

    reusable = True
    pickup_time = fields.Instant(source="pickup_at", required=False)
    pickup = StopWithAccessIn(required=False)
    dropoff = StopWithAccessIn(required=False)
    service_type = fields.Choice(choices=ServiceType.choices, required=False)
    priority = fields.Choice(choices=Priority.choices, required=False)
    appointment_time = fields.Instant(source="appointment_at", required=False, allow_null=True)
    scheduling_anchor = fields.Choice(choices=SchedulingAnchor.choices, required=False)
    will_call = fields.Boolean(required=False)
    accommodation = AccommodationIn(required=False)
    companions = CompanionsIn(required=False)
    vehicle_type_requested = fields.Choice(choices=VehicleType.choices, required=False, allow_null=True)
    discharge = DischargeIn(required=False, allow_null=True)
    dialysis = DialysisIn(required=False, allow_null=True)
    payer = PaymentIn(source="payment", required=False)
    notes = NotesIn(required=False)
    requested_by = RequestedByIn(required=False)
    external_ids = fields.List(child=RideExternalIdIn(), required=False, max_length=20)
    allow_duplicate = fields.Boolean(required=False)


class CrewChoiceIn(In):
    """What the change does with the driver of the ride."""

    action = fields.Choice(
        choices=words(*CrewAction), help_text="`keep` the driver, `reassign` to another, or `unassign`."
    )
    driver_id = fields.Uuid(required=False, help_text="With `reassign`, as `vehicleId`.")
    vehicle_id = fields.Uuid(required=False)
    attendant_ids = fields.List(child=fields.Uuid(), required=False, max_length=4)


class RideChangesIn(AskedIn):
    """What may change on a ride that exists.

    Objects merge key by key (RFC 7396): null empties what may be null, an empty string empties text.
    """

    example: ClassVar[dict[str, Any]] = {"pickupTime": "2026-11-20T15:30:00Z", "notes": {"driver": "Ring twice."}}

    assignment = CrewChoiceIn(required=False, help_text="The driver stays if left out.")
    move_return_leg = fields.Boolean(
        required=False, help_text="Moves the later legs of the trip that have not begun by the same time."
    )
    override = fields.Boolean(required=False, help_text="Makes the change though it breaks soft rules.")
    override_reason = fields.Text(max_length=500, required=False)


class CopyIn(In):
    """What differs from the copied ride."""

    example: ClassVar[dict[str, Any]] = {"date": "2026-11-27"}

    date = fields.LocalDate(source="day", required=False, help_text="Another day, at the same local times.")
    pickup_time = fields.Instant(
        source="pickup_at", required=False, help_text="Another pickup time; the appointment moves along."
    )
    rider_id = fields.Uuid(required=False, help_text="Another rider, with the needs of their profile.")
    reversed = fields.Boolean(source="is_reversed", required=False, help_text="The stops change places.")
    allow_duplicate = fields.Boolean(required=False)
    client_reference = fields.Text(max_length=100, required=False)


class ReinstateIn(In):
    """How a canceled ride is reinstated."""

    example: ClassVar[dict[str, Any]] = {}

    allow_duplicate = fields.Boolean(required=False)


class TripIn(In):
    """The rides that become the legs of a trip."""

    example: ClassVar[dict[str, Any]] = {
        "rideIds": ["01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f", "01937b2e-6a01-7d52-8c11-6b2f0e9d7a34"]
    }

    ride_ids = fields.List(child=fields.Uuid(), min_length=2, max_length=MAX_LEGS)


BOOKING: Final[dict[str, Any]] = {  # the example of the document
    "riderId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f",
    "pickupTime": "2026-11-20T14:00:00Z",
    "serviceType": "hospital_discharge",
    "pickup": {"facilityId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e60", "entranceText": "Main lobby"},
    "dropoff": {"addressLine1": "200 W Monroe St", "city": "Chicago", "state": "IL", "postalCode": "60606"},
    "discharge": {
        "unit": "4 West",
        "unitPhone": "+13125550140",
        "planner": {"name": "Pat Example", "phone": "+13125550141"},
    },
    "clientReference": "ORDER-1001",
}


class RideIn(AskedIn):
    """A booking."""

    example: ClassVar[dict[str, Any]] = BOOKING
    pickup_time = fields.Instant(source="pickup_at")
    pickup = StopWithAccessIn()
    dropoff = StopWithAccessIn()

    rider_id = fields.Uuid(required=False)
    rider = RiderIn(required=False, help_text="Matched by external id, else registered.")
    facility_id = fields.Uuid(required=False)
    client_reference = fields.Text(max_length=100, required=False)
    return_leg = ReturnLegIn(required=False)
    after_the_fact = fields.Boolean(
        required=False,
        help_text="The ride has taken place and is only recorded, up to 72 hours later: nothing is promised, no "
        "exception opens. Needs the scope `rides:correct`.",
    )


def draft_of(body: dict[str, Any]) -> RideDraft:
    """Turn a parsed booking into a draft."""
    parts = _parts(body)
    if parts.get("return_leg") is not None:
        parts["return_leg"] = ReturnLeg(**_parts(parts["return_leg"]))
    return RideDraft(**{key: value for key, value in parts.items() if value is not None})


def _parts(body: dict[str, Any]) -> dict[str, Any]:
    parts = dict(body)
    if parts.get("payment") is not None:
        parts["payment"] = Payment(**parts["payment"])
    if parts.get("notes") is not None:
        parts["notes"] = Notes(**parts["notes"])
    if parts.get("external_ids") is not None:
        parts["external_ids"] = tuple(ExternalName(**name) for name in parts["external_ids"])
    return parts


def changes_of(body: dict[str, Any]) -> dict[str, Any]:
    """Convert a parsed PATCH to arguments of `editing.edit`."""
    changes = dict(body)
    crew = changes.pop("assignment", {})
    options = EditOptions(
        allow_duplicate=changes.pop("allow_duplicate", False),
        override=Override(changes.pop("override", False), changes.pop("override_reason", "")),
        crew=CrewChoice(
            action=CrewAction(crew.get("action", CrewAction.KEEP)),
            driver_id=crew.get("driver_id"),
            vehicle_id=crew.get("vehicle_id"),
            attendant_ids=tuple(crew.get("attendant_ids", ())),
        ),
        move_return=changes.pop("move_return_leg", False),
    )
    if "external_ids" in changes:
        changes["external_ids"] = tuple(ExternalName(**name) for name in changes["external_ids"])
    return {"changes": changes, "options": options}


class BulkIn(In):
    """Up to 500 bookings."""

    example: ClassVar[dict[str, Any]] = {"mode": "atomic", "rides": [BOOKING]}
    mode = fields.Choice(choices=words("atomic", "perItem"), default="atomic")
    rides = fields.List(child=RideIn(), min_length=1, max_length=MAX_BULK)
