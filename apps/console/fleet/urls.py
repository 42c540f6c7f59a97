"""URLs below /console/fleet/: credentials, drivers, shifts and vehicles."""

from django.urls import path

from apps.console.fleet import (
    board_views,
    credential_views,
    document_views,
    owner_views,
    shift_plan_views,
    shift_views,
    vehicle_views,
)

urlpatterns = [
    path("credentials/", board_views.credentials, name="credential_board"),
    path("credentials/credentials.csv", board_views.credentials_file, name="credential_board_file"),
    path("credentials/<uuid:credential_id>/verify/", credential_views.verify, name="verify_credential"),
    path("credentials/<uuid:credential_id>/reject/", credential_views.reject, name="reject_credential"),
    path("credentials/<uuid:credential_id>/documents/", document_views.add, name="add_document"),
    path("documents/<uuid:document_id>/", document_views.document, name="document"),
    path("documents/<uuid:document_id>/remove/", document_views.remove, name="remove_document"),
    path("drivers/", board_views.drivers, name="fleet_drivers"),
    path("drivers/<uuid:owner_id>/", owner_views.driver, name="fleet_driver"),
    path("drivers/<uuid:owner_id>/activation/", owner_views.activation, name="driver_activation"),
    path("shifts/", shift_plan_views.week, name="fleet_shifts"),
    path("shifts/new/", shift_views.new, name="new_shift"),
    path("shifts/<uuid:shift_id>/", shift_views.shift, name="fleet_shift"),
    path("shifts/<uuid:shift_id>/step/", shift_views.step, name="shift_step"),
    path("shifts/<uuid:shift_id>/break/", shift_views.pause, name="shift_break"),
    path("vehicles/<uuid:owner_id>/", owner_views.vehicle, name="fleet_vehicle"),
    path("vehicles/<uuid:owner_id>/status/", vehicle_views.status, name="vehicle_status"),
    path("<slug:kind>/<uuid:owner_id>/credentials/<slug:type>/", credential_views.credential, name="fleet_credential"),
]
