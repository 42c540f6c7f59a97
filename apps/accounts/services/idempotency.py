"""Keys under which a POST succeeds at most once, and what it answered."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import psycopg
from django.db import OperationalError, transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import IdempotencyRecord
from lib.crypto import aad, decrypt, encrypt
from lib.errors import Code, DomainError

KEPT_FOR: Final = timedelta(days=7)  # interface engines queue for days
_PURGED_AT_ONCE: Final = 5_000


class KeyReused(DomainError):
    """The key came before with another method, path, body or reach of the token."""

    code = Code.IDEMPOTENCY_KEY_REUSED
    template = _("The Idempotency-Key was used with another request; use a new one.")


class KeyInProgress(DomainError):
    """A request with this key has been running for longer than we wait."""

    code = Code.IDEMPOTENCY_IN_PROGRESS
    template = _("A request with this Idempotency-Key is under way; try again.")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the first request was answered."""

    status: int
    headers: dict[str, str]
    body: str
    rider_ids: list[UUID]


@dataclass(frozen=True, slots=True)
class Claim:
    """A key held for the rest of the transaction; with an answer, somebody came before."""

    record: IdempotencyRecord
    answer: Answer | None


def fingerprint_of(*parts: str | bytes) -> bytes:
    """Digest what has to be equal for two requests to be the same one."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.digest()


def claim(*, client_id: UUID, key: str, fingerprint: bytes) -> Claim:
    """Claim the key in the transaction under way, or find what it was answered.

    A second claim waits on the unique index until the first commits or rolls back, at most `lock_timeout`.  Costs two
    queries.

    Raises:
        KeyReused: the key belongs to another request.
        KeyInProgress: the first one is still running.
    """
    mine = IdempotencyRecord(client_id=client_id, key=key, fingerprint=fingerprint)
    try:
        IdempotencyRecord.objects.bulk_create([mine], ignore_conflicts=True)
    except OperationalError as failure:
        if isinstance(failure.__cause__, psycopg.errors.LockNotAvailable):
            raise KeyInProgress from None
        raise
    record = IdempotencyRecord.objects.get(client_id=client_id, key=key)
    if record.pk == mine.pk:
        return Claim(record, None)
    return Claim(record, _answer(record, fingerprint))


def answer_of(*, client_id: UUID, key: str, fingerprint: bytes) -> Answer | None:
    """Find what the key was answered, without claiming it.  Costs one query.

    Raises:
        KeyReused: the key belongs to another request.
    """
    record = IdempotencyRecord.objects.filter(client_id=client_id, key=key).first()
    return None if record is None else _answer(record, fingerprint)


def keep(claim: Claim, *, status: int, headers: dict[str, str], body: str, rider_ids: Collection[UUID]) -> None:
    """Store the answer under the claimed key; encrypted, as it may hold data of these riders."""
    record = claim.record
    record.status, record.headers, record.body_encrypted = status, headers, encrypt(body, aad=_aad(record))
    record.rider_ids = sorted(rider_ids)
    record.save(update_fields=["status", "headers", "body_encrypted", "rider_ids"])


def _answer(record: IdempotencyRecord, fingerprint: bytes) -> Answer:
    if bytes(record.fingerprint) != fingerprint:
        raise KeyReused
    body = decrypt(bytes(record.body_encrypted or b""), aad=_aad(record))
    return Answer(status=record.status or 200, headers=record.headers, body=body, rider_ids=record.rider_ids)


@transaction.atomic
def purge(*, at: datetime) -> int:
    """Delete records older than KEPT_FOR, some thousands at once; answer how many."""
    old = IdempotencyRecord.objects.filter(created_at__lt=at - KEPT_FOR).order_by("created_at")
    ids = old.values_list("pk", flat=True)[:_PURGED_AT_ONCE]
    return IdempotencyRecord.objects.filter(pk__in=list(ids)).delete()[0]


def _aad(record: IdempotencyRecord) -> str:
    return aad(IdempotencyRecord, "body", record.pk)
