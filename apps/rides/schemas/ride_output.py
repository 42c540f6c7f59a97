"""The ride in the API and in webhooks.

`RideRow` is the ride in lists (queries/ride_list.py builds it without a serializer); `RideOut`, a single ride, adds
milestones, assignment and linked legs.  Context: `disclosure` says what the caller sees, `at` is the moment of derived
fields, `external_ids` maps ride ids to rows of ExternalId, `etas` to expected arrivals.
"""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet.models import VehicleType
from apps.rides.labels import note_text
from apps.rides.models import Assignment, Milestone, Ride
from apps.rides.models.ride import MilesSource, ReadySource
from apps.rides.queries.ride_forecasts import NO_ETA, Eta, EtaSource, etas_of
from apps.rides.queries.rides import RelatedRecords
from apps.rides.rules.disclosure import disclosed, disclosed_milestone, disclosure_of
from apps.rides.rules.exception_types import ExceptionSeverity
from apps.rides.rules.timeliness import ReleaseState, late_minutes, release_state
from apps.rides.schemas.ride_parts import (
    NotesOut,
    OrNull,
    OutcomeOut,
    PaymentOut,
    RideExternalIdOut,
    RideNeedsOut,
    RidePaymentOut,
    RideStopOut,
    SpacesOut,
    TextOrNull,
    WindowOut,
)
from apps.rides.services import legs
from lib.access import Principal
from lib.api import fields
from lib.api.serializers import Out


class RideRow(Out):
    """A ride in a list, without the fields above the caller's PHI level."""

    may_lack_keys = True

    trip_id = fields.Uuid(allow_null=True)
    client_reference = TextOrNull(allow_null=True)
    external_ids = serializers.SerializerMethodField("show_external_ids")
    rider_id = fields.Uuid()
    facility_id = fields.Uuid(allow_null=True)
    pickup_time = fields.Instant(source="pickup_at")
    appointment_time = fields.Instant(source="appointment_at", allow_null=True)
    pickup_window = WindowOut(source="*")
    ready_source = OrNull(choices=ReadySource.choices, allow_null=True)
    vehicle_type_requested = OrNull(choices=VehicleType.choices, allow_null=True)
    spaces = SpacesOut(source="*")
    occurrence_key = TextOrNull(allow_null=True)
    occurrence_state = TextOrNull(allow_null=True)
    original_service_date = serializers.SerializerMethodField("show_original_service_date")
    payer = PaymentOut(source="*")
    notes = NotesOut(source="*")
    pickup = serializers.SerializerMethodField("show_pickup")
    dropoff = serializers.SerializerMethodField("show_dropoff")
    accommodation = serializers.SerializerMethodField("show_accommodation")
    companions = fields.Anything()
    discharge = fields.Anything()
    dialysis = fields.Anything()
    requested_by = fields.Anything()
    signatures = fields.List(child=fields.Anything())
    attestation = fields.Anything()
    is_late = serializers.SerializerMethodField("show_is_late")
    late_minutes = serializers.SerializerMethodField("show_late_minutes")
    eta_pickup = serializers.SerializerMethodField("show_eta_pickup")
    eta_source = serializers.SerializerMethodField("show_eta_source")
    release_state = serializers.SerializerMethodField("show_release_state")
    confirm_by = fields.Instant(
        allow_null=True,
        help_text="Of a request: the deadline for its confirmation. 30 minutes in opening hours of the facility, at "
        "the latest the pickup time, but never less than 30 minutes.",
    )
    provider_id = fields.Uuid(allow_null=True)
    driver_id = fields.Uuid(allow_null=True)
    vehicle_id = fields.Uuid(allow_null=True)
    outcome = OutcomeOut(source="*")
    end_note = serializers.SerializerMethodField("show_end_note")
    loaded_miles_source = OrNull(choices=MilesSource.choices, allow_null=True)
    documentation_complete = serializers.SerializerMethodField("show_documentation_complete")
    missing_documents = fields.List(
        child=fields.Text(),
        help_text="What the payer asks for, once the ride is completed: pickup_signature and dropoff_signature, with "
        "_rider or _driver at the end where the payer says who signs (a facility's signature counts as the rider's), "
        "odometer_start, odometer_end and arrived_pickup.",
    )
    max_exception_severity = OrNull(choices=ExceptionSeverity.choices, allow_null=True)

    class Meta:
        model = Ride
        fields = (
            "id",
            "trip_id",
            "leg_type",
            "leg_sequence",
            "client_reference",
            "external_ids",
            "rider_id",
            "facility_id",
            "service_type",
            "priority",
            "pickup_time",
            "pickup_time_kind",
            "appointment_time",
            "scheduling_anchor",
            "pickup_window",
            "timezone",
            "service_date",
            "pickup",
            "dropoff",
            "will_call",
            "ready_at",
            "ready_source",
            "promised_pickup_by",
            "will_call_expires_at",
            "facility_delay_minutes",
            "accommodation",
            "accommodation_version",
            "companions",
            "vehicle_type_requested",
            "spaces",
            "discharge",
            "dialysis",
            "standing_order_id",
            "occurrence_key",
            "occurrence_state",
            "original_service_date",
            "payer",
            "notes",
            "requested_by",
            "requested_at",
            "after_the_fact",
            "confirm_by",
            "scheduled_at",
            "review_reasons",
            "status",
            "status_changed_at",
            "departed_at",
            "arrived_pickup_at",
            "boarded_at",
            "arrived_dropoff_at",
            "dropped_off_at",
            "is_late",
            "late_minutes",
            "eta_pickup",
            "eta_source",
            "release_state",
            "provider_id",
            "driver_id",
            "vehicle_id",
            "attendant_ids",
            "outcome",
            "end_note",
            "estimated_miles",
            "estimated_minutes",
            "loaded_miles",
            "loaded_miles_source",
            "odometer_start",
            "odometer_end",
            "wait_minutes",
            "onboard_minutes",
            "signatures",
            "attestation",
            "handoff_name",
            "documentation_complete",
            "missing_documents",
            "open_exception_count",
            "max_exception_severity",
            "created_at",
            "updated_at",
            "version",
        )

    @extend_schema_field(RideExternalIdOut(many=True))
    def show_external_ids(self, ride: Ride) -> list[dict[str, str]]:
        return [RideExternalIdOut(external_id).data for external_id in self.context["external_ids"].get(ride.pk, ())]

    # Stored in the shape of the API: these methods only declare the schema.
    @extend_schema_field(RideStopOut)
    def show_pickup(self, ride: Ride) -> dict[str, Any]:
        return dict(ride.pickup)

    @extend_schema_field(RideStopOut)
    def show_dropoff(self, ride: Ride) -> dict[str, Any]:
        return dict(ride.dropoff)

    @extend_schema_field(RideNeedsOut)
    def show_accommodation(self, ride: Ride) -> dict[str, Any]:
        return dict(ride.accommodation)

    @extend_schema_field(
        fields.LocalDate(allow_null=True, help_text="Of a ride of a standing order: its day in the series.")
    )
    def show_original_service_date(self, ride: Ride) -> str | None:
        return ride.occurrence_key.split(":")[1] if ride.occurrence_key else None

    def show_is_late(self, ride: Ride) -> bool:
        return late_minutes(ride, self.context["at"]) is not None

    def show_late_minutes(self, ride: Ride) -> int:
        return late_minutes(ride, self.context["at"]) or 0

    @extend_schema_field(
        fields.Instant(
            allow_null=True,
            help_text="When the awaited vehicle will be at the pickup, never in the past. From two hours before the "
            "promise on; null if nobody comes yet, or if the location of the driver is unknown (see `etaSource`).",
        )
    )
    def show_eta_pickup(self, ride: Ride) -> str | None:
        eta = self._eta(ride).at
        return None if eta is None else fields.instant_text(eta)

    @extend_schema_field(
        OrNull(
            choices=[(source.value, source.value) for source in EtaSource],
            allow_null=True,
            help_text="How `etaPickup` is known: reported (until that time has passed), predicted from the driver's "
            "location and earlier rides, or location_unknown, without a time.",
        )
    )
    def show_eta_source(self, ride: Ride) -> str | None:
        source = self._eta(ride).source
        return None if source is None else source.value

    def _eta(self, ride: Ride) -> Eta:
        eta: Eta = self.context["etas"].get(ride.pk, NO_ETA)
        return eta

    @extend_schema_field(fields.Text(allow_blank=True))
    def show_end_note(self, ride: Ride) -> str:
        return str(note_text(ride.end_note))

    @extend_schema_field(fields.Choice(choices=[(state.value, state.value) for state in ReleaseState]))
    def show_release_state(self, ride: Ride) -> str:
        return release_state(ride, self.context["at"]).value

    def show_documentation_complete(self, ride: Ride) -> bool:
        return ride.status == "completed" and not ride.missing_documents

    def to_representation(self, instance: Ride) -> dict[str, Any]:
        return disclosed(super().to_representation(instance), self.context["disclosure"])


class MilestoneOut(Out):
    """A milestone of a ride and its source; a voided one was replaced by a later report."""

    may_lack_keys = True

    contacted = TextOrNull(allow_null=True)
    note = TextOrNull(allow_null=True)

    class Meta:
        model = Milestone
        fields = (
            "type",
            "occurred_at",
            "recorded_at",
            "source",
            "lat",
            "lng",
            "accuracy_meters",
            "distance_from_stop_meters",
            "actor",
            "edited",
            "voided",
            "contacted",
            "note",
        )

    def to_representation(self, instance: Milestone) -> dict[str, Any]:
        return disclosed_milestone(super().to_representation(instance), self.context["disclosure"])


class CurrentAssignmentOut(Out):
    """The driver and vehicle of a ride: what a planner needs to recognize them, not more."""

    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()
    provider_id = fields.Uuid()
    driver_first_name = fields.Text(source="driver.first_name")

    class Meta:
        model = Assignment
        fields = (
            "id",
            "status",
            "method",
            "provider_id",
            "driver_id",
            "driver_first_name",
            "vehicle_id",
            "vehicle_plate",
            "attendant_ids",
            "offered_at",
            "responded_at",
        )


class RideOut(RideRow):
    """A ride.  Context adds `milestones`, `assignment` and `linked_ride_ids`, all of this ride."""

    reusable = True

    payer = RidePaymentOut(source="*")
    linked_ride_ids = serializers.SerializerMethodField("show_linked_ride_ids")
    milestones = serializers.SerializerMethodField("show_milestones")
    assignment = serializers.SerializerMethodField("show_assignment")

    class Meta:
        model = Ride
        fields = (*RideRow.Meta.fields, "linked_ride_ids", "milestones", "assignment")

    @extend_schema_field(fields.List(child=fields.Uuid()))
    def show_linked_ride_ids(self, ride: Ride) -> list[str]:
        return [str(ride_id) for ride_id in self.context["linked_ride_ids"]]

    @extend_schema_field(MilestoneOut(many=True))
    def show_milestones(self, ride: Ride) -> list[dict[str, Any]]:
        return list(MilestoneOut(self.context["milestones"], many=True, context=self.context).data)

    @extend_schema_field(CurrentAssignmentOut(allow_null=True))
    def show_assignment(self, ride: Ride) -> dict[str, Any] | None:
        assignment = self.context["assignment"]
        return None if assignment is None else dict(CurrentAssignmentOut(assignment).data)

    def to_representation(self, instance: Ride) -> dict[str, Any]:
        representation = super().to_representation(instance)
        if self.context["disclosure"].door_codes:
            for name, sealed in (("pickup", instance.pickup_access), ("dropoff", instance.dropoff_access)):
                representation[name] = {**representation[name], **legs.opened_access(sealed)}
        return representation


def context_of(related_records: RelatedRecords, *, of: Ride, by: Principal, at: datetime) -> dict[str, Any]:
    """Make the context in which `RideOut` shows a single ride to a caller.  See `etas_of` for its queries."""
    return {
        "disclosure": disclosure_of(by),
        "at": at,
        "etas": etas_of([of], at=at),
        "external_ids": {of.pk: related_records.external_ids},
        "milestones": related_records.milestones,
        "assignment": related_records.assignment,
        "linked_ride_ids": related_records.linked_ride_ids,
    }
