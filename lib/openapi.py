"""The OpenAPI document, generated from the declarations of each ApiViewSet.

Summary and description come from the docstring of the action, parameters, bodies and responses from its serializers,
errors from the error codes, and examples from `lib.openapi_examples`.
"""

import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from lib.access import ANY_TOKEN, PUBLIC
from lib.api import fields
from lib.api.errors import body_of
from lib.api.query import PageQuery
from lib.api.serializers import In, Out, OutShape, camel
from lib.errors import Code
from lib.openapi_examples import UUID_EXAMPLE, example_of

_ALWAYS = (Code.INTERNAL_ERROR, Code.SERVICE_UNAVAILABLE, Code.TIMEOUT)
_WITH_TOKEN = (
    Code.VALIDATION_ERROR,
    Code.UNSUPPORTED_API_VERSION,
    Code.TOKEN_IN_QUERY,
    Code.UNAUTHENTICATED,
    Code.TOKEN_EXPIRED,
    Code.TOKEN_REVOKED,
    Code.INSUFFICIENT_SCOPE,
    Code.IP_NOT_ALLOWED,
    Code.NOT_ACCEPTABLE,
    Code.RATE_LIMITED,
)
_WITH_BODY = (Code.MALFORMED_REQUEST, Code.PAYLOAD_TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE, Code.RESOURCE_BUSY)
_OF_POST = (Code.IDEMPOTENCY_IN_PROGRESS, Code.IDEMPOTENCY_KEY_REUSED, Code.RESOURCE_BUSY)
_WITH_VERSION = (Code.PRECONDITION_FAILED, Code.PRECONDITION_REQUIRED)

_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "requestId", "retryable", "details", "docs"],
            "properties": {
                "code": {"type": "string", "description": "Stable; build on it.", "enum": [code.name for code in Code]},
                "message": {"type": "string", "description": "For people; may change."},
                "requestId": {"type": "string", "format": "uuid", "description": "Quote it when you ask for help."},
                "retryable": {"type": "boolean", "description": "Whether the same request may be sent again."},
                "details": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {
                            "field": {"type": "string", "description": "Path such as rides[2].pickupTime."},
                            "code": {"type": "string"},
                            "message": {"type": "string"},
                        },
                    },
                },
                "docs": {"type": "string"},
            },
        }
    },
}
_PAGE: dict[str, Any] = {
    "type": "object",
    "required": ["limit", "hasMore", "nextCursor"],
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "maximum": 200},
        "hasMore": {"type": "boolean"},
        "nextCursor": {"type": ["string", "null"], "description": "Send it as `cursor` to go on."},
        "total": {"type": "integer", "description": "With includeTotal; exact up to 10,000."},
        "totalIsCapped": {"type": "boolean"},
    },
}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its metaclass registers it
    """The description of token authentication."""

    target_class = "apps.accounts.api.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_requirement(self, auto_schema: Any) -> dict[str, list[str]]:
        scope = auto_schema.view.scopes.get(auto_schema.view.action, ANY_TOKEN)
        if scope == PUBLIC:
            return {}
        return {self.name: [] if scope == ANY_TOKEN else [str(scope)]}

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer clt_...`; see docs/api.md."}


# Patterns for types that JSON Schema has no format for.
_FORMS: dict[type[Any], dict[str, Any]] = {
    fields.Phone: {"pattern": r"^\+[1-9]\d{6,14}$", "examples": ["+13125550140"]},
    fields.ClockTime: {"pattern": r"^([01]\d|2[0-3]):[0-5]\d$", "examples": ["07:30"]},
    fields.Zone: {"description": "IANA time zone.", "examples": ["America/Chicago"]},
}


class _Schemas(dict[str, Any]):
    """The schemas of the document that is being generated, by name."""

    def __init__(self, registry: Any) -> None:
        super().__init__()
        self._registry = registry

    def __missing__(self, name: str) -> Any:
        return self._registry[ResolvedComponent(name, "schemas")].schema  # type: ignore[no-untyped-call]  # untyped library


class OperationSchema(AutoSchema):
    """One operation of the document."""

    @property
    def _viewset(self) -> Any:
        """Return the ApiViewSet; the stubs of DRF declare a general view."""
        return self.view

    @property
    def _action(self) -> str:
        return str(self._viewset.action)

    def is_deprecated(self) -> bool:
        """Return whether the operation is going to be removed."""
        return self._action in self._viewset.retiring

    @property
    def _is_public(self) -> bool:
        return bool(self._viewset.scopes.get(self._action) == PUBLIC)

    @property
    def _is_page(self) -> bool:
        return issubclass(self._viewset.queries.get(self._action, object), PageQuery)

    @property
    def _takes_version(self) -> bool:
        refused = self._viewset.refusals.get(self._action, ())
        return self.method in ("PATCH", "PUT", "DELETE") or Code.PRECONDITION_FAILED in refused

    def _words(self) -> tuple[str, str]:
        """Split the docstring of the action into its first line and the rest."""
        summary, _, rest = inspect.cleandoc(getattr(self.view, self._action).__doc__ or "").partition("\n")
        return summary.rstrip("."), rest.strip()

    def get_summary(self) -> str:
        return self._words()[0].replace("`", "")  # plain text, unlike the description

    def get_description(self) -> str:  # type: ignore[override]  # as in drf-spectacular, unlike DRF
        scope = self._viewset.scopes.get(self._action)
        needs = "" if scope in (PUBLIC, ANY_TOKEN) else f"Needs the scope `{scope}`."
        return "\n\n".join(filter(None, (self._words()[1], needs)))

    def get_operation_id(self) -> str:
        words = [token.replace("-", "_") for token in self._tokenize_path()]
        if words[-1:] != [self._action]:
            words.append(self._action)
        return camel("_".join(words).replace(".", "_"))

    def get_tags(self) -> list[str]:
        return [self._tokenize_path()[0].split(".")[0]]

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # pages are described below, in the project's own envelope

    def get_override_parameters(self) -> list[Any]:
        parameters: list[Any] = []
        if query := self._viewset.queries.get(self._action):
            parameters.append(query)
        if self.method == "POST":
            parameters.append(
                _header(
                    "Idempotency-Key",
                    "Makes a retry safe: the same key and body are answered as the first time, for 7 days.",
                    required=self._action in self._viewset.idempotency_key_required,
                )
            )
        if self._takes_version:
            parameters.append(_header("If-Match", "The ETag of the record that you read; an older one is refused."))
        if not self._is_public:
            parameters.append(_header("API-Version", "A date; without it, the version that the token is pinned to."))
        return parameters

    def _get_parameters(self) -> list[dict[str, Any]]:
        parameters = super()._get_parameters()
        for parameter in parameters:
            if parameter["schema"].get("type") == "array":
                parameter |= {"style": "form", "explode": False}  # a,b
            if parameter["in"] == "path":
                is_id = parameter["schema"].get("format") == "uuid"
                parameter["example"] = UUID_EXAMPLE if is_id else self._viewset.examples_in_path[parameter["name"]]
        return parameters

    def get_request_serializer(self) -> Any:
        return self._viewset.bodies.get(self._action)

    def get_response_serializers(self) -> Any:
        statuses = [self._viewset.status, *([202] if self._action in self._viewset.may_go_on else [])]
        return {str(status): self._success() for status in statuses}

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        answers: dict[str, Any] = super()._get_response_bodies(direction)
        if types := self._viewset.files.get(self._action):
            content: dict[str, Any] = {media_type.partition(";")[0]: {"schema": {}} for media_type in types}
            answers[str(self._viewset.status)] = {"description": "The file.", "content": content}
        by_status: dict[int, list[Code]] = defaultdict(list)
        for code in Code:
            if code in self._codes():
                by_status[code.status].append(code)
        return answers | {str(status): self._failure(codes) for status, codes in sorted(by_status.items())}

    def _success(self) -> OpenApiResponse:
        serializer = self._viewset.answers.get(self._action)
        if serializer is None:
            return OpenApiResponse(description="Done; there is no body.")
        item = self.resolve_serializer(serializer, "response").ref
        example = self._example_of(item)
        if preview := self._viewset.previews.get(self._action):
            either = {"oneOf": [item, self.resolve_serializer(preview, "response").ref]}
            description = "Done, or what would follow."
            return OpenApiResponse(either, description=description, examples=[_example("answer", example)])
        if not self._is_page:
            return OpenApiResponse(serializer, description="Done.", examples=[_example("answer", example)])
        page = {"limit": 50, "hasMore": False, "nextCursor": None}
        schema = {
            "type": "object",
            "required": ["data", "page"],
            "properties": {
                "data": {"type": "array", "items": item},
                "page": self._component("Page", _PAGE),
            },
        }
        return OpenApiResponse(
            schema, description="A page.", examples=[_example("page", {"data": [example], "page": page})]
        )

    def _failure(self, codes: list[Code]) -> dict[str, Any]:
        """Describe the errors of one status; descriptions of codes are in components/examples, once per document."""
        for code in codes:
            value = body_of(code, code.value.when, request_id=UUID_EXAMPLE)
            self._component(code.name, {"summary": code.value.when, "value": value}, kind="examples")
        content = {
            "schema": self._component("Error", _ERROR),
            "examples": {code.name: {"$ref": f"#/components/examples/{code.name}"} for code in codes},
        }
        return {"description": ", ".join(code.name for code in codes), "content": {"application/json": content}}

    def _codes(self) -> set[Code]:
        codes = {*_ALWAYS, *self._viewset.refusals.get(self._action, ())}
        if not self._is_public:
            codes |= {*_WITH_TOKEN}
        if self._action in self._viewset.bodies:
            codes |= {*_WITH_BODY}
        if self.method == "POST":
            codes |= {*_OF_POST}
        if self._takes_version:
            codes |= {*_WITH_VERSION, Code.RESOURCE_BUSY}
        if self._is_page:
            codes.add(Code.INVALID_CURSOR)
        if "{" in self.path:
            codes.add(Code.NOT_FOUND)
        return codes

    def _component(self, name: str, content: dict[str, Any], *, kind: str = "schemas") -> dict[str, Any]:
        component = ResolvedComponent(name=name, type=kind, schema=content, object=name)  # type: ignore[no-untyped-call]  # untyped library
        self.registry.register_on_missing(component)
        return dict(component.ref)

    def get_examples(self) -> list[OpenApiExample]:
        body = self._viewset.bodies.get(self._action)
        if body is None or self.method == "DELETE":
            return []
        schema, _ = self._get_request_for_media_type(body)  # type: ignore[no-untyped-call]  # drf-spectacular
        return [OpenApiExample("body", value=self._example_of(schema), request_only=True)] if schema else []

    def _example_of(self, schema: dict[str, Any]) -> Any:
        return example_of(schema, _Schemas(self.registry))

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> Any:
        schema = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]  # untyped library
        for kind, form in _FORMS.items():
            if isinstance(field, kind):
                schema.pop("format", None)
                schema |= form
        return schema

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        """Return the component name: the class name, with the app as prefix if two apps have a class of that name."""
        name: str = super().get_serializer_name(serializer, direction)
        kind = type(serializer)
        return kind.__module__.split(".")[1].title() + name if kind.__name__ in _names_used_twice() else name

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]  # untyped library
        if isinstance(serializer, In):
            schema["additionalProperties"] = False
        if type(serializer).__doc__ is None:
            schema.pop("description", None)  # inherited from a base class
        if own_example := getattr(serializer, "example", None):
            generated = {} if isinstance(serializer, In) else self._example_of(schema)
            schema["examples"] = [generated | own_example]
        if getattr(serializer, "may_lack_keys", False):  # fields above the caller's PHI level are left out
            schema.pop("required", None)
        return schema


def name_path_parameters(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Name the path parameters of the complete document in camelCase, as all other names; routes are snake_case."""
    paths = {}
    for path, methods in result["paths"].items():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter.get("in") == "path":
                    parameter["name"] = camel(parameter["name"])
        paths[re.sub(r"{(\w+)}", lambda found: f"{{{camel(found[1])}}}", path)] = methods
    return result | {"paths": paths}


@lru_cache(maxsize=1)
def _names_used_twice() -> set[str]:
    # a set: a class with two bases is found twice
    kinds = {kind for base in (In, Out, OutShape) for kind in _kinds_of(base)}
    count = Counter(kind.__name__ for kind in kinds)
    return {name for name, times in count.items() if times > 1}


def _kinds_of(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("apps."):
            yield kind
        yield from _kinds_of(kind)


def _header(name: str, description: str, *, required: bool = False) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, required=required, description=description)


def _example(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True)
