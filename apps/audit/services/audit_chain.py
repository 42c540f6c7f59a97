"""The hash chain over the audit trail, which reveals changes made by SQL.

Entries are inserted without a hash and added to the chain seconds later, so that requests do not wait for each other.
Each link is an `AuditSeal`: SHA-256 of the previous link and of the entry.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import connection, transaction

from apps.audit.models import AuditEntry, AuditSeal
from lib.api.json import canonical

_SEALED_AT_ONCE: Final = 5_000
# No transaction lasts this long, so entries without a seal are at most this much older than the last sealed entry.
_LATEST_COMMIT: Final = timedelta(days=1)
_LOCK: Final = 4_729_301  # of an advisory lock: one process seals at a time
_COLUMNS: Final = (
    "id", "at", "actor", "role", "action", "subject_type", "subject_id", "rider_ids", "facility_id", "phi", "reason",
    "outcome", "details", "request_id", "ip",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """The last link.  Stored outside the database, it also reveals that the end of the trail was deleted."""

    number: int
    digest: str


START: Final = Head(0, "")


@transaction.atomic
def seal() -> int:
    """Seal up to 5,000 entries and return how many.  Waits for another process that seals."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    last = AuditSeal.objects.select_related("entry").order_by("-number").first()
    entries = AuditEntry.objects.filter(seal__isnull=True).order_by("at", "id")
    if last is not None:
        entries = entries.filter(at__gt=last.entry.at - _LATEST_COMMIT)
    number, digest = (last.number, bytes(last.digest)) if last is not None else (0, b"")
    seals = []
    for row in entries.values(*_COLUMNS)[:_SEALED_AT_ONCE]:
        number, digest = number + 1, _next(digest, row)
        seals.append(AuditSeal(number=number, entry_id=row["id"], digest=digest))
    AuditSeal.objects.bulk_create(seals)
    return len(seals)


def verify(*, stored_head: Head = START) -> tuple[Head, list[str]]:
    """Compute the chain again; return its head and a list of problems as text.

    `stored_head` was stored elsewhere; without it, entries deleted at the end are not detected.  Reads all entries.
    """
    problems, head, digest = [], START, b""
    for number, sealed, row in _links():
        if number != head.number + 1:
            problems.append(f"seals {head.number + 1} to {number - 1} are missing")
        digest = _next(digest, row)
        if digest != sealed:
            problems.append(f"entry {row['id']} (seal {number}) or its place in the trail was altered")
            digest = sealed  # later links are checked independently
        head = Head(number, sealed.hex())
        if number == stored_head.number and head != stored_head:
            problems.append(f"seal {number} differs from the stored one")
    if head.number < stored_head.number:
        problems.append(f"seals {head.number + 1} to {stored_head.number} are missing at the end")
    return head, problems


def _links() -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    columns = [f"entry__{name}" for name in _COLUMNS]
    links = AuditSeal.objects.order_by("number").values("number", "digest", *columns)
    for link in links.iterator(chunk_size=2_000):
        yield link["number"], bytes(link["digest"]), {name: link[f"entry__{name}"] for name in _COLUMNS}


def _next(digest: bytes, row: dict[str, Any]) -> bytes:
    return hashlib.sha256(digest + canonical(row)).digest()
