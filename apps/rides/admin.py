"""Look-ups of what happens on the road: all read-only, since only services may move a ride."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from apps.rides import labels
from apps.rides.models import Assignment, Milestone, ReasonCode, Ride, RideException, Trip
from apps.rides.rules.disclosure import disclosure_of
from lib import dates, zone_labels
from lib.access import Phi, Principal
from lib.admin import ReadOnlyInline, Rows, ScopedAdmin
from lib.admin_names import Words
from lib.local_time import local_time

_OF_MILESTONES: Final[Words] = {"type": labels.MOMENTS, "source": labels.SOURCES}
_OF_EXCEPTIONS: Final[Words] = {
    "resolution_code": labels.CODES,
}


def _address(stop: dict[str, Any]) -> str:
    return ", ".join(filter(None, (stop.get(key) for key in ("name", "addressLine1", "unit", "city", "state"))))


class AssignmentInline(ReadOnlyInline[Assignment, Ride]):
    model = Assignment
    fields = ("sequence", "status", "method", "driver", "vehicle", "offered_at", "ended_at", "end_reason")
    ordering = ("offered_at", "id")


class MilestoneInline(ReadOnlyInline[Milestone, Ride]):
    model = Milestone
    words = _OF_MILESTONES
    fields = ("type", "occurred_at", "recorded_at", "source", "actor", "voided")
    ordering = ("occurred_at", "id")


class RideExceptionInline(ReadOnlyInline[RideException, Ride]):
    model = RideException
    words = _OF_EXCEPTIONS
    fields = ("type", "severity", "status", "opened_at", "resolved_at", "resolution_code")
    ordering = ("opened_at", "id")


@admin.register(Ride)
class RideAdmin(ScopedAdmin[Ride]):
    read_only = True
    subject_type = "ride"
    words: ClassVar[Words] = {"status": labels.STORED_STATUSES}
    list_display = ("pickup_time", "status", "service_type", "facility", "driver_name", "open_exception_count")
    list_filter = ("status", "service_type", "will_call", "priority")
    list_select_related = ("facility", "driver")
    ordering = ("-pickup_at", "-id")
    search_fields = ("id__exact", "client_reference")
    search_placeholder = _("Ride id or reference")
    linked_filters = ("pickup_at",)
    inlines = (AssignmentInline, MilestoneInline, RideExceptionInline)
    needs_phi = {
        "rider": Phi.LIMITED,
        "client_reference": Phi.LIMITED,
        "from_": Phi.FULL,
        "to": Phi.FULL,
        "mobility": Phi.FULL,
        "driver_notes": Phi.FULL,
        "dispatcher_notes": Phi.FULL,
        "facility_notes": Phi.FULL,
        "end_note": Phi.FULL,
        "ending_note": Phi.FULL,
    }
    fieldsets = (
        (None, {"fields": ("status", "rider", "facility", "service_type", "priority", "leg_type", "trip")}),
        (_("When"), {"fields": ("pickup_time", "appointment_time", "service_date", "zone_name", "will_call")}),
        (_("Where"), {"fields": ("from_", "to", "mobility")}),
        (_("Who drives"), {"fields": ("provider", "driver_name", "vehicle")}),
        (_("Notes"), {"fields": ("driver_notes", "dispatcher_notes", "facility_notes")}),
        (_("Ending"), {"fields": ("reason_code", "fault", "cancellation_timing", "ended_by", "ending_note")}),
        (_("Record"), {"fields": ("client", "client_reference", "version", "created_at", "updated_at")}),
    )

    def permitted(self, names: Iterable[Any], request: HttpRequest) -> list[Any]:
        """Keep dispatchers' notes among dispatchers, as the API does."""
        permitted = super().permitted(names, request)
        if disclosure_of(self.site.principal_of(request)).dispatcher_notes:
            return permitted
        return [name for name in permitted if name != "dispatcher_notes"]

    def rider_ids_of(self, row: Ride) -> Iterable[UUID]:
        return (row.rider_id,)

    def name_of(self, row: Ride, request: HttpRequest) -> str:
        pickup = local_time(row.pickup_at, row.timezone)
        return format_html("{}, {}", pickup, row.facility.name) if row.facility else pickup

    @admin.display(description=_("Pickup"), ordering="pickup_at")
    def pickup_time(self, ride: Ride) -> str:
        return local_time(ride.pickup_at, ride.timezone)

    @admin.display(description=_("Appointment"))
    def appointment_time(self, ride: Ride) -> str:
        return local_time(ride.appointment_at, ride.timezone) or "-"

    @admin.display(description=_("Time zone"))
    def zone_name(self, ride: Ride) -> str:
        return zone_labels.long_name(ride.timezone)

    @admin.display(description=_("Driver"))
    def driver_name(self, ride: Ride) -> str:
        """Name the driver by first name, which is all that planners need."""
        return ride.driver.first_name if ride.driver else "-"

    @admin.display(description=_("end note"))
    def ending_note(self, ride: Ride) -> str:
        return str(labels.note_text(ride.end_note))

    @admin.display(description=_("From"))
    def from_(self, ride: Ride) -> str:
        return _address(ride.pickup)

    @admin.display(description=_("To"))
    def to(self, ride: Ride) -> str:
        return _address(ride.dropoff)

    @admin.display(description=_("Mobility"))
    def mobility(self, ride: Ride) -> str:
        return capfirst(str(ride.accommodation.get("mobility", "")).replace("_", " "))


class OfRideAdmin(ScopedAdmin[Any]):
    """Rows that hang on a ride and lie in scope when it does."""

    read_only = True

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        return rows.filter(ride__in=Ride.objects.visible_to(principal))

    def rider_ids_of(self, row: Any) -> Iterable[UUID]:
        return (row.ride.rider_id,)


@admin.register(Trip)
class TripAdmin(ScopedAdmin[Trip]):
    read_only = True
    subject_type = "trip"
    list_display = ("service_date", "rider", "created_at")
    list_filter = ()
    list_select_related = ("rider",)
    ordering = ("-service_date", "-id")
    fields = ("service_date", "rider", "created_at")

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """Trips with a leg in scope."""
        return rows.filter(pk__in=Ride.objects.visible_to(principal).filter(trip__isnull=False).values("trip_id"))

    def rider_ids_of(self, row: Trip) -> Iterable[UUID]:
        return (row.rider_id,)

    def name_of(self, row: Trip, request: HttpRequest) -> str:
        return dates.plain_day(row.service_date)


@admin.register(Assignment)
class AssignmentAdmin(OfRideAdmin):
    subject_type = "assignment"
    list_display = ("offered_at", "ride", "sequence", "driver", "vehicle", "status", "method")
    list_filter = ("status", "method")
    list_select_related = ("ride__facility", "driver", "vehicle")
    needs_phi = {"decline_reason": Phi.FULL, "override_reason": Phi.FULL}
    ordering = ("-offered_at", "-id")
    fields = (
        "ride",
        "sequence",
        "provider",
        ("driver", "vehicle"),
        ("status", "method"),
        ("offered_at", "respond_by", "responded_at"),
        "decline_reason",
        "assigned_by",
        "overridden",
        "override_reason",
        ("started_at", "ended_at", "end_reason"),
    )


@admin.register(Milestone)
class MilestoneAdmin(OfRideAdmin):
    subject_type = "milestone"
    words = _OF_MILESTONES
    list_display = ("recorded_at", "type", "ride", "occurred_at", "source", "voided")
    list_filter = ("type", "source", "voided")
    list_select_related = ("ride__facility",)
    ordering = ("-recorded_at", "-id")
    needs_phi = {"note": Phi.FULL}
    fields = ("ride", "type", "occurred_at", "recorded_at", "source", "actor", "edited", "voided", "note")


@admin.register(RideException)
class RideExceptionAdmin(ScopedAdmin[RideException]):
    read_only = True
    subject_type = "exception"
    words = _OF_EXCEPTIONS
    list_display = ("opened_at", "type", "severity", "status", "ride")
    list_display_links = ("opened_at", "type")
    list_filter = ("status", "severity", "type")
    list_select_related = ("ride__facility",)
    ordering = ("-opened_at", "-id")
    needs_phi = {"note": Phi.FULL, "resolution_note": Phi.FULL, "closing_note": Phi.FULL}
    fields = (
        ("ride", "standing_order_id"),
        "facility",
        ("type", "severity", "status"),
        ("opened_at", "opened_by", "detected_by"),
        "due_at",
        "owner",
        "note",
        ("acknowledged_at", "acknowledged_by"),
        ("resolved_at", "resolved_by", "resolution_code"),
        "closing_note",
    )

    @admin.display(description=_("resolution note"))
    def closing_note(self, row: RideException) -> str:
        return str(labels.note_text(row.resolution_note))

    def rider_ids_of(self, row: RideException) -> Iterable[UUID]:
        return (row.rider_id,)


@admin.register(ReasonCode)
class ReasonCodeAdmin(ScopedAdmin[ReasonCode]):
    subject_type = "reason_code"
    list_display = ("code", "label", "reason_list", "parent_code", "active")
    list_filter = ("reason_list", "active")
    list_select_related = ()
    ordering = ("reason_list", "code")

    def get_readonly_fields(self, request: HttpRequest, obj: ReasonCode | None = None) -> list[Any]:
        """Let a code that is there count as what it has counted as: figures of rides that bear it follow from that."""
        fixed = () if obj is None else ("reason_list", "code", "parent_code")
        return [*super().get_readonly_fields(request, obj), *fixed]

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """The operator's own codes, the same for everybody."""
        return rows
