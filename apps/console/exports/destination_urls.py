"""URLs below /console/destinations/."""

from django.urls import path

from apps.console.exports import destination_views as views

urlpatterns = [
    path("", views.destinations, name="export_destinations"),
    path("add/<slug:kind>/", views.add, name="add_export_destination"),
    path("<uuid:destination_id>/", views.destination, name="export_destination"),
    path("<uuid:destination_id>/change/", views.change, name="change_export_destination"),
    path("<uuid:destination_id>/test/", views.test, name="test_export_destination"),
    path("<uuid:destination_id>/host-keys/", views.host_keys, name="export_destination_host_keys"),
    path("<uuid:destination_id>/trust-host-key/", views.trust_host_key, name="trust_host_key"),
    path("<uuid:destination_id>/remove/", views.remove, name="remove_export_destination"),
]
