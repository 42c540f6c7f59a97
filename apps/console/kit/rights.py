"""Requirements of console pages: scopes, and a recent login."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from urllib.parse import urlencode

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from apps.accounts.sessions import principal_of
from lib.errors import NotFound

View = Callable[..., HttpResponse]
UNPROCESSABLE: Final = 422  # status of a form with errors


class RightMissing(PermissionDenied):
    """The user has none of these scopes."""

    def __init__(self, scopes: frozenset[str]) -> None:
        super().__init__("a scope is missing")
        self.scopes = scopes


def require_scope(*scopes: str) -> Callable[[View], View]:
    """Restrict a view to users with one of the scopes; `NotFound` of a service becomes a 404."""
    required = frozenset(scopes)

    def wrap(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, **ids: Any) -> HttpResponse:
            by = principal_of(request)
            if not any(by.has_scope(scope) for scope in required):
                raise RightMissing(required)
            try:
                return view(request, **ids)
            except NotFound:
                raise Http404 from None

        return wrapped

    return wrap


def require_recent_login(view: View) -> View:
    """Require a recent login before a form opens that creates secrets.

    Only for requests that open the form.  The view itself checks a POST with `is_proven`: allauth would store the form
    data in the session until the login, and some of it is secret.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, **ids: Any) -> HttpResponse:
        if request.method != "POST" and not is_proven(request):
            raise ReauthenticationRequired
        return view(request, **ids)

    return wrapped


def is_proven(request: HttpRequest) -> bool:
    """Return whether the user has authenticated within the last five minutes."""
    return not is_reauthentication_required(request, app="account")


def to_proof(page: str, **ids: Any) -> HttpResponse:
    """Redirect to the reauthentication page, which then returns to `page`."""
    return redirect(f"{reverse('account_reauthenticate')}?{urlencode({'next': reverse(page, kwargs=ids)})}")
