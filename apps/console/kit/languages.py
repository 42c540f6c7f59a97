"""In which language pages are: as their reader chose, else as the browser asks.

The API answers in English, whatever the caller accepts: its messages are a contract.  Tasks, commands and logs are
English, too; a mail is in the language of whoever gets it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from apps.accounts.models import User


class LanguageMiddleware:
    """Have everything behind it speak the reader's language, and say in the answer which that is."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/api/"):
            return self.answer(request)
        language = language_of(request)
        with translation.override(language):
            response = self.answer(request)
        patch_vary_headers(response, ["Accept-Language"])
        response.headers.setdefault("Content-Language", language)
        return response


def language_of(request: HttpRequest) -> str:
    """Name the language of whoever asks, one of settings.LANGUAGES.

    Requests without a session cookie, such as those for the sign-in page, cost no query.
    """
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        chosen: str = getattr(request.user, "language", "")
        if chosen in dict(settings.LANGUAGES):
            return chosen
    return translation.get_language_from_request(request)


def in_language_of(person: User) -> AbstractContextManager[None]:
    """Speak the language that a person chose, else the one that is spoken already."""
    return translation.override(person.language or translation.get_language())
