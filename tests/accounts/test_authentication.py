"""Identity of bearer tokens, as the API reports it."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.api import throttles
from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.rules import token_format
from apps.accounts.rules.roles import SCOPES_OF_TOKEN, TokenRole
from apps.accounts.services import authentication, tokens
from apps.audit.models import AuditEntry
from lib.access import Phi, system
from lib.client_address import address_of, is_within
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.console.visits import visitor

pytestmark = pytest.mark.django_db
SELF = "/api/tokens/self"


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Bearer nonsense", "Basic dXNlcjpwYXNz", "clt_x", "Bearer clt_aaaaaaaaaaaa_" + "b" * 46],
)
def test_every_wrong_token_is_answered_alike(header: str) -> None:
    response = APIClient().get(SELF, headers={"Authorization": header})

    error = error_of(response)
    assert (error["code"], error["message"]) == ("UNAUTHENTICATED", "A valid bearer token is required.")


def test_right_key_with_a_wrong_secret_is_answered_alike() -> None:
    parts = token_format.generate()
    known = api_with().token.key_id
    forged = token_format.write(token_format.Parts(known, parts.secret))

    response = APIClient().get(SELF, headers={"Authorization": f"Bearer {forged}"})

    assert error_of(response)["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"expires_at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "TOKEN_EXPIRED"),
        ({"overlap_until": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "TOKEN_EXPIRED"),
        ({"revoked_at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "revoked_reason": "lost"}, "TOKEN_REVOKED"),
        ({"not_before": factories.NOW + dt.timedelta(days=1)}, "UNAUTHENTICATED"),
        ({"pepper_id": "gone"}, "UNAUTHENTICATED"),
    ],
)
def test_token_that_is_over_is_told_why(columns: dict[str, Any], code: str) -> None:
    response = api_with(**columns).get(SELF)

    assert error_of(response)["code"] == code
    assert response.headers["WWW-Authenticate"].startswith('Bearer realm="carelane"')


def test_token_of_an_inactive_client_is_refused(api: TokenClient) -> None:
    ApiClient.objects.update(active=False)

    assert error_of(api.get(SELF))["code"] == "TOKEN_REVOKED"


def test_console_session_does_not_open_the_api() -> None:
    api = APIClient()
    api.cookies["sessionid"] = "anything"

    assert error_of(api.get(SELF))["code"] == "UNAUTHENTICATED"


def test_row_wider_than_its_role_gives_no_more_than_the_role() -> None:
    token = api_with(TokenRole.BILLING_READONLY, scopes=[Scope.RIDES_READ, Scope.TOKENS_MANAGE], phi_level="full").token

    principal = authentication.principal_of(token)

    assert principal.scopes == {Scope.RIDES_READ}
    assert principal.phi is Phi.LIMITED


def test_principal_carries_the_whole_grant(api: TokenClient) -> None:
    facility, provider = uuid7(), uuid7()
    token = api_with(TokenRole.DISPATCH_PARTNER, facility_ids=[facility], provider_ids=[provider]).token

    principal = authentication.principal_of(token, request_id="r", ip="192.0.2.7")

    assert principal.actor == f"token:{token.pk}"
    assert (principal.facility_ids, principal.provider_ids) == (frozenset({facility}), frozenset({provider}))
    assert principal.scopes == SCOPES_OF_TOKEN[TokenRole.DISPATCH_PARTNER]
    assert (principal.client_id, principal.request_id, principal.ip) == (token.client_id, "r", "192.0.2.7")


@override_settings(TRUSTED_PROXY_COUNT=1)
def test_token_works_from_its_networks_alone() -> None:
    api = api_with(allowed_cidrs=["192.0.2.0/24", "2001:db8::/32"])

    for address in ("192.0.2.200", "2001:db8::5", "203.0.113.9, 192.0.2.1", "::ffff:192.0.2.1"):
        assert api.get(SELF, headers={"X-Forwarded-For": address}).status_code == 200, address
    for address in ("198.51.100.1", "192.0.2.1, 198.51.100.1", "nonsense", ""):
        assert error_of(api.get(SELF, headers={"X-Forwarded-For": address}))["code"] == "IP_NOT_ALLOWED", address

    denials = AuditEntry.objects.filter(action="tokens.denied", outcome="denied", subject_id=api.token.pk)
    assert sorted(str(entry.ip) for entry in denials) == ["198.51.100.1", "198.51.100.1", "None", "None"]


def test_forwarded_address_is_ignored_without_a_proxy(rf: Any) -> None:
    request = rf.get("/", headers={"X-Forwarded-For": "192.0.2.1"}, REMOTE_ADDR="198.51.100.1")

    assert address_of(request) == "198.51.100.1"


@override_settings(TRUSTED_PROXY_COUNT=2)
def test_address_is_counted_from_the_right(rf: Any) -> None:
    def seen(forwarded: str) -> str | None:
        return address_of(rf.get("/", headers={"X-Forwarded-For": forwarded}, REMOTE_ADDR="10.0.0.2"))

    assert seen("1.1.1.1, 192.0.2.1, 10.0.0.1") == "192.0.2.1"
    assert seen("192.0.2.1, 10.0.0.1") == "192.0.2.1"
    assert seen("10.0.0.1") is None


def test_unknown_address_lies_in_no_network() -> None:
    assert not is_within(None, ["0.0.0.0/0"])


def test_token_announces_its_end_in_the_last_two_weeks() -> None:
    soon = api_with(expires_at=timezone.now() + dt.timedelta(days=13, hours=23)).get(SELF)
    later = api_with(expires_at=timezone.now() + dt.timedelta(days=14, hours=1)).get(SELF)

    assert soon.headers["X-Token-Expires-At"] == soon.json()["expiresAt"]
    assert "X-Token-Expires-At" not in later.headers


def test_use_is_noted_once_a_minute() -> None:
    api = api_with(last_used_at=None)
    api.get(SELF, REMOTE_ADDR="192.0.2.1")
    first = ApiToken.objects.get().last_used_at

    api.get(SELF, REMOTE_ADDR="192.0.2.2")

    token = ApiToken.objects.get()
    assert first is not None
    assert (token.last_used_at, token.last_used_ip) == (first, "192.0.2.1")
    ApiToken.objects.update(last_used_at=first - dt.timedelta(seconds=61))
    api.get(SELF, REMOTE_ADDR="192.0.2.2")
    assert ApiToken.objects.get().last_used_ip == "192.0.2.2"


@pytest.mark.parametrize("name", ["access_token", "anything", "limit"])
def test_token_in_query_is_refused_and_recorded_without_secret(nobody: APIClient, name: str) -> None:
    api = api_with()

    response = nobody.get(f"{SELF}?{name}={api.text}")

    assert error_of(response)["code"] == "TOKEN_IN_QUERY"
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id, entry.outcome) == ("tokens.leaked", api.token.pk, "denied")
    secret = api.text.rsplit("_", 1)[1]
    assert secret not in str(AuditEntry.objects.values().get())
    assert secret.encode() not in response.content


def test_right_header_does_not_excuse_a_token_in_the_query(api: TokenClient) -> None:
    assert error_of(api.get(f"{SELF}?token=abc"))["code"] == "TOKEN_IN_QUERY"


def test_leaked_known_token_is_recorded_once_a_minute(api: TokenClient) -> None:
    unknown = token_format.write(token_format.generate())
    AuditEntry.objects.create(
        at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        actor="token",
        action="tokens.leaked",
        subject_type="token",
        subject_id=api.token.pk,
    )

    for value in (unknown, "abc", api.text, api.text):
        assert error_of(APIClient().get(f"{SELF}?token={value}"))["code"] == "TOKEN_IN_QUERY"

    leaks = AuditEntry.objects.order_by("at")
    assert [(leak.at.year == 2020, leak.subject_id) for leak in leaks] == [(True, api.token.pk), (False, api.token.pk)]


def test_address_that_sends_tokens_in_queries_is_stopped(api: TokenClient) -> None:
    address = "192.0.2.67"
    codes = [
        error_of(APIClient().get(f"{SELF}?token={api.text}", REMOTE_ADDR=address))["code"]
        for _ in range(throttles.FAILURES.burst + 2)
    ]

    assert codes == ["TOKEN_IN_QUERY"] * throttles.FAILURES.burst + ["RATE_LIMITED"] * 2
    assert AuditEntry.objects.count() == 1


@pytest.fixture
def cached() -> Iterator[None]:
    with override_settings(API_TOKEN_CACHE_SECONDS=60):
        yield


def test_cache_saves_the_query(cached: None, django_assert_num_queries: Any) -> None:
    text = tokens.issue(
        client_name="A", grant=tokens.Grant(role=TokenRole.AUDITOR), by=system(), at=timezone.now()
    ).text
    authentication.authenticate(text, at=timezone.now())

    with django_assert_num_queries(0):
        authentication.authenticate(text, at=timezone.now())


def test_cached_token_expires_in_time(cached: None) -> None:
    issued = tokens.issue(client_name="A", grant=tokens.Grant(role=TokenRole.AUDITOR), by=system(), at=timezone.now())
    authentication.authenticate(issued.text, at=timezone.now())

    with pytest.raises(authentication.TokenExpired):
        authentication.authenticate(issued.text, at=issued.token.expires_at)


@pytest.mark.parametrize("change", ["revoke", "rotate"])
def test_revocation_reaches_the_cache_at_once(
    cached: None, django_capture_on_commit_callbacks: Any, change: str
) -> None:
    at = timezone.now()
    issued = tokens.issue(client_name="A", grant=tokens.Grant(role=TokenRole.AUDITOR), by=system(), at=at)
    authentication.authenticate(issued.text, at=at)

    with django_capture_on_commit_callbacks(execute=True):
        if change == "revoke":
            tokens.revoke(token_id=issued.token.pk, reason="lost", by=system(), at=at)
        else:
            tokens.rotate(token_id=issued.token.pk, overlap=dt.timedelta(0), by=system(), at=at)

    with pytest.raises((authentication.TokenRevoked, authentication.TokenExpired)):
        authentication.authenticate(issued.text, at=at)


def test_client_switched_off_in_the_admin_is_refused_at_once(
    cached: None, django_capture_on_commit_callbacks: Any
) -> None:
    at, client = timezone.now(), factories.ApiClientFactory.create()
    api, other = api_with(client=client), api_with()
    for one in (api, other):
        authentication.authenticate(one.text, at=at)
    form = {"name": client.name, "contact_email": "", "max_token_age_days": 365}  # unticked: not active

    with django_capture_on_commit_callbacks(execute=True):
        saved = visitor().post(f"/admin/accounts/apiclient/{client.pk}/change/", form)

    assert saved.status_code == 302
    with pytest.raises(authentication.TokenRevoked):
        authentication.authenticate(api.text, at=at)
    authentication.authenticate(other.text, at=at)


def test_revoked_token_lives_on_without_cache_invalidation(cached: None) -> None:
    """Control of the test above: on_commit does not run here."""
    at = timezone.now()
    issued = tokens.issue(client_name="A", grant=tokens.Grant(role=TokenRole.AUDITOR), by=system(), at=at)
    authentication.authenticate(issued.text, at=at)

    tokens.revoke(token_id=issued.token.pk, reason="lost", by=system(), at=at)

    authentication.authenticate(issued.text, at=at)


def test_row_read_before_a_revocation_is_not_kept_after_it(
    cached: None, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    """The revocation commits between the token query and the cache write."""
    at, judge = timezone.now(), authentication.digest_of
    issued = tokens.issue(client_name="A", grant=tokens.Grant(role=TokenRole.AUDITOR), by=system(), at=at)

    def revoke_meanwhile(secret: str, *, pepper_id: str) -> bytes:
        with django_capture_on_commit_callbacks(execute=True):
            tokens.revoke(token_id=issued.token.pk, reason="lost", by=system(), at=at)
        return judge(secret, pepper_id=pepper_id)

    with monkeypatch.context() as patched:
        patched.setattr(authentication, "digest_of", revoke_meanwhile)
        authentication.authenticate(issued.text, at=at)

    with pytest.raises(authentication.TokenRevoked):
        authentication.authenticate(issued.text, at=at)


def test_full_cache_begins_anew(cached: None, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any) -> None:
    monkeypatch.setattr(authentication, "_verified", authentication._Verified())
    monkeypatch.setattr(authentication, "_CACHE_ENTRIES", 2)
    at, texts = timezone.now(), [api_with().text for _ in range(3)]
    for text in texts:
        authentication.authenticate(text, at=at)

    with django_assert_num_queries(0):
        authentication.authenticate(texts[2], at=at)
    with django_assert_num_queries(1):
        authentication.authenticate(texts[0], at=at)


def test_address_that_keeps_guessing_is_stopped(api: TokenClient) -> None:
    address = "192.0.2.66"
    nobody = APIClient()
    codes = [
        error_of(nobody.get(SELF, headers={"Authorization": "Bearer guess"}, REMOTE_ADDR=address))["code"]
        for _ in range(throttles.FAILURES.burst + 2)
    ]

    assert codes[: throttles.FAILURES.burst] == ["UNAUTHENTICATED"] * throttles.FAILURES.burst
    assert codes[-1] == "RATE_LIMITED"
    assert api.get(SELF, REMOTE_ADDR=address).status_code == 200


def test_actor_stands_as_their_rights_are_now(api: TokenClient, now: dt.datetime) -> None:
    person = factories.UserFactory.create(role="planner")
    person.facilities.add(factories.FacilityFactory.create())
    token = api.token.pk

    found = [authentication.current_principal_of(actor, at=now) for actor in (f"token:{token}", f"user:{person.pk}")]
    ApiToken.objects.filter(pk=token).update(expires_at=now)
    type(person).objects.filter(pk=person.pk).update(is_active=False)
    gone = [
        authentication.current_principal_of(actor, at=now)
        for actor in (f"token:{token}", f"token:{uuid7()}", f"user:{person.pk}", "system")
    ]

    assert found[0] == authentication.principal_of(api.token)
    assert found[1]
    assert (found[1].actor, found[1].facility_ids) == (
        f"user:{person.pk}",
        frozenset(person.facilities.values_list("pk", flat=True)),
    )
    assert gone == [None, None, None, None]
