"""Addresses below /console/day/: a facility's day, and what its planners do there."""

from django.urls import path

from apps.rides.console import day_actions, day_views

urlpatterns = [
    path("", day_views.day, name="planner_day"),
    path("list/", day_views.day_part, name="planner_day_list"),
    path("print/", day_views.day_print, name="planner_day_print"),
    path("<uuid:ride_id>/ready/", day_actions.ready, name="day_ready"),
    path("<uuid:ride_id>/unready/", day_actions.unready, name="day_unready"),
    path("<uuid:ride_id>/answer/", day_actions.answer, name="day_answer"),
    path("<uuid:ride_id>/tick/", day_actions.tick, name="day_tick"),
]
