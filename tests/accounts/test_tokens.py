"""Issue, rotate and revoke."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.rules.roles import SCOPES_OF_TOKEN, TokenRole, UserRole
from apps.accounts.services import authentication, tokens
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from lib.access import Phi, Principal, system
from lib.errors import InvalidInput, NotFound
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.refused import constraint_against

pytestmark = pytest.mark.django_db
EHR = tokens.Grant(role=TokenRole.EHR_INTEGRATOR)
DAY = dt.timedelta(days=1)


@pytest.fixture
def client() -> ApiClient:
    return factories.ApiClientFactory.create()


@pytest.fixture
def at() -> dt.datetime:
    return timezone.now()


def issue(client: ApiClient, grant: tokens.Grant = EHR, by: Principal | None = None) -> tokens.Issued:
    return tokens.issue(client_id=client.pk, grant=grant, by=by or system(), at=timezone.now())


def works(text: str, at: dt.datetime) -> bool:
    try:
        authentication.authenticate(text, at=at)
    except authentication.TokenExpired:
        return False
    return True


def test_issued_token_works_until_it_expires(client: ApiClient, at: dt.datetime) -> None:
    issued = tokens.issue(client_id=client.pk, grant=EHR, by=system(), at=at)

    assert issued.token.expires_at == at + 90 * DAY
    assert works(issued.text, at + 90 * DAY - dt.timedelta(microseconds=1))
    assert not works(issued.text, at + 90 * DAY)


def test_row_holds_nothing_of_the_secret(client: ApiClient) -> None:
    issued = issue(client)

    secret = issued.text.rsplit("_", 1)[1]
    row = ApiToken.objects.values().get()
    assert bytes(row["digest"]).hex() != secret
    pieces = {secret[start : start + 8] for start in range(len(secret) - 8)}
    assert not [piece for piece in pieces if piece in str(row) or piece.encode() in bytes(row["digest"])]
    assert issued.text not in repr(issued)


def test_issue_is_audited_without_the_secret(client: ApiClient) -> None:
    issued = issue(client)

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id, entry.actor) == ("tokens.issue", issued.token.pk, "system")
    assert entry.details == {"client": str(client.pk), "role": "ehr-integrator", "phiLevel": "none"}


def test_client_is_made_by_name_once(at: dt.datetime) -> None:
    first = tokens.issue(client_name="Epic bridge", grant=EHR, by=system(), at=at)
    second = tokens.issue(client_name="Epic bridge", grant=EHR, by=system(), at=at)

    assert first.token.client_id == second.token.client_id
    assert ApiClient.objects.get().name == "Epic bridge"


def test_policy_of_the_client_bounds_the_life(at: dt.datetime) -> None:
    client = factories.ApiClientFactory.create(max_token_age_days=30)

    assert tokens.issue(client_id=client.pk, grant=EHR, by=system(), at=at).token.expires_at == at + 30 * DAY
    longest = tokens.Grant(role=TokenRole.EHR_INTEGRATOR, expires_at=at + 30 * DAY)
    assert tokens.issue(client_id=client.pk, grant=longest, by=system(), at=at).token.expires_at == at + 30 * DAY


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"scopes": frozenset({Scope.TOKENS_MANAGE})}, "scopes"),
        ({"role": TokenRole.BILLING_READONLY, "phi_level": "full"}, "phiLevel"),
        ({"allowed_cidrs": ("192.0.2.1/24",)}, "allowedCidrs"),
        ({"allowed_cidrs": ("anywhere",)}, "allowedCidrs"),
        ({"facility_ids": frozenset({UUID(int=1)})}, "facilityIds"),
        ({"provider_ids": frozenset({UUID(int=1)})}, "providerIds"),
        ({"expires_at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "expiresAt"),
        ({"expires_at": dt.datetime(2100, 1, 1, tzinfo=dt.UTC)}, "expiresAt"),
        ({"not_before": dt.datetime(2100, 1, 1, tzinfo=dt.UTC)}, "notBefore"),
        ({"expires_at": factories.NOW + DAY, "not_before": factories.NOW + DAY}, "notBefore"),
    ],
)
def test_grant_beyond_role_or_policy_is_refused(client: ApiClient, columns: dict[str, Any], field: str) -> None:
    grant = tokens.Grant(**({"role": TokenRole.EHR_INTEGRATOR} | columns))

    with pytest.raises(InvalidInput) as refusal:
        issue(client, grant)

    assert refusal.value.details[0].field == field
    assert not ApiToken.objects.exists()
    assert not AuditEntry.objects.exists()


def test_token_that_never_works_cannot_be_stored(client: ApiClient, at: dt.datetime) -> None:
    issued = tokens.issue(client_id=client.pk, grant=EHR, by=system(), at=at)

    never = {"not_before": issued.token.expires_at}

    assert constraint_against(ApiToken.objects.all(), never) == "api_token_lives"


def test_inactive_or_absent_client_gets_no_token(client: ApiClient, at: dt.datetime) -> None:
    ApiClient.objects.update(active=False)

    with pytest.raises(tokens.ClientInactive):
        issue(client)
    with pytest.raises(NotFound):
        tokens.issue(client_id=uuid7(), grant=EHR, by=system(), at=at)
    with pytest.raises(NotFound):
        tokens.issue(grant=EHR, by=system(), at=at)

    assert not ApiToken.objects.exists()


def bearer(**columns: Any) -> Principal:
    known: dict[str, Any] = {
        "kind": "token",
        "id": uuid7(),
        "role": TokenRole.FULL_ACCESS.value,
        "scopes": SCOPES_OF_TOKEN[TokenRole.FULL_ACCESS],
        "phi": Phi.FULL,
    }
    return Principal(**(known | columns))


def test_token_hands_on_no_more_than_it_has(client: ApiClient, hospital: Facility) -> None:
    other = factories.FacilityFactory.create()
    own = frozenset({hospital.pk})

    for by, grant, fields in (
        (bearer(scopes=frozenset({Scope.TOKENS_MANAGE})), EHR, ["scopes"]),
        (bearer(phi=Phi.NONE), tokens.Grant(role=TokenRole.EHR_INTEGRATOR, phi_level="limited"), ["phiLevel"]),
        (bearer(facility_ids=own), EHR, ["facilityIds"]),
        (
            bearer(facility_ids=own),
            tokens.Grant(role=TokenRole.EHR_INTEGRATOR, facility_ids=own | {other.pk}),
            ["facilityIds"],
        ),
        (bearer(provider_ids=frozenset()), EHR, ["providerIds"]),
    ):
        with pytest.raises(tokens.WiderThanIssuer) as refusal:
            issue(client, grant, by)
        assert [detail.field for detail in refusal.value.details] == fields

    assert not ApiToken.objects.exists()
    issue(client, tokens.Grant(role=TokenRole.EHR_INTEGRATOR, facility_ids=own), bearer(facility_ids=own))


def test_admin_issues_roles_beyond_their_own_work(client: ApiClient) -> None:
    admin = factories.principal(UserRole.ADMIN, phi=Phi.NONE)

    issued = issue(client, tokens.Grant(role=TokenRole.EHR_INTEGRATOR, phi_level="full"), admin)

    assert issued.token.created_by == admin.actor


def test_rotation_overlaps(client: ApiClient, at: dt.datetime) -> None:
    older = issue(client, tokens.Grant(role=TokenRole.EHR_INTEGRATOR, phi_level="limited", name="prod"))

    newer = tokens.rotate(token_id=older.token.pk, by=system(), at=at)

    assert newer.token.replaces_id == older.token.pk
    assert (newer.token.role, newer.token.phi_level, newer.token.name) == ("ehr-integrator", "limited", "prod")
    assert works(older.text, at + DAY - dt.timedelta(seconds=1))
    assert not works(older.text, at + DAY)
    assert works(newer.text, at + DAY)


def test_rotation_without_overlap_ends_the_older_token(client: ApiClient, at: dt.datetime) -> None:
    older = issue(client)

    tokens.rotate(token_id=older.token.pk, overlap=dt.timedelta(0), by=system(), at=at)

    assert not works(older.text, at)


def test_at_most_two_of_a_line_work_at_once(client: ApiClient, at: dt.datetime) -> None:
    first = issue(client)
    second = tokens.rotate(token_id=first.token.pk, by=system(), at=at)
    third = tokens.rotate(token_id=second.token.pk, by=system(), at=at)

    assert [works(issued.text, at) for issued in (first, second, third)] == [False, True, True]


def test_dead_or_replaced_token_is_not_rotated(client: ApiClient, at: dt.datetime) -> None:
    revoked, replaced, expired = issue(client).token, issue(client).token, issue(client).token
    tokens.revoke(token_id=revoked.pk, reason="lost", by=system(), at=at)
    tokens.rotate(token_id=replaced.pk, by=system(), at=at)
    ApiToken.objects.filter(pk=expired.pk).update(expires_at=at)
    before = list(ApiToken.objects.order_by("pk").values())

    for token in (revoked, replaced, expired):
        with pytest.raises(tokens.TokenNotLive):
            tokens.rotate(token_id=token.pk, by=system(), at=at)
    with pytest.raises(InvalidInput, match="overlapSeconds must be 0 to 604800"):
        tokens.rotate(token_id=revoked.pk, overlap=8 * DAY, by=system(), at=at)

    assert list(ApiToken.objects.order_by("pk").values()) == before


def test_rotation_does_not_hand_over_a_wider_token(client: ApiClient, at: dt.datetime) -> None:
    wide = issue(client, tokens.Grant(role=TokenRole.FULL_ACCESS, phi_level="full")).token
    manager = bearer(scopes=frozenset({Scope.TOKENS_MANAGE}))

    with pytest.raises(tokens.WiderThanIssuer):
        tokens.rotate(token_id=wide.pk, by=manager, at=at)

    wide.refresh_from_db()
    assert wide.overlap_until is None


def test_revoked_token_is_refused_with_its_first_reason(client: ApiClient, at: dt.datetime) -> None:
    issued = issue(client)

    tokens.revoke(token_id=issued.token.pk, reason="laptop lost", by=system(), at=at)
    tokens.revoke(token_id=issued.token.pk, reason="again", by=system(), at=at + DAY)

    with pytest.raises(authentication.TokenRevoked):
        authentication.authenticate(issued.text, at=at)
    issued.token.refresh_from_db()
    assert (issued.token.revoked_at, issued.token.revoked_reason) == (at, "laptop lost")
    assert AuditEntry.objects.filter(action="tokens.revoke").count() == 1


def test_outsider_neither_rotates_nor_revokes(client: ApiClient, hospital: Facility, at: dt.datetime) -> None:
    everywhere, elsewhere = issue(client).token, factories.FacilityFactory.create()
    there = issue(client, tokens.Grant(role=TokenRole.EHR_INTEGRATOR, facility_ids=frozenset({elsewhere.pk}))).token
    outsider = bearer(facility_ids=frozenset({hospital.pk}))

    for token in (everywhere, there):
        with pytest.raises(NotFound):
            tokens.revoke(token_id=token.pk, reason="mine now", by=outsider, at=at)
        with pytest.raises(NotFound):
            tokens.rotate(token_id=token.pk, by=outsider, at=at)

    assert not ApiToken.objects.filter(revoked_at__isnull=False).exists()
    assert ApiToken.objects.count() == 2


def test_command_issues_the_first_token(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("issue_token", "Epic bridge", "--role", "ehr-integrator", "--phi", "full", "--days", "30")

    text = capsys.readouterr().out.strip()
    principal, token = authentication.authenticate(text, at=timezone.now())
    assert (principal.role, principal.phi, token.client.name) == ("ehr-integrator", Phi.FULL, "Epic bridge")


def test_command_refuses_what_the_service_refuses() -> None:
    with pytest.raises(CommandError, match="phiLevel must not exceed"):
        call_command("issue_token", "Billing", "--role", "billing-readonly", "--phi", "full")

    assert not ApiToken.objects.exists()
