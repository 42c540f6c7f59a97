"""Pages of API tokens: listed, issued, rotated, revoked."""

import datetime as dt
import re
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.models import Session

from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.rules import token_format
from apps.accounts.rules.roles import TokenRole, UserRole
from apps.console.tokens.forms import ROLES
from lib.ids import uuid7
from lib.pagination import newest_first
from tests import factories
from tests.callers import api_with
from tests.console.visits import text_of, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LIST = "/console/developers/tokens/"
ADD = f"{LIST}add/"
GOOD = {"client_name": "Epic bridge", "role": "ehr-integrator", "phi_level": "none", "days": "90"}
DAY = dt.timedelta(days=1)


def _page(token: ApiToken, more: str = "") -> str:
    return f"{LIST}{token.pk}/{more}"


def _text_in(response: Any) -> str:
    (found,) = re.findall(r'<code id="secret-text" translate="no">([^<]*)</code>', response.content.decode())
    return str(found)


def _errors(response: Any) -> dict[str, list[str]]:
    return {name: list(map(str, errors)) for name, errors in response.context["form"].errors.items()}


def _token(**columns: Any) -> ApiToken:
    return api_with(TokenRole.BILLING_READONLY, **columns).token


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_open_to_people_who_manage_tokens_alone(role: UserRole) -> None:
    token = _token()
    client = visitor(role)

    opened = {client.get(page).status_code for page in (LIST, ADD, _page(token))}
    posted = client.post(_page(token, "revoke/"), {"reason": "no more"}).status_code

    assert (opened, posted) == (({200}, 302) if role == UserRole.ADMIN else ({403}, 403))


def test_unknown_token_is_not_found_and_get_changes_nothing() -> None:
    client, token = visitor(), _token()

    assert client.get(f"{LIST}{uuid7()}/").status_code == 404
    assert client.post(f"{LIST}{uuid7()}/rotate/", {"overlap": "0"}).status_code == 404
    assert client.post(f"{LIST}{uuid7()}/revoke/", {"reason": "x"}).status_code == 404
    assert {client.get(_page(token, more)).status_code for more in ("rotate/", "revoke/")} == {405}


def test_list_tells_what_each_token_may_and_until_when() -> None:
    token = _token(name="production", scopes=["rides:read"], last_used_at=None)

    page = text_of(visitor().get(LIST))

    assert f"clt_…{token.key_id[-4:]} production Active {token.client.name}" in page
    assert "Billing, read only rides:read Fri, Nov 20, 09:00 Never Tue, Jan 19, 2027, 09:00 , in 60 days" in page
    assert token.key_id not in page


@pytest.mark.parametrize("count", [1, 3])
def test_list_asks_the_same_however_many_tokens(django_assert_num_queries: Any, count: int) -> None:
    for _ in range(count):
        _token()
    client = visitor()

    with django_assert_num_queries(5):  # session, user, tokens, clients of the filter, open alerts
        client.get(LIST)


def test_list_shows_those_that_work_unless_others_are_asked_for() -> None:
    live, replaced = _token(), _token(overlap_until=NOW - DAY)
    revoked = _token(revoked_at=NOW, revoked_reason="lost")
    client = visitor()

    def shown(query: str) -> set[Any]:
        return {token.pk for token, _ in client.get(f"{LIST}?{query}").context["rows"]}

    assert shown("") == shown("shown=live") == shown("shown=else") == {live.pk}
    assert shown("shown=ended") == {replaced.pk, revoked.pk}
    assert shown("shown=all") == {live.pk, replaced.pk, revoked.pk}
    assert shown(f"shown=all&client={revoked.client_id}") == {revoked.pk}


def test_empty_token_list_explains_tokens_or_the_filter() -> None:
    client = visitor()

    assert "No API tokens yet." in text_of(client.get(LIST))
    assert "No tokens match this filter." in text_of(client.get(f"{LIST}?shown=ended"))


def test_list_goes_on_with_what_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_first, "__kwdefaults__", {"size": 1})
    older, newer = _token(), _token()
    client = visitor()

    first, second = client.get(LIST), client.get(f"{LIST}?before={newer.pk}")

    assert [token for token, _ in first.context["rows"]] == [newer]
    assert [token for token, _ in second.context["rows"]] == [older]
    assert (first.context["older"], second.context["older"]) == (newer.pk.hex, "")


def test_token_is_issued_and_shown_once() -> None:
    facility, provider = factories.FacilityFactory.create(), factories.TransportProviderFactory.create()
    client = visitor()
    more = {
        "name": "production",
        "phi_level": "full",
        "scopes": ["rides:read"],
        "facilities": [str(facility.pk)],
        "providers": [str(provider.pk)],
        "networks": "192.0.2.0/24\n198.51.100.7",
        "days": "30",
    }

    answer = client.post(ADD, GOOD | more)

    token, text = ApiToken.objects.get(), _text_in(answer)
    parts = token_format.read(text)
    assert parts is not None
    assert parts.key_id == token.key_id
    assert (token.client.name, token.name, token.role) == ("Epic bridge", "production", "ehr-integrator")
    assert (token.phi_level, token.scopes, token.expires_at) == ("full", ["rides:read"], NOW + 30 * DAY)
    assert (token.facility_ids, token.provider_ids) == ([facility.pk], [provider.pk])
    assert token.allowed_cidrs == ["192.0.2.0/24", "198.51.100.7"]
    sessions = str([session.get_decoded() for session in Session.objects.all()]) + str(client.cookies)
    assert text not in client.get(_page(token)).content.decode() + sessions + str(answer.headers)
    assert f'data-shown-once="{_page(token)}"' in answer.content.decode()


def test_unrestricted_client_token_has_all_of_its_role() -> None:
    client = factories.ApiClientFactory.create()

    visitor().post(ADD, GOOD | {"client": str(client.pk), "client_name": ""})

    token = ApiToken.objects.get()
    assert (token.client, token.scopes, token.facility_ids, token.provider_ids) == (client, None, None, None)
    assert token.allowed_cidrs == []


@pytest.mark.parametrize(
    ("wrong", "errors"),
    [
        ({"client_name": " "}, {"client": ["Choose a client, or name a new one."]}),
        ({"role": ""}, {"role": ["This field is required."]}),
        ({"days": "366"}, {"days": ["Ensure this value is less than or equal to 365."]}),
        ({"networks": "here"}, {"networks": ["Only from these networks must be networks such as 192.0.2.0/24."]}),
        ({"scopes": ["audit:read"]}, {"scopes": ["Only these scopes must not exceed the permissions of the role."]}),
        (
            {"role": "webhook-admin", "phi_level": "full"},
            {"phi_level": ["Rider data must not exceed that of the role."]},
        ),
    ],
)
def test_invalid_token_form_shows_errors_and_issues_nothing(wrong: Any, errors: Any) -> None:
    answer = visitor().post(ADD, GOOD | {"name": "kept"} | wrong)

    assert (answer.status_code, _errors(answer)) == (422, errors)
    assert 'value="kept"' in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_client_that_is_both_chosen_and_named_is_refused() -> None:
    client = factories.ApiClientFactory.create()

    answer = visitor().post(ADD, GOOD | {"client": str(client.pk)})

    assert list(_errors(answer)) == ["client"]


def test_refusal_about_no_field_stands_above_all() -> None:
    ApiClient.objects.create(name="Epic bridge", active=False)

    assert _errors(visitor().post(ADD, GOOD)) == {"__all__": ["The client is switched off."]}


def test_old_sign_in_is_proven_again_before_a_token_is_made() -> None:
    client, token = visitor(), _token()

    with time_machine.travel(NOW + dt.timedelta(minutes=6), tick=False):
        opened, late = client.get(ADD), client.post(ADD, GOOD | {"name": "kept"})
        rotated = client.post(_page(token, "rotate/"), {"overlap": "0"})

    assert opened["Location"].startswith("/accounts/reauthenticate/?next=")
    assert (late.status_code, "Confirm who you are in another tab" in text_of(late)) == (422, True)
    assert 'value="kept"' in late.content.decode()
    assert rotated["Location"] == f"/accounts/reauthenticate/?next=%2Fconsole%2Fdevelopers%2Ftokens%2F{token.pk}%2F"
    assert ApiToken.objects.count() == 1


def test_token_is_rotated_with_an_overlap() -> None:
    client, token = visitor(), _token()

    answer = client.post(_page(token, "rotate/"), {"overlap": "3600"})

    new = ApiToken.objects.exclude(pk=token.pk).get()
    token.refresh_from_db()
    assert (new.replaces_id, token.overlap_until) == (token.pk, NOW + dt.timedelta(hours=1))
    assert token_format.read(_text_in(answer)) is not None
    assert "The older one works until Fri, Nov 20, 10:00" in text_of(answer)
    assert f"Replaced by clt_…{new.key_id[-4:]}" in text_of(client.get(_page(token)))
    assert f"Replaces clt_…{token.key_id[-4:]}" in text_of(client.get(_page(new)))


def test_rotation_that_cannot_be_says_why() -> None:
    client, token = visitor(), _token(overlap_until=NOW + DAY)

    replaced = client.post(_page(token, "rotate/"), {"overlap": "0"}, follow=True)
    wrong = client.post(_page(_token(), "rotate/"), {"overlap": "-1"})

    assert "The token is revoked, expired or already replaced." in text_of(replaced)
    assert (wrong.status_code, "not one of the available choices" in text_of(wrong)) == (422, True)


def test_token_is_revoked_with_a_reason() -> None:
    client, token = visitor(), _token()

    silent = client.post(_page(token, "revoke/"), {"reason": " "})
    said = client.post(_page(token, "revoke/"), {"reason": "Laptop lost"}, follow=True)

    assert (silent.status_code, "This field is required." in text_of(silent)) == (422, True)
    assert "Revoked Fri, Nov 20, 09:00 , just now : Laptop lost" in text_of(said).replace("now:", "now :")
    assert "Revoke…" not in text_of(said)


def test_page_shows_whom_a_token_reaches() -> None:
    facility, provider = factories.FacilityFactory.create(), factories.TransportProviderFactory.create()
    person = factories.UserFactory.create(name="Ines Roth")
    bound = _token(
        facility_ids=[facility.pk],
        provider_ids=[provider.pk],
        allowed_cidrs=["192.0.2.0/24"],
        created_by=f"user:{person.pk}",
        not_before=NOW - DAY,
        last_used_ip="192.0.2.9",
    )

    page = text_of(visitor().get(_page(bound)))

    for words in (facility.name, provider.name, "192.0.2.0/24", "by Ines Roth", "Valid from", "from 192.0.2.9"):
        assert words in page


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({}, "Active"),
        ({"expires_at": NOW + 14 * DAY}, "Expires soon"),
        ({"expires_at": NOW}, "Expired"),
        ({"revoked_at": NOW, "revoked_reason": "lost"}, "Revoked"),
        ({"overlap_until": NOW}, "Replaced"),
        ({"overlap_until": NOW + DAY}, "Being replaced"),
        ({"not_before": NOW + DAY}, "Not yet valid"),
    ],
)
def test_state_of_a_token_is_said_in_a_word(columns: dict[str, Any], says: str) -> None:
    page = text_of(visitor().get(_page(_token(**columns))))

    assert re.search(rf"clt_…\w{{4}} {says} Permissions", page)


def test_token_of_a_client_that_is_off_says_so() -> None:
    token = _token(client=factories.ApiClientFactory.create(active=False))

    assert "Client is off" in text_of(visitor().get(_page(token)))


def test_every_role_of_a_token_is_explained() -> None:
    assert set(ROLES) == set(TokenRole)
