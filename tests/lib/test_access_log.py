"""Access log: one line per request, without any text that a person entered."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import StreamingHttpResponse
from django.test import Client, RequestFactory

from lib.access_log import AccessLogMiddleware
from lib.process_logging import json_formatter
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.callers import api_with

pytestmark = pytest.mark.django_db
CANARY = "Quillon-Canary-4711"


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Collect the log lines in the context of their requests."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(json_formatter())
    log = logging.getLogger("carelane.access")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)


def test_request_of_a_token_leaves_one_line(lines: Any) -> None:
    ride, api = factories.RideFactory.create(), api_with()

    response = api.get(f"/api/rides/{ride.pk}", {"expand": "rider"})

    (line,) = lines()
    milliseconds = line.pop("milliseconds")
    line.pop("at")
    assert 0 < milliseconds < 60_000
    assert line == {
        "level": "INFO",
        "logger": "carelane.access",
        "event": "request",
        "request_id": response.headers["X-Request-Id"],
        "principal": "token",
        "principal_id": str(api.token.pk),
        "method": "GET",
        "route": "api/rides/<uuid:id>",
        "status_code": response.status_code,
        "bytes": len(response.content),
    }


def test_request_of_a_person_names_them_by_id(lines: Any, client: Client) -> None:
    person = factories.UserFactory.create()
    sign_in(client, person)

    client.get("/console/home/")

    (line,) = lines()
    assert (line["principal"], line["principal_id"], line["route"]) == ("user", str(person.pk), "console/home/")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"/api/rides?clientReference={CANARY}", 401),
        ("GET", f"/api/{CANARY}", 404),
        ("GET", f"/{CANARY}", 404),
        ("GET", f"/static/{CANARY}.js", 404),
        ("GET", f"/api/riders?token=clt_{CANARY}", 400),
        (CANARY, "/api/rides", 405),
        ("POST", f"/accounts/login/?next=/{CANARY}", 200),
    ],
)
def test_nothing_that_was_typed_is_in_the_line(lines: Any, client: Client, method: str, path: str, status: int) -> None:
    client.raise_request_exception = False
    response = client.generic(method, path, f"login={CANARY}", content_type="application/x-www-form-urlencoded")

    (line,) = lines()
    assert response.status_code == line["status_code"] == status
    assert CANARY not in json.dumps(line)
    assert line["principal"] == "nobody"
    assert "principal_id" not in line


def test_crash_leaves_its_line_too(lines: Any, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("apps.console.shell.home.contents_for", fail)
    client.raise_request_exception = False
    sign_in(client, factories.UserFactory.create())

    client.get("/console/home/")

    assert [line["status_code"] for line in lines()] == [500]


def test_log_asks_the_database_nothing(lines: Any, client: Client, django_assert_num_queries: Any) -> None:
    client.cookies["carelane_session"] = "unknown"

    with django_assert_num_queries(0):
        client.get("/api/health/live")

    assert len(lines()) == 1


def test_log_can_be_switched_off(lines: Any, client: Client, settings: Any) -> None:
    settings.ACCESS_LOG = False

    client.get("/api/health/live")

    assert lines() == []


@pytest.mark.parametrize(("headers", "size"), [({"Content-Length": "12"}, 12), ({}, None)])
def test_streamed_response_is_logged_with_its_header_size(
    lines: Any, rf: RequestFactory, headers: dict[str, str], size: int | None
) -> None:
    answer: Any = StreamingHttpResponse(iter([b"twelve bytes"]), headers=headers)
    AccessLogMiddleware(lambda request: answer)(rf.get("/"))

    (line,) = lines()
    assert line.get("bytes") == size
