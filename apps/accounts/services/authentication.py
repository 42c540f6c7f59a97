"""From the text of a token to the principal who holds it."""

import hashlib
import hmac
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken, User
from apps.accounts.rules import token_format
from apps.accounts.rules.roles import PHI_LIMIT_OF_TOKEN, SCOPES_OF_TOKEN, TokenRole
from apps.accounts.sessions import principal_of_absent
from apps.audit.models import AuditEntry
from apps.audit.services import audit
from lib.access import Phi, Principal
from lib.client_address import is_within
from lib.errors import Code, DomainError

USE_IS_NOTED_EVERY: Final = timedelta(minutes=1)
LEAK_IS_NOTED_EVERY: Final = timedelta(minutes=1)
_CACHE_ENTRIES: Final = 10_000


class NotAuthenticated(DomainError):
    """No token, or none of ours: a wrong checksum, an unknown key and a wrong secret are told apart nowhere."""

    code = Code.UNAUTHENTICATED
    template = _("A valid bearer token is required.")


class TokenExpired(DomainError):
    """The secret was right, but the time has passed."""

    code = Code.TOKEN_EXPIRED
    template = _("The token has expired.")


class TokenRevoked(DomainError):
    """The secret was right, but the token or its client was switched off."""

    code = Code.TOKEN_REVOKED
    template = _("The token has been revoked.")


class AddressNotAllowed(DomainError):
    """The secret was right, but the request came from elsewhere than the token may be used."""

    code = Code.IP_NOT_ALLOWED
    template = _("The token may not be used from this address.")


class _Verified:
    """Rows whose secret was checked a moment ago, by the SHA-256 of what was presented; one per process.

    Everything but the secret (times, networks) is judged anew on every request.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[float, ApiToken]] = {}
        self._lock = threading.Lock()
        self.generation = 0  # counts the changes, so that no row read before one is kept after it

    def get(self, presented: bytes) -> ApiToken | None:
        held = self._rows.get(presented)
        return held[1] if held is not None and held[0] > time.monotonic() else None

    def put(self, presented: bytes, token: ApiToken, *, generation: int) -> None:
        if settings.API_TOKEN_CACHE_SECONDS <= 0:
            return
        with self._lock:
            if len(self._rows) >= _CACHE_ENTRIES:
                self._rows.clear()
            if generation == self.generation:
                self._rows[presented] = (time.monotonic() + settings.API_TOKEN_CACHE_SECONDS, token)

    def forget(self, is_changed: Callable[[ApiToken], bool]) -> None:
        with self._lock:
            self.generation += 1
            self._rows = {key: held for key, held in self._rows.items() if not is_changed(held[1])}


_verified = _Verified()


def forget(token_id: UUID) -> None:
    """Drop a changed token from this process's cache; other processes follow within API_TOKEN_CACHE_SECONDS."""
    _verified.forget(lambda token: token.pk == token_id)


def forget_client(client_id: UUID) -> None:
    """Drop the tokens of a changed client as `forget` does."""
    _verified.forget(lambda token: token.client_id == client_id)


def digest_of(secret: str, *, pepper_id: str) -> bytes:
    """Digest a secret under one of the peppers.

    Raises:
        KeyError: the pepper is no longer configured.
    """
    return hmac.digest(_peppers()[pepper_id].encode(), secret.encode(), hashlib.sha256)


def newest_pepper() -> str:
    """Name the pepper that new tokens are digested under."""
    return next(iter(_peppers()))


def _peppers() -> dict[str, str]:
    return dict(entry.partition(":")[::2] for entry in settings.TOKEN_PEPPERS)


def authenticate(text: str, *, at: datetime, request_id: str = "", ip: str | None = None) -> tuple[Principal, ApiToken]:
    """Find whose token this is, and note its use.

    Costs one query, or none within API_TOKEN_CACHE_SECONDS; once a minute one update.

    Raises:
        NotAuthenticated: it is none of ours, or not yet valid.
        TokenRevoked: it, or its client, was switched off.
        TokenExpired: its time, or its overlap with a newer one, has passed.
        AddressNotAllowed: the request comes from outside its networks; recorded in the audit trail.
    """
    token = _token_of(text)
    if token.revoked_at is not None or not token.client.active:
        raise TokenRevoked
    if at >= token.ends_at:
        raise TokenExpired
    if token.not_before is not None and at < token.not_before:
        raise NotAuthenticated
    principal = principal_of(token, request_id=request_id, ip=ip)
    if token.allowed_cidrs and not is_within(ip, token.allowed_cidrs):
        audit.record_denial(by=principal, reason="address")
        raise AddressNotAllowed
    _note_use(token, at=at, ip=ip)
    return principal, token


def _token_of(text: str) -> ApiToken:
    presented = hashlib.sha256(text.encode()).digest()
    if held := _verified.get(presented):
        return held
    parts, generation = token_format.read(text), _verified.generation
    if parts is None:
        raise NotAuthenticated
    token = ApiToken.objects.select_related("client").filter(key_id=parts.key_id).first()
    if token is None or token.pepper_id not in _peppers():
        raise NotAuthenticated
    if not hmac.compare_digest(digest_of(parts.secret, pepper_id=token.pepper_id), bytes(token.digest)):
        raise NotAuthenticated
    _verified.put(presented, token, generation=generation)
    return token


def _note_use(token: ApiToken, *, at: datetime, ip: str | None) -> None:
    since = at - USE_IS_NOTED_EVERY
    if token.last_used_at is not None and token.last_used_at > since:
        return
    unused = Q(last_used_at__isnull=True) | Q(last_used_at__lte=since)
    ApiToken.objects.filter(unused, pk=token.pk).update(last_used_at=at, last_used_ip=ip)
    token.last_used_at = at  # of the cached row


def principal_of(token: ApiToken, *, request_id: str = "", ip: str | None = None) -> Principal:
    """Make the principal of a token: never wider than its role, whatever its row says."""
    role = TokenRole(token.role)
    bundle = SCOPES_OF_TOKEN[role]
    return Principal(
        kind="token",
        id=token.pk,
        role=role.value,
        scopes=bundle if token.scopes is None else bundle & frozenset(token.scopes),
        facility_ids=None if token.facility_ids is None else frozenset(token.facility_ids),
        provider_ids=None if token.provider_ids is None else frozenset(token.provider_ids),
        phi=min(Phi[token.phi_level.upper()], PHI_LIMIT_OF_TOKEN[role]),
        client_id=token.client_id,
        api_version=token.api_version,
        request_id=request_id,
        ip=ip,
    )


def as_it_stands(actor: str, *, at: datetime, request_id: str = "", ip: str | None = None) -> Principal | None:
    """Make the principal that an actor names, with the rights of this moment, for what was begun earlier.

    None: the person has left, or the token has ended or was switched off.  Up to two queries.
    """
    kind, _, key = actor.partition(":")
    if kind == "user":
        person = User.objects.filter(pk=key, is_active=True).first()
        return None if person is None else principal_of_absent(person, request_id=request_id, ip=ip)
    if kind == "token":
        tokens = ApiToken.objects.select_related("client").filter(revoked_at__isnull=True, client__active=True)
        token = tokens.filter(pk=key).first()
        if token is not None and at < token.ends_at:
            return principal_of(token, request_id=request_id, ip=ip)
    return None


def report_leak(key_id: str, *, request_id: str, ip: str | None) -> None:
    """Record that a token stood in a query string, where proxies and browsers write it down; its secret is not kept.

    Of tokens that exist, once a minute each: anybody can send anything, and the trail keeps it for years.
    """
    token_id = ApiToken.objects.filter(key_id=key_id).values_list("pk", flat=True).first()
    if token_id is None:
        return
    since = Now() - LEAK_IS_NOTED_EVERY  # by the clock that dates the rows
    leaks = AuditEntry.objects.filter(subject_type="token", subject_id=token_id, action="tokens.leaked")
    if leaks.filter(at__gt=since).exists():
        return
    audit.record(
        by=Principal(kind="token", id=None, role="", scopes=frozenset(), request_id=request_id, ip=ip),
        action="tokens.leaked",
        subject_type="token",
        subject_id=token_id,
        outcome="denied",
        reason="in the query string",
    )
