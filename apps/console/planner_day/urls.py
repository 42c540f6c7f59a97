"""URLs below /console/day/: a facility's day and the actions of its planners."""

from django.urls import path

from apps.console.planner_day import actions, views

urlpatterns = [
    path("", views.day, name="planner_day"),
    path("list/", views.day_part, name="planner_day_list"),
    path("print/", views.day_print, name="planner_day_print"),
    path("<uuid:ride_id>/ready/", actions.ready, name="day_ready"),
    path("<uuid:ride_id>/unready/", actions.unready, name="day_unready"),
    path("<uuid:ride_id>/answer/", actions.answer, name="day_answer"),
    path("<uuid:ride_id>/tick/", actions.tick, name="day_tick"),
]
