"""Addresses below /console/reports/.  A figure's page is named by the key of its definition."""

from django.urls import path

from apps.reporting.console import day_views, figure_views, overview_views, ride_views, work_views

urlpatterns = [
    path("", overview_views.overview, name="reports"),
    path("file/", overview_views.overview_file, name="reports_file"),
    path("day/", day_views.day, name="report_day"),
    path("utilisation/", work_views.utilisation, name="report_work"),
    path("utilisation/file/", work_views.utilisation_file, name="report_work_file"),
    path("utilisation/<slug:of>/<uuid:worker_id>/", work_views.worker, name="report_worker"),
    path("<slug:key>/", figure_views.figure, name="report_figure"),
    path("<slug:key>/file/", figure_views.figure_file, name="report_figure_file"),
    path("<slug:key>/rides/", ride_views.rides, name="report_rides"),
]
