"""The API's table of contents."""

from typing import Any

from django.urls import URLPattern, URLResolver, path

from apps.accounts.api.views import TokenViewSet
from apps.events.api.views import EventViewSet
from apps.exports.api.destination_views import DestinationViewSet
from apps.exports.api.export_views import ExportViewSet
from apps.exports.api.schedule_views import ScheduleViewSet
from apps.fleet.api.views import (
    CredentialReviewViewSet,
    DriverCredentialViewSet,
    DriverViewSet,
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

_LIST: dict[str, Any] = {"get": "list", "post": "create"}
_ONE: dict[str, Any] = {"get": "retrieve", "patch": "partial_update"}

organizations = [
    path("facilities", FacilityViewSet.as_view({"get": "list", "post": "create"})),
    path("facilities/<uuid:id>", FacilityViewSet.as_view({"get": "retrieve", "patch": "partial_update"})),
]

fleet = [
    path("drivers", DriverViewSet.as_view(_LIST)),
    path("drivers/<uuid:id>", DriverViewSet.as_view(_ONE)),
    path("drivers/<uuid:id>/activation", ActivationViewSet.as_view({"post": "activation"})),
    path("drivers/<uuid:id>/credentials", DriverCredentialViewSet.as_view(_LIST)),
    path("vehicles", VehicleViewSet.as_view(_LIST)),
    path("vehicles/<uuid:id>", VehicleViewSet.as_view(_ONE)),
    path("vehicles/<uuid:id>/status", VehicleStatusViewSet.as_view({"post": "status_change"})),
    path("vehicles/<uuid:id>/credentials", VehicleCredentialViewSet.as_view(_LIST)),
    path("credentials/<uuid:id>/verify", CredentialReviewViewSet.as_view({"post": "verify"})),
    path("credentials/<uuid:id>/reject", CredentialReviewViewSet.as_view({"post": "reject"})),
    path("shifts", ShiftViewSet.as_view(_LIST)),
    path("shifts/<uuid:id>", ShiftViewSet.as_view(_ONE)),
]

assignment = [
    path("rides/<uuid:id>/assignment", AssignmentViewSet.as_view({"put": "update", "delete": "destroy"})),
    path("rides/<uuid:id>/assignment/accept", AssignmentViewSet.as_view({"post": "accept"})),
    path("rides/<uuid:id>/assignment/decline", AssignmentViewSet.as_view({"post": "decline"})),
    path("rides/<uuid:id>/candidates", AssignmentViewSet.as_view({"get": "candidates"})),
]

events = [
    path("events", EventViewSet.as_view({"get": "list"})),
    path("events/<uuid:id>", EventViewSet.as_view({"get": "retrieve"})),
]

accounts = [
    path("tokens", TokenViewSet.as_view({"get": "list", "post": "create"})),
    path("tokens/self", TokenViewSet.as_view({"get": "own"})),
    path("tokens/<uuid:id>/rotate", TokenViewSet.as_view({"post": "rotate"})),
    path("tokens/<uuid:id>/revoke", TokenViewSet.as_view({"post": "revoke"})),
]

riders = [
    path("riders", RiderViewSet.as_view({"get": "list", "post": "create"})),
    path("riders/search", RiderViewSet.as_view({"post": "search"})),
    path("riders/<uuid:id>", RiderViewSet.as_view({"get": "retrieve", "patch": "partial_update"})),
    path("riders/<uuid:id>/accommodation", RiderAccommodationViewSet.as_view({"put": "update"})),
    path("riders/<uuid:id>/accommodation/versions", RiderViewSet.as_view({"get": "accommodation_versions"})),
]

rides = [
    path("rides", RideViewSet.as_view(_LIST)),
    path("rides/bulk", RideViewSet.as_view({"post": "bulk"})),
    path("rides/<uuid:id>", RideViewSet.as_view(_ONE)),
    path("rides/<uuid:id>/status", RideViewSet.as_view({"post": "status_call"})),
    path("rides/<uuid:id>/ready", RideViewSet.as_view({"post": "ready"})),
    path("rides/<uuid:id>/unready", RideViewSet.as_view({"post": "unready"})),
    path("rides/<uuid:id>/timeline", RideViewSet.as_view({"get": "timeline"})),
    path("ride-exceptions", RideExceptionViewSet.as_view({"get": "list"})),
    path("ride-exceptions/<uuid:id>", RideExceptionViewSet.as_view({"get": "retrieve"})),
    path("ride-exceptions/<uuid:id>/acknowledge", RideExceptionViewSet.as_view({"post": "acknowledge"})),
    path("ride-exceptions/<uuid:id>/snooze", RideExceptionViewSet.as_view({"post": "snooze"})),
    path("ride-exceptions/<uuid:id>/resolve", RideExceptionViewSet.as_view({"post": "resolve"})),
]

_OF_ORDER = "standing-orders/<uuid:id>"
_OF_OCCURRENCE = f"{_OF_ORDER}/occurrences/<str:date>"

recurring = [
    path("riders/<uuid:id>/standing-orders", RiderOrderViewSet.as_view(_LIST)),
    path("standing-orders", StandingOrderViewSet.as_view({"get": "list"})),
    path(_OF_ORDER, StandingOrderViewSet.as_view(_ONE)),
    path(f"{_OF_ORDER}/hold", StandingOrderViewSet.as_view({"post": "hold"})),
    path(f"{_OF_ORDER}/resume", StandingOrderViewSet.as_view({"post": "resume"})),
    path(f"{_OF_ORDER}/end", StandingOrderViewSet.as_view({"post": "end"})),
    path(f"{_OF_ORDER}/activate", StandingOrderViewSet.as_view({"post": "activate"})),
    path(f"{_OF_ORDER}/occurrences", OccurrenceViewSet.as_view({"get": "list"})),
    path(_OF_OCCURRENCE, OccurrenceViewSet.as_view({"patch": "partial_update"})),
    path(f"{_OF_OCCURRENCE}/skip", OccurrenceViewSet.as_view({"post": "skip"})),
    path(f"{_OF_OCCURRENCE}/restore", OccurrenceViewSet.as_view({"post": "restore"})),
    path("facilities/<uuid:id>/calendar-shifts", FacilityShiftViewSet.as_view(_LIST)),
    path("calendar-shifts/<uuid:id>", CalendarShiftViewSet.as_view({"get": "retrieve"})),
    path("calendar-shifts/<uuid:id>/preview", CalendarShiftViewSet.as_view({"get": "preview"})),
    path("calendar-shifts/<uuid:id>/apply", CalendarShiftViewSet.as_view({"post": "apply"})),
    path("calendar-shifts/<uuid:id>/undo", CalendarShiftViewSet.as_view({"post": "undo"})),
]

reporting = [
    path("reports/daily-summary", ReportViewSet.as_view({"get": "daily_summary"})),
    path("reports/facility-kpis", ReportViewSet.as_view({"get": "facility_kpis"})),
    path("reports/trends", ReportViewSet.as_view({"get": "trends"})),
    path("reports/breakdown", ReportViewSet.as_view({"get": "breakdown"})),
    path("reports/utilisation", ReportViewSet.as_view({"get": "utilisation"})),
    path("reports/definitions", ReportViewSet.as_view({"get": "definitions"})),
    path("reports/rides", ReportViewSet.as_view({"get": "rides"})),
]

exports = [
    path("exports", ExportViewSet.as_view(_LIST)),
    path("exports/destinations", DestinationViewSet.as_view(_LIST)),
    path("exports/destinations/<uuid:id>", DestinationViewSet.as_view({**_ONE, "delete": "destroy"})),
    path("exports/destinations/<uuid:id>/test", DestinationViewSet.as_view({"post": "test"})),
    path("exports/destinations/<uuid:id>/host-keys", DestinationViewSet.as_view({"post": "host_keys"})),
    path("exports/datasets", ExportViewSet.as_view({"get": "datasets"})),
    path("exports/schedules", ScheduleViewSet.as_view(_LIST)),
    path("exports/schedules/<uuid:id>", ScheduleViewSet.as_view({**_ONE, "delete": "destroy"})),
    path("exports/schedules/<uuid:id>/pause", ScheduleViewSet.as_view({"post": "pause"})),
    path("exports/schedules/<uuid:id>/resume", ScheduleViewSet.as_view({"post": "resume"})),
    path("exports/schedules/<uuid:id>/run", ScheduleViewSet.as_view({"post": "run"})),
    path("exports/schedules/<uuid:id>/runs", ScheduleViewSet.as_view({"get": "runs"})),
    path("exports/<uuid:id>", ExportViewSet.as_view({"get": "retrieve"})),
    path("exports/<uuid:id>/cancel", ExportViewSet.as_view({"post": "cancel"})),
    path("exports/<uuid:id>/unlock", ExportViewSet.as_view({"post": "unlock"})),
    path("exports/<uuid:id>/content", ExportViewSet.as_view({"get": "content"})),
    # HEAD brings no file, and would use the link up or count as an export.
    path("exports/files/<str:secret>", ExportViewSet.as_view({"get": "link"}, http_method_names=["get"])),
    path("exports/<str:file>", ExportViewSet.as_view({"get": "at_once"}, http_method_names=["get"])),
]

webhooks = [
    path("webhooks/endpoints", EndpointViewSet.as_view(_LIST)),
    path("webhooks/endpoints/<uuid:id>", EndpointViewSet.as_view({**_ONE, "delete": "destroy"})),
    path("webhooks/endpoints/<uuid:id>/pause", EndpointViewSet.as_view({"post": "pause"})),
    path("webhooks/endpoints/<uuid:id>/resume", EndpointViewSet.as_view({"post": "resume"})),
    path("webhooks/endpoints/<uuid:id>/test", EndpointViewSet.as_view({"post": "test"})),
    path("webhooks/endpoints/<uuid:id>/rotate-secret", EndpointViewSet.as_view({"post": "rotate_secret"})),
    path("webhooks/endpoints/<uuid:id>/health", EndpointViewSet.as_view({"get": "health"})),
    path("webhooks/endpoints/<uuid:id>/recover", RecoveryViewSet.as_view({"post": "recover"})),
    path("webhooks/jobs/<uuid:id>", RecoveryViewSet.as_view({"get": "retrieve"})),
    path("webhooks/deliveries", DeliveryViewSet.as_view({"get": "list"})),
    path("webhooks/deliveries/<uuid:id>", DeliveryViewSet.as_view({"get": "retrieve"})),
    path("webhooks/deliveries/<uuid:id>/resend", DeliveryViewSet.as_view({"post": "resend"})),
    path("webhooks/deliveries/<uuid:id>/cancel", DeliveryViewSet.as_view({"post": "cancel"})),
    path("webhooks/event-types", EventTypeViewSet.as_view({"get": "list"})),
    path("webhooks/event-types/<str:type>/schema", EventTypeViewSet.as_view({"get": "schema_of"})),
    path("webhooks/keys", SigningKeyViewSet.as_view({"get": "list"})),
]

service = [
    path("health/live", HealthViewSet.as_view({"get": "live"})),
    path("health/ready", HealthViewSet.as_view({"get": "ready"})),
    path("openapi.json", DocumentViewSet.as_view({"get": "document"}), name="openapi"),
]

# Tried in this order: the busiest first.
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
