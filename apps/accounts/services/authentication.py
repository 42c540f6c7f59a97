"""Authentication of bearer tokens: from the text of a token to its principal."""

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
    """No token, or an invalid one; a wrong checksum, an unknown key and a wrong secret cause the same error."""

    code = Code.UNAUTHENTICATED
    template = _("A valid bearer token is required.")


class TokenExpired(DomainError):
    """The secret is right, but the token has expired."""

    code = Code.TOKEN_EXPIRED
    template = _("The token has expired.")


class TokenRevoked(DomainError):
    """The secret is right, but the token or its client was disabled."""

    code = Code.TOKEN_REVOKED
    template = _("The token has been revoked.")


class AddressNotAllowed(DomainError):
    """The secret is right, but the token may not be used from the address of the request."""

    code = Code.IP_NOT_ALLOWED
    template = _("The token may not be used from this address.")


class _Verified:
    """A cache of rows whose secret was verified recently, by SHA-256 of the token's text; one per process.

    Everything but the secret (times, networks) is checked on every request.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[float, ApiToken]] = {}
        self._lock = threading.Lock()
        self.generation = 0  # counts changes, so that a row read before a change is not cached after it

    def get(self, presented: bytes) -> ApiToken | None:
        cached = self._rows.get(presented)
        return cached[1] if cached is not None and cached[0] > time.monotonic() else None

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
            self._rows = {key: cached for key, cached in self._rows.items() if not is_changed(cached[1])}


_verified = _Verified()


def forget(token_id: UUID) -> None:
    """Remove a changed token from this process's cache; other processes notice within API_TOKEN_CACHE_SECONDS."""
    _verified.forget(lambda token: token.pk == token_id)


def forget_client(client_id: UUID) -> None:
    """Remove the tokens of a changed client from the cache, like `forget`."""
    _verified.forget(lambda token: token.client_id == client_id)


def digest_of(secret: str, *, pepper_id: str) -> bytes:
    """Return the digest of a secret under one of the peppers.

    Raises:
        KeyError: the pepper is no longer configured.
    """
    return hmac.digest(_peppers()[pepper_id].encode(), secret.encode(), hashlib.sha256)


def newest_pepper() -> str:
    """Return the id of the pepper for new tokens."""
    return next(iter(_peppers()))


def _peppers() -> dict[str, str]:
    return dict(entry.partition(":")[::2] for entry in settings.TOKEN_PEPPERS)


def authenticate(text: str, *, at: datetime, request_id: str = "", ip: str | None = None) -> tuple[Principal, ApiToken]:
    """Return the principal and the row of a token, and record its use.

    One query, or none within API_TOKEN_CACHE_SECONDS; one update per minute.

    Raises:
        NotAuthenticated: the token is invalid, or not valid yet.
        TokenRevoked: it, or its client, was disabled.
        TokenExpired: it has expired, or its overlap with its successor has ended.
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
    if token := _verified.get(presented):
        return token
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
    """Return the principal of a token; its scopes never exceed its role, even if its row has more."""
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


def current_principal_of(actor: str, *, at: datetime, request_id: str = "", ip: str | None = None) -> Principal | None:
    """Return the principal of an actor with the current rights, for work that was started earlier.

    None: the person has left, or the token has ended or was disabled.  Up to two queries.
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
    """Record that a token was sent in a query string, where proxies and browsers log it; its secret is not stored.

    Only for existing tokens, at most once a minute each: anyone can send requests, and the audit trail is kept for
    years.
    """
    token_id = ApiToken.objects.filter(key_id=key_id).values_list("pk", flat=True).first()
    if token_id is None:
        return
    since = Now() - LEAK_IS_NOTED_EVERY  # by the database clock, which also dates the rows
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
