"""The short way to the API keeps what callers and browsers rely on."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.test import Client, override_settings

from tests.callers import TokenClient, error_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/api/rides", "/api/nothing-here", "/api/openapi.json"])
def test_every_answer_tells_browsers_to_run_and_frame_nothing(path: str, api: TokenClient) -> None:
    response = api.get(path)

    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert response.headers["X-Frame-Options"] == "DENY"


def test_unknown_path_is_not_found_in_json(api: TokenClient) -> None:
    response = api.get("/api/nothing-here")

    assert (response.status_code, response.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_host_that_is_not_ours_is_refused_in_json(api: TokenClient) -> None:
    response = api.get("/api/rides", HTTP_HOST="evil.example")

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "MALFORMED_REQUEST"


@contextmanager
def _sessions_seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    seen: list[str] = []
    looked = SessionMiddleware.process_request

    def noticing(self: SessionMiddleware, request: HttpRequest) -> None:
        seen.append(request.path_info)
        looked(self, request)

    monkeypatch.setattr(SessionMiddleware, "process_request", noticing)
    yield seen


def test_api_does_not_look_for_a_session_and_pages_do(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with _sessions_seen(monkeypatch) as seen:
        api.get("/api/rides")
        Client().get("/no-such-page")

    assert seen == ["/no-such-page"]


@override_settings(MIDDLEWARE=["lib.request_context.RequestContextMiddleware", "lib.api.errors.ApiErrorMiddleware"])
def test_api_answers_the_same_the_long_way(api: TokenClient) -> None:
    """Without the shortcut nothing but headers differs."""
    assert api.get("/api/rides").json() == {"data": [], "page": {"limit": 50, "hasMore": False, "nextCursor": None}}


@pytest.mark.urls("tests.api.sample")
def test_refusal_of_a_plain_view_becomes_an_error_object(api: TokenClient) -> None:
    response = api.get("/api/closed")

    error = error_of(response)
    assert (response.status_code, error["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert response.headers.get("Content-Length", str(len(response.content))) == str(len(response.content))
    assert response.headers["Retry-After"] == "5"
