"""Changes of the middleware to answers under /api."""

import pytest

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


def test_api_answers_without_reading_the_session(api: TokenClient) -> None:
    response = api.get("/api/rides")

    assert response.json() == {"data": [], "page": {"limit": 50, "hasMore": False, "nextCursor": None}}
    assert "Cookie" not in response.headers.get("Vary", "")
    assert "Set-Cookie" not in response.headers


@pytest.mark.urls("tests.api.sample")
def test_refusal_of_a_plain_view_becomes_an_error_object(api: TokenClient) -> None:
    response = api.get("/api/closed")

    error = error_of(response)
    assert (response.status_code, error["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert response.headers.get("Content-Length", str(len(response.content))) == str(len(response.content))
    assert response.headers["Retry-After"] == "5"
