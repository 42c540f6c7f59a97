"""What every viewset of the API shares.  A view translates, makes one service call and answers."""

import datetime as dt
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, ClassVar, Final, cast
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from lib.access import Principal
from lib.api import deprecation, query, serializers
from lib.api.chunked_body import settle_length
from lib.api.deprecation import Deprecation
from lib.api.serializers import In
from lib.errors import Code, DomainError, InvalidInput
from lib.pagination import Page, paginate
from lib.request_context import answer_headers

# What nearly all callers send; weighing anything else takes DRF longer than finding out who calls.
_TAKES_JSON: Final = frozenset({"*/*", "application/json"})
_ETAG = re.compile(r'"(\d{1,9})"', re.ASCII)


class IfMatchMissing(DomainError):
    """This deployment refuses changes that do not say which version they change."""

    code = Code.PRECONDITION_REQUIRED
    template = _("If-Match is required: send the ETag of the record you read.")


class UnknownVersion(DomainError):
    """There is no such version of the API."""

    code = Code.UNSUPPORTED_API_VERSION
    template = _("API-Version must be one of: %(versions)s.")


class NoParameters(query.Query):
    """What an operation takes that declares no query."""


class NoBody(In):
    """What an operation takes that declares no body."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What needs tables, and therefore lives in an app; config/api.py hands it to every view that it registers."""

    # Runs the handler of a POST of a view, at most once per Idempotency-Key.
    once: Callable[["ApiViewSet", Callable[[], Response]], HttpResponse]
    # Records that a view denied its caller something: the error's code and the details of the answer.
    record_denial: Callable[["ApiViewSet", Code, list[dict[str, Any]]], None]


class ApiViewSet(GenericViewSet[Any]):
    """Operations on one resource, declared per action.

    `scopes` names what the token needs (or PUBLIC, ANY_TOKEN of lib.access); an action without one is refused.
    `queries`, `bodies` and `answers` name the serializers of parameters, body and answer, `refusals` the codes that the
    operation adds to those every operation can answer; the OpenAPI document is made of them and of the docstrings.
    Idempotency keys, rate limits and versions need nothing of a view.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    guard: Guard | None = None  # an argument of as_view: a view that was registered without it runs no POST
    scopes: ClassVar[dict[str, str]] = {}
    queries: ClassVar[dict[str, type[query.Query]]] = {}
    bodies: ClassVar[dict[str, type[In]]] = {}
    answers: ClassVar[dict[str, type[BaseSerializer[Any]]]] = {}
    refusals: ClassVar[dict[str, tuple[Code, ...]]] = {}
    # Actions that answer another status than 200: {"create": 201}.
    statuses: ClassVar[dict[str, int]] = {}
    # Actions that answer 202 instead where the work goes on behind the answer.
    may_go_on: ClassVar[frozenset[str]] = frozenset()
    # Actions that answer a file, and its media types.
    files: ClassVar[dict[str, Collection[str]]] = {}
    # What stands in paths that take something else than an id, by name; for the document.
    examples_in_path: ClassVar[dict[str, str]] = {}
    idempotency_key_required: ClassVar[frozenset[str]] = frozenset()
    # POSTs that wait for other machines: without a transaction around them, and so for what may happen twice.
    asks_others: ClassVar[frozenset[str]] = frozenset()
    # Actions that will be taken away, and when.
    retiring: ClassVar[dict[str, Deprecation]] = {}
    # Bytes of the body, of actions that take more than API_MAX_BODY_BYTES.
    body_limits: ClassVar[dict[str, int]] = {}

    query: dict[str, Any]
    _throttles: list[Any]

    @property
    def principal(self) -> Principal:
        """Whoever holds the token."""
        return cast(Principal, self.request.auth)

    @cached_property
    def at(self) -> dt.datetime:
        """The moment of this request; the clock is read once."""
        return timezone.now()

    @property
    def max_body_bytes(self) -> int:
        """How long a body the action reads."""
        return self.body_limits.get(self.action, settings.API_MAX_BODY_BYTES)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        wrapped = super().initialize_request(request, *args, **kwargs)
        if self.action == "metadata":  # what DRF calls OPTIONS, which we do not answer
            self.action = ""
        return wrapped

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        if request.headers.get("Accept", "*/*") in _TAKES_JSON:
            renderer = self.get_renderers()[0]
            return renderer, renderer.media_type
        return super().perform_content_negotiation(request, force)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        settle_length(request._request)
        super().initial(request, *args, **kwargs)
        if not self.action:
            return  # no such method: DRF answers 405 next
        self._settle_version(request)
        self.query = query.parse(self.queries.get(self.action, NoParameters), request.query_params)
        if request.method == "POST":
            if self.action not in self.bodies:
                serializers.read(NoBody, request.data, context={})
            # On the instance, where DRF looks the handler up: the whole of it runs inside the guard.
            handler: Callable[..., Response] = vars(self)["post"]
            vars(self)["post"] = lambda *args, **kwargs: self._guarded().once(self, lambda: handler(*args, **kwargs))

    def record_if_denied(self, code: Code, details: list[dict[str, Any]]) -> None:
        """Record a refusal that denies the caller something, as its code says; `details` are those of the answer.

        One insert, into the transaction under way.
        """
        if code.status == HTTPStatus.FORBIDDEN:
            self._guarded().record_denial(self, code, details)

    def _guarded(self) -> Guard:
        if self.guard is None:
            raise ImproperlyConfigured(f"{type(self).__name__} was registered without a guard.")
        return self.guard

    def get_throttles(self) -> list[Any]:
        self._throttles = super().get_throttles()
        return self._throttles

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if response.status_code == 304:
            for throttle in self._throttles:
                throttle.give_back()
        return super().finalize_response(request, response, *args, **kwargs)

    def _settle_version(self, request: Request) -> None:
        """Say in `API-Version` which version answers: the one asked for, or the one the token is pinned to.

        Raises:
            UnknownVersion: there is none of that date.
            lib.api.deprecation.Gone: the version, or the operation, has ended.
        """
        version = request.headers.get("API-Version")
        if version is not None and version not in settings.API_VERSIONS:
            raise UnknownVersion(versions=settings.API_VERSIONS)
        pinned = self.principal.api_version if request.auth is not None else ""
        version = version or pinned or settings.API_VERSIONS[-1]
        headers = answer_headers(request._request)
        headers["API-Version"] = version
        if settings.API_RETIREMENTS or self.retiring:
            retiring = settings.API_RETIREMENTS.get(version), self.retiring.get(self.action)
            headers.update(deprecation.headers_of(retiring, at=self.at))

    def body(self) -> dict[str, Any]:
        """Read the body by `bodies[action]`; on PATCH every field is optional.

        Raises:
            rest_framework.exceptions.ValidationError: a field is missing, unknown or of the wrong form; or a PUT, which
                replaces what is there, came without a body.
        """
        if self.request.method == "PUT" and self.request.META.get("CONTENT_LENGTH", "") in ("", "0"):
            raise ValidationError([ErrorDetail("is required.", code="required")])
        return serializers.read(
            self.bodies[self.action],
            self.request.data,
            partial=self.request.method == "PATCH",
            context=self.get_serializer_context(),
        )

    def expected_version(self) -> int | None:
        """Read the version that the caller's copy has, from If-Match; None if they do not say (`*` or no header).

        Raises:
            IfMatchMissing: this deployment requires the header.
            InvalidInput: it is not one strong entity tag of ours.
        """
        header = self.request.headers.get("If-Match")
        if header is None:
            if settings.API_REQUIRE_IF_MATCH:
                raise IfMatchMissing
            return None
        if header.strip() == "*":
            return None
        match = _ETAG.fullmatch(header.strip())
        if match is None:
            raise InvalidInput("If-Match", _('%(field)s must be the ETag of the record, such as "7".'))
        return int(match.group(1))

    def answer(
        self,
        record: Any,
        *,
        version: int | None = None,
        settled: bool = True,
        goes_on: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Answer one record by `answers[action]`; `version` becomes the ETag, and may make it a 304.

        With `goes_on`, which the action declares in `may_go_on`, the status is 202.
        Not `settled`: the record shows what moves without its version, by the clock or with other records, so that it
        is sent whole each time.
        """
        etag = {} if version is None else {"ETag": f'"{version}"'}
        if etag and settled and self.request.method in ("GET", "HEAD") and self._holds(etag["ETag"]):
            return Response(status=304, headers=etag)
        shape = self.answers.get(self.action)
        body = None if shape is None else serializers.show(shape, record, context=self.get_serializer_context())
        return Response(body, status=202 if goes_on else self.status, headers={**etag, **(headers or {})})

    @property
    def status(self) -> int:
        """What the action answers when all is well."""
        default = 200 if self.action in self.answers or self.action in self.files else 204
        return self.statuses.get(self.action, 201 if self.action == "create" else default)

    def _holds(self, etag: str) -> bool:
        """Whether the caller's copies (If-None-Match, compared weakly: RFC 9110, 13.1.2) include this one."""
        etags = [entry.strip().removeprefix("W/") for entry in self.request.headers.get("If-None-Match", "").split(",")]
        return etag in etags or "*" in etags

    def page(self, rows: QuerySet[Any], *, sort: str = "-created_at") -> Page[Any]:
        """Cut the page that the query asks for; see `paginate`."""
        return paginate(rows, query=self.query, by=self.principal, sort=sort)

    def answer_page(self, page: Page[Any]) -> Response:
        """Answer a list: `{"data": [...], "page": {...}}`, and a Link to what follows."""
        shape = self.answers[self.action]
        data = shape(page.rows, many=True, context=self.get_serializer_context()).data
        headers = {}
        if page.next_cursor is not None:
            parameters = {**self.request.query_params.dict(), "cursor": page.next_cursor}
            headers["Link"] = f'<{self.request.path}?{urlencode(parameters)}>; rel="next"'
        return Response({"data": data, "page": page.as_json()}, headers=headers)
