"""One log line for each request: method, route, status, milliseconds, bytes, and the principal by kind and id."""

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

# a client may send any word as the method
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_log = logging.getLogger("carelane.access")


class AccessLogMiddleware:
    """Log every request that was answered; `RequestContextMiddleware` adds the request id and the principal.

    Logs the route, such as `rides/<uuid:id>`, instead of the path, which may contain anything that a user typed; no
    query string and no address.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.ACCESS_LOG or not _log.isEnabledFor(logging.INFO):
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        facts: dict[str, Any] = {
            "method": request.method if request.method in _METHODS else "other",
            "route": request.resolver_match.route if request.resolver_match else None,
            "status_code": response.status_code,
            "milliseconds": round((time.perf_counter() - began) * 1000, 1),
            "bytes": _size(response),
        }
        _log.info("request", extra=facts)
        return response


def _size(response: HttpResponse) -> int | None:
    """Return the length of the body in bytes; None for a streamed body of unknown length."""
    if response.streaming:
        length = response.get("Content-Length", "")
        return int(length) if length.isdecimal() else None
    return len(response.content)
