"""Drivers, vehicles, their credentials, and shifts."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.views import AuditedReads
from apps.fleet import queries
from apps.fleet.api import serializers
from apps.fleet.models import Activation, Driver, Employment, Shift, Vehicle, VehicleStatus, VehicleType
from apps.fleet.rules.credentials import Subject
from apps.fleet.services import credentials, drivers, positions, shifts, vehicles
from apps.organizations.models import SubjectType
from apps.organizations.queries import external_ids_of
from lib.access import Phi
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.unpaginated import unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code, DomainError, NotFound
from lib.scopes import Scope


class DriverQuery(PageQuery):
    activation = fields.List(child=fields.Choice(choices=Activation.choices), required=False)
    employment = fields.List(child=fields.Choice(choices=Employment.choices), required=False)
    provider_id = fields.Uuid(required=False)


class DriverViewSet(AuditedReads, ApiViewSet):
    """Drivers."""

    scopes = {
        "list": Scope.DRIVERS_READ,
        "create": Scope.DRIVERS_WRITE,
        "retrieve": Scope.DRIVERS_READ,
        "partial_update": Scope.DRIVERS_WRITE,
    }
    queries = {"list": DriverQuery}
    bodies = {"create": serializers.DriverIn, "partial_update": serializers.DriverChangesIn}
    answers = dict.fromkeys(scopes, serializers.DriverOut)
    refusals = {"partial_update": (Code.PRECONDITION_FAILED,)}

    def list(self, request: Request) -> Response:
        """List drivers, newest first."""
        filters = {f"{name}__in": self.query[name] for name in ("activation", "employment") if name in self.query}
        if "provider_id" in self.query:
            filters["provider_id"] = self.query["provider_id"]
        page = self.page(queries.drivers(self.principal, self.at).filter(**filters))
        self._show(page.rows)
        return self.answer_page(page)

    def create(self, request: Request) -> Response:
        """Add a driver, who is `pending` until activated."""
        fields = self.body()
        driver = drivers.hire(provider_id=fields.pop("provider_id"), fields=fields, by=self.principal, at=self.at)
        return self._answer_one(driver.pk, headers={"Location": f"/api/drivers/{driver.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read a driver."""
        answer = self._answer_one(id)
        if serializers.may_see_numbers(self.principal):
            self.record_read("drivers.read_license", subject_type="driver", subject_id=id, phi=False)
        return answer

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a driver; omitted fields are unchanged, and `leave` replaces the whole list."""
        drivers.amend(
            driver_id=id,
            changes=self.body(),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer_one(id)

    records: Collection[Driver] = ()
    excluded_riders: Mapping[UUID, Collection[UUID]] = {}

    def get_serializer_context(self) -> dict[str, Any]:
        named = external_ids_of(SubjectType.DRIVER, [driver.pk for driver in self.records])
        by = getattr(self.request, "auth", None)
        return {
            **super().get_serializer_context(),
            "phi": by.phi if by else Phi.FULL,  # the document shows everything
            "duties": queries.duties(self.records, self.at),
            "external_ids": named,
            "excluded_riders": self.excluded_riders,
        }

    def _show(self, rows: Collection[Driver]) -> None:
        """Set the drivers to show, and record in the audit log the riders that they exclude."""
        self.records = rows
        self.excluded_riders = queries.excluded_riders(rows, self.principal)
        if riders := {rider_id for rider_ids in self.excluded_riders.values() for rider_id in rider_ids}:
            self.record_read(
                "drivers.read",
                subject_type="driver",
                subject_id=next(iter(rows)).pk if len(rows) == 1 else None,
                rider_ids=riders,
            )

    def _answer_one(self, driver_id: UUID, headers: dict[str, str] | None = None) -> Response:
        driver = queries.drivers(self.principal, self.at).filter(pk=driver_id).first()
        if driver is None:
            raise NotFound(_("driver"))
        self._show([driver])
        # Duty, place and credentials change without the driver's version.
        return self.answer(driver, version=driver.version, settled=False, headers=headers)


class PositionViewSet(ApiViewSet):
    """Positions of drivers."""

    scopes = {"positions": Scope.DRIVERS_LOCATE}
    bodies = {"positions": serializers.PositionsIn}
    answers = {"positions": serializers.PositionsOut}

    def positions(self, request: Request) -> Response:
        """Report where drivers are.

        For telematics systems: up to 500 positions of drivers or vehicles; the newest one of each driver is stored.
        A position of a vehicle belongs to the driver whose shift with the vehicle covers `at`, else to the driver of a
        ride under way with the vehicle.  Each position is `stored` or `refused` by itself.  The `details` of a refusal
        have one of these codes: `unknown` (there is no such driver or vehicle), `no_driver` (nobody has the vehicle at
        that time), `in_future` (`at` is more than 120 seconds ahead; up to that, the time of receipt is stored),
        `too_old` (a position of a vehicle is more than 24 hours old), `out_of_order` (a position that is at least as
        recent is known).
        """
        reported = [positions.Position(**item) for item in self.body()["positions"]]
        refusals = positions.store(positions=reported, by=self.principal, at=self.at)
        return Response({"data": [_position_result(index, refusal) for index, refusal in enumerate(refusals)]})


def _position_result(index: int, refusal: DomainError | None) -> dict[str, Any]:
    if refusal is None:
        return {"index": index, "status": serializers.STORED}
    details = [detail.as_json() for detail in refusal.details]
    error = {"code": refusal.code.name, "message": refusal.message, "details": details}
    return {"index": index, "status": serializers.REFUSED, "error": error}


class VehicleQuery(PageQuery):
    status = fields.List(child=fields.Choice(choices=VehicleStatus.choices), required=False)
    type = fields.List(child=fields.Choice(choices=VehicleType.choices), required=False)
    provider_id = fields.Uuid(required=False)


class VehicleViewSet(ApiViewSet):
    """Vehicles."""

    scopes = {
        "list": Scope.DRIVERS_READ,
        "create": Scope.DRIVERS_WRITE,
        "retrieve": Scope.DRIVERS_READ,
        "partial_update": Scope.DRIVERS_WRITE,
    }
    queries = {"list": VehicleQuery}
    bodies = {"create": serializers.VehicleIn, "partial_update": serializers.VehicleChangesIn}
    answers = dict.fromkeys(scopes, serializers.VehicleOut)
    refusals = {
        "create": (Code.DUPLICATE_RESOURCE,),
        "partial_update": (Code.DUPLICATE_RESOURCE, Code.PRECONDITION_FAILED),
    }

    def list(self, request: Request) -> Response:
        """List vehicles by unit number."""
        filters = {f"{name}__in": self.query[name] for name in ("status", "type") if name in self.query}
        if "provider_id" in self.query:
            filters["provider_id"] = self.query["provider_id"]
        page = self.page(queries.vehicles(self.principal).filter(**filters), sort="unit_number")
        self.records = page.rows
        return self.answer_page(page)

    def create(self, request: Request) -> Response:
        """Add a vehicle, in service."""
        fields = self.body()
        vehicle = vehicles.register(provider_id=fields.pop("provider_id"), fields=fields, by=self.principal, at=self.at)
        return self._answer_one(vehicle.pk, headers={"Location": f"/api/vehicles/{vehicle.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read a vehicle."""
        return self._answer_one(id)

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a vehicle; omitted fields are unchanged, and `capacityConfigs` replaces the whole list."""
        vehicles.amend(
            vehicle_id=id,
            changes=self.body(),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer_one(id)

    records: Collection[Vehicle] = ()

    def get_serializer_context(self) -> dict[str, Any]:
        named = external_ids_of(SubjectType.VEHICLE, [vehicle.pk for vehicle in self.records])
        return {**super().get_serializer_context(), "external_ids": named}

    def _answer_one(self, vehicle_id: UUID, headers: dict[str, str] | None = None) -> Response:
        vehicle = queries.vehicles(self.principal).filter(pk=vehicle_id).first()
        if vehicle is None:
            raise NotFound(_("vehicle"))
        self.records = [vehicle]
        # Credentials change, and gap, without the vehicle's version.
        return self.answer(vehicle, version=vehicle.version, settled=False, headers=headers)


class _CredentialViewSet(ApiViewSet):
    """Credentials of drivers or of vehicles."""

    subject: Subject
    scopes = {"list": Scope.DRIVERS_READ, "create": Scope.DRIVERS_WRITE}
    bodies = {"create": serializers.CredentialIn}
    answers = {"list": serializers.CredentialListOut, "create": serializers.CredentialOut}

    def list(self, request: Request, id: UUID) -> Response:
        """List the credentials in force, and required ones that are missing, on one page."""
        owner = self._owner(id)
        credentials = queries.credentials_for(self.subject, owner, owner.credentials.filter(replaced=False), self.at)
        return self.answer(unpaginated(credentials))

    def create(self, request: Request, id: UUID) -> Response:
        """File a credential; the previous one of the same type is marked as replaced."""
        details = self.body()
        credential = credentials.file(
            subject=self.subject,
            subject_id=id,
            type=details.pop("type"),
            details=details,
            by=self.principal,
            at=self.at,
        )
        today = self.at.astimezone(ZoneInfo(self._owner(id).provider.timezone)).date()
        return self.answer(queries.credential_shown(credential, today))

    def _owner(self, owner_id: UUID) -> Driver | Vehicle:
        kind: type[Driver] | type[Vehicle] = Driver if self.subject is Subject.DRIVER else Vehicle
        owner = kind.objects.visible_to(self.principal).select_related("provider").filter(pk=owner_id).first()
        if owner is None:
            raise NotFound(_("driver") if self.subject is Subject.DRIVER else _("vehicle"))
        return owner


class DriverCredentialViewSet(_CredentialViewSet):
    """Credentials of a driver."""

    subject = Subject.DRIVER


class VehicleCredentialViewSet(_CredentialViewSet):
    """Credentials of a vehicle."""

    subject = Subject.VEHICLE


class CredentialReviewViewSet(ApiViewSet):
    """Reviews of credentials."""

    scopes = {"verify": Scope.DRIVERS_WRITE, "reject": Scope.DRIVERS_WRITE}
    bodies = {"reject": serializers.RejectionIn}
    refusals = {"verify": (Code.RULE_VIOLATION,)}

    def verify(self, request: Request, id: UUID) -> Response:
        """Confirm that a credential is valid; withdraws a rejection.

        The person who entered the credential cannot verify it.
        """
        credentials.verify(credential_id=id, by=self.principal, at=self.at)
        return self.answer(None)

    def reject(self, request: Request, id: UUID) -> Response:
        """Reject a credential, which makes it invalid immediately."""
        credentials.reject(credential_id=id, reason=self.body()["reason"], by=self.principal, at=self.at)
        return self.answer(None)


class ShiftQuery(PageQuery):
    driver_id = fields.Uuid(required=False)
    vehicle_id = fields.Uuid(required=False)
    status = fields.Choice(choices=Shift.Status.choices, required=False)
    ends_after = fields.Instant(required=False)
    starts_before = fields.Instant(required=False)


class ShiftViewSet(ApiViewSet):
    """Shifts: periods in which a driver drives a vehicle."""

    scopes = {
        "list": Scope.DRIVERS_READ,
        "create": Scope.DRIVERS_WRITE,
        "retrieve": Scope.DRIVERS_READ,
        "partial_update": Scope.DRIVERS_WRITE,
    }
    queries = {"list": ShiftQuery}
    bodies = {"create": serializers.ShiftIn, "partial_update": serializers.ShiftChangesIn}
    answers = dict.fromkeys(scopes, serializers.ShiftOut)
    refusals = {
        "create": (Code.ASSIGNMENT_CONFLICT,),
        "partial_update": (Code.ASSIGNMENT_CONFLICT, Code.PRECONDITION_FAILED, Code.RULE_VIOLATION),
    }

    def list(self, request: Request) -> Response:
        """List shifts, earliest first; `endsAfter` and `startsBefore` limit the period."""
        rows = Shift.objects.visible_to(self.principal)
        filter_names = ("driver_id", "vehicle_id", "status")
        filters: dict[str, Any] = {name: self.query[name] for name in filter_names if name in self.query}
        if "ends_after" in self.query:
            filters["ends_at__gt"] = self.query["ends_after"]
        if "starts_before" in self.query:
            filters["starts_at__lt"] = self.query["starts_before"]
        return self.answer_page(self.page(rows.filter(**filters), sort="starts_at"))

    def create(self, request: Request) -> Response:
        """Plan a shift; it cannot overlap another shift of the driver or of the vehicle."""
        shift = shifts.plan(**self.body(), by=self.principal, at=self.at)
        return self.answer(shift, version=shift.version, headers={"Location": f"/api/shifts/{shift.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read a shift."""
        shift = Shift.objects.visible_to(self.principal).filter(pk=id).first()
        if shift is None:
            raise NotFound(_("shift"))
        return self.answer(shift, version=shift.version)

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change the times, the driver or the vehicle of a shift, or cancel it."""
        shift = shifts.amend(
            shift_id=id,
            changes=self.body(),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self.answer(shift, version=shift.version)
