"""Base class of the viewsets of the API.  A view translates the request, calls one service and answers."""

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
from lib.api.chunked_body import set_content_length
from lib.api.deprecation import Deprecation
from lib.api.serializers import In
from lib.errors import Code, DomainError, InvalidInput
from lib.pagination import Page, paginate
from lib.request_context import answer_headers

# The Accept headers of nearly all callers; for others, negotiation by DRF takes longer than authentication.
_TAKES_JSON: Final = frozenset({"*/*", "application/json"})
_ETAG = re.compile(r'"(\d{1,9})"', re.ASCII)


class IfMatchMissing(DomainError):
    """This deployment requires If-Match for changes."""

    code = Code.PRECONDITION_REQUIRED
    template = _("If-Match is required: send the ETag of the record you read.")


class UnknownVersion(DomainError):
    """The requested version of the API does not exist."""

    code = Code.UNSUPPORTED_API_VERSION
    template = _("API-Version must be one of: %(versions)s.")


class NoParameters(query.Query):
    """The query of operations without parameters."""


class NoBody(In):
    """The body of operations without a body."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Functions that need tables and are therefore defined in apps; config/api.py passes them to every view."""

    # Runs the handler of a POST of a view, at most once per Idempotency-Key.
    once: Callable[["ApiViewSet", Callable[[], Response]], HttpResponse]
    # Records a denial of a view: the error's code and the details of the answer.
    record_denial: Callable[["ApiViewSet", Code, list[dict[str, Any]]], None]


class ApiViewSet(GenericViewSet[Any]):
    """Operations on one resource, declared per action.

    `scopes` contains the scope that the token needs (or PUBLIC, ANY_TOKEN of lib.access); an action without is refused.
    `queries`, `bodies` and `answers` name the serializers of parameters, body and answer, `refusals` the codes that the
    operation adds to those every operation can answer; the OpenAPI document is made of them and of the docstrings.
    Idempotency keys, rate limits and versions require nothing in a view.
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
    # Serializers of the answers to `preview=true`, where they are others.
    previews: ClassVar[dict[str, type[BaseSerializer[Any]]]] = {}
    # Actions that may answer 202 because work continues after the answer.
    may_go_on: ClassVar[frozenset[str]] = frozenset()
    # Actions that answer a file, and its media types.
    files: ClassVar[dict[str, Collection[str]]] = {}
    # Schemas of path parameters that are not ids, by name; for the OpenAPI document.
    examples_in_path: ClassVar[dict[str, str]] = {}
    idempotency_key_required: ClassVar[frozenset[str]] = frozenset()
    # POSTs that wait for other systems: they run without a transaction and may happen twice.
    asks_others: ClassVar[frozenset[str]] = frozenset()
    # Actions that will be removed, and when.
    retiring: ClassVar[dict[str, Deprecation]] = {}
    # Body limits in bytes of actions that accept more than API_MAX_BODY_BYTES.
    body_limits: ClassVar[dict[str, int]] = {}

    query: dict[str, Any]
    _throttles: list[Any]

    @property
    def principal(self) -> Principal:
        """The principal of the token."""
        return cast(Principal, self.request.auth)

    @cached_property
    def at(self) -> dt.datetime:
        """The instant of this request; the clock is read once."""
        return timezone.now()

    @property
    def max_body_bytes(self) -> int:
        """The longest body, in bytes, that the action reads."""
        return self.body_limits.get(self.action, settings.API_MAX_BODY_BYTES)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        wrapped = super().initialize_request(request, *args, **kwargs)
        if self.action == "metadata":  # the action that DRF sets for OPTIONS, which the API does not answer
            self.action = ""
        return wrapped

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        if request.headers.get("Accept", "*/*") in _TAKES_JSON:
            renderer = self.get_renderers()[0]
            return renderer, renderer.media_type
        return super().perform_content_negotiation(request, force)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        set_content_length(request._request)
        super().initial(request, *args, **kwargs)
        if not self.action:
            return  # unknown method: DRF answers 405
        self._settle_version(request)
        self.query = query.parse(self.queries.get(self.action, NoParameters), request.query_params)
        if request.method == "POST":
            if self.action not in self.bodies:
                serializers.read(NoBody, request.data, context={})
            # DRF looks the handler up on the instance, so that the whole handler runs inside the guard.
            handler: Callable[..., Response] = vars(self)["post"]
            vars(self)["post"] = lambda *args, **kwargs: self._guarded().once(self, lambda: handler(*args, **kwargs))

    def record_if_denied(self, code: Code, details: list[dict[str, Any]]) -> None:
        """Record a refusal if its code is a denial; `details` are those of the answer.

        One insert, in the current transaction.
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
        """Set `API-Version` to the version that answers: the requested one, or the one that the token is pinned to.

        Raises:
            UnknownVersion: there is no version of that date.
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
            rest_framework.exceptions.ValidationError: a field is missing, unknown or of the wrong form; or a PUT
                has no body.
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
        """Read the version that the caller's copy has, from If-Match; None for `*` or without the header.

        Raises:
            IfMatchMissing: this deployment requires the header.
            InvalidInput: it is not a strong entity tag of this API.
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
        With `settled=False`, the answer is always complete, because the record contains values that change without the
        version, with time or with other records.
        """
        etag = {} if version is None else {"ETag": f'"{version}"'}
        if etag and settled and self.request.method in ("GET", "HEAD") and self._holds(etag["ETag"]):
            return Response(status=304, headers=etag)
        shape = self.answers.get(self.action)
        body = None if shape is None else serializers.show(shape, record, context=self.get_serializer_context())
        return Response(body, status=202 if goes_on else self.status, headers={**etag, **(headers or {})})

    @property
    def status(self) -> int:
        """The status of a successful answer."""
        default = 200 if self.action in self.answers or self.action in self.files else 204
        return self.statuses.get(self.action, 201 if self.action == "create" else default)

    def _holds(self, etag: str) -> bool:
        """Return whether the caller's copies (If-None-Match, compared weakly: RFC 9110, 13.1.2) include this one."""
        etags = [entry.strip().removeprefix("W/") for entry in self.request.headers.get("If-None-Match", "").split(",")]
        return etag in etags or "*" in etags

    def page(self, rows: QuerySet[Any], *, sort: str = "-created_at") -> Page[Any]:
        """Return the requested page; see `paginate`."""
        return paginate(rows, query=self.query, by=self.principal, sort=sort)

    def answer_page(self, page: Page[Any]) -> Response:
        """Answer a list: `{"data": [...], "page": {...}}`, and a Link to the next page."""
        shape = self.answers[self.action]
        data = shape(page.rows, many=True, context=self.get_serializer_context()).data
        headers = {}
        if page.next_cursor is not None:
            parameters = {**self.request.query_params.dict(), "cursor": page.next_cursor}
            headers["Link"] = f'<{self.request.path}?{urlencode(parameters)}>; rel="next"'
        return Response({"data": data, "page": page.as_json()}, headers=headers)
