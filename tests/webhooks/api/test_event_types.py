"""Event types, and the keys for verification, over HTTP."""

import base64

import pytest

from apps.webhooks.rules.event_types import CATALOGUE, body_schema
from apps.webhooks.services import secrets
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW

pytestmark = pytest.mark.django_db

PATH = "/api/webhooks/event-types"


def test_event_types_have_schema_and_example_for_every_level(api: TokenClient) -> None:
    body = api.get(PATH).json()

    assert [one["name"] for one in body["data"]] == list(CATALOGUE)
    assert body["page"] == {"limit": len(CATALOGUE), "hasMore": False, "nextCursor": None}
    (shown,) = (one for one in body["data"] if one["name"] == "ride.completed")
    assert (shown["description"], shown["operational"]) == ("The rider was dropped off.", False)
    assert [one["level"] for one in shown["payloads"]] == ["id-only", "summary", "full-resource"]
    assert shown["payloads"][1]["schema"]["title"] == "ride.completed, summary"
    data = [set(one["example"]["data"]) for one in shown["payloads"]]
    assert data[0] == {"rideId", "href"}
    assert data[2] - data[1] == {"ride"}
    assert shown["payloads"][0]["example"]["apiVersion"] == "2026-11-20"
    assert {one["name"] for one in body["data"] if one["operational"]} == {
        "export.failed",
        "export.ready",
        "token.expiring",
        "webhook.test",
        "webhook.endpoint.failing",
        "webhook.endpoint.recovered",
        "webhook.endpoint.paused",
        "webhook.endpoint.disabled",
        "webhook.delivery.exhausted",
        "webhook.delivery.expiring",
    }


@pytest.mark.parametrize(("query", "level"), [("", "id-only"), ("?level=full-resource", "full-resource")])
def test_schema_of_a_type_can_be_read_alone(api: TokenClient, query: str, level: str) -> None:
    response = api.get(f"{PATH}/ride.exception/schema{query}")

    assert response.json() == body_schema(CATALOGUE["ride.exception"], level)


def test_type_that_is_none_has_no_schema(api: TokenClient) -> None:
    assert error_of(api.get(f"{PATH}/ride.flown/schema"))["code"] == "NOT_FOUND"
    assert error_of(api.get(f"{PATH}/ride.started/schema?level=all"))["code"] == "VALIDATION_ERROR"


def test_token_of_no_version_is_shown_the_present_one() -> None:
    shown = api_with(api_version="").get(PATH).json()["data"][0]["payloads"][0]["example"]

    assert shown["apiVersion"] == "2026-11-20"


def test_keys_are_public(nobody: TokenClient) -> None:
    before = nobody.get("/api/webhooks/keys").json()
    key = secrets.ensure_signing_key(at=NOW)

    after = nobody.get("/api/webhooks/keys").json()

    assert before == {"keys": []}
    (shown,) = after["keys"]
    assert (shown["kid"], shown["kty"], shown["crv"], shown["use"]) == (str(key.pk), "OKP", "Ed25519", "sig")
    assert len(shown["x"]) == 43
    assert shown["whpk"] == "whpk_" + base64.b64encode(bytes(key.public)).decode()
