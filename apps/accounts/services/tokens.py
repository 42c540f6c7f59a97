"""Issuing, rotating and revoking tokens of API clients."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.rules import token_format
from apps.accounts.rules.roles import PHI_LIMIT_OF_TOKEN, SCOPES_OF_TOKEN, TokenRole
from apps.accounts.services import alerts, authentication
from apps.accounts.services.token_expiry import alert_key
from apps.audit.services import audit
from apps.organizations.models import Facility, TransportProvider
from lib.access import Phi, Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound

DEFAULT_LIFE: Final = timedelta(days=90)
DEFAULT_OVERLAP: Final = timedelta(days=1)
MAX_OVERLAP: Final = timedelta(days=7)


class WiderThanIssuer(DomainError):
    """A token can issue only tokens with rights that it has itself.

    People with the scope tokens:manage may issue every role; this is audited.
    """

    code = Code.FORBIDDEN
    template = _("A token cannot have more access than its issuer.")


class TokenNotLive(DomainError):
    """The token is revoked, expired or already replaced, so it cannot be rotated."""

    code = Code.RULE_VIOLATION
    template = _("The token is revoked, expired or already replaced.")


class ClientInactive(DomainError):
    """The API client is disabled."""

    code = Code.RULE_VIOLATION
    template = _("The client is switched off.")


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights, data scope, networks and lifetime of a token; None for scopes or ids: all."""

    role: TokenRole
    name: str = ""
    scopes: frozenset[str] | None = None
    facility_ids: frozenset[UUID] | None = None
    provider_ids: frozenset[UUID] | None = None
    allowed_cidrs: tuple[str, ...] = ()
    phi_level: str = "none"
    not_before: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token and its text, which is not stored."""

    token: ApiToken
    text: str = field(repr=False)


@transaction.atomic
def issue(*, client_id: UUID | None = None, client_name: str = "", grant: Grant, by: Principal, at: datetime) -> Issued:
    """Issue a token to a client: by id, by name (created if missing), or to the caller's own client.

    The lifetime is 90 days unless the grant or the client's rotation policy sets a shorter one.

    Raises:
        NotFound: there is no such client.
        ClientInactive: it is disabled.
        InvalidInput: the grant exceeds its role or the client's policy, refers to missing records, or would never be
            valid.
        WiderThanIssuer: the caller is a token with narrower rights.
    """
    client = _named(client_name) if client_name else _client(client_id or by.client_id)
    if not client.active:
        raise ClientInactive
    _check(grant, client, by, at)
    return _create(client, grant, by=by, at=at, action="tokens.issue")


@transaction.atomic
def rotate(*, token_id: UUID, overlap: timedelta = DEFAULT_OVERLAP, by: Principal, at: datetime) -> Issued:
    """Issue the successor of a token, with the same grant and lifetime; the older token works for another `overlap`.

    At most two tokens of a line work at the same time: an earlier overlap that is still running ends now.

    Raises:
        NotFound: there is no such token.
        TokenNotLive: it is revoked, expired or already replaced.
        InvalidInput: the overlap is longer than 7 days.
        WiderThanIssuer: the caller is a token with narrower rights than the token to rotate.
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise InvalidInput(
            "overlapSeconds", _("%(field)s must be 0 to %(seconds)s."), seconds=int(MAX_OVERLAP.total_seconds())
        )
    token = _locked(token_id, by)
    if token.revoked_at is not None or at >= token.ends_at or token.overlap_until is not None:
        raise TokenNotLive
    life = min(token.expires_at - token.created_at, timedelta(days=token.client.max_token_age_days))
    grant = Grant(
        role=TokenRole(token.role),
        name=token.name,
        scopes=_set(token.scopes),
        facility_ids=_set(token.facility_ids),
        provider_ids=_set(token.provider_ids),
        allowed_cidrs=tuple(token.allowed_cidrs),
        phi_level=token.phi_level,
        expires_at=at + life,
    )
    _check_issuer(grant, by)
    token.overlap_until = min(at + overlap, token.expires_at)
    token.save(update_fields=["overlap_until"])
    alerts.resolve(alert_key(token.pk), at=at)
    if token.replaces_id is not None:
        before = ApiToken.objects.filter(pk=token.replaces_id, overlap_until__gt=at)
        before.update(overlap_until=at)
        _forget_at_commit(token.replaces_id)
    _forget_at_commit(token.pk)
    return _create(token.client, grant, by=by, at=at, action="tokens.rotate", replaces=token)


@transaction.atomic
def revoke(*, token_id: UUID, reason: str, by: Principal, at: datetime) -> ApiToken:
    """Revoke a token permanently.  No-op if it is revoked already.

    Takes effect immediately in this process, and in others within API_TOKEN_CACHE_SECONDS.

    Raises:
        NotFound: there is no such token.
    """
    token = _locked(token_id, by)
    if token.revoked_at is None:
        token.revoked_at, token.revoked_reason = at, reason
        token.save(update_fields=["revoked_at", "revoked_reason"])
        audit.record(by=by, action="tokens.revoke", subject_type="token", subject_id=token.pk, reason=reason)
        alerts.resolve(alert_key(token.pk), at=at)
        _forget_at_commit(token.pk)
    return token


def apply_client_change(*, client_id: UUID) -> None:
    """Apply a changed client to its tokens: immediately in this process, in others as after `revoke`."""
    transaction.on_commit(lambda: authentication.forget_client(client_id))


def _forget_at_commit(token_id: UUID) -> None:
    """Clear the cache after commit; earlier, a concurrent request could cache the old row again."""
    transaction.on_commit(lambda: authentication.forget(token_id))


def _locked(token_id: UUID, by: Principal) -> ApiToken:
    tokens = ApiToken.objects.visible_to(by).select_related("client").select_for_update(of=("self",))
    token = tokens.filter(pk=token_id).first()
    if token is None:
        raise NotFound(_("token"))
    return token


def _named(name: str) -> ApiClient:
    return ApiClient.objects.get_or_create(name=name)[0]


def _client(client_id: UUID | None) -> ApiClient:
    client = ApiClient.objects.filter(pk=client_id).first() if client_id is not None else None
    if client is None:
        raise NotFound(_("client"))
    return client


def _check(grant: Grant, client: ApiClient, by: Principal, at: datetime) -> None:
    bundle = SCOPES_OF_TOKEN[grant.role]
    if grant.scopes is not None and not grant.scopes <= bundle:
        raise InvalidInput(
            "scopes", _("%(field)s must not exceed the permissions of the role."), detail_code="exceeds_role"
        )
    if Phi[grant.phi_level.upper()] > PHI_LIMIT_OF_TOKEN[grant.role]:
        raise InvalidInput("phiLevel", _("%(field)s must not exceed that of the role."), detail_code="exceeds_role")
    for network in grant.allowed_cidrs:
        _check_network(network)
    # before the checks below, which would reveal to the issuer what exists outside its data scope
    _check_issuer(grant, by)
    _check_exist("facilityIds", grant.facility_ids, Facility.objects.filter(pk__in=grant.facility_ids or ()).count())
    provider_count = TransportProvider.objects.filter(pk__in=grant.provider_ids or ()).count()
    _check_exist("providerIds", grant.provider_ids, provider_count)
    longest = timedelta(days=client.max_token_age_days)
    if grant.expires_at is not None and not at < grant.expires_at <= at + longest:
        raise InvalidInput("expiresAt", _("%(field)s must lie in the next %(days)s days."), days=longest.days)
    if grant.not_before is not None and grant.not_before >= _end(grant, client, at):
        raise InvalidInput("notBefore", _("%(field)s must lie before the token expires."))


def _end(grant: Grant, client: ApiClient, at: datetime) -> datetime:
    return grant.expires_at or at + min(DEFAULT_LIFE, timedelta(days=client.max_token_age_days))


def _check_network(network: str) -> None:
    try:
        ipaddress.ip_network(network)
    except ValueError:
        raise InvalidInput("allowedCidrs", _("%(field)s must be networks such as 192.0.2.0/24.")) from None


def _check_exist(name: str, ids: frozenset[UUID] | None, found_count: int) -> None:
    if ids is not None and found_count != len(ids):
        raise InvalidInput(name, _("%(field)s must name records that exist."), detail_code="unknown_id")


def _check_issuer(grant: Grant, by: Principal) -> None:
    wide = []
    if by.kind == "token":
        scopes = grant.scopes if grant.scopes is not None else SCOPES_OF_TOKEN[grant.role]
        wide += [] if scopes <= by.scopes else ["scopes"]
        wide += [] if Phi[grant.phi_level.upper()] <= by.phi else ["phiLevel"]
    wide += [] if _reaches(by.facility_ids, grant.facility_ids) else ["facilityIds"]
    wide += [] if _reaches(by.provider_ids, grant.provider_ids) else ["providerIds"]
    if wide:
        details = [
            Detail(
                field=name,
                code="exceeds_issuer",
                message=_("%(field)s exceeds your own."),
            )
            for name in wide
        ]
        raise WiderThanIssuer(details=details)


def _reaches(own: frozenset[UUID] | None, requested: frozenset[UUID] | None) -> bool:
    return own is None or (requested is not None and requested <= own)


def _create(
    client: ApiClient, grant: Grant, *, by: Principal, at: datetime, action: str, replaces: ApiToken | None = None
) -> Issued:
    parts, pepper_id = token_format.generate(), authentication.newest_pepper()
    token = ApiToken.objects.create(
        client=client,
        name=grant.name,
        key_id=parts.key_id,
        digest=authentication.digest_of(parts.secret, pepper_id=pepper_id),
        pepper_id=pepper_id,
        role=grant.role,
        scopes=_list(grant.scopes),
        facility_ids=_list(grant.facility_ids),
        provider_ids=_list(grant.provider_ids),
        allowed_cidrs=list(grant.allowed_cidrs),
        api_version=settings.API_VERSIONS[-1],
        phi_level=grant.phi_level,
        not_before=grant.not_before,
        expires_at=_end(grant, client, at),
        replaces=replaces,
        created_by=by.actor,
    )
    audit.record(
        by=by,
        action=action,
        subject_type="token",
        subject_id=token.pk,
        details={"client": str(client.pk), "role": grant.role.value, "phiLevel": grant.phi_level},
    )
    return Issued(token, token_format.write(parts))


def _set(values: Iterable[Any] | None) -> frozenset[Any] | None:
    return None if values is None else frozenset(values)


def _list(values: Iterable[Any] | None) -> list[Any] | None:
    return None if values is None else sorted(values)
