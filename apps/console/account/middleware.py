"""Access to pages: requires a login, a second factor if configured, and activity within the idle limit."""

import time
from collections.abc import Callable
from typing import Any, Final

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.sessions import LAST_ACTIVE_AT, forget, principal_of, seconds_left, zone_of
from apps.audit.services import audit
from apps.console.account.adapters import SECOND_FACTORS, needs_passkey
from apps.console.account.privacy_views import privacy_mode
from lib.clocks import twelve_hours
from lib.live.stream import listens
from lib.request_context import bind_principal

TOUCH_SECONDS: Final = 30  # shortest time between writes of the session row; the idle logout is inexact by as much

# Background requests of pages have this header, with any value: they do not extend a session.
BACKGROUND_HEADER: Final = "X-Carelane-Background"
# URL names that are background requests, too: browsers cannot add a header to the request of an event stream.
BACKGROUND_ROUTES: Final = frozenset({"live", "live_changes"})

# URL names that a user without a second factor may open: to enroll, to reauthenticate, or to log out.
ENROLMENT_ROUTES: Final = frozenset(
    {
        "mfa_index",
        "mfa_activate_totp",
        "mfa_list_webauthn",
        "mfa_add_webauthn",
        "account_reauthenticate",
        "account_logout",
        "session_left",
    }
)


class SignInMiddleware(LoginRequiredMiddleware):
    """Denies by default.  Requests without a session cookie, such as those of the API, cause no query here."""

    async_capable = False  # every page needs database queries anyway

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.respond = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not request.user.is_authenticated:
            return self.respond(request)
        if seconds_left(request) < 0:
            _end_session(request)
            return _clear_site_data(self.respond(request))
        bind_principal(kind="user", principal_id=request.user.pk)
        with timezone.override(zone_of(request)), twelve_hours(request.user.twelve_hours), privacy_mode(request):
            response = self.respond(request)
        response["Cache-Control"] = "no-store"
        logged_out = isinstance(request.user, AnonymousUser)  # the view has logged the user out
        return _clear_site_data(response) if logged_out else response

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if request.path_info.startswith("/api/"):
            return None  # API views authenticate by token
        refusal = super().process_view(request, view_func, view_args, view_kwargs)
        if refusal is not None and listens(request):
            return HttpResponse(status=401)  # browsers would treat a page in place of a stream as a server error
        if refusal is not None or settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return refusal
        if not request.user.is_authenticated:
            return None
        if getattr(view_func, "login_required", True) and settings.MFA_REQUIRED:
            refusal = _without_second_factor(request)
        if not _is_background(request):
            _touch(request)
        return refusal


def _is_background(request: HttpRequest) -> bool:
    match = request.resolver_match
    return BACKGROUND_HEADER in request.headers or (match is not None and match.url_name in BACKGROUND_ROUTES)


def _end_session(request: HttpRequest) -> None:
    by = principal_of(request)
    audit.record(by=by, action="session.ended", subject_type="user", subject_id=by.id)
    logout(request)
    forget(request)


def _touch(request: HttpRequest) -> None:
    now = time.time()
    if now - request.session.get(LAST_ACTIVE_AT, 0) > min(TOUCH_SECONDS, settings.SESSION_IDLE_SECONDS / 2):
        request.session[LAST_ACTIVE_AT] = now


def _without_second_factor(request: HttpRequest) -> HttpResponse | None:
    """Redirect a session without its required second factor to enrollment, or to login if the account has one.

    Administrators may need a passkey; for others any second factor is enough.  No query for sessions that are
    authenticated with it, one for the others.
    """
    records = get_authentication_records(request, request.user)
    used_types = {record.get("type") for record in records if record.get("method") == "mfa"}
    requires_passkey = needs_passkey(request.user)
    if used_types and (not requires_passkey or Authenticator.Type.WEBAUTHN in used_types):
        return None
    if is_mfa_enabled(request.user, (Authenticator.Type.WEBAUTHN,) if used_types else SECOND_FACTORS):
        if requires_passkey:
            messages.warning(request, _("Admins sign in with a passkey."))
        _end_session(request)
        return HttpResponseRedirect(reverse(settings.LOGIN_URL))
    route = request.resolver_match.url_name if request.resolver_match else None
    if route in ENROLMENT_ROUTES:
        return None
    return HttpResponseRedirect(reverse("mfa_index"))


def _clear_site_data(response: HttpResponse) -> HttpResponse:
    """Make the browser delete its cache and storage of the ended session."""
    response["Clear-Site-Data"] = '"cache", "storage"'
    return response
