"""URLs below /console/developers/tokens/: the tokens of API clients."""

from django.urls import path

from apps.console.tokens import views

urlpatterns = [
    path("", views.tokens, name="api_tokens"),
    path("add/", views.add, name="add_api_token"),
    path("<uuid:token_id>/", views.token, name="api_token"),
    path("<uuid:token_id>/rotate/", views.rotate, name="rotate_api_token"),
    path("<uuid:token_id>/revoke/", views.revoke, name="revoke_api_token"),
]
