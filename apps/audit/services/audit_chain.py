"""The hash chain over the audit trail, which shows whether somebody with the keys to the database altered it.

Entries are written without it and sealed some seconds later, so that no reader waits for another.
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
# No transaction lasts this long, so nothing unsealed lies further behind the last sealed entry.
_LATEST_COMMIT: Final = timedelta(days=1)
_LOCK: Final = 4_729_301  # any number, the same in every process: one sealer at a time
_COLUMNS: Final = (
    "id", "at", "actor", "role", "action", "subject_type", "subject_id", "rider_ids", "facility_id", "phi", "reason",
    "outcome", "details", "request_id", "ip",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """The last link.  Kept outside the database, it also shows when the end of the trail was cut off."""

    number: int
    digest: str


START: Final = Head(0, "")


@transaction.atomic
def seal() -> int:
    """Seal what is not sealed yet, some thousands at once; answer how many.  Waits for another sealer to finish."""
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


def verify(*, known: Head = START) -> tuple[Head, list[str]]:
    """Compute the whole chain anew; answer its head and what is wrong, in words.

    `known` is a head that was written down elsewhere: without one, a trail whose end was cut off looks whole.  Reads
    every entry.
    """
    wrong, head, digest = [], START, b""
    for number, sealed, row in _links():
        if number != head.number + 1:
            wrong.append(f"seals {head.number + 1} to {number - 1} are missing")
        digest = _next(digest, row)
        if digest != sealed:
            wrong.append(f"entry {row['id']} (seal {number}) or its place in the trail was altered")
            digest = sealed  # what follows is judged by itself
        head = Head(number, sealed.hex())
        if number == known.number and head != known:
            wrong.append(f"seal {number} is not the one that was written down")
    if head.number < known.number:
        wrong.append(f"seals {head.number + 1} to {known.number} are missing at the end")
    return head, wrong


def _links() -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    columns = [f"entry__{name}" for name in _COLUMNS]
    links = AuditSeal.objects.order_by("number").values("number", "digest", *columns)
    for link in links.iterator(chunk_size=2_000):
        yield link["number"], bytes(link["digest"]), {name: link[f"entry__{name}"] for name in _COLUMNS}


def _next(digest: bytes, row: dict[str, Any]) -> bytes:
    return hashlib.sha256(digest + canonical(row)).digest()
