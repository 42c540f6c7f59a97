"""URLs below /console/: live updates, preferences, privacy mode, and the inbox."""

from django.urls import path

from apps.console.account import inbox_views, preference_views, privacy_views
from apps.console.kit import live_views

urlpatterns = [
    path("live/", live_views.live, name="live"),
    path("live/changes/", live_views.changes, name="live_changes"),
    path("preferences/", preference_views.preferences_page, name="preferences"),
    path("privacy/", privacy_views.switch, name="privacy"),
    path("inbox/", inbox_views.inbox, name="inbox"),
    path("inbox/count/", inbox_views.count, name="inbox_count"),
    path("inbox/news/", inbox_views.news, name="inbox_news"),
    path("inbox/<uuid:alert_id>/acknowledge/", inbox_views.acknowledge, name="acknowledge_alert"),
]
