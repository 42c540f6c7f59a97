"""What a console page asks of its visitor before it does anything."""

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
UNPROCESSABLE: Final = 422  # of a form that comes back with its errors


class RightMissing(PermissionDenied):
    """The visitor has none of these scopes."""

    def __init__(self, scopes: frozenset[str]) -> None:
        super().__init__("a scope is missing")
        self.scopes = scopes


def require_scope(*scopes: str) -> Callable[[View], View]:
    """Open a page to people with one of the scopes; a record that a service does not find for them is a 404."""
    wanted = frozenset(scopes)

    def wrap(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, **ids: Any) -> HttpResponse:
            by = principal_of(request)
            if not any(by.has_scope(scope) for scope in wanted):
                raise RightMissing(wanted)
            try:
                return view(request, **ids)
            except NotFound:
                raise Http404 from None

        return answer

    return wrap


def require_recent_login(view: View) -> View:
    """Ask for the password again before a form is opened that makes secrets.

    A form that comes back later than that is the view's business, see `is_proven`: allauth would keep what was typed in
    the session meanwhile, and some of it is secret.
    """

    @wraps(view)
    def answer(request: HttpRequest, **ids: Any) -> HttpResponse:
        if request.method != "POST" and not is_proven(request):
            raise ReauthenticationRequired
        return view(request, **ids)

    return answer


def is_proven(request: HttpRequest) -> bool:
    """Say whether the visitor has shown within five minutes who they are."""
    return not is_reauthentication_required(request, app="account")


def to_proof(page: str, **ids: Any) -> HttpResponse:
    """Send the visitor to prove who they are, and from there to a page."""
    return redirect(f"{reverse('account_reauthenticate')}?{urlencode({'next': reverse(page, kwargs=ids)})}")
