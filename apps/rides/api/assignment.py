"""Who drives a ride: candidates, assignment, answers to offers."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.views import AuditedReads
from apps.rides.api.report_bodies import PlaceIn
from apps.rides.models import Assignment, Ride
from apps.rides.queries.candidates import Candidate, candidates
from apps.rides.rules.disclosure import disclosed_assignment
from apps.rides.rules.status_report import Place
from apps.rides.schemas.driver_reasons import ReasonOut
from apps.rides.services import assignment, offers
from lib.access import Phi
from lib.api import fields
from lib.api.query import Query
from lib.api.serializers import In, Out, OutShape
from lib.api.unpaginated import WholePageOut, unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope


class CrewIn(In):
    """A driver and vehicle for a ride, and with a rider on board why they change and where."""

    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()
    attendant_ids = fields.List(child=fields.Uuid(), default=list, max_length=4)
    override = fields.Boolean(default=False)
    override_reason = fields.Text(max_length=500, allow_blank=True, default="")
    reason_code = fields.Text(max_length=40, allow_blank=True, default="", help_text="Required with a rider on board.")
    note = fields.Text(max_length=500, multiline=True, allow_blank=True, default="")
    rider_location = fields.Text(max_length=300, allow_blank=True, default="")
    location = PlaceIn(required=False, allow_null=True)
    miles_driven = fields.Number(
        max_digits=7,
        decimal_places=2,
        min_value=0,
        required=False,
        allow_null=True,
        help_text="By the first vehicle with the rider, at a transfer.",
    )


class AssignmentIn(CrewIn):
    example = {
        "driverId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f",
        "vehicleId": "01937b2e-6a01-7d52-8c11-6b2f0e9d7a34",
        "method": "manual",
    }

    method = fields.Choice(choices=Assignment.Method.choices, default=Assignment.Method.MANUAL)
    offer = fields.Boolean(default=False, help_text="Ask first, where the driver is no employee.")
    respond_by = fields.Instant(required=False, help_text="How long the offer is open; 15 minutes if left out.")


class HandoverIn(CrewIn):
    """Another driver for a rider on board, and where they meet."""

    example = {
        "driverId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f",
        "vehicleId": "01937b2e-6a01-7d52-8c11-6b2f0e9d7a34",
        "reasonCode": "vehicle_breakdown",
        "riderLocation": "Side of I-290 at Austin Blvd",
    }


class UnassignQuery(Query):
    reason_code = fields.Text(max_length=40, required=False, help_text="May come in the body instead.")


class UnassignIn(In):
    reason_code = fields.Text(max_length=40, required=False)
    note = fields.Text(max_length=500, multiline=True, allow_blank=True, default="")


class AcceptIn(In):
    assignment_id = fields.Uuid(required=False, help_text="May be left out where one offer alone is open.")


class DeclineIn(AcceptIn):
    reason = fields.Text(max_length=200, allow_blank=True, default="")


class SnapshotOut(OutShape):
    """Who drove with what, as their records were then; the licence number only for those who may see it."""

    driver_name = fields.Text()
    license_number = fields.Text(allow_null=True)
    vehicle_plate = fields.Text()


class AssignmentOut(Out):
    """An assignment or offer; `snapshot` says who drove with what even if their records change.

    What people wrote, as reasons, is left out below FULL.
    """

    may_lack_keys = True

    ride_id = fields.Uuid()
    ride_status = fields.Text(source="ride.status")
    ride_version = fields.Integer(source="ride.version")
    provider_id = fields.Uuid()
    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()
    snapshot = serializers.SerializerMethodField(method_name="shown_snapshot")

    class Meta:
        model = Assignment
        fields = (
            "id",
            "ride_id",
            "ride_status",
            "ride_version",
            "sequence",
            "provider_id",
            "driver_id",
            "vehicle_id",
            "attendant_ids",
            "status",
            "method",
            "offered_at",
            "respond_by",
            "responded_at",
            "decline_reason",
            "assigned_by",
            "overridden",
            "override_reason",
            "started_at",
            "ended_at",
            "end_reason",
            "miles_attributed",
            "snapshot",
        )

    @extend_schema_field(SnapshotOut)
    def shown_snapshot(self, row: Assignment) -> dict[str, Any]:
        by = self.context["view"].principal
        numbers = by.has_scope(Scope.DRIVERS_WRITE) and by.phi is Phi.FULL
        return {
            "driverName": row.driver_name,
            "licenseNumber": (row.license_number or None) if numbers else None,
            "vehiclePlate": row.vehicle_plate,
        }

    def to_representation(self, instance: Assignment) -> dict[str, Any]:
        return disclosed_assignment(super().to_representation(instance), self.context["view"].principal.phi)


class CandidatesQuery(Query):
    provider_id = fields.Uuid(required=False)
    limit = fields.Integer(required=False, min_value=1, help_text="The first so many; all drivers if left out.")


class ViolationOut(OutShape):
    code = fields.Text()
    kind = fields.Choice(choices=["hard", "soft"])
    message = fields.Text()
    subject_id = fields.Uuid()


class AvailableFromOut(OutShape):
    """Where the driver starts to the pickup; `label` is a facility, a town or a home base, never a rider."""

    label = fields.Text()  # type: ignore[assignment]  # the word of the contract hides Field.label
    lat = serializers.FloatField(source="place.lat")
    lng = serializers.FloatField(source="place.lng")


class DelayOut(OutShape):
    """A ride that the driver would reach later; `rideId` is null if it is outside the caller's data scope."""

    ride_id = fields.Uuid(allow_null=True)
    minutes = fields.Integer()
    breaks_promise = fields.Boolean()


class CandidateOut(OutShape):
    """A driver for a ride, predicted from now.  `eligible`: no hard violation.

    `lateMinutes` counts from the promised time.  The predictions are null if the driver's location is not known.
    """

    driver_id = fields.Uuid()
    driver_name = fields.Text()
    provider_id = fields.Uuid()
    vehicle_id = fields.Uuid(allow_null=True)
    vehicle_unit = fields.Text()
    eligible = serializers.SerializerMethodField(method_name="is_eligible")
    attendant_required = fields.Boolean()
    available_at = fields.Instant(allow_null=True)
    available_from = AvailableFromOut(allow_null=True)
    predicted_pickup_at = fields.Instant(allow_null=True)
    late_minutes = fields.Integer(allow_null=True)
    added_drive_minutes = fields.Number(allow_null=True)
    delays = DelayOut(many=True)
    free_minutes = fields.Integer(allow_null=True)
    distance_miles = fields.Number(source="miles", allow_null=True)
    rides_with_rider = fields.Integer(source="shared_rides")
    preferred = fields.Boolean()
    reasons = ReasonOut(many=True)
    violations = ViolationOut(many=True)

    def is_eligible(self, candidate: Candidate) -> bool:
        return not candidate.refused


class CandidateListOut(OutShape):
    """Drivers who may take the ride, best first, then those who may not."""

    data = CandidateOut(many=True)  # type: ignore[assignment]  # the word of the contract hides Serializer.data
    page = WholePageOut()


class AssignmentViewSet(AuditedReads, ApiViewSet):
    """Who drives a ride."""

    scopes = {
        "update": Scope.ASSIGNMENTS_WRITE,
        "destroy": Scope.ASSIGNMENTS_WRITE,
        "handover": Scope.ASSIGNMENTS_WRITE,
        "accept": Scope.ASSIGNMENTS_WRITE,
        "decline": Scope.ASSIGNMENTS_WRITE,
        "candidates": Scope.ASSIGNMENTS_WRITE,
    }
    queries = {"destroy": UnassignQuery, "candidates": CandidatesQuery}
    bodies = {
        "update": AssignmentIn,
        "handover": HandoverIn,
        "destroy": UnassignIn,
        "accept": AcceptIn,
        "decline": DeclineIn,
    }
    answers = {
        "update": AssignmentOut,
        "handover": AssignmentOut,
        "accept": AssignmentOut,
        "decline": AssignmentOut,
        "candidates": CandidateListOut,
    }
    refusals = {
        "update": (
            Code.ASSIGNMENT_REJECTED,
            Code.INVALID_TRANSITION,
            Code.TRANSITION_GUARD_FAILED,
            Code.PRECONDITION_FAILED,
        ),
        "handover": (
            Code.ASSIGNMENT_REJECTED,
            Code.INVALID_TRANSITION,
            Code.TRANSITION_GUARD_FAILED,
            Code.PRECONDITION_FAILED,
        ),
        "destroy": (Code.INVALID_TRANSITION, Code.PRECONDITION_FAILED),
        "accept": (
            Code.ASSIGNMENT_REJECTED,
            Code.ASSIGNMENT_CONFLICT,
            Code.INVALID_TRANSITION,
            Code.PRECONDITION_FAILED,
        ),
        "decline": (Code.PRECONDITION_FAILED,),
    }

    def update(self, request: Request, id: UUID) -> Response:
        """Assign a driver and vehicle, change them, or transfer a rider on board to a rescue vehicle.

        `ASSIGNMENT_REJECTED` lists all violations with their kind.  Soft violations are accepted
        with `override` and `overrideReason` (scope `rides:override`).
        """
        return self._answer(assignment.assign(ride_id=id, **self._crew(), **self._by_whom()))

    def handover(self, request: Request, id: UUID) -> Response:
        """Hand a rider on board over to another driver.

        `reasonCode` says why, `riderLocation` or `location` where the rider is.  The assignments of both drivers keep
        their times.
        """
        return self._answer(assignment.hand_over(ride_id=id, **self._crew(), **self._by_whom()))

    def _crew(self) -> dict[str, Any]:
        """Return the body as arguments of `assignment.assign`."""
        body = self.body()
        place = body.pop("location", None)
        handover = assignment.Handover(
            reason_code=body.pop("reason_code"),
            note=body.pop("note"),
            rider_location=body.pop("rider_location"),
            place=None if place is None else Place(**place),
            miles=body.pop("miles_driven", None),
        )
        return {**body, "handover": handover}

    def destroy(self, request: Request, id: UUID) -> Response:
        """Unassign the driver; the ride waits for another.  `reasonCode` in the query, or in a body with a `note`."""
        body = self.body()
        ride = assignment.unassign(
            ride_id=id,
            reason_code=body.get("reason_code") or self.query.get("reason_code") or "",
            note=body["note"],
            **self._by_whom(),
        )
        return self.answer(None, version=ride.version)

    def accept(self, request: Request, id: UUID) -> Response:
        """Take an offered ride.  ETag and If-Match speak of the ride."""
        return self._answer(offers.accept(ride_id=id, **self.body(), **self._by_whom()))

    def decline(self, request: Request, id: UUID) -> Response:
        """Turn an offer down.  ETag and If-Match speak of the ride."""
        return self._answer(offers.decline(ride_id=id, **self.body(), **self._by_whom()))

    def candidates(self, request: Request, id: UUID) -> Response:
        """Rank the drivers who may take a ride, best first with the reasons, then those who may not and why."""
        ranked = candidates(ride_id=id, by=self.principal, at=self.at, **self.query)
        rider_ids = Ride.objects.filter(pk=id).values_list("rider_id", flat=True)
        self.record_read("rides.candidates", subject_type="ride", subject_id=id, rider_ids=rider_ids)
        return self.answer(unpaginated(ranked))

    def _by_whom(self) -> dict[str, Any]:
        """Say who changes a ride, when, and which version of it they have read."""
        return {"expected_version": self.expected_version(), "by": self.principal, "at": self.at}

    def _answer(self, row: Assignment) -> Response:
        return self.answer(row, version=row.ride.version)
