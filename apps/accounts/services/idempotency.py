"""Idempotency keys: a POST with a key succeeds at most once, and a repetition gets the response of the first one.

`claim` locks the key for the transaction, and `save_response` inserts the record in the same transaction: a request
that fails leaves no record, and its key stays free.  A unique constraint on client and key is a second safeguard.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import psycopg
from django.db import OperationalError, connection, transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import IdempotencyRecord
from lib.crypto import aad, decrypt, encrypt
from lib.errors import Code, DomainError

KEPT_FOR: Final = timedelta(days=7)  # interface engines may queue requests for days
_PURGED_AT_ONCE: Final = 5_000


class KeyReused(DomainError):
    """The key was used with a different method, path, body or data scope of the token."""

    code = Code.IDEMPOTENCY_KEY_REUSED
    template = _("The Idempotency-Key was used with another request; use a new one.")


class KeyInProgress(DomainError):
    """A request with this key is still running after the maximum wait."""

    code = Code.IDEMPOTENCY_IN_PROGRESS
    template = _("A request with this Idempotency-Key is under way; try again.")


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The response to the first request."""

    status: int
    headers: dict[str, str]
    body: str
    rider_ids: list[UUID]


def fingerprint_of(*parts: str | bytes) -> bytes:
    """Return a digest of the parts that have to be equal in a repetition of a request."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.digest()


def claim(*, client_id: UUID, key: str, fingerprint: bytes) -> StoredAnswer | None:
    """Lock the key for the current transaction, and return the response of an earlier request with it, if any.

    Waits for a transaction that holds the key, at most `lock_timeout`.  Two queries.

    Raises:
        KeyReused: the key belongs to another request.
        KeyInProgress: another request has held the key for longer than `lock_timeout`.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"idempotency {client_id} {key}"])
    except OperationalError as failure:
        if isinstance(failure.__cause__, psycopg.errors.LockNotAvailable):
            raise KeyInProgress from None
        raise
    return answer_of(client_id=client_id, key=key, fingerprint=fingerprint)


def answer_of(*, client_id: UUID, key: str, fingerprint: bytes) -> StoredAnswer | None:
    """Return the response of an earlier request with the key, without locking the key.  One query.

    Raises:
        KeyReused: the key belongs to another request.
    """
    record = IdempotencyRecord.objects.filter(client_id=client_id, key=key).first()
    return None if record is None else _answer(record, fingerprint)


def save_response(
    *,
    client_id: UUID,
    key: str,
    fingerprint: bytes,
    status: int,
    headers: dict[str, str],
    body: str,
    rider_ids: Collection[UUID],
) -> None:
    """Store the response under the claimed key, encrypted, because it may hold data of these riders."""
    record = IdempotencyRecord(
        client_id=client_id,
        key=key,
        fingerprint=fingerprint,
        status=status,
        headers=headers,
        rider_ids=sorted(rider_ids),
    )
    record.body_encrypted = encrypt(body, aad=_aad(record))
    record.save(force_insert=True)


def _answer(record: IdempotencyRecord, fingerprint: bytes) -> StoredAnswer:
    if bytes(record.fingerprint) != fingerprint:
        raise KeyReused
    body = decrypt(bytes(record.body_encrypted or b""), aad=_aad(record))
    return StoredAnswer(status=record.status or 200, headers=record.headers, body=body, rider_ids=record.rider_ids)


@transaction.atomic
def purge(*, at: datetime) -> int:
    """Delete records older than KEPT_FOR, some thousands per call; return how many."""
    old = IdempotencyRecord.objects.filter(created_at__lt=at - KEPT_FOR).order_by("created_at")
    ids = old.values_list("pk", flat=True)[:_PURGED_AT_ONCE]
    return IdempotencyRecord.objects.filter(pk__in=list(ids)).delete()[0]


def _aad(record: IdempotencyRecord) -> str:
    return aad(IdempotencyRecord, "body", record.pk)
