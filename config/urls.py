"""All URLs of the service."""

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path

from apps.console.account.views import forbidden, not_offered, remove_passkey, session_left
from apps.console.board.handover_views import handover
from apps.console.recurring.link_views import calendar_file
from apps.console.shell.glossary import glossary
from apps.console.shell.home import home, start
from apps.console.shell.search import search
from apps.console.shell.styles import styles
from config.api import GUARD
from config.error_pages import server_error
from config.metrics import MetricsViewSet
from lib.api.document import ReferenceView, errors

urlpatterns = [
    path("", start, name="start"),
    path("api/", include("config.api")),
    path("console/", include("apps.console.account.urls")),
    path("console/developers/tokens/", include("apps.console.tokens.urls")),
    path("console/home/", home, name="home"),
    path("console/glossary/", glossary, name="glossary"),
    path("console/find/", search, name="search"),
    path("console/styles/", styles, name="styles"),
    path("console/lists/", include("apps.console.shell.saved_lists")),
    path("console/handover/", handover, name="handover"),
    path("console/board/", include("apps.console.board.urls")),
    path("console/book/", include("apps.console.booking.urls")),
    path("console/day/", include("apps.console.planner_day.urls")),
    path("console/recurring/", include("apps.console.recurring.urls")),
    path("console/fleet/", include("apps.console.fleet.urls")),
    path("console/riders/", include("apps.console.riders.urls")),
    path("console/rides/", include("apps.console.ride.urls")),
    path("console/exceptions/", include("apps.console.exceptions.urls")),
    path("calendar/<str:secret>.ics", calendar_file, name="calendar_file"),
    path("console/reports/", include("apps.console.reports.urls")),
    path("console/destinations/", include("apps.console.exports.destination_urls")),
    path("console/developers/", include("apps.console.webhooks.urls")),
    path("metrics", MetricsViewSet.as_view({"get": "metrics"}, guard=GUARD), name="metrics"),
    path("docs/api", login_not_required(ReferenceView.as_view()), name="docs-reference"),
    path("docs/errors", errors, name="docs-errors"),
    path("admin/", admin.site.urls),
    # allauth defines these; here, admins create and rename accounts.
    path("accounts/email/", not_offered),
    path("accounts/confirm-email/", not_offered),
    path("accounts/confirm-email/<str:key>/", not_offered),
    path("accounts/password/set/", not_offered),
    path("accounts/2fa/webauthn/keys/<int:pk>/remove/", remove_passkey, name="mfa_remove_webauthn"),
    path("accounts/session/", session_left, name="session_left"),
    path("accounts/", include("allauth.urls")),
]

if settings.DEMO_MODE:
    urlpatterns.append(path("console/demo/", include("apps.demo.urls")))

handler403 = forbidden
handler500 = server_error
