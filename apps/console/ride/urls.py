"""URLs below /console/rides/: the ride page and its actions."""

from django.urls import path

from apps.console.ride import copy_views, edit_views, ride_actions, ride_views

urlpatterns = [
    path("<uuid:ride_id>/", ride_views.ride, name="ride_page"),
    path("<uuid:ride_id>/edit/", edit_views.edit, name="edit_ride"),
    path("<uuid:ride_id>/edit/check/", edit_views.check, name="check_edit"),
    path("<uuid:ride_id>/copy/", copy_views.copy, name="copy_ride"),
    path("<uuid:ride_id>/reinstate/", ride_actions.reinstate, name="reinstate_ride"),
    path("<uuid:ride_id>/link/", ride_actions.link, name="link_ride"),
    path("<uuid:ride_id>/unlink/", ride_actions.unlink, name="unlink_ride"),
    path("<uuid:ride_id>/ready/", ride_actions.ready, name="ready_ride"),
    path("<uuid:ride_id>/unready/", ride_actions.unready, name="unready_ride"),
    path("<uuid:ride_id>/confirm/", ride_actions.confirm, name="confirm_ride"),
    path("<uuid:ride_id>/cancel/", ride_actions.cancel, name="cancel_ride"),
    path("<uuid:ride_id>/no-show/", ride_actions.no_show, name="ride_no_show"),
    path("<uuid:ride_id>/unfulfilled/", ride_actions.unfulfilled, name="ride_unfulfilled"),
    path("<uuid:ride_id>/correct/", ride_actions.correct, name="correct_ride"),
    path("<uuid:ride_id>/unassign/", ride_actions.unassign, name="unassign_ride"),
    path("<uuid:ride_id>/notes/", ride_actions.notes, name="ride_notes"),
    path("<uuid:ride_id>/answer/", ride_actions.answer, name="answer_ride"),
    path("<uuid:ride_id>/moment/", ride_actions.moment, name="ride_moment"),
]
