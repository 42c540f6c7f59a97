"""Addresses below /console/developers/: endpoints of webhooks and their deliveries."""

from django.urls import path
from django.views.generic import RedirectView

from apps.console.webhooks import delivery_views, recovery_views, views

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="webhook_endpoints"), name="developers"),
    path("endpoints/", views.endpoints, name="webhook_endpoints"),
    path("endpoints/add/", views.add, name="add_webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/", views.endpoint, name="webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/change/", views.change, name="change_webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/test/", views.test, name="test_webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/last-test/", views.last_test, name="last_webhook_test"),
    path("endpoints/<uuid:endpoint_id>/pause/", views.pause, name="pause_webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/resume/", views.resume, name="resume_webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/remove/", views.remove, name="remove_webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/rotate/", views.rotate, name="rotate_webhook_secret"),
    path("endpoints/<uuid:endpoint_id>/recover/", recovery_views.recover, name="recover_webhook_endpoint"),
    path("endpoints/<uuid:endpoint_id>/recoveries/", recovery_views.recoveries, name="webhook_recoveries"),
    path("deliveries/", delivery_views.deliveries, name="webhook_deliveries"),
    path("deliveries/resend/", delivery_views.resend_selected, name="resend_webhook_deliveries"),
    path("deliveries/<uuid:delivery_id>/", delivery_views.show_delivery, name="webhook_delivery"),
    path("deliveries/<uuid:delivery_id>/progress/", delivery_views.progress, name="webhook_delivery_progress"),
    path("deliveries/<uuid:delivery_id>/resend/", delivery_views.resend, name="resend_webhook_delivery"),
    path("deliveries/<uuid:delivery_id>/cancel/", delivery_views.cancel, name="cancel_webhook_delivery"),
]
