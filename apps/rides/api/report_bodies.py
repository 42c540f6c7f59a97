"""What callers send about rides under way: status calls, releases, exceptions."""

from typing import Any, ClassVar

from apps.organizations.schemas.stop_input import Degrees
from apps.rides.models import Milestone
from apps.rides.models.ride import MilesSource, ReadySource
from apps.rides.rules.exception_types import ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.reasons import Fault
from apps.rides.rules.status_report import MilestoneReport, Place, StatusReport
from apps.rides.schemas.ride_input import NOTE, Shaped, words
from lib.api import fields
from lib.api.serializers import In


class PlaceIn(In):
    """Where a device was."""

    lat = Degrees(most=90)
    lng = Degrees(most=180)
    accuracy_meters = fields.Integer(min_value=0, max_value=100_000, required=False)


class MilestoneIn(In):
    """A moment that happened before the status reported."""

    type = fields.Choice(choices=Milestone.Type.choices)
    occurred_at = fields.Instant()
    location = PlaceIn(source="place", required=False)
    note = fields.Text(max_length=500, required=False)
    contacted = fields.Choice(choices=words("rider", "facility"), required=False)


class SignatureIn(Shaped):
    """A signature: who signed, at which stop, and when."""

    signer = fields.Choice(choices=words("rider", "driver", "facility"))
    stop = fields.Choice(choices=words("pickup", "dropoff"))
    name = fields.Text(max_length=100)
    at = fields.Instant()


class AttestationIn(Shaped):
    """The driver's attestation that the ride took place."""

    driver_name = fields.Text(max_length=200)
    at = fields.Instant()
    text = fields.Text(max_length=500)


class StatusIn(In):
    """The current status of a ride, with its milestone, location and documentation."""

    reusable = True
    example: ClassVar[dict[str, Any]] = {
        "status": "arrived",
        "occurredAt": "2026-11-20T13:52:00Z",
        "source": "driver_app",
        "location": {"lat": 41.8809, "lng": -87.6338, "accuracyMeters": 8},
    }

    status = fields.Choice(choices=RideStatus.choices)
    occurred_at = fields.Instant(required=False)
    source = fields.Choice(  # type: ignore[assignment]  # the word of the contract hides Field.source
        choices=Milestone.Source.choices, default=Milestone.Source.INTEGRATION.value
    )
    location = PlaceIn(source="place", required=False)
    reason_code = fields.Text(max_length=40, required=False)
    fault = fields.Choice(choices=Fault.choices, required=False)
    note = fields.Text(max_length=NOTE, multiline=True, required=False)
    override = fields.Boolean(required=False)
    override_reason = fields.Text(max_length=500, required=False)
    milestones = fields.List(child=MilestoneIn(), required=False, max_length=20)
    securement_confirmed = fields.Boolean(required=False)
    arrived_dropoff_at = fields.Instant(required=False)
    eta_pickup = fields.Instant(required=False, help_text="When the awaited vehicle will be at the pickup.")
    odometer = fields.Number(
        max_digits=9, decimal_places=1, min_value=0, required=False, help_text="Read at the status reported."
    )
    odometer_start = fields.Number(
        max_digits=9,
        decimal_places=1,
        min_value=0,
        required=False,
        help_text="Read at the pickup, where the status reported is a later one.",
    )
    loaded_miles = fields.Number(max_digits=7, decimal_places=2, min_value=0, required=False)
    loaded_miles_source = fields.Choice(choices=MilesSource.choices, required=False)
    signatures = fields.List(child=SignatureIn(), required=False, max_length=6)
    attestation = AttestationIn(required=False)
    handoff_name = fields.Text(max_length=100, required=False)
    rider_location = fields.Text(max_length=500, required=False)


def report_of(body: dict[str, Any]) -> StatusReport:
    """Turn a parsed status call into a report."""
    parts = dict(body)
    parts["status"] = RideStatus(parts["status"])
    if "fault" in parts:
        parts["fault"] = Fault(parts["fault"])
    if "place" in parts:
        parts["place"] = Place(**parts["place"])
    parts["milestones"] = tuple(
        MilestoneReport(**{**item, "place": Place(**item["place"])} if "place" in item else item)
        for item in parts.get("milestones", ())
    )
    parts["signatures"] = tuple(parts.get("signatures", ()))
    return StatusReport(**parts)


class ReadyIn(In):
    """The release of a will-call ride."""

    example: ClassVar[dict[str, Any]] = {"readySource": "phone"}

    ready_at = fields.Instant(required=False)
    ready_source = fields.Choice(choices=ReadySource.choices, default=ReadySource.API.value)
    override = fields.Boolean(required=False)
    override_reason = fields.Text(max_length=500, required=False)


class SnoozeIn(In):
    """Until when an exception is put aside, a day at most; null takes it up again."""

    example: ClassVar[dict[str, Any]] = {"until": "2026-11-20T14:30:00Z"}

    until = fields.Instant(allow_null=True)


class ExceptionNoteIn(In):
    """The note of an open exception; empty: none."""

    example: ClassVar[dict[str, Any]] = {"note": "The facility knows; the driver is 10 minutes away."}

    note = fields.Text(max_length=NOTE, multiline=True, allow_blank=True)


class ResolveIn(In):
    """How an exception was settled; `dismiss`: it needed no action."""

    example: ClassVar[dict[str, Any]] = {
        "resolutionCode": "recovered_late",
        "note": "The vehicle came 20 minutes late.",
    }

    resolution_code = fields.Choice(choices=ResolutionCode.choices)
    note = fields.Text(max_length=NOTE, multiline=True, required=False)
    dismiss = fields.Boolean(default=False)
