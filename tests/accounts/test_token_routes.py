"""GET|POST /tokens, /tokens/{id}/rotate, /tokens/{id}/revoke, /tokens/self."""

from typing import Any

import pytest
from django.test import override_settings
from rest_framework.test import APIClient

from apps.accounts.models import ApiToken
from apps.accounts.rules.roles import TokenRole
from apps.organizations.models import Facility
from lib.ids import uuid7
from tests.callers import TokenClient, api_with, error_of
from tests.factories import ApiClientFactory

pytestmark = pytest.mark.django_db


def caller(text: str) -> APIClient:
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return api


def test_issued_token_opens_the_api(api: TokenClient, hospital: Facility) -> None:
    body = {"role": "ehr-integrator", "facilityIds": [str(hospital.pk)], "phiLevel": "limited", "name": "test"}

    response = api.post("/api/tokens", body)

    assert response.status_code == 201
    own = caller(response.json()["token"]).get("/api/tokens/self").json()
    assert own == {key: own[key] for key in response.json() if key != "token"}
    assert (own["role"], own["facilityIds"], own["phiLevel"]) == ("ehr-integrator", [str(hospital.pk)], "limited")
    assert own["clientId"] == str(api.token.client_id)


@override_settings(API_RATE_TOKENS=2)
def test_address_issues_few_tokens_a_minute() -> None:
    body = {"role": "auditor", "clientName": "Watch"}
    before = ApiToken.objects.count()

    made = [api_with().post("/api/tokens", body, REMOTE_ADDR="198.51.100.7").status_code for _ in range(3)]

    own = api_with().get("/api/tokens/self", REMOTE_ADDR="198.51.100.7")
    elsewhere = api_with().post("/api/tokens", body, REMOTE_ADDR="198.51.100.8")
    assert (made, own.status_code, elsewhere.status_code) == ([201, 201, 429], 200, 201)
    assert ApiToken.objects.count() - before == 5 + 3


def test_answers_never_hold_digest_or_secret(api: TokenClient) -> None:
    shown = api.get("/api/tokens").json()["data"][0]

    assert not {"token", "digest", "secret", "pepperId"} & set(shown)


def test_token_is_rotated_and_revoked(api: TokenClient) -> None:
    token = api.post("/api/tokens", {"role": "auditor", "clientName": "Watch"}).json()

    newer = api.post(f"/api/tokens/{token['id']}/rotate", {"overlapSeconds": 0})
    revoked = api.post(f"/api/tokens/{newer.json()['id']}/revoke", {"reason": "test over"})

    assert (newer.status_code, newer.json()["replacesId"]) == (201, token["id"])
    assert (revoked.status_code, revoked.json()["revokedReason"]) == (200, "test over")
    assert error_of(caller(token["token"]).get("/api/tokens/self"))["code"] == "TOKEN_EXPIRED"
    assert error_of(caller(newer.json()["token"]).get("/api/tokens/self"))["code"] == "TOKEN_REVOKED"


@override_settings(API_RATES={"read": (60, 60), "write": (60, 1)}, API_RATE_TOKENS=2)
def test_token_over_its_limit_does_not_count_for_the_address() -> None:
    hasty, patient = api_with(), api_with()
    body = {"role": "auditor"}

    statuses = [api.post("/api/tokens", body).status_code for api in (hasty, hasty, hasty, patient)]

    assert statuses == [201, 429, 429, 201]
    assert ApiToken.objects.filter(role="auditor").count() == 2


def test_wider_token_is_refused(api: TokenClient, hospital: Facility) -> None:
    bound = api_with(facility_ids=[hospital.pk])

    response = bound.post("/api/tokens", {"role": "auditor"})

    assert error_of(response)["details"][0]["field"] == "facilityIds"
    assert response.status_code == 403
    assert ApiToken.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "role"), ({"role": "god"}, "role"), ({"role": "auditor", "scopes": ["all"]}, "scopes[0]"),
     ({"role": "auditor", "token": "x"}, "token")],
)  # fmt: skip
def test_malformed_grant_is_refused(api: TokenClient, body: dict[str, Any], field: str) -> None:
    assert error_of(api.post("/api/tokens", body))["details"][0]["field"] == field
    assert ApiToken.objects.count() == 1


def test_manager_sees_no_token_that_reaches_further(hospital: Facility) -> None:
    everywhere = api_with()
    bound = api_with(facility_ids=[hospital.pk])

    assert [row["id"] for row in bound.get("/api/tokens").json()["data"]] == [str(bound.token.pk)]
    for action, body in (("rotate", {}), ("revoke", {"reason": "x"})):
        for target in (everywhere.token.pk, uuid7()):
            error = error_of(bound.post(f"/api/tokens/{target}/{action}", body))
            assert (error["code"], error["message"]) == ("NOT_FOUND", "There is no such token.")


@pytest.mark.parametrize("role", [role for role in TokenRole if role is not TokenRole.FULL_ACCESS])
def test_other_roles_manage_no_tokens(role: TokenRole) -> None:
    api = api_with(role)

    for response in (
        api.get("/api/tokens"),
        api.post("/api/tokens", {"role": role.value}),
        api.post(f"/api/tokens/{api.token.pk}/rotate", {}),
        api.post(f"/api/tokens/{api.token.pk}/revoke", {"reason": "x"}),
    ):
        assert error_of(response)["code"] == "INSUFFICIENT_SCOPE"

    assert api.get("/api/tokens/self").json()["role"] == role.value


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_two_queries(api: TokenClient, django_assert_num_queries: Any, count: int) -> None:
    for _ in range(count):
        api_with(TokenRole.AUDITOR)

    with django_assert_num_queries(2):
        rows = api.get("/api/tokens?role=auditor").json()["data"]

    assert len(rows) == count


def test_list_is_filtered_by_client(api: TokenClient) -> None:
    other = ApiClientFactory.create()
    wanted = api_with(client=other).token

    rows = api.get(f"/api/tokens?clientId={other.pk}").json()["data"]

    assert [(row["id"], row["clientName"]) for row in rows] == [(str(wanted.pk), other.name)]
