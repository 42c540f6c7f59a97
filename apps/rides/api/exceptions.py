"""Exceptions of rides and standing orders over HTTP."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.services import audit
from apps.audit.views import AuditedReads
from apps.rides.api.filters import ExceptionQuery
from apps.rides.api.report_bodies import ExceptionNoteIn, ResolveIn, SnoozeIn
from apps.rides.labels import note_text
from apps.rides.models import RideException
from apps.rides.queries import named_rides
from apps.rides.queries.exception_causes import one_per_cause, rides_at_risk
from apps.rides.rules.exception_types import ResolutionCode
from apps.rides.schemas.ride_parts import OrNull, TextOrNull
from apps.rides.services import exceptions
from lib.access import Phi
from lib.api import fields
from lib.api.serializers import Out
from lib.api.views import ApiViewSet
from lib.errors import Code, NotFound
from lib.scopes import Scope

_FILTERS = {
    "status": "status__in",
    "severity": "severity__in",
    "type": "type__in",
    "ride_id": "ride_id",
    "standing_order_id": "standing_order_id",
    "facility_id": "facility_id",
    "opened_from": "opened_at__gte",
    "opened_to": "opened_at__lt",
}


class RideExceptionOut(Out):
    """Something about a ride, or a standing order, that needs, or needed, attention: one of both ids is null.

    `note` and `resolutionNote` take the PHI level full.  `details` name no ride that is out of the caller's reach.  The
    code `expired` means that the ride passed so long ago that nobody can change anything about it.
    """

    ride_id = fields.Uuid(allow_null=True)
    standing_order_id = fields.Uuid(allow_null=True)
    trip_id = fields.Uuid(allow_null=True)
    rider_id = fields.Uuid()
    facility_id = fields.Uuid(allow_null=True)
    owner_id = fields.Uuid(allow_null=True)
    acknowledged_by = TextOrNull(allow_null=True)
    resolved_by = TextOrNull(allow_null=True)
    resolution_code = OrNull(choices=ResolutionCode.choices, allow_null=True)
    cause_driver_id = fields.Uuid(
        allow_null=True,
        help_text="The driver whose lateness is the cause.  Lists show one exception for each cause: the most severe.",
    )
    ride_ids = serializers.SerializerMethodField("show_ride_ids")
    details = serializers.SerializerMethodField("show_details")
    related_exception_ids = fields.List(child=fields.Uuid())
    note = serializers.SerializerMethodField("show_note")
    resolution_note = serializers.SerializerMethodField("show_resolution_note")

    class Meta:
        model = RideException
        fields = (
            "id",
            "ride_id",
            "standing_order_id",
            "trip_id",
            "rider_id",
            "facility_id",
            "type",
            "severity",
            "status",
            "opened_at",
            "opened_by",
            "detected_by",
            "due_at",
            "owner_id",
            "snoozed_until",
            "note",
            "acknowledged_at",
            "acknowledged_by",
            "resolved_at",
            "resolved_by",
            "resolution_code",
            "resolution_note",
            "summary",
            "cause_driver_id",
            "ride_ids",
            "details",
            "escalation_level",
            "related_exception_ids",
            "version",
            "updated_at",
        )

    @extend_schema_field(
        fields.List(
            child=fields.Uuid(),
            help_text="The rides that this cause puts at risk, by pickup time, as far as the caller may see them.",
        )
    )
    def show_ride_ids(self, exception: RideException) -> list[str]:
        ride_ids = self.context["rides_at_risk"].get(exception.cause_driver_id) if not exception.resolved_at else None
        own = [] if exception.ride_id is None else [exception.ride_id]
        return [str(ride_id) for ride_id in ride_ids or own]

    @extend_schema_field(fields.Anything())
    def show_details(self, exception: RideException) -> Any:
        return named_rides.without(exception.details, self.context["out_of_reach"])

    @extend_schema_field(
        fields.Text(allow_null=True, help_text="What the next dispatcher should know while it is open.")
    )
    def show_note(self, exception: RideException) -> str | None:
        level: Phi = self.context["view"].principal.phi
        return exception.note or None if level >= Phi.FULL else None

    @extend_schema_field(fields.Text(allow_null=True))
    def show_resolution_note(self, exception: RideException) -> str | None:
        level: Phi = self.context["view"].principal.phi
        return str(note_text(exception.resolution_note)) or None if level >= Phi.FULL else None


class RideExceptionViewSet(AuditedReads, ApiViewSet):
    """Exceptions of rides and standing orders: listed, claimed and settled."""

    scopes = {
        "list": Scope.EXCEPTIONS_READ,
        "retrieve": Scope.EXCEPTIONS_READ,
        "acknowledge": Scope.EXCEPTIONS_WRITE,
        "resolve": Scope.EXCEPTIONS_WRITE,
        "snooze": Scope.EXCEPTIONS_WRITE,
        "write_note": Scope.EXCEPTIONS_WRITE,
    }
    queries = {"list": ExceptionQuery}
    bodies = {"resolve": ResolveIn, "snooze": SnoozeIn, "write_note": ExceptionNoteIn}
    answers = dict.fromkeys(scopes, RideExceptionOut)
    refusals = {
        "list": (Code.INVALID_CURSOR,),
        "acknowledge": (Code.INVALID_TRANSITION, Code.PRECONDITION_FAILED),
        "resolve": (Code.INVALID_TRANSITION, Code.PRECONDITION_FAILED),
        "snooze": (Code.INVALID_TRANSITION, Code.PRECONDITION_FAILED),
        "write_note": (Code.INVALID_TRANSITION, Code.PRECONDITION_FAILED),
    }

    out_of_reach: Collection[str] = ()
    rides_at_risk: Mapping[UUID, list[UUID]] = MappingProxyType({})

    def get_serializer_context(self) -> dict[str, Any]:
        return {
            **super().get_serializer_context(),
            "out_of_reach": self.out_of_reach,
            "rides_at_risk": self.rides_at_risk,
        }

    def list(self, request: Request) -> Response:
        """List exceptions, the newest first.

        Open exceptions with one cause are listed as one: of a driver who runs late, with all `rideIds`, and of a ride
        without a driver.  With `rideId` the exceptions of that ride are listed.
        """
        filters = {_FILTERS[name]: value for name, value in self.query.items() if name in _FILTERS}
        rows = RideException.objects.visible_to(self.principal).filter(**filters)
        page = self.page(rows if "ride_id" in filters else one_per_cause(rows), sort="-opened_at")
        self.record_read(
            "exceptions.list", subject_type="exception", rider_ids=[exception.rider_id for exception in page.rows]
        )
        self._load_names(page.rows)
        return self.answer_page(page)

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Show one exception."""
        exception = RideException.objects.visible_to(self.principal).filter(pk=id).first()
        if exception is None:
            raise NotFound(_("exception"))
        self._record_look(exception)
        return self._answer(exception)

    def acknowledge(self, request: Request, id: UUID) -> Response:
        """Say that the caller takes care of an exception, and of the others with its cause."""
        with audit.riders_named() as recorded:
            exception = exceptions.acknowledge(
                exception_id=id, expected_version=self.expected_version(), by=self.principal, at=self.at
            )
        if exception.rider_id not in recorded:  # claimed before: nothing changes, and it is shown all the same
            self._record_look(exception)
        return self._answer(exception)

    def snooze(self, request: Request, id: UUID) -> Response:
        """Put an exception and others with its cause aside for a while: they come back earlier if they get worse."""
        body = self.body()
        with audit.riders_named() as recorded:
            exception = exceptions.snooze(
                exception_id=id,
                until=body["until"],
                expected_version=self.expected_version(),
                by=self.principal,
                at=self.at,
            )
        if exception.rider_id not in recorded:
            self._record_look(exception)
        return self._answer(exception)

    def write_note(self, request: Request, id: UUID) -> Response:
        """Replace the note of an open exception and of the others with its cause; an empty note removes it."""
        with audit.riders_named() as recorded:
            exception = exceptions.write_note(
                exception_id=id,
                note=self.body()["note"],
                expected_version=self.expected_version(),
                by=self.principal,
                at=self.at,
            )
        if exception.rider_id not in recorded:
            self._record_look(exception)
        return self._answer(exception)

    def resolve(self, request: Request, id: UUID) -> Response:
        """Settle an exception and the others with its cause, or dismiss them."""
        body = self.body()
        exception = exceptions.resolve(
            exception_id=id,
            code=ResolutionCode(body["resolution_code"]),
            note=body.get("note", ""),
            dismiss=body["dismiss"],
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer(exception)

    def _answer(self, exception: RideException) -> Response:
        self._load_names([exception])
        return self.answer(exception, version=exception.version)

    def _load_names(self, exceptions: Collection[RideException]) -> None:
        self.out_of_reach = named_rides.out_of_reach(exceptions, self.principal)
        self.rides_at_risk = rides_at_risk(exceptions, self.principal)

    def _record_look(self, exception: RideException) -> None:
        self.record_read(
            "exceptions.read",
            subject_type="exception",
            subject_id=exception.pk,
            rider_ids=[exception.rider_id],
            facility_id=exception.facility_id,
        )
