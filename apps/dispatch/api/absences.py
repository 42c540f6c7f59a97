"""A driver is out: the absence, the rides it frees, and who can take them."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.dispatch.rules.suggesting import Suggestion, UnplacedRide, most_frequent
from apps.dispatch.services import driver_out
from apps.fleet.models import AbsenceReason, Shift
from apps.fleet.services.absences import ShiftEffect
from apps.rides.rules.eligibility import ViolationCode
from apps.rides.schemas.driver_reasons import ReasonOut
from apps.rides.services import driver_absence
from lib.api import fields
from lib.api.query import Query
from lib.api.serializers import In, OutShape
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope


class AbsenceIn(In):
    example = {"from": "2026-11-25T16:30:00Z", "reason": "sick", "note": "Called in at 10:30."}

    from_ = fields.Instant(required=False, help_text="Now if left out; up to 24 hours ago.")
    reason = fields.Choice(choices=AbsenceReason.choices)
    to = fields.Instant(
        required=False,
        help_text="The end of the service day (04:00 in the zone of the provider), or of a shift across it, if left"
        " out; up to 31 days after `from`.",
    )
    note = fields.Text(max_length=100, allow_blank=True, default="")


class AbsentShiftOut(OutShape):
    """A shift as the absence left it; a removed one has its former times."""

    id = fields.Uuid(source="shift.pk")
    effect = fields.Choice(choices=list(ShiftEffect))
    starts_at = fields.Instant(source="shift.starts_at")
    ends_at = fields.Instant(source="shift.ends_at")


class ReplacementOut(OutShape):
    """A driver who can take the ride without breaking a rule, predicted as a candidate is."""

    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()
    late_minutes = fields.Integer(allow_null=True)
    added_drive_minutes = fields.Number(allow_null=True)
    reasons = ReasonOut(many=True)


class ConflictCountOut(OutShape):
    """A rule, and the number of drivers whom it excludes first."""

    code = fields.Choice(choices=list(ViolationCode))
    drivers = fields.Integer()


class FreedRideOut(OutShape):
    """A ride that waits for a driver; without `best`, `conflicts` say why nobody fits, most frequent first."""

    ride_id = fields.Uuid()
    best = ReplacementOut(allow_null=True)
    conflicts = ConflictCountOut(many=True)


class AbsenceOut(OutShape):
    """An absence and its consequences, rides in order of their pickup.

    `freedRides` wait for a driver; `best` is null if every driver violates a rule.  The driver is under way, or has the
    rider on board, on `handoverRideIds`, and was to attend `attendedRideIds`: these rides are unchanged.  The offers of
    `withdrawnOfferRideIds` to the driver have ended.
    """

    id = fields.Uuid(source="reported.leave.pk")
    from_ = fields.Instant(source="reported.leave.starts_at")
    to = fields.Instant(source="reported.leave.ends_at")
    reason = fields.Choice(choices=AbsenceReason.choices, source="reported.leave.absence")
    shifts = AbsentShiftOut(many=True, source="reported.shifts")
    freed_rides = FreedRideOut(many=True)
    handover_ride_ids = fields.List(child=fields.Uuid(), source="reported.handover_ids")
    attended_ride_ids = fields.List(child=fields.Uuid(), source="reported.attended_ids")
    withdrawn_offer_ride_ids = fields.List(child=fields.Uuid(), source="reported.withdrawn_ids")


class UndoQuery(Query):
    without_rides = fields.Boolean(
        default=False,
        help_text="End the absence in any case: freed rides stay as they are, and so do shifts that cannot be given"
        " back.",
    )


class RestoredShiftOut(OutShape):
    id = fields.Uuid(source="pk")
    status = fields.Choice(choices=Shift.Status.choices)
    starts_at = fields.Instant()
    ends_at = fields.Instant()


class AbsenceUndoneOut(OutShape):
    """What the driver has again, rides in order of their pickup."""

    shifts = RestoredShiftOut(many=True)
    ride_ids = fields.List(child=fields.Uuid())


class AbsenceViewSet(ApiViewSet):
    """Absences of drivers: sick, no-show, left early."""

    scopes = {"create": Scope.ASSIGNMENTS_WRITE, "destroy": Scope.ASSIGNMENTS_WRITE}
    queries = {"destroy": UndoQuery}
    bodies = {"create": AbsenceIn}
    answers = {"create": AbsenceOut, "destroy": AbsenceUndoneOut}
    refusals = {
        "create": (Code.ASSIGNMENT_CONFLICT, Code.RESOURCE_BUSY),
        "destroy": (Code.ASSIGNMENT_CONFLICT, Code.ASSIGNMENT_REJECTED, Code.RULE_VIOLATION),
    }

    def create(self, request: Request, id: UUID) -> Response:
        """Report a driver out: ends their shifts and frees the rides on which they have not departed."""
        body = self.body()
        out = driver_out.report(
            driver_id=id,
            starts_at=body.get("from_"),
            ends_at=body.get("to"),
            reason=body["reason"],
            note=body["note"],
            by=self.principal,
            at=self.at,
        )
        freed = freed_rides(out.reported.freed_ids, out.best, out.unplaced)
        return self.answer({"reported": out.reported, "freed_rides": freed})

    def destroy(self, request: Request, id: UUID, absence_id: UUID) -> Response:
        """Undo an absence: gives the shifts and the freed rides back, unless one of these has changed since."""
        undone = driver_absence.undo(
            driver_id=id,
            absence_id=absence_id,
            without_rides=self.query["without_rides"],
            by=self.principal,
            at=self.at,
        )
        return self.answer(undone)


def freed_rides(
    ride_ids: Iterable[UUID], best: Mapping[UUID, Suggestion], unplaced: Mapping[UUID, UnplacedRide]
) -> list[dict[str, Any]]:
    """Return what `FreedRideOut` shows of rides, in the order of `ride_ids`."""
    return [
        {
            "ride_id": ride_id,
            "best": best.get(ride_id),
            "conflicts": [
                {"code": code, "drivers": count}
                for code, count in most_frequent(unplaced[ride_id].against if ride_id in unplaced else {})
            ],
        }
        for ride_id in ride_ids
    ]
