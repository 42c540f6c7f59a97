"""The language of pages: the user's choice, else the browser's preference.

The API responds in English, whatever the request accepts: its messages are a contract.  Tasks, commands and logs are in
English, too; an email is in its recipient's language.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from apps.accounts.models import User


class LanguageMiddleware:
    """Activates the language of the request's user for the view, and sets `Content-Language`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/api/"):
            with translation.override(None):  # no catalog: that of English may have other words (RIDE_TERM)
                return self.get_response(request)
        language = language_of(request)
        with translation.override(language):
            response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        response.headers.setdefault("Content-Language", language)
        return response


def language_of(request: HttpRequest) -> str:
    """Return the language of the user or browser, one of settings.LANGUAGES.

    Requests without a session cookie, such as those for the login page, need no query.
    """
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        chosen: str = getattr(request.user, "language", "")
        if chosen in dict(settings.LANGUAGES):
            return chosen
    return translation.get_language_from_request(request)


def in_language_of(person: User) -> AbstractContextManager[None]:
    """Activate the language that a user has chosen, else keep the active one."""
    return translation.override(person.language or translation.get_language())
