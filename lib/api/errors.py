"""The error object: all errors under /api have one shape, regardless of the layer that raises them."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.response import Response

from lib.api.json import dumps
from lib.errors import Code, Detail, DomainError
from lib.messages import Message
from lib.request_context import id_of

DOCS: Final = "/docs/errors"
# Answers of the API may contain personal data: browsers must not store, render, frame or execute them.
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
}
REALM: Final = 'Bearer realm="carelane"'
RETRY_SECONDS: Final = {Code.SERVICE_UNAVAILABLE: 5, Code.RESOURCE_BUSY: 1, Code.IDEMPOTENCY_IN_PROGRESS: 1}

_CHALLENGES: Final = {
    Code.UNAUTHENTICATED: REALM,
    Code.TOKEN_EXPIRED: f'{REALM}, error="invalid_token", error_description="expired"',
    Code.TOKEN_REVOKED: f'{REALM}, error="invalid_token", error_description="revoked"',
}

# Errors that Django and DRF raise or answer.
_OF_EXCEPTION: Final[list[tuple[type[Exception], Code, str]]] = [
    (exceptions.ParseError, Code.MALFORMED_REQUEST, "The request cannot be read."),
    (RequestDataTooBig, Code.PAYLOAD_TOO_LARGE, "The body is too large."),
    (exceptions.NotAuthenticated, Code.UNAUTHENTICATED, "A bearer token is required."),
    (exceptions.AuthenticationFailed, Code.UNAUTHENTICATED, "The bearer token is not valid."),
    (exceptions.PermissionDenied, Code.FORBIDDEN, "This is not permitted."),
    (DjangoPermissionDenied, Code.FORBIDDEN, "This is not permitted."),
    (exceptions.NotFound, Code.NOT_FOUND, "There is no such resource."),
    (Http404, Code.NOT_FOUND, "There is no such resource."),
    (exceptions.MethodNotAllowed, Code.METHOD_NOT_ALLOWED, "The resource does not have this method."),
    (exceptions.NotAcceptable, Code.NOT_ACCEPTABLE, "The answer is not available in the format asked for."),
    (exceptions.UnsupportedMediaType, Code.UNSUPPORTED_MEDIA_TYPE, "The body has to be application/json in UTF-8."),
    (exceptions.Throttled, Code.RATE_LIMITED, "Too many requests; wait as Retry-After says."),
]
_OF_STATUS: Final = {
    400: (Code.MALFORMED_REQUEST, "The request cannot be read."),
    403: (Code.FORBIDDEN, "This is not permitted."),
    404: (Code.NOT_FOUND, "There is no such resource."),
    405: (Code.METHOD_NOT_ALLOWED, "The resource does not have this method."),
    413: (Code.PAYLOAD_TOO_LARGE, "The body is too large."),
    503: (Code.SERVICE_UNAVAILABLE, "The service is not available right now."),
}
_INTERNAL: Final = (Code.INTERNAL_ERROR, "Something failed on our side. Quote the requestId when you report it.")

# Messages of DRF contain "this field"; messages of the API are predicates.
_THIS_FIELD = re.compile(r"^(Ensure t|T)his (field|value|list) ", re.IGNORECASE)


def body_of(
    code: Code, message: str, *, request_id: str, details: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Build the error object."""
    return {
        "error": {
            "code": code.name,
            "message": message,
            "requestId": request_id,
            "retryable": code.retryable,
            "details": details or [],
            "docs": f"{DOCS}#{code.name}",
        }
    }


def headers_of(code: Code, details: list[dict[str, Any]]) -> dict[str, str]:
    """Build the headers of an error code."""
    headers = {}
    if code in _CHALLENGES:
        headers["WWW-Authenticate"] = _CHALLENGES[code]
    if code is Code.INSUFFICIENT_SCOPE and details:
        scope = details[0].get("requiredScope", "")
        headers["WWW-Authenticate"] = f'{REALM}, error="insufficient_scope", scope="{scope}"'
    if code in RETRY_SECONDS:
        headers["Retry-After"] = str(RETRY_SECONDS[code])
    return headers


def exception_handler(failure: Exception, context: dict[str, Any]) -> Response | None:
    """Answer an exception of a view; None leaves it to Django, which logs it, and to the middleware below.

    The view's transaction has been rolled back; a denial is recorded after that.
    """
    request = context["request"]
    judged = _judge(failure)
    if judged is None:
        return None
    code, message, details = judged
    try:
        context["view"].record_if_denied(code, details)
    except (OperationalError, InterfaceError) as lost:
        return exception_handler(lost, context)  # a denial that cannot be recorded is not answered
    headers = headers_of(code, details)
    wait = getattr(failure, "wait", None)  # of DRF's Throttled, in seconds
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    current_version = details[0].get("currentVersion") if details and code is Code.PRECONDITION_FAILED else None
    if current_version is not None:
        headers["ETag"] = f'"{current_version}"'
    body = body_of(code, message, request_id=id_of(request._request), details=details)
    return Response(body, status=code.status, headers=headers)


def _judge(failure: Exception) -> tuple[Code, str, list[dict[str, Any]]] | None:
    if isinstance(failure, DomainError):
        return failure.code, failure.message, [detail.as_json() for detail in failure.details]
    if isinstance(failure, exceptions.ValidationError):
        details = list(flatten(failure.detail))
        return Code.VALIDATION_ERROR, str(details[0].text), [detail.as_json() for detail in details]
    if isinstance(failure, (OperationalError, InterfaceError)):
        code, message = _of_database(failure)
        return code, message, []
    for kind, code, message in _OF_EXCEPTION:
        if isinstance(failure, kind):
            return code, message, []
    return None


def _of_database(failure: Exception) -> tuple[Code, str]:
    cause = failure.__cause__
    if isinstance(cause, psycopg.errors.QueryCanceled):
        return Code.TIMEOUT, "The request took longer than the service allows; ask for less."
    if isinstance(cause, (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)):
        return Code.RESOURCE_BUSY, "Another change holds the record; try again."
    return Code.SERVICE_UNAVAILABLE, "The service is not available right now."


def flatten(failures: Any, path: str = "") -> Iterator[Detail]:
    """Turn DRF's nested errors into details with paths such as `rides[2].pickupTime`."""
    if isinstance(failures, dict):
        for key, inner in failures.items():
            if key == "non_field_errors":
                yield from flatten(inner, path)
            elif isinstance(key, int):
                yield from flatten(inner, f"{path}[{key}]")
            else:
                yield from flatten(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(failures, list):
        for inner in failures:
            yield from flatten(inner, path)
    else:
        code = getattr(failures, "code", None) or "invalid"
        yield Detail(field=path or None, code=code, message=Message(_sentence(path, str(failures))))


def _sentence(path: str, message: str) -> str:
    message = _THIS_FIELD.sub("", message)
    return message if message[:1].isupper() else f"{path or 'The body'} {message}"


class ApiErrorMiddleware:
    """Replace Django's error pages under /api (unknown paths, bad hosts, crashes) by error objects."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # `path_info` does not read the host, which may be invalid.
        if request.path_info != "/api" and not request.path_info.startswith("/api/"):
            return self.get_response(request)
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            response: HttpResponse = _answer(request, 400, Code.MALFORMED_REQUEST, "The address holds a NUL byte.")
        else:
            response = self.get_response(request)
        if response.status_code >= 400 and not response.get("Content-Type", "").startswith("application/json"):
            code, message = _OF_STATUS.get(response.status_code, _INTERNAL)
            answer = _answer(request, code.status, code, message)
            for name, value in response.items():  # Allow, and headers added by inner middleware
                if name != "Content-Length":
                    answer.headers.setdefault(name, value)
            response = answer
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response


def _answer(request: HttpRequest, status: int, code: Code, message: str) -> HttpResponse:
    body = body_of(code, message, request_id=id_of(request))
    answer = HttpResponse(dumps(body), status=status, content_type="application/json")
    for name, value in headers_of(code, []).items():
        answer[name] = value
    return answer
