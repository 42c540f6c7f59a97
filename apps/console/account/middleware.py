"""Who may see pages: signed in, with a second factor where one is required, and not idle for too long."""

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

TOUCH_SECONDS: Final = 30  # the session row is written at most this often; idle logoff is that much inexact

# Requests that a page makes by itself carry this header, with any value: they do not keep a session alive.
BACKGROUND_HEADER: Final = "X-Carelane-Background"
# So do these, by URL name: a page opens its stream by itself, and browsers let no header go with that.
BACKGROUND_ROUTES: Final = frozenset({"live", "live_changes"})

# What somebody without a second factor may open, by URL name: to get one, to prove who they are, or to leave.
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
    """Deny by default.  Requests without a session cookie, such as the API's, cost nothing here."""

    async_capable = False  # the database is asked on every page anyway

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not request.user.is_authenticated:
            return self.answer(request)
        if seconds_left(request) < 0:
            _end(request)
            return _forgetful(self.answer(request))
        bind_principal(kind="user", principal_id=request.user.pk)
        with timezone.override(zone_of(request)), twelve_hours(request.user.twelve_hours), privacy_mode(request):
            response = self.answer(request)
        response["Cache-Control"] = "no-store"
        left = isinstance(request.user, AnonymousUser)  # signed out on the way
        return _forgetful(response) if left else response

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if request.path_info.startswith("/api/"):
            return None  # callers of the API show a token to its views
        refusal = super().process_view(request, view_func, view_args, view_kwargs)
        if refusal is not None and listens(request):
            return HttpResponse(status=401)  # browsers take a page in a stream's place for an error of ours
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


def _end(request: HttpRequest) -> None:
    by = principal_of(request)
    audit.record(by=by, action="session.ended", subject_type="user", subject_id=by.id)
    logout(request)
    forget(request)


def _touch(request: HttpRequest) -> None:
    now = time.time()
    if now - request.session.get(LAST_ACTIVE_AT, 0) > min(TOUCH_SECONDS, settings.SESSION_IDLE_SECONDS / 2):
        request.session[LAST_ACTIVE_AT] = now


def _without_second_factor(request: HttpRequest) -> HttpResponse | None:
    """Send a session without the second factor it needs to enrolment or, where the account has one, to sign-in.

    A passkey where an admin has to show one, else any.  No query for sessions that have shown theirs, one for
    the others.
    """
    records = get_authentication_records(request, request.user)
    shown = {record.get("type") for record in records if record.get("method") == "mfa"}
    has_to_be_passkey = needs_passkey(request.user)
    if shown and (not has_to_be_passkey or Authenticator.Type.WEBAUTHN in shown):
        return None
    if is_mfa_enabled(request.user, (Authenticator.Type.WEBAUTHN,) if shown else SECOND_FACTORS):
        if has_to_be_passkey:
            messages.warning(request, _("Admins sign in with a passkey."))
        _end(request)
        return HttpResponseRedirect(reverse(settings.LOGIN_URL))
    route = request.resolver_match.url_name if request.resolver_match else None
    if route in ENROLMENT_ROUTES:
        return None
    return HttpResponseRedirect(reverse("mfa_index"))


def _forgetful(response: HttpResponse) -> HttpResponse:
    """Have the browser drop what it kept of the session that has just ended."""
    response["Clear-Site-Data"] = '"cache", "storage"'
    return response
