"""Leases: how a worker takes rows that are due, works without a transaction, and records the result.

A table whose rows are worked on has two nullable columns: `claim_id` (UUID) names the claim that holds a row, and
`lease_until` (UTC) says until when.  Both are set while a worker holds the row, and both are null otherwise.

    claim = leases.claim(Export.objects.filter(due).order_by("due_at"), at=now, lease=LEASE, limit=1, state="running")
    for export in claim.rows:
        with leases.heartbeat(lambda: claim.renew(at=clock(), lease=LEASE)):
            ...  # minutes of work, no transaction open
        if not claim.settle(export, state="ready"):
            ...  # another worker holds the row now: discard the result

`claim` locks rows with FOR NO KEY UPDATE SKIP LOCKED, so that workers never wait for each other, and commits before
the work begins: no row stays locked while a file is uploaded or a mail is sent.  Every later statement names the claim
id: what a worker does after its lease has passed to another changes nothing.

A worker that dies loses its rows when the lease ends, and the next claim takes them.  So work may happen twice, never
not at all; a lease has to be longer than the work, or than a few heartbeats.  To limit attempts, count them in the
claim (`attempts=F("attempts") + 1`) and settle a row that has too many as failed.  Leaving a row unsettled is a way to
try it again when the lease ends.

Rows that are changed in the transaction that locks them need no lease: `select_for_update(skip_locked=True)` does.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar
from uuid import UUID, uuid4

from django.db import Error, InterfaceError, OperationalError, connections, transaction
from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)
log = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 10.0
_RETRY_AFTER_SECONDS: Final = (1.0, 4.0, 15.0, 25.0)  # together about as long as a lease of a minute


@dataclass(frozen=True, slots=True)
class Claim(Generic[Row]):
    """Rows that this worker holds under one claim id."""

    id: UUID
    model: type[Row]
    rows: list[Row]

    def __bool__(self) -> bool:
        return bool(self.rows)

    def held(self) -> QuerySet[Row]:
        """Select the rows that this worker still holds: to lock them, or to write progress."""
        return self.model._default_manager.filter(pk__in=[row.pk for row in self.rows], claim_id=self.id)

    def renew(self, *, at: datetime, lease: timedelta, **changes: Any) -> int:
        """Extend the lease and write other columns; return how many rows this worker still holds."""
        return self.held().update(lease_until=at + lease, **changes)

    def settle(self, row: Row, **changes: Any) -> bool:
        """Write the result of a row and end its lease; False if another worker holds it, and nothing is written."""
        return self.held().filter(pk=row.pk).update(claim_id=None, lease_until=None, **changes) == 1

    def release(self) -> int:
        """Give back the rows that were not settled, unchanged; return how many."""
        return self.held().update(claim_id=None, lease_until=None)


def claim(rows: QuerySet[Row], *, at: datetime, lease: timedelta, limit: int, **changes: Any) -> Claim[Row]:
    """Claim up to `limit` of these rows, in their order, and write `changes` to them.  Two queries, one if none is due.

    Takes rows without a lease or whose lease has ended; rows that other transactions have locked are skipped.  Rows
    joined by `select_related` are read but not locked.  The returned rows have the values of `changes`, except
    expressions such as `F("attempts") + 1`, of which they have the value before.
    """
    with transaction.atomic(using=rows.db):
        free = rows.filter(Q(lease_until__isnull=True) | Q(lease_until__lte=at))
        due = list(free.select_for_update(skip_locked=True, no_key=True, of=("self",))[:limit])
        new = Claim(uuid4(), rows.model, due)
        if due:
            columns = {"claim_id": new.id, "lease_until": at + lease} | changes
            rows.model._default_manager.filter(pk__in=[row.pk for row in due]).update(**columns)
            for row in due:
                _assign(row, columns)
    return new


def _assign(row: Model, columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        if not hasattr(value, "resolve_expression"):
            setattr(row, name, value)


@contextmanager
def heartbeat(beat: Callable[[], object], *, every: float = HEARTBEAT_SECONDS) -> Iterator[None]:
    """Call `beat`, which renews a lease, every few seconds from a thread: a single step of the work may take minutes.

    A beat that the database refuses is logged and tried again at the next one.
    """
    done = threading.Event()

    def run() -> None:
        try:
            while not done.wait(every):
                try:
                    beat()
                except Error as error:
                    log.warning("lease not renewed: %s", type(error).__name__)
                    connections.close_all()  # Django does not replace a broken connection outside of a request
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def settle_with_retries(settle: Callable[[], object]) -> None:
    """Call `settle`, and again for about a minute while the database is away: so that finished work is not repeated.

    Raises:
        django.db.OperationalError, django.db.InterfaceError: the database is away for longer.
    """
    for seconds in _RETRY_AFTER_SECONDS:
        _drop_broken_connections()
        try:
            settle()
        except (OperationalError, InterfaceError) as error:
            log.warning("result not recorded yet: %s", type(error).__name__)
            time.sleep(seconds)
        else:
            return
    _drop_broken_connections()
    settle()


def _drop_broken_connections() -> None:
    """Return connections without a transaction, which the work may have outlived, to the pool."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
