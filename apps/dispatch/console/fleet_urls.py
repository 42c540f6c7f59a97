"""Addresses below /console/fleet/: papers, drivers and vehicles."""

from django.urls import path

from apps.dispatch.console import (
    fleet_board_views,
    fleet_document_views,
    fleet_owner_views,
    fleet_paper_views,
    fleet_vehicle_views,
    shift_plan_views,
    shift_views,
)

urlpatterns = [
    path("credentials/", fleet_board_views.credentials, name="credential_board"),
    path("credentials/credentials.csv", fleet_board_views.credentials_file, name="credential_board_file"),
    path("credentials/<uuid:credential_id>/verify/", fleet_paper_views.verify, name="verify_paper"),
    path("credentials/<uuid:credential_id>/reject/", fleet_paper_views.reject, name="reject_paper"),
    path("credentials/<uuid:credential_id>/documents/", fleet_document_views.add, name="add_document"),
    path("documents/<uuid:document_id>/", fleet_document_views.document, name="document"),
    path("documents/<uuid:document_id>/remove/", fleet_document_views.remove, name="remove_document"),
    path("drivers/", fleet_board_views.drivers, name="fleet_drivers"),
    path("drivers/<uuid:owner_id>/", fleet_owner_views.driver, name="fleet_driver"),
    path("drivers/<uuid:owner_id>/activation/", fleet_owner_views.activation, name="driver_activation"),
    path("shifts/", shift_plan_views.week, name="fleet_shifts"),
    path("shifts/new/", shift_views.new, name="new_shift"),
    path("shifts/<uuid:shift_id>/", shift_views.shift, name="fleet_shift"),
    path("shifts/<uuid:shift_id>/step/", shift_views.step, name="shift_step"),
    path("shifts/<uuid:shift_id>/break/", shift_views.pause, name="shift_break"),
    path("vehicles/<uuid:owner_id>/", fleet_owner_views.vehicle, name="fleet_vehicle"),
    path("vehicles/<uuid:owner_id>/status/", fleet_vehicle_views.status, name="vehicle_status"),
    path("<slug:kind>/<uuid:owner_id>/papers/<slug:type>/", fleet_paper_views.paper, name="fleet_paper"),
]
