"""OpenAPI document: every operation described, every example valid, the committed copy current."""

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, get_resolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from config.api import urlpatterns
from lib.access import ANY_TOKEN, PUBLIC
from lib.api.document import document
from lib.api.serializers import In, camel
from lib.api.views import ApiViewSet
from lib.error_pages import errors_page
from lib.errors import Code
from lib.scopes import Scope
from tests.callers import TokenClient

# Operations that answer 202 besides 200: the work may continue in the background.
MAY_GO_ON = {"webhooksEndpointsRecover"}
ROOT = Path(__file__).resolve().parent.parent.parent
# The only operations that may be called without a token.
PUBLIC_PATHS = {"/health/live", "/health/ready", "/openapi.json", "/webhooks/keys", "/exports/files/{secret}"}


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths = document()["paths"].items()
    return [(path, method, operation) for path, methods in paths for method, operation in methods.items()]


def route_of(pattern: Any) -> str:
    return "/" + re.sub(r"<\w+:(\w+)>", lambda found: f"{{{camel(found[1])}}}", str(pattern.pattern))


def viewsets() -> list[type[ApiViewSet]]:
    found: set[type[ApiViewSet]] = {pattern.callback.cls for pattern in urlpatterns}  # type: ignore[union-attr]  # as_view() adds it
    return sorted(found, key=lambda view: view.__name__)


def resolved(schema: Any) -> Any:
    """Inline the referenced components, for a validator that knows one schema at a time."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return resolved(document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
        return {key: resolved(value) for key, value in schema.items()}
    return [resolved(item) for item in schema] if isinstance(schema, list) else schema


def test_path_parameters_are_named_in_camel_case() -> None:
    paths = document()["paths"]

    assert "/trips/{id}/rides/{rideId}" in paths
    assert "/drivers/{id}/absences/{absenceId}" in paths
    for path, method, operation in operations():
        in_path = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter.get("in") == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", path)), (method, path)
        assert not any("_" in name for name in in_path), path


def test_document_is_valid_and_made_without_warnings() -> None:
    validate_schema(document())  # type: ignore[no-untyped-call]  # drf-spectacular

    assert not GENERATOR_STATS
    assert document()["openapi"] == "3.1.0"
    assert '"nullable"' not in json.dumps(document())


def test_every_route_is_in_the_document() -> None:
    routes = {route_of(pattern) for pattern in urlpatterns}

    assert all(isinstance(pattern, URLPattern) for pattern in urlpatterns)
    assert set(document()["paths"]) == routes


def test_what_stands_in_paths_is_an_example_of_its_own() -> None:
    stands = [one for _, _, operation in operations() for one in operation.get("parameters", ()) if one["in"] == "path"]

    words = {(one["name"], one["example"]) for one in stands if one["schema"].get("format") != "uuid"}
    assert words == {
        ("date", "2026-11-23"),
        ("file", "completions.csv"),
        ("secret", "the-end-of-the-url-that-content-answers"),
        ("type", "ride.completed"),
    }


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]

    assert sorted(ids) == sorted(set(ids))
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]+", name) for name in ids)


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_operation_is_described(path: str, method: str, operation: dict[str, Any]) -> None:
    good = {status: answer for status, answer in operation["responses"].items() if status < "300"}
    codes = {code for answer in operation["responses"].values() for code in examples_of(answer)} & {*Code.__members__}

    assert operation["summary"]
    assert len(good) == (2 if operation["operationId"] in MAY_GO_ON else 1)
    for answer in good.values():
        assert "application/json" not in answer.get("content", {}) or examples_of(answer)  # files have no example
    if method in ("post", "put", "patch") and "requestBody" in operation:
        assert examples_of(operation["requestBody"])
    assert codes >= {"INTERNAL_ERROR", "SERVICE_UNAVAILABLE"}
    if path in PUBLIC_PATHS:
        assert operation["security"] == [{}]
    else:
        assert operation["security"][0]["bearer"] is not None
        assert codes >= {"UNAUTHENTICATED", "INSUFFICIENT_SCOPE", "RATE_LIMITED", "VALIDATION_ERROR"}
    headers = {parameter["name"] for parameter in operation["parameters"]} if "parameters" in operation else set()
    assert ("Idempotency-Key" in headers) == (method == "post")
    if method in ("patch", "put", "delete"):
        assert "If-Match" in headers
        assert "PRECONDITION_FAILED" in codes
    if "{" in path:
        assert "NOT_FOUND" in codes


def examples_of(part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = part.get("content", {}).get("application/json", {}).get("examples", {})
    return found


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_examples_satisfy_their_schemas(path: str, method: str, operation: dict[str, Any]) -> None:
    parts = [operation.get("requestBody", {}), *operation["responses"].values()]

    for part in parts:
        content = part.get("content", {}).get("application/json", {})
        for example in content.get("examples", {}).values():
            if "value" in example:
                Draft202012Validator(resolved(content["schema"])).validate(example["value"])


def body_of(path: str, method: str) -> type[In]:
    """Return the serializer that reads the body of an operation."""
    for pattern in urlpatterns:
        if path == route_of(pattern):
            callback: Any = pattern.callback
            return cast(type[In], callback.cls.bodies[callback.actions[method]])
    raise LookupError(path)


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_examples_of_bodies_are_accepted(path: str, method: str, operation: dict[str, Any]) -> None:
    for example in examples_of(operation.get("requestBody", {})).values():
        shape = body_of(path, method)(data=example["value"], partial=method == "patch")
        assert shape.is_valid(), shape.errors


@pytest.mark.parametrize("view", viewsets())
def test_every_action_names_its_scope(view: type[ApiViewSet]) -> None:
    routed = {
        action
        for pattern in urlpatterns
        if pattern.callback.cls is view  # type: ignore[union-attr]  # as_view() adds cls and actions
        for action in pattern.callback.actions.values()  # type: ignore[union-attr]  # set by as_view
    }

    assert routed == set(view.scopes)
    assert set(view.scopes.values()) <= {*Scope, ANY_TOKEN, PUBLIC}
    assert {*view.queries, *view.bodies, *view.answers, *view.refusals, *view.statuses, *view.may_go_on} <= routed


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_operation_refuses_callers_without_a_token(path: str, method: str, operation: dict[str, Any]) -> None:
    url = "/api" + re.sub(r"\{(id|\w+Id)\}", "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f", path)
    url = re.sub(r"\{\w+\}", "x", url)

    response = APIClient().generic(method.upper(), url)

    public = 404 if "{" in path else 200
    assert response.status_code == (public if path in PUBLIC_PATHS else 401)


@pytest.mark.django_db
def test_document_is_served(nobody: TokenClient) -> None:
    response = nobody.get("/api/openapi.json")

    assert response.json() == json.loads(json.dumps(document()))


def test_committed_document_is_current() -> None:
    made = OpenApiJsonRenderer().render(document(), renderer_context={})

    assert (ROOT / "docs" / "openapi.json").read_bytes() == made, "run: make docs"


def test_committed_errors_page_is_current() -> None:
    assert (ROOT / "docs" / "errors.md").read_text() == errors_page(), "run: make docs"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/docs/api", "/docs/errors"])
def test_pages_are_public_and_have_no_inline_code(path: str, settings: Any) -> None:
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }
    response = Client().get(path)

    page = response.content.decode()
    assert response.status_code == 200
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", page)
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    for code in Code:
        assert path != "/docs/errors" or f'id="{code.name}"' in page


def test_resolver_knows_no_other_route_of_the_api() -> None:
    api = [pattern for pattern in get_resolver().url_patterns if str(pattern.pattern).startswith("api")]

    assert [str(pattern.pattern) for pattern in api] == ["api/"]


def test_command_writes_all_pages(settings: LazySettings, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()

    call_command("write_docs")

    written = {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()}
    assert written == {
        name: (ROOT / "docs" / name).read_bytes() for name in ("openapi.json", "errors.md", "figures.md")
    }
