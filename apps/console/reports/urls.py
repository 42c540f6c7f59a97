"""Addresses below /console/reports/.  A figure's page is named by the key of its definition."""

from django.urls import path

from apps.console.exports import schedule_views
from apps.console.reports import figure_views, overview_views, ride_views, views, work_views

urlpatterns = [
    path("", overview_views.overview, name="reports"),
    path("file/", overview_views.overview_file, name="reports_file"),
    path("day/", views.day, name="report_day"),
    path("rides/", ride_views.counted_rides, name="report_counted_rides"),
    path("day/file/", views.day_file, name="report_day_file"),
    path("utilisation/", work_views.utilisation, name="report_work"),
    path("utilisation/file/", work_views.utilisation_file, name="report_work_file"),
    path("utilisation/<slug:of>/<uuid:worker_id>/", work_views.worker, name="report_worker"),
    path("schedules/", schedule_views.schedules, name="report_schedules"),
    path("schedules/new/<slug:kind>/", schedule_views.add, name="add_report_schedule"),
    path("schedules/<uuid:schedule_id>/", schedule_views.schedule, name="report_schedule"),
    path("schedules/<uuid:schedule_id>/change/", schedule_views.change, name="change_report_schedule"),
    path("schedules/<uuid:schedule_id>/pause/", schedule_views.pause, name="pause_report_schedule"),
    path("schedules/<uuid:schedule_id>/resume/", schedule_views.resume, name="resume_report_schedule"),
    path("schedules/<uuid:schedule_id>/run/", schedule_views.run_now, name="run_report_schedule"),
    path("schedules/<uuid:schedule_id>/remove/", schedule_views.remove, name="remove_report_schedule"),
    path("schedules/<uuid:schedule_id>/leave/", schedule_views.leave, name="leave_report_schedule"),
    path("schedules/<uuid:schedule_id>/files/<uuid:export_id>/", schedule_views.fetch, name="fetch_scheduled_export"),
    path("<slug:key>/", figure_views.figure, name="report_figure"),
    path("<slug:key>/file/", figure_views.figure_file, name="report_figure_file"),
    path("<slug:key>/rides/", ride_views.rides, name="report_rides"),
]
