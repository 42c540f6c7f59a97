"""Addresses below /console/: what pages listen to, preferences, the inbox, and the tokens of API clients."""

from django.urls import path

from apps.accounts.console import inbox_views, live_views, preference_views, privacy_views, token_views

urlpatterns = [
    path("live/", live_views.live, name="live"),
    path("live/changes/", live_views.changes, name="live_changes"),
    path("preferences/", preference_views.preferences_page, name="preferences"),
    path("privacy/", privacy_views.switch, name="privacy"),
    path("inbox/", inbox_views.inbox, name="inbox"),
    path("inbox/count/", inbox_views.count, name="inbox_count"),
    path("inbox/news/", inbox_views.news, name="inbox_news"),
    path("inbox/<uuid:alert_id>/acknowledge/", inbox_views.acknowledge, name="acknowledge_alert"),
    path("developers/tokens/", token_views.tokens, name="api_tokens"),
    path("developers/tokens/add/", token_views.add, name="add_api_token"),
    path("developers/tokens/<uuid:token_id>/", token_views.token, name="api_token"),
    path("developers/tokens/<uuid:token_id>/rotate/", token_views.rotate, name="rotate_api_token"),
    path("developers/tokens/<uuid:token_id>/revoke/", token_views.revoke, name="revoke_api_token"),
]
