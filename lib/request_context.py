"""What every request carries: an id of its own, in the answer and in every record it makes."""

import logging
import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from lib.ids import uuid7

_log = logging.getLogger(__name__)
_CORRELATION_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def id_of(request: HttpRequest) -> str:
    """Read the id of a request; "" outside the middleware, as in a test that calls a view."""
    return getattr(request, "id", "")


def answer_headers(request: HttpRequest) -> dict[str, str]:
    """Headers that the answer will carry, whatever becomes of the request; anybody on the way may add to them."""
    held: dict[str, str] = request.__dict__.setdefault("answer_headers", {})
    return held


def afterwards(request: HttpRequest) -> list[Callable[[], None]]:
    """What is to be done once the answer stands, whatever became of the request; anybody on the way may add to it."""
    held: list[Callable[[], None]] = request.__dict__.setdefault("afterwards", [])
    return held


class RequestContextMiddleware:
    """Give the request an id (`request.id`) and answer it in `X-Request-Id`; echo a well-formed `X-Correlation-Id`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.id = str(uuid7())  # type: ignore[attr-defined]  # declared on no request class
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
            beside = response.get(name) if name == "Link" else None  # a list of links: that of the next page stays
            response[name] = f"{beside}, {value}" if beside else value
        return response


def _finish(request: HttpRequest) -> None:
    """Do what was left for the end; a failure there must not take away the answer to what has been done."""
    for act in afterwards(request):
        try:
            act()
        except Exception:
            _log.exception("what was left for the end of a request failed", extra={"request_id": id_of(request)})
