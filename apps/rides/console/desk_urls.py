"""Addresses below /console/exceptions/: the desk."""

from django.urls import path

from apps.rides.console import desk_actions, desk_views

urlpatterns = [
    path("", desk_views.queue, name="exceptions"),
    path("list/", desk_views.queue_part, name="exceptions_list"),
    path("history/", desk_views.history, name="exceptions_history"),
    path("<uuid:exception_id>/", desk_views.exception, name="exception"),
    path("<uuid:exception_id>/acknowledge/", desk_actions.acknowledge, name="acknowledge_exception"),
    path("<uuid:exception_id>/snooze/", desk_actions.snooze, name="snooze_exception"),
    path("<uuid:exception_id>/close/", desk_actions.close, name="close_exception"),
]
