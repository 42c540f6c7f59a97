"""Endpoints over HTTP."""

from typing import Any

import pytest
from django.db import models

from apps.accounts.models import ApiClient
from apps.accounts.rules.roles import TokenRole
from apps.events.models import Event
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth, EndpointSecret
from apps.webhooks.services import endpoints
from lib.standard_webhooks import hmac_of
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW, ApiClientFactory, FacilityFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db

PATH = "/api/webhooks/endpoints"
BODY: dict[str, Any] = {"name": "Engine", "url": "https://hooks.example.org/rides", "eventTypes": ["ride.*"]}
NOBODY = "00000000-0000-7000-8000-000000000000"
STORED: list[type[models.Model]] = [Endpoint, EndpointSecret, EndpointHealth, Delivery, Event]


def stored() -> list[Any]:
    return [list(model._default_manager.order_by("pk").values()) for model in STORED]


def refusal(response: Any) -> tuple[int, str, list[tuple[Any, str]]]:
    error = error_of(response)
    return response.status_code, error["code"], [(one.get("field"), one["code"]) for one in error["details"]]


def test_endpoint_is_registered_and_its_secret_shown_once(api: TokenClient, client: ApiClient) -> None:
    facility = FacilityFactory.create()
    given = {
        **BODY,
        "description": "north",
        "facilityIds": [str(facility.pk)],
        "payloadLevel": "summary",
        "ordering": "subject",
        "asymmetricSignature": True,
        "maxInFlight": 64,
        "headers": {"X-Site": "north", "Authorization": "Basic c2VjcmV0"},
    }

    response = api.post(PATH, given)

    endpoint = Endpoint.objects.get()
    shown = response.json()
    assert response.status_code == 201, shown
    assert (response["Location"], response["ETag"]) == (f"{PATH}/{endpoint.pk}", '"1"')
    secret = shown.pop("secret")
    assert secret == EndpointSecret.objects.get().text
    assert hmac_of(secret)
    assert shown == {
        "id": str(endpoint.pk),
        "clientId": str(client.pk),
        "name": "Engine",
        "url": "https://hooks.example.org/rides",
        "description": "north",
        "state": "pending",
        "stateReason": "",
        "stateChangedAt": "2026-11-20T15:00:00Z",
        "eventTypes": ["ride.*"],
        "facilityIds": [str(facility.pk)],
        "providerIds": None,
        "payloadLevel": "summary",
        "phiAgreedAt": None,
        "phiAgreedBy": "",
        "apiVersion": "2026-11-20",
        "ordering": "subject",
        "asymmetricSignature": True,
        "maxInFlight": 64,
        "headerNames": ["Authorization", "X-Site"],
        "version": 1,
        "createdBy": f"token:{api.token.pk}",
        "createdAt": "2026-11-20T15:00:00Z",
        "updatedAt": "2026-11-20T15:00:00Z",
    }
    assert api.get(f"{PATH}/{endpoint.pk}").json() == shown
    assert Delivery.objects.get().trigger == "test"


def test_own_secret_is_taken(api: TokenClient) -> None:
    response = api.post(PATH, BODY | {"secret": made.SECRET})

    assert response.json()["secret"] == made.SECRET


def test_same_key_registers_once(api: TokenClient) -> None:
    first, again = (api.post(PATH, BODY, headers={"Idempotency-Key": "once"}) for _ in range(2))

    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
    assert Endpoint.objects.count() == 1


@pytest.mark.parametrize(
    ("given", "status", "code", "details"),
    [
        ({"url": "https://10.0.0.1/"}, 422, "ENDPOINT_URL_BLOCKED", [("url", "address")]),
        ({"url": "https://[::ffff:127.0.0.1]/"}, 422, "ENDPOINT_URL_BLOCKED", [("url", "address")]),
        ({"url": "https://inside.example.org/"}, 422, "ENDPOINT_URL_BLOCKED", [("url", "address")]),
        ({"url": "https://nowhere.example.org/"}, 422, "ENDPOINT_URL_BLOCKED", [("url", "unresolvable")]),
        ({"url": "http://hooks.example.org/"}, 422, "ENDPOINT_URL_BLOCKED", [("url", "form")]),
        ({"url": "interface engine"}, 422, "ENDPOINT_URL_BLOCKED", [("url", "form")]),
        ({"url": "https://hooks.example.org/\u0007"}, 400, "VALIDATION_ERROR", [("url", "control")]),
        ({"url": ""}, 400, "VALIDATION_ERROR", [("url", "blank")]),
        ({"eventTypes": ["ride.flown"]}, 400, "VALIDATION_ERROR", [("eventTypes", "unknown_event_type")]),
        ({"eventTypes": []}, 400, "VALIDATION_ERROR", [("eventTypes", "empty")]),
        ({"secret": "whsec_short"}, 400, "VALIDATION_ERROR", [("secret", "bad_secret")]),
        ({"facilityIds": [NOBODY]}, 400, "VALIDATION_ERROR", [("facilityIds", "unknown_id")]),
        ({"payloadLevel": "full-resource"}, 400, "VALIDATION_ERROR", [("phiAgreement", "invalid")]),
        ({"payloadLevel": "all"}, 400, "VALIDATION_ERROR", [("payloadLevel", "invalid_choice")]),
        ({"ordering": "ride"}, 400, "VALIDATION_ERROR", [("ordering", "invalid_choice")]),
        ({"maxInFlight": 0}, 400, "VALIDATION_ERROR", [("maxInFlight", "min_value")]),
        ({"maxInFlight": 65}, 400, "VALIDATION_ERROR", [("maxInFlight", "max_value")]),
        ({"headers": {"Host": "x"}}, 400, "VALIDATION_ERROR", [("headers", "bad_header")]),
        ({"headers": {"X-Site": 1}}, 400, "VALIDATION_ERROR", [("headers", "invalid")]),
        ({"headers": ["X-Site"]}, 400, "VALIDATION_ERROR", [("headers", "invalid")]),
        ({"clientId": "x"}, 400, "VALIDATION_ERROR", [("clientId", "unknown")]),
        ({"state": "active"}, 400, "VALIDATION_ERROR", [("state", "unknown")]),
    ],
)
def test_bad_input_is_refused_by_its_code_and_nothing_is_stored(
    api: TokenClient,
    settings: Any,
    names: dict[str, list[str]],
    given: dict[str, Any],
    status: int,
    code: str,
    details: list[tuple[str, str]],
) -> None:
    settings.WEBHOOK_PLAIN_HTTP, settings.WEBHOOK_ALLOWED_NETWORKS = False, ()
    names |= {"inside.example.org": ["192.168.1.1"], "nowhere.example.org": []}

    response = api.post(PATH, BODY | given)

    assert refusal(response) == (status, code, details)
    assert [rows for rows in stored() if rows] == []


def test_http_is_taken_where_the_operator_says_so(api: TokenClient, settings: Any) -> None:
    settings.WEBHOOK_PLAIN_HTTP = True

    assert api.post(PATH, BODY | {"url": "http://hooks.example.org:8080/"}).status_code == 201


def test_whole_rides_need_the_grant(client: ApiClient) -> None:
    given = BODY | {"payloadLevel": "full-resource", "phiAgreement": True}
    limited, full = api_with(client=client, phi_level="limited"), api_with(client=client, phi_level="full")

    refused = limited.post(PATH, given)
    nothing = [rows for rows in stored() if rows]
    registered = full.post(PATH, given)

    assert refusal(refused) == (403, "PHI_NOT_PERMITTED", [])
    assert nothing == []
    assert registered.json()["phiAgreedBy"] == f"token:{full.token.pk}"
    assert registered.json()["phiAgreedAt"] == "2026-11-20T15:00:00Z"


def test_more_than_the_callers_own_is_refused(client: ApiClient) -> None:
    own, other = FacilityFactory.create_batch(2)
    bound = api_with(client=client, facility_ids=[own.pk])

    refused = bound.post(PATH, BODY | {"facilityIds": [str(other.pk)]})

    assert refusal(refused) == (403, "FORBIDDEN", [("facilityIds", "exceeds_caller")])
    assert bound.post(PATH, BODY).json()["facilityIds"] == [str(own.pk)]


def test_too_many_are_refused(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 1)
    api.post(PATH, BODY)

    assert refusal(api.post(PATH, BODY))[:2] == (422, "RULE_VIOLATION")
    assert Endpoint.objects.count() == 1


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_two_queries(
    api: TokenClient, client: ApiClient, count: int, django_assert_num_queries: Any
) -> None:
    rows = [made.endpoint(client=client) for _ in range(count)]
    made.endpoint()
    made.endpoint(client=client, deleted_at=NOW)

    with django_assert_num_queries(2):
        response = api.get(PATH)

    assert [one["id"] for one in response.json()["data"]] == [str(row.pk) for row in reversed(rows)]


def test_list_is_narrowed_by_state(api: TokenClient, client: ApiClient) -> None:
    paused = made.endpoint(client=client, state="paused")
    made.endpoint(client=client)

    response = api.get(f"{PATH}?state=paused,disabled")

    assert [one["id"] for one in response.json()["data"]] == [str(paused.pk)]


def test_copy_that_is_current_is_not_sent_again(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client)

    assert api.get(f"{PATH}/{endpoint.pk}", headers={"If-None-Match": '"1"'}).status_code == 304


def test_patch_changes_named_fields_and_checks_the_version(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client)
    path = f"{PATH}/{endpoint.pk}"

    changed = api.patch(path, {"name": "Other", "headers": {"X-A": "b"}}, headers={"If-Match": '"1"'})
    stale = api.patch(path, {"name": "Third"}, headers={"If-Match": '"1"'})

    assert (changed.status_code, changed["ETag"], changed.json()["name"]) == (200, '"2"', "Other")
    assert changed.json()["headerNames"] == ["X-A"]
    assert refusal(stale)[:2] == (412, "PRECONDITION_FAILED")
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoint.event_types, endpoint.max_in_flight) == ("Other", ["*"], 8)


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"url": "https://10.0.0.1/"}, 422, "ENDPOINT_URL_BLOCKED"),
        ({"eventTypes": ["ride.flown"]}, 400, "VALIDATION_ERROR"),
        ({"secret": made.SECRET}, 400, "VALIDATION_ERROR"),
        ({"payloadLevel": "full-resource"}, 400, "VALIDATION_ERROR"),
    ],
)
def test_bad_change_is_refused_and_nothing_is_stored(
    api: TokenClient, client: ApiClient, given: dict[str, Any], status: int, code: str
) -> None:
    endpoint = made.endpoint(client=client)
    before = stored()

    response = api.patch(f"{PATH}/{endpoint.pk}", given)

    assert refusal(response)[:2] == (status, code)
    assert stored() == before


def test_life_of_an_endpoint(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client)
    held = made.delivery(endpoint, made.event())
    path = f"{PATH}/{endpoint.pk}"

    paused = api.post(f"{path}/pause")
    again = api.post(f"{path}/pause")
    resumed = api.post(f"{path}/resume", {"deliverHeld": False})
    held.refresh_from_db()
    test = api.post(f"{path}/test")
    stale = api.delete(path, headers={"If-Match": '"1"'})
    gone = api.delete(path, headers={"If-Match": '"3"'})

    assert (paused.status_code, paused["ETag"], paused.json()["state"]) == (200, '"2"', "paused")
    assert paused.json()["stateReason"] == "paused"
    assert refusal(again)[:2] == (409, "INVALID_TRANSITION")
    assert (resumed.status_code, resumed.json()["state"], held.status) == (200, "active", "held")
    assert (test.status_code, test.json()["trigger"], test.json()["eventType"]) == (202, "test", "webhook.test")
    assert refusal(stale)[:2] == (412, "PRECONDITION_FAILED")
    assert (gone.status_code, gone.content) == (204, b"")
    assert refusal(api.get(path))[:2] == (404, "NOT_FOUND")


def test_endpoint_that_never_answered_is_not_resumed(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client, state="pending")

    assert refusal(api.post(f"{PATH}/{endpoint.pk}/resume"))[:2] == (422, "RULE_VIOLATION")


def test_rotated_secret_is_shown_once(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client)

    first = api.post(f"{PATH}/{endpoint.pk}/rotate-secret")
    own = api.post(f"{PATH}/{endpoint.pk}/rotate-secret", {"overlapSeconds": 0, "secret": made.SECRET})

    assert (first.status_code, first["ETag"]) == (200, '"2"')
    assert first.json()["secret"] not in (made.SECRET, "")
    assert own.json()["secret"] == made.SECRET
    assert "secret" not in api.get(f"{PATH}/{endpoint.pk}").json()
    assert (
        EndpointSecret.objects.filter(expires_at=NOW).count() == 2
    )  # the first one and the one of the rotation before


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"overlapSeconds": 604_801}, ("overlapSeconds", "max_value")),
        ({"secret": "whsec_short"}, ("secret", "bad_secret")),
    ],
)
def test_bad_rotation_is_refused_and_nothing_is_stored(
    api: TokenClient, client: ApiClient, given: dict[str, Any], detail: tuple[str, str]
) -> None:
    endpoint = made.endpoint(client=client)
    before = stored()

    response = api.post(f"{PATH}/{endpoint.pk}/rotate-secret", given)

    assert refusal(response) == (400, "VALIDATION_ERROR", [detail])
    assert stored() == before


def test_endpoints_of_other_clients_are_absent(api: TokenClient) -> None:
    endpoint = made.endpoint(client=ApiClientFactory.create())

    calls = [
        api.get(f"{PATH}/{endpoint.pk}"),
        api.get(f"{PATH}/{endpoint.pk}/health"),
        api.delete(f"{PATH}/{endpoint.pk}"),
    ]
    calls += [api.post(f"{PATH}/{endpoint.pk}/{verb}") for verb in ("pause", "resume", "test", "rotate-secret")]

    assert [call.status_code for call in calls] == [404] * 7
    assert api.get(PATH).json()["data"] == []


def test_scope_is_needed(client: ApiClient) -> None:
    assert refusal(api_with(TokenRole.EHR_INTEGRATOR, client=client).get(PATH))[:2] == (403, "INSUFFICIENT_SCOPE")
    assert api_with(TokenRole.WEBHOOK_ADMIN, client=client).get(PATH).status_code == 200
