"""URLs below /console/reports/.  The key of a KPI is the slug of its page."""

from django.urls import path

from apps.console.exports import schedule_views
from apps.console.reports import day_views, drill_down_views, figure_views, overview_views, utilization_views

urlpatterns = [
    path("", overview_views.overview, name="reports"),
    path("file/", overview_views.overview_file, name="reports_file"),
    path("day/", day_views.day, name="report_day"),
    path("rides/", drill_down_views.counted_rides, name="report_counted_rides"),
    path("day/file/", day_views.day_file, name="report_day_file"),
    path("utilization/", utilization_views.utilization, name="report_utilization"),
    path("utilization/file/", utilization_views.utilization_file, name="report_utilization_file"),
    path("utilization/<slug:of>/<uuid:worker_id>/", utilization_views.worker, name="report_worker"),
    path("schedules/", schedule_views.schedules, name="report_schedules"),
    path("schedules/new/<slug:kind>/", schedule_views.add, name="add_report_schedule"),
    path("schedules/<uuid:schedule_id>/", schedule_views.schedule, name="report_schedule"),
    path("schedules/<uuid:schedule_id>/change/", schedule_views.change, name="change_report_schedule"),
    path("schedules/<uuid:schedule_id>/pause/", schedule_views.pause, name="pause_report_schedule"),
    path("schedules/<uuid:schedule_id>/resume/", schedule_views.resume, name="resume_report_schedule"),
    path("schedules/<uuid:schedule_id>/run/", schedule_views.run_now, name="run_report_schedule"),
    path("schedules/<uuid:schedule_id>/remove/", schedule_views.remove, name="remove_report_schedule"),
    path("schedules/<uuid:schedule_id>/unsubscribe/", schedule_views.unsubscribe, name="unsubscribe_report_schedule"),
    path("schedules/<uuid:schedule_id>/files/<uuid:export_id>/", schedule_views.fetch, name="fetch_scheduled_export"),
    path("<slug:key>/", figure_views.figure, name="report_figure"),
    path("<slug:key>/file/", figure_views.figure_file, name="report_figure_file"),
    path("<slug:key>/rides/", drill_down_views.rides, name="report_rides"),
]
