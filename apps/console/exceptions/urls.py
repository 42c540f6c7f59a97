"""URLs below /console/exceptions/: the exceptions desk."""

from django.urls import path

from apps.console.exceptions import actions, views

urlpatterns = [
    path("", views.queue, name="exceptions"),
    path("list/", views.queue_part, name="exceptions_list"),
    path("history/", views.history, name="exceptions_history"),
    path("<uuid:exception_id>/", views.exception, name="exception"),
    path("<uuid:exception_id>/acknowledge/", actions.acknowledge, name="acknowledge_exception"),
    path("<uuid:exception_id>/snooze/", actions.snooze, name="snooze_exception"),
    path("<uuid:exception_id>/note/", actions.write_note, name="note_exception"),
    path("<uuid:exception_id>/close/", actions.close, name="close_exception"),
]
