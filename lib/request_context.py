"""Context of a request: its id, in the response and in all records it creates, and the principal, in every log line.

Both are structlog context variables, so that all code below can log without a reference to the request.  They end with
the request: `bound_contextvars` restores the previous values in the thread or task that served it.
"""

import logging
import re
from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bind_contextvars, bound_contextvars

from lib.ids import uuid7

_log = logging.getLogger(__name__)
_CORRELATION_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def id_of(request: HttpRequest) -> str:
    """Return the id of a request; "" outside the middleware, as in a test that calls a view."""
    return getattr(request, "id", "")


def bind_principal(*, kind: str, principal_id: UUID | None) -> None:
    """Add the caller to all further log lines of this request, once the caller is authenticated."""
    bind_contextvars(principal=kind, principal_id=principal_id)


def answer_headers(request: HttpRequest) -> dict[str, str]:
    """Return the headers that the response, even an error response, will carry; callers add to them."""
    headers: dict[str, str] = request.__dict__.setdefault("answer_headers", {})
    return headers


def afterwards(request: HttpRequest) -> list[Callable[[], None]]:
    """Return the functions that run after the view, even after an error; callers add to them."""
    functions: list[Callable[[], None]] = request.__dict__.setdefault("afterwards", [])
    return functions


class RequestContextMiddleware:
    """Assign an id to the request (`request.id`), return it as `X-Request-Id`, and echo a valid `X-Correlation-Id`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.id = str(uuid7())  # type: ignore[attr-defined]  # declared on no request class
        with bound_contextvars(request_id=id_of(request), principal="nobody", principal_id=None):
            return self._respond(request)

    def _respond(self, request: HttpRequest) -> HttpResponse:
        headers = answer_headers(request)
        headers["X-Request-Id"] = id_of(request)
        correlation_id = request.headers.get("X-Correlation-Id", "")
        if _CORRELATION_ID.fullmatch(correlation_id):
            headers["X-Correlation-Id"] = correlation_id
        try:
            response = self.get_response(request)
        finally:
            _finish(request)
        for name, value in headers.items():
            links = response.get(name) if name == "Link" else None  # a list: keeps the link to the next page
            response[name] = f"{links}, {value}" if links else value
        return response


def _finish(request: HttpRequest) -> None:
    """Run the functions of `afterwards`; a failing one must not replace the response by an error."""
    for function in afterwards(request):
        try:
            function()
        except Exception:
            _log.exception("a function after the request failed")
