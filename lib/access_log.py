"""One line of the log for each request: who asked for what by its kind, and what became of it."""

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from lib.access import Principal
from lib.request_context import id_of

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})  # a caller may type any word
_log = logging.getLogger("carelane.access")


class AccessLogMiddleware:
    """Write id, method, route, status, milliseconds and bytes of every request, and kind and id of its principal.

    The route, `rides/<uuid:id>`, and not the path, which holds whatever somebody typed; no query, no address.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.ACCESS_LOG or not _log.isEnabledFor(logging.INFO):
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        line: dict[str, Any] = {
            "request_id": id_of(request),
            "method": request.method if request.method in _METHODS else "other",
            "route": request.resolver_match.route if request.resolver_match else None,
            "status_code": response.status_code,
            "milliseconds": round((time.perf_counter() - began) * 1000, 1),
            "bytes": _size(response),
        }
        _log.info("request", extra=line | _principal(request))
        return response


def _size(response: HttpResponse) -> int | None:
    """Tell the length of the body; None of one that is made while it is sent."""
    if response.streaming:
        length = response.get("Content-Length", "")
        return int(length) if length.isdecimal() else None
    return len(response.content)


def _principal(request: HttpRequest) -> dict[str, str]:
    """Name the caller as far as this request had to find out: no query for the log's sake."""
    by = getattr(request, "auth", None)  # set by DRF, once a token was found good
    if isinstance(by, Principal):
        return {"principal": by.kind, "principal_id": str(by.id)}
    user = getattr(request, "_cached_user", None)  # set by Django, once a page asked who is there
    if user is not None and user.is_authenticated:
        return {"principal": "user", "principal_id": str(user.pk)}
    return {"principal": "nobody"}
