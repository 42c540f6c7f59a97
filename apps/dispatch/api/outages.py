"""A vehicle is down: the outage, the rides that go on with another vehicle, and those that wait for a driver."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.dispatch.api.absences import FreedRideOut, RestoredShiftOut, freed_rides
from apps.dispatch.queries.spare_vehicles import first_choices, vehicle_crews
from apps.dispatch.services import vehicle_down
from apps.fleet.models import OutageReason, Vehicle
from lib.api import fields
from lib.api.query import Query
from lib.api.serializers import In, OutShape
from lib.api.views import ApiViewSet
from lib.errors import Code, NotFound
from lib.scopes import Scope


class OtherVehicleIn(In):
    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()


class OutageIn(In):
    example = {"to": "2026-11-25T22:00:00Z", "reason": "breakdown", "note": "Lift does not close."}

    from_ = fields.Instant(required=False, help_text="Now if left out; up to 24 hours ago.")
    to = fields.Instant(
        required=False,
        help_text="Until then, shifts and rides get other vehicles: 14 hours from now if left out, up to 31 days after"
        " `from`. The vehicle stays out of service until you delete the outage or change its status.",
    )
    reason = fields.Choice(choices=OutageReason.choices)
    note = fields.Text(max_length=100, allow_blank=True, default="")
    other_vehicles = OtherVehicleIn(
        many=True,
        required=False,
        help_text="Other vehicles by driver; a driver who is not listed loses the rides. If left out, each driver gets"
        " the first free vehicle of the provider that fits every ride.",
    )


class MovedRideOut(OutShape):
    """A ride that keeps its driver, with another vehicle."""

    ride_id = fields.Uuid()
    vehicle_id = fields.Uuid()


class OutageOut(OutShape):
    """An outage and its consequences, rides in order of their pickup.

    `movedRides` have another vehicle, `freedRides` wait for a driver, and `handoverRideIds` are under way with the
    vehicle: these rides are unchanged.
    """

    id = fields.Uuid(source="outage.pk")
    from_ = fields.Instant(source="outage.starts_at")
    to = fields.Instant(source="outage.ends_at")
    reason = fields.Choice(choices=OutageReason.choices, source="outage.reason")
    moved_rides = MovedRideOut(many=True)
    freed_rides = FreedRideOut(many=True)
    handover_ride_ids = fields.List(child=fields.Uuid())


class UndoQuery(Query):
    without_rides = fields.Boolean(
        default=False,
        help_text="Put the vehicle back in any case: rides stay as they are, and so do shifts that cannot be given"
        " back.",
    )


class OutageUndoneOut(OutShape):
    """The shifts and rides that have the vehicle again, rides in order of their pickup."""

    shifts = RestoredShiftOut(many=True)
    ride_ids = fields.List(child=fields.Uuid())


class OutageViewSet(ApiViewSet):
    """Outages of vehicles: breakdown, accident, maintenance."""

    scopes = {"create": Scope.ASSIGNMENTS_WRITE, "destroy": Scope.ASSIGNMENTS_WRITE}
    queries = {"destroy": UndoQuery}
    bodies = {"create": OutageIn}
    answers = {"create": OutageOut, "destroy": OutageUndoneOut}
    refusals = {
        "create": (Code.ASSIGNMENT_CONFLICT, Code.ASSIGNMENT_REJECTED, Code.RESOURCE_BUSY),
        "destroy": (Code.ASSIGNMENT_CONFLICT, Code.ASSIGNMENT_REJECTED, Code.RULE_VIOLATION),
    }

    def create(self, request: Request, id: UUID) -> Response:
        """Report a vehicle down: its drivers get other vehicles, and rides without one wait for a driver."""
        body = self.body()
        down = vehicle_down.report(
            vehicle_id=id,
            starts_at=body.get("from_"),
            ends_at=body.get("to"),
            reason=body["reason"],
            note=body["note"],
            replacements=self._other_vehicles(id, body.get("other_vehicles"), body.get("to")),
            by=self.principal,
            at=self.at,
        )
        return self.answer(
            {
                "outage": down.outage,
                "moved_rides": [{"ride_id": ride_id, "vehicle_id": other} for ride_id, other in down.moved.items()],
                "freed_rides": freed_rides(down.freed_ids, down.best, down.unplaced),
                "handover_ride_ids": down.handover_ids,
            }
        )

    def destroy(self, request: Request, id: UUID, outage_id: UUID) -> Response:
        """Undo an outage: the vehicle is in service with its shifts and rides, unless one of these has changed."""
        undone = vehicle_down.undo(
            vehicle_id=id,
            outage_id=outage_id,
            without_rides=self.query["without_rides"],
            by=self.principal,
            at=self.at,
        )
        return self.answer(undone)

    def _other_vehicles(
        self, vehicle_id: UUID, chosen: list[Mapping[str, Any]] | None, until: datetime | None
    ) -> Mapping[UUID, UUID]:
        if chosen is not None:
            return {row["driver_id"]: row["vehicle_id"] for row in chosen}
        vehicle = Vehicle.objects.visible_to(self.principal).filter(pk=vehicle_id).first()
        if vehicle is None:
            raise NotFound(_("vehicle"))
        return first_choices(vehicle_crews(vehicle, until=until, by=self.principal, at=self.at))
