"""Every address the service answers."""

from django.contrib import admin
from django.urls import include, path

from apps.accounts.console.views import forbidden, not_offered, remove_passkey, session_left
from apps.recurring.console.link_views import calendar_file
from config.error_pages import server_error
from config.finding import find
from config.home import home, start
from config.metrics import MetricsViewSet
from lib.api.document import errors, reference

urlpatterns = [
    path("", start, name="start"),
    path("api/", include("config.api")),
    path("console/", include("apps.accounts.console.urls")),
    path("console/home/", home, name="home"),
    path("console/find/", find, name="find"),
    path("console/lists/", include("config.lists")),
    path("console/board/", include("apps.dispatch.console.urls")),
    path("console/book/", include("apps.rides.console.booking_urls")),
    path("console/day/", include("apps.rides.console.day_urls")),
    path("console/recurring/", include("apps.recurring.console.urls")),
    path("console/fleet/", include("apps.dispatch.console.fleet_urls")),
    path("console/rides/", include("apps.rides.console.urls")),
    path("console/exceptions/", include("apps.rides.console.desk_urls")),
    path("calendar/<str:secret>.ics", calendar_file, name="calendar_file"),
    path("console/reports/", include("apps.reporting.console.urls")),
    path("console/destinations/", include("apps.reporting.console.destination_urls")),
    path("console/developers/", include("apps.webhooks.console.urls")),
    path("metrics", MetricsViewSet.as_view({"get": "metrics"}), name="metrics"),
    path("docs/api", reference, name="docs-reference"),
    path("docs/errors", errors, name="docs-errors"),
    path("admin/", admin.site.urls),
    # allauth brings these along; accounts here are made and renamed by admins.
    path("accounts/email/", not_offered),
    path("accounts/confirm-email/", not_offered),
    path("accounts/confirm-email/<str:key>/", not_offered),
    path("accounts/password/set/", not_offered),
    path("accounts/2fa/webauthn/keys/<int:pk>/remove/", remove_passkey, name="mfa_remove_webauthn"),
    path("accounts/session/", session_left, name="session_left"),
    path("accounts/", include("allauth.urls")),
]

handler403 = forbidden
handler500 = server_error
