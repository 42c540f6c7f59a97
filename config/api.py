"""The routes of the API."""

from typing import Any, Final

from django.urls import URLPattern, URLResolver, path

from apps.accounts.api import idempotency, permissions
from apps.accounts.api.views import TokenViewSet
from apps.dispatch.api.absences import AbsenceViewSet
from apps.dispatch.api.outages import OutageViewSet
from apps.events.api.views import EventViewSet
from apps.exports.api.destination_views import DestinationViewSet
from apps.exports.api.export_views import ExportViewSet
from apps.exports.api.schedule_views import ScheduleViewSet
from apps.fleet.api.views import (
    CredentialReviewViewSet,
    DriverCredentialViewSet,
    DriverViewSet,
    PositionViewSet,
    ShiftViewSet,
    VehicleCredentialViewSet,
    VehicleViewSet,
)
from apps.organizations.api.views import FacilityViewSet
from apps.recurring.api.shifts import CalendarShiftViewSet, FacilityShiftViewSet
from apps.recurring.api.views import OccurrenceViewSet, RiderOrderViewSet, StandingOrderViewSet
from apps.reporting.api.views import ReportViewSet
from apps.riders.api.views import RiderViewSet
from apps.rides.api.accommodation import RiderAccommodationViewSet
from apps.rides.api.activation import ActivationViewSet, VehicleStatusViewSet
from apps.rides.api.assignment import AssignmentViewSet
from apps.rides.api.exceptions import RideExceptionViewSet
from apps.rides.api.trips import TripViewSet
from apps.rides.api.views import RideViewSet
from apps.webhooks.api.views import (
    DeliveryViewSet,
    EndpointViewSet,
    EventTypeViewSet,
    RecoveryViewSet,
    SigningKeyViewSet,
)
from lib.api.document import DocumentViewSet
from lib.api.health import HealthViewSet
from lib.api.views import ApiViewSet, Guard

# A POST runs at most once per Idempotency-Key, and every denial is recorded.
GUARD: Final = Guard(once=idempotency.once, record_denial=permissions.record_denial)


def _route(
    route: str, view: type[ApiViewSet], actions: dict[str, Any], name: str | None = None, **arguments: Any
) -> URLPattern:
    return path(route, view.as_view(actions, guard=GUARD, **arguments), name=name)


_LIST: dict[str, Any] = {"get": "list", "post": "create"}
_ONE: dict[str, Any] = {"get": "retrieve", "patch": "partial_update"}

organizations = [
    _route("facilities", FacilityViewSet, {"get": "list", "post": "create"}),
    _route("facilities/<uuid:id>", FacilityViewSet, {"get": "retrieve", "patch": "partial_update"}),
]

fleet = [
    _route("drivers", DriverViewSet, _LIST),
    _route("drivers/positions", PositionViewSet, {"post": "positions"}),
    _route("drivers/<uuid:id>", DriverViewSet, _ONE),
    _route("drivers/<uuid:id>/activation", ActivationViewSet, {"post": "activation"}),
    _route("drivers/<uuid:id>/absences", AbsenceViewSet, {"post": "create"}),
    _route("drivers/<uuid:id>/absences/<uuid:absence_id>", AbsenceViewSet, {"delete": "destroy"}),
    _route("drivers/<uuid:id>/credentials", DriverCredentialViewSet, _LIST),
    _route("vehicles", VehicleViewSet, _LIST),
    _route("vehicles/<uuid:id>", VehicleViewSet, _ONE),
    _route("vehicles/<uuid:id>/status", VehicleStatusViewSet, {"post": "status_change"}),
    _route("vehicles/<uuid:id>/outages", OutageViewSet, {"post": "create"}),
    _route("vehicles/<uuid:id>/outages/<uuid:outage_id>", OutageViewSet, {"delete": "destroy"}),
    _route("vehicles/<uuid:id>/credentials", VehicleCredentialViewSet, _LIST),
    _route("credentials/<uuid:id>/verify", CredentialReviewViewSet, {"post": "verify"}),
    _route("credentials/<uuid:id>/reject", CredentialReviewViewSet, {"post": "reject"}),
    _route("shifts", ShiftViewSet, _LIST),
    _route("shifts/<uuid:id>", ShiftViewSet, _ONE),
]

assignment = [
    _route("rides/<uuid:id>/assignment", AssignmentViewSet, {"put": "update", "delete": "destroy"}),
    _route("rides/<uuid:id>/handover", AssignmentViewSet, {"post": "handover"}),
    _route("rides/<uuid:id>/assignment/accept", AssignmentViewSet, {"post": "accept"}),
    _route("rides/<uuid:id>/assignment/decline", AssignmentViewSet, {"post": "decline"}),
    _route("rides/<uuid:id>/candidates", AssignmentViewSet, {"get": "candidates"}),
]

events = [
    _route("events", EventViewSet, {"get": "list"}),
    _route("events/<uuid:id>", EventViewSet, {"get": "retrieve"}),
]

accounts = [
    _route("tokens", TokenViewSet, {"get": "list", "post": "create"}),
    _route("tokens/self", TokenViewSet, {"get": "own"}),
    _route("tokens/<uuid:id>/rotate", TokenViewSet, {"post": "rotate"}),
    _route("tokens/<uuid:id>/revoke", TokenViewSet, {"post": "revoke"}),
]

riders = [
    _route("riders", RiderViewSet, {"get": "list", "post": "create"}),
    _route("riders/search", RiderViewSet, {"post": "search"}),
    _route("riders/<uuid:id>", RiderViewSet, {"get": "retrieve", "patch": "partial_update"}),
    _route("riders/<uuid:id>/accommodation", RiderAccommodationViewSet, {"put": "update"}),
    _route("riders/<uuid:id>/accommodation/versions", RiderViewSet, {"get": "accommodation_versions"}),
]

rides = [
    _route("rides", RideViewSet, _LIST),
    _route("rides/bulk", RideViewSet, {"post": "bulk"}),
    _route("rides/<uuid:id>", RideViewSet, _ONE),
    _route("rides/<uuid:id>/status", RideViewSet, {"post": "status_call"}),
    _route("rides/<uuid:id>/ready", RideViewSet, {"post": "ready"}),
    _route("rides/<uuid:id>/unready", RideViewSet, {"post": "unready"}),
    _route("rides/<uuid:id>/timeline", RideViewSet, {"get": "timeline"}),
    _route("rides/<uuid:id>/copy", RideViewSet, {"post": "copy"}),
    _route("rides/<uuid:id>/reinstate", RideViewSet, {"post": "reinstate"}),
    _route("trips", TripViewSet, {"post": "create"}),
    _route("trips/<uuid:id>/rides/<uuid:ride_id>", TripViewSet, {"delete": "remove_ride"}),
    _route("ride-exceptions", RideExceptionViewSet, {"get": "list"}),
    _route("ride-exceptions/<uuid:id>", RideExceptionViewSet, {"get": "retrieve"}),
    _route("ride-exceptions/<uuid:id>/acknowledge", RideExceptionViewSet, {"post": "acknowledge"}),
    _route("ride-exceptions/<uuid:id>/snooze", RideExceptionViewSet, {"post": "snooze"}),
    _route("ride-exceptions/<uuid:id>/note", RideExceptionViewSet, {"post": "write_note"}),
    _route("ride-exceptions/<uuid:id>/resolve", RideExceptionViewSet, {"post": "resolve"}),
]

_OF_ORDER = "standing-orders/<uuid:id>"
_OF_OCCURRENCE = f"{_OF_ORDER}/occurrences/<str:date>"

recurring = [
    _route("riders/<uuid:id>/standing-orders", RiderOrderViewSet, _LIST),
    _route("standing-orders", StandingOrderViewSet, {"get": "list"}),
    _route(_OF_ORDER, StandingOrderViewSet, _ONE),
    _route(f"{_OF_ORDER}/hold", StandingOrderViewSet, {"post": "hold"}),
    _route(f"{_OF_ORDER}/resume", StandingOrderViewSet, {"post": "resume"}),
    _route(f"{_OF_ORDER}/end", StandingOrderViewSet, {"post": "end"}),
    _route(f"{_OF_ORDER}/activate", StandingOrderViewSet, {"post": "activate"}),
    _route(f"{_OF_ORDER}/occurrences", OccurrenceViewSet, {"get": "list"}),
    _route(_OF_OCCURRENCE, OccurrenceViewSet, {"patch": "partial_update"}),
    _route(f"{_OF_OCCURRENCE}/skip", OccurrenceViewSet, {"post": "skip"}),
    _route(f"{_OF_OCCURRENCE}/restore", OccurrenceViewSet, {"post": "restore"}),
    _route("facilities/<uuid:id>/calendar-shifts", FacilityShiftViewSet, _LIST),
    _route("calendar-shifts/<uuid:id>", CalendarShiftViewSet, {"get": "retrieve"}),
    _route("calendar-shifts/<uuid:id>/preview", CalendarShiftViewSet, {"get": "preview"}),
    _route("calendar-shifts/<uuid:id>/apply", CalendarShiftViewSet, {"post": "apply"}),
    _route("calendar-shifts/<uuid:id>/undo", CalendarShiftViewSet, {"post": "undo"}),
]

reporting = [
    _route("reports/daily-summary", ReportViewSet, {"get": "daily_summary"}),
    _route("reports/facility-kpis", ReportViewSet, {"get": "facility_kpis"}),
    _route("reports/trends", ReportViewSet, {"get": "trends"}),
    _route("reports/breakdown", ReportViewSet, {"get": "breakdown"}),
    _route("reports/utilization", ReportViewSet, {"get": "utilization"}),
    _route("reports/definitions", ReportViewSet, {"get": "definitions"}),
    _route("reports/rides", ReportViewSet, {"get": "rides"}),
]

exports = [
    _route("exports", ExportViewSet, _LIST),
    _route("exports/destinations", DestinationViewSet, _LIST),
    _route("exports/destinations/<uuid:id>", DestinationViewSet, {**_ONE, "delete": "destroy"}),
    _route("exports/destinations/<uuid:id>/test", DestinationViewSet, {"post": "test"}),
    _route("exports/destinations/<uuid:id>/host-keys", DestinationViewSet, {"post": "host_keys"}),
    _route("exports/datasets", ExportViewSet, {"get": "datasets"}),
    _route("exports/schedules", ScheduleViewSet, _LIST),
    _route("exports/schedules/<uuid:id>", ScheduleViewSet, {**_ONE, "delete": "destroy"}),
    _route("exports/schedules/<uuid:id>/pause", ScheduleViewSet, {"post": "pause"}),
    _route("exports/schedules/<uuid:id>/resume", ScheduleViewSet, {"post": "resume"}),
    _route("exports/schedules/<uuid:id>/run", ScheduleViewSet, {"post": "run"}),
    _route("exports/schedules/<uuid:id>/runs", ScheduleViewSet, {"get": "runs"}),
    _route("exports/<uuid:id>", ExportViewSet, {"get": "retrieve"}),
    _route("exports/<uuid:id>/cancel", ExportViewSet, {"post": "cancel"}),
    _route("exports/<uuid:id>/unlock", ExportViewSet, {"post": "unlock"}),
    _route("exports/<uuid:id>/content", ExportViewSet, {"get": "content"}),
    # No HEAD: it returns no file, but would use up the link or count as an export.
    _route("exports/files/<str:secret>", ExportViewSet, {"get": "link"}, http_method_names=["get"]),
    _route("exports/<str:file>", ExportViewSet, {"get": "at_once"}, http_method_names=["get"]),
]

webhooks = [
    _route("webhooks/endpoints", EndpointViewSet, _LIST),
    _route("webhooks/endpoints/<uuid:id>", EndpointViewSet, {**_ONE, "delete": "destroy"}),
    _route("webhooks/endpoints/<uuid:id>/pause", EndpointViewSet, {"post": "pause"}),
    _route("webhooks/endpoints/<uuid:id>/resume", EndpointViewSet, {"post": "resume"}),
    _route("webhooks/endpoints/<uuid:id>/test", EndpointViewSet, {"post": "test"}),
    _route("webhooks/endpoints/<uuid:id>/rotate-secret", EndpointViewSet, {"post": "rotate_secret"}),
    _route("webhooks/endpoints/<uuid:id>/health", EndpointViewSet, {"get": "health"}),
    _route("webhooks/endpoints/<uuid:id>/recover", RecoveryViewSet, {"post": "recover"}),
    _route("webhooks/jobs/<uuid:id>", RecoveryViewSet, {"get": "retrieve"}),
    _route("webhooks/deliveries", DeliveryViewSet, {"get": "list"}),
    _route("webhooks/deliveries/<uuid:id>", DeliveryViewSet, {"get": "retrieve"}),
    _route("webhooks/deliveries/<uuid:id>/resend", DeliveryViewSet, {"post": "resend"}),
    _route("webhooks/deliveries/<uuid:id>/cancel", DeliveryViewSet, {"post": "cancel"}),
    _route("webhooks/event-types", EventTypeViewSet, {"get": "list"}),
    _route("webhooks/event-types/<str:type>/schema", EventTypeViewSet, {"get": "schema_of"}),
    _route("webhooks/keys", SigningKeyViewSet, {"get": "list"}),
]

service = [
    _route("health/live", HealthViewSet, {"get": "live"}),
    _route("health/ready", HealthViewSet, {"get": "ready"}),
    _route("openapi.json", DocumentViewSet, {"get": "document"}, name="openapi"),
]

# Matched in this order: the busiest routes first.
urlpatterns: list[URLPattern | URLResolver] = [
    *rides,
    *assignment,
    *riders,
    *recurring,
    *fleet,
    *organizations,
    *events,
    *exports,
    *webhooks,
    *reporting,
    *accounts,
    *service,
]
