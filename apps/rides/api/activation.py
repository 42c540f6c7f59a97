"""Taking drivers and vehicles on and off the road, and what it does to rides."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.fleet.models import Activation, VehicleStatus
from apps.rides.services import fleet_changes
from lib.api import fields
from lib.api.serializers import In, OutShape
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope


class ActivationIn(In):
    activation = fields.Choice(choices=[Activation.ACTIVE, Activation.SUSPENDED, Activation.INACTIVE])
    reason = fields.Text(max_length=200, allow_blank=True, default="", help_text="Required to suspend.")
    release_future_rides = fields.Boolean(
        default=False, help_text="Take the driver off every ride on which they have not set out."
    )


class ActivationOut(OutShape):
    """A driver's state, and the assigned rides that the change affects, soonest first."""

    driver_id = fields.Uuid(source="driver.pk")
    activation = fields.Choice(choices=Activation.choices, source="driver.activation")
    reason = fields.Text(source="driver.activation_reason")
    changed_at = fields.Instant(source="driver.activation_changed_at", allow_null=True)
    changed_by = fields.Text(source="driver.activation_changed_by")
    version = fields.Integer(source="driver.version")
    affected_ride_ids = fields.List(child=fields.Uuid())
    released_ride_ids = fields.List(child=fields.Uuid())


class ActivationViewSet(ApiViewSet):
    """Activation of drivers."""

    scopes = {"activation": Scope.DRIVERS_WRITE}
    bodies = {"activation": ActivationIn}
    answers = {"activation": ActivationOut}
    refusals = {"activation": (Code.CREDENTIALS_MISSING, Code.RESOURCE_BUSY, Code.PRECONDITION_FAILED)}

    def activation(self, request: Request, id: UUID) -> Response:
        """Activate, suspend or retire a driver; the answer lists the rides this touches."""
        body = self.body()
        changed = fleet_changes.change_activation(
            driver_id=id,
            to=body["activation"],
            reason=body["reason"],
            release_future_rides=body["release_future_rides"],
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self.answer(changed, version=changed.driver.version)


class VehicleStatusIn(In):
    status = fields.Choice(choices=VehicleStatus.choices)
    reason = fields.Text(max_length=200, allow_blank=True, default="")


class VehicleStatusOut(OutShape):
    """A vehicle's status, and the rides that it was to drive, soonest first."""

    vehicle_id = fields.Uuid(source="vehicle.pk")
    status = fields.Choice(choices=VehicleStatus.choices, source="vehicle.status")
    version = fields.Integer(source="vehicle.version")
    affected_ride_ids = fields.List(child=fields.Uuid())


class VehicleStatusViewSet(ApiViewSet):
    """Status of vehicles."""

    scopes = {"status_change": Scope.DRIVERS_WRITE}
    bodies = {"status_change": VehicleStatusIn}
    answers = {"status_change": VehicleStatusOut}
    refusals = {"status_change": (Code.PRECONDITION_FAILED,)}

    def status_change(self, request: Request, id: UUID) -> Response:
        """Put a vehicle in or out of service; the answer lists the rides this touches."""
        body = self.body()
        changed = fleet_changes.change_vehicle_status(
            vehicle_id=id,
            to=body["status"],
            reason=body["reason"],
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self.answer(changed, version=changed.vehicle.version)
