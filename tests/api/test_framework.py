"""Behavior common to all routes: validation, serialization, one error object for every failure."""

from typing import Any

import pytest
from django.test import override_settings

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Payer
from lib.ids import uuid7
from tests.callers import TokenClient, api_with, error_of
from tests.factories import PayerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.api.sample")]


def test_missing_field_is_named_in_the_message(api: TokenClient) -> None:
    response = api.post("/api/payers", {})

    error = error_of(response)
    assert (error["code"], error["message"]) == ("VALIDATION_ERROR", "name is required.")
    assert error["details"] == [{"field": "name", "code": "required", "message": "name is required."}]


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"name": 5}, "name", "invalid"),
        ({"name": True}, "name", "invalid"),
        ({"name": None}, "name", "null"),
        ({"name": ""}, "name", "blank"),
        ({"name": "  "}, "name", "blank"),
        ({"name": "a\nb"}, "name", "control"),
        ({"name": "a" * 101}, "name", "max_length"),
        ({"name": "a", "paidSince": "2026-02-30"}, "paidSince", "form"),
        ({"name": "a", "paidSince": 20260230}, "paidSince", "form"),
        ({"name": "a", "paid_since": "2026-02-03"}, "paid_since", "unknown"),
        ({"name": "a", "id": "x"}, "id", "unknown"),
        ({"name": "a", "Jane Roe, 1951": 1}, "(unnamed)", "unknown"),
        ({"name": "a", "contacts": "x"}, "contacts", "not_a_list"),
        ({"name": "a", "contacts": {}}, "contacts", "not_a_list"),
        ({"name": "a", "contacts": [1, 2, 3, 4]}, "contacts", "max_length"),
        ({"name": "a", "contacts": [{"phone": "+13125550140"}, {"phone": "5"}]}, "contacts[1].phone", "form"),
        ({"name": "a", "contacts": [{"phone": "+13125550140"}, {}]}, "contacts[1].phone", "required"),
        ({"name": "a", "contacts": [{"phone": "+13125550140"}, 5]}, "contacts[1]", "invalid"),
        ([], None, "invalid"),
        ("text", None, "invalid"),
    ],
)
def test_wrong_body_is_refused_by_path(api: TokenClient, body: Any, field: str | None, code: str) -> None:
    response = api.post("/api/payers", body)

    error = error_of(response)
    assert error["code"] == "VALIDATION_ERROR"
    assert [(detail.get("field"), detail["code"]) for detail in error["details"]] == [(field, code)]
    assert error["message"].startswith(field or "The body")
    assert Payer.objects.count() == 0


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nope",
        b"{'name': 'a'}",
        b'{"name": NaN}',
        b'{"name": 1e400}',
        b'{"name": "a", "name": "b"}',
        b'{"name": "a", "contacts": [{"phone": "a", "phone": "b"}]}',
        b'{"name": "\\u0000"}',
        b'{"\\u0000": "a"}',
        b'{"name": "\xff"}',
        b'\xef\xbb\xbf{"name": "a"}',
        b'{"name": "\\ud800"}',
        b'{"name": ' + b"[" * 20 + b"]" * 20 + b"}",
        b"[" * 100_000,
    ],
)
def test_malformed_body_is_refused(api: TokenClient, body: bytes) -> None:
    response = api.post("/api/payers", body, content_type="application/json")

    assert error_of(response)["code"] == "MALFORMED_REQUEST"
    assert Payer.objects.count() == 0


def test_body_of_twenty_levels_is_read(api: TokenClient) -> None:
    body = b'{"name": ' + b"[" * 19 + b"]" * 19 + b"}"

    response = api.post("/api/payers", body, content_type="application/json")

    assert error_of(response)["message"] == "name must be a string."


def test_keys_inside_strings_do_not_count_as_repeated(api: TokenClient) -> None:
    body = b'{ "name" : "a \\"name\\": \\\\" }'

    response = api.post("/api/payers", body, content_type="application/json")

    assert response.json()["name"] == 'a "name": \\'


@pytest.mark.parametrize(("size", "status"), [(1_048_576, 201), (1_048_577, 413)])
def test_body_has_a_limit(api: TokenClient, size: int, status: int) -> None:
    body = b'{"name": "a"' + b" " * (size - 13) + b"}"

    response = api.post("/api/payers", body, content_type="application/json")

    assert response.status_code == status
    if status == 413:
        assert error_of(response)["code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize(("size", "status"), [(5 * 1_048_576, 200), (5 * 1_048_576 + 1, 413)])
def test_bulk_body_has_a_limit_of_its_own(api: TokenClient, size: int, status: int) -> None:
    body = b'{"text": "' + b"a" * (size - 12) + b'"}'

    response = api.post("/api/bulk", body, content_type="application/json", headers={"Idempotency-Key": "k"})

    assert response.status_code == status
    if status == 413:
        assert error_of(response)["code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
def test_other_media_types_are_refused(api: TokenClient, media_type: str) -> None:
    response = api.post("/api/payers", b'{"name": "a"}', content_type=media_type)

    assert error_of(response)["code"] == "UNSUPPORTED_MEDIA_TYPE"


def test_other_formats_are_not_offered(api: TokenClient) -> None:
    response = api.get("/api/payers", headers={"Accept": "text/html"})

    assert error_of(response)["code"] == "NOT_ACCEPTABLE"


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/payers/", "/api/payers/5", "/api", "/api/", "/api/payers/abc?x=1", "/api//payers"]
)
def test_unknown_path_is_not_found_without_a_redirect(api: TokenClient, path: str) -> None:
    response = api.get(path)

    assert error_of(response)["code"] == "NOT_FOUND"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_unknown_method_is_answered_with_those_there_are(api: TokenClient, method: str) -> None:
    response = api.generic(method, "/api/payers")

    assert error_of(response)["code"] == "METHOD_NOT_ALLOWED"
    assert response.headers["Allow"] == "GET, HEAD, POST"


def test_crash_shows_nothing_of_its_cause(api: TokenClient) -> None:
    for response in (api.get("/api/crash"), api.post("/api/payers", {"name": "crash"})):
        assert error_of(response)["code"] == "INTERNAL_ERROR"
        assert b"bug" not in response.content

    assert Payer.objects.count() == 0, "the POST is one transaction"


@override_settings(DEBUG=True)
def test_debug_mode_keeps_the_error_object(api: TokenClient) -> None:
    assert error_of(api.get("/api/crash"))["code"] == "INTERNAL_ERROR"
    assert error_of(api.get("/api/nothing"))["code"] == "NOT_FOUND"


def test_unknown_host_is_answered_with_the_error_object(api: TokenClient) -> None:
    response = api.get("/api/payers", headers={"Host": "evil.example"})

    assert error_of(response)["code"] == "MALFORMED_REQUEST"


@pytest.mark.parametrize("path", ["/api/payers?name=%00", "/api/pay%00ers"])
def test_nul_byte_in_the_address_is_refused(api: TokenClient, path: str) -> None:
    assert error_of(api.get(path))["code"] == "MALFORMED_REQUEST"


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("nope=1", "nope", "unknown"),
        ("format=json", "format", "unknown"),
        ("limit=", "limit", "blank"),
        ("limit=0", "limit", "min_value"),
        ("limit=-1", "limit", "min_value"),
        ("limit=5.0", "limit", "invalid"),
        ("limit=ten", "limit", "invalid"),
        ("limit=٣", "limit", "invalid"),  # an Arabic digit
        ("limit=1&limit=2", "limit", "repeated"),
        ("includeTotal=yes", "includeTotal", "invalid"),
    ],
)
def test_wrong_query_is_refused_by_name(api: TokenClient, query: str, field: str, code: str) -> None:
    response = api.get(f"/api/payers?{query}")

    error = error_of(response)
    assert error["code"] == "VALIDATION_ERROR"
    assert [(detail["field"], detail["code"]) for detail in error["details"]] == [(field, code)]


def test_query_on_an_operation_that_takes_none_is_refused(api: TokenClient) -> None:
    payer = PayerFactory.create()

    response = api.get(f"/api/payers/{payer.pk}?name=x")

    assert error_of(response)["details"][0]["code"] == "unknown"


def test_created_record_is_answered_with_its_version(api: TokenClient) -> None:
    response = api.post("/api/payers", {"name": "Prairie"})

    payer = Payer.objects.get()
    assert (response.status_code, response.json()) == (201, {"id": str(payer.pk), "name": "Prairie"})
    assert response.headers["ETag"] == '"1"'
    assert response.headers["Location"] == f"/api/payers/{payer.pk}"


def test_unchanged_record_is_not_sent_again(api: TokenClient) -> None:
    payer = PayerFactory.create()

    fresh = api.get(f"/api/payers/{payer.pk}", headers={"If-None-Match": 'W/"6", "7"'})
    stale = api.get(f"/api/payers/{payer.pk}", headers={"If-None-Match": '"6"'})

    assert (fresh.status_code, fresh.content, fresh.headers["ETag"]) == (304, b"", '"7"')
    assert stale.status_code == 200


def test_patch_takes_some_fields_and_the_version(api: TokenClient) -> None:
    url = f"/api/payers/{uuid7()}"

    assert api.patch(url, {"name": "a"}).json()["name"] == "a None"
    assert api.patch(url, {}, headers={"If-Match": '"12"'}).json()["name"] == "None 12"
    assert api.patch(url, {}, headers={"If-Match": "*"}).json()["name"] == "None None"
    assert error_of(api.patch(url, {}, headers={"If-Match": 'W/"12"'}))["details"][0]["field"] == "If-Match"


@override_settings(API_REQUIRE_IF_MATCH=True)
def test_deployment_can_require_the_version(api: TokenClient) -> None:
    response = api.patch(f"/api/payers/{uuid7()}", {"name": "a"})

    assert error_of(response)["code"] == "PRECONDITION_REQUIRED"


def test_caller_without_a_token_is_refused(nobody: TokenClient) -> None:
    response = nobody.get("/api/payers")

    assert error_of(response)["code"] == "UNAUTHENTICATED"
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="carelane"'


def test_token_without_the_scope_is_refused_and_audited() -> None:
    billing = api_with(TokenRole.BILLING_READONLY)

    response = billing.post("/api/payers", {"name": "a"})

    error = error_of(response)
    assert (error["code"], error["details"][0]["requiredScope"]) == ("INSUFFICIENT_SCOPE", "facilities:write")
    assert 'error="insufficient_scope"' in response.headers["WWW-Authenticate"]
    assert Payer.objects.count() == 0
    denied = AuditEntry.objects.get()
    assert (denied.action, denied.outcome, denied.subject_id) == ("tokens.denied", "denied", billing.token.pk)
    assert str(denied.request_id) == response.headers["X-Request-Id"]


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_the_same_however_many_rows(api: TokenClient, django_assert_num_queries: Any, count: int) -> None:
    PayerFactory.create_batch(count)

    with django_assert_num_queries(2):  # token, page
        response = api.get("/api/payers")

    assert len(response.json()["data"]) == count
    assert response.json()["page"] == {"limit": 50, "hasMore": False, "nextCursor": None}
