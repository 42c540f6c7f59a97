"""API of calendar shifts: days that a facility moves or closes."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.views import AuditedReads
from apps.organizations.schemas.calendar_shifts import CalendarShiftOut
from apps.recurring.api.bodies import CalendarShiftIn, shift_of
from apps.recurring.queries import orders
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.rules.recurrence import Occurrence
from apps.recurring.services import calendar_shifts
from apps.recurring.services.calendar_shifts import ShiftPreview
from apps.rides.queries import named_rides
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import OutShape
from lib.api.unpaginated import WholePageOut, unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope


class FacilityShiftOut(CalendarShiftOut):
    """A day of a facility's calendar that moves; `toDate` null: no service that day.

    It affects rides from `appliedAt` until `undoneAt`.
    """

    facility_id = fields.Uuid()

    class Meta(CalendarShiftOut.Meta):
        fields = ("facility_id", *CalendarShiftOut.Meta.fields, "created_by", "created_at")  # type: ignore[assignment]  # a longer one


class MovedDayOut(OutShape):
    """A day of one rider before or after a shift.  `returnTime` is null without a return."""

    service_date = fields.LocalDate()
    pickup_time = fields.Instant()
    chair_time = fields.Instant()
    return_time = fields.Instant(allow_null=True)
    moved_by_clock_change = fields.Boolean()


class CalendarShiftPreviewOut(OutShape):
    """The effect of a shift on one standing order.

    `after` is null if the day closes.  `hasConflict`: another ride of the rider is at the new time;
    `conflictingRideId` names it if the caller may see it.  `unavailableDrivers` are assigned to rides of the day and
    have no shift at the new time.
    """

    standing_order_id = fields.Uuid()
    rider_id = fields.Uuid()
    ride_ids = fields.List(child=fields.Uuid())
    before = MovedDayOut()
    after = MovedDayOut(allow_null=True)
    has_conflict = fields.Boolean()
    conflicting_ride_id = fields.Uuid(allow_null=True)
    has_phone = fields.Boolean()
    unavailable_drivers = fields.List(child=fields.Uuid())


class PreviewOut(OutShape):
    """The effects of a shift, by pickup time."""

    data = CalendarShiftPreviewOut(many=True)  # type: ignore[assignment]  # the field of the contract hides Serializer.data
    page = WholePageOut()


class FacilityShiftViewSet(ApiViewSet):
    """Calendar shifts of one facility."""

    scopes = {"list": Scope.RIDES_READ, "create": Scope.SCHEDULES_WRITE}
    queries = {"list": PageQuery}
    bodies = {"create": CalendarShiftIn}
    answers = dict.fromkeys(scopes, FacilityShiftOut)
    refusals = {"create": (Code.FORBIDDEN,)}

    def list(self, request: Request, id: UUID) -> Response:
        """List the calendar shifts of a facility, latest day first."""
        return self.answer_page(self.page(orders.calendar_shifts_of(id, self.principal), sort="-from_date"))

    def create(self, request: Request, id: UUID) -> Response:
        """Enter a calendar shift: a day that moves, as in a holiday week, or closes.

        It has no effect until it is applied; get the preview first.  A day can be moved only once, and not to a day
        that is itself moved, or to which another day is moved.
        """
        draft = shift_of(self.body())
        shift = calendar_shifts.enter(facility_id=id, draft=draft, by=self.principal, at=self.at)
        return self.answer(shift, headers={"Location": f"/api/calendar-shifts/{shift.pk}"})


class CalendarShiftViewSet(AuditedReads, ApiViewSet):
    """Calendar shifts."""

    scopes = {
        "retrieve": Scope.RIDES_READ,
        "preview": Scope.RIDES_READ,
        "apply": Scope.SCHEDULES_WRITE,
        "undo": Scope.SCHEDULES_WRITE,
    }
    answers = {
        "retrieve": FacilityShiftOut,
        "preview": PreviewOut,
        "apply": FacilityShiftOut,
        "undo": FacilityShiftOut,
    }
    refusals = dict.fromkeys(("apply", "undo"), (Code.RULE_VIOLATION,))

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Show a calendar shift."""
        return self.answer(orders.calendar_shift(id, self.principal))

    def preview(self, request: Request, id: UUID) -> Response:
        """List the effects of a calendar shift on standing orders, and their conflicts."""
        previews = calendar_shifts.preview(shift_id=id, by=self.principal, at=self.at)
        self.record_read(
            "calendar_shifts.preview",
            subject_type="calendar_shift",
            subject_id=id,
            rider_ids=[preview.order.rider_id for preview in previews],
        )
        reached = named_rides.in_reach([preview.conflicting_ride_id for preview in previews], self.principal)
        return self.answer(unpaginated([_preview(preview, reached) for preview in previews]))

    def apply(self, request: Request, id: UUID) -> Response:
        """Apply a calendar shift; its rides move within seconds."""
        return self.answer(calendar_shifts.apply(shift_id=id, by=self.principal, at=self.at))

    def undo(self, request: Request, id: UUID) -> Response:
        """Undo a calendar shift whose days have not begun.

        Rides move back.  A shift that was never applied is deleted.
        """
        return self.answer(calendar_shifts.undo(shift_id=id, by=self.principal, at=self.at))


def _preview(preview: ShiftPreview, reached: set[UUID]) -> dict[str, Any]:
    return {
        "standing_order_id": preview.order.pk,
        "rider_id": preview.order.rider_id,
        "ride_ids": preview.ride_ids,
        "before": _day(preview.before, preview.legs),
        "after": _day(preview.after, preview.legs) if preview.after else None,
        "has_conflict": preview.conflicting_ride_id is not None,
        "conflicting_ride_id": preview.conflicting_ride_id if preview.conflicting_ride_id in reached else None,
        "has_phone": preview.has_phone,
        "unavailable_drivers": preview.unavailable_driver_ids,
    }


def _day(day: Occurrence, legs: Sequence[Leg]) -> dict[str, Any]:
    return {
        "service_date": day.service_date,
        "pickup_time": day.pickup_at,
        "chair_time": day.chair_at,
        "return_time": day.return_at if Leg.RETURN in legs else None,
        "moved_by_clock_change": day.moved_by_clock_change,
    }
