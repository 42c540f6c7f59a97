"""Making exports: workers claim them under a lease, write a file to one side, and put it in its place when it is whole.

A worker that dies leaves a folder that nobody looks into and a lease that lapses; another one begins anew.  However
many tasks are woken, two exports are made at a time: what else the workers have to do must not wait for them.
"""

import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

import psycopg
from cryptography.exceptions import InvalidTag
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from apps.accounts.models import ApiToken, User
from apps.events import services as events
from apps.exports.formats import files
from apps.exports.formats.copy_stream import Identity
from apps.exports.models import Export
from apps.exports.services import downloads, export_files, exports
from apps.exports.services.export_validation import ExportRequest, parse_stored_filters, plan_export
from apps.rides.services import corrections
from lib.access import AllScopes, Phi, Principal, system
from lib.api.fields import instant_text
from lib.db import leases
from lib.db.leases import Claim
from lib.errors import DomainError

log = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=60)
BEAT_SECONDS: Final = leases.HEARTBEAT_SECONDS
AT_ONCE: Final = 2  # exports being made, by all workers
MAX_SECONDS: Final = 1_500  # that the database may take; below the limit of the task
TRIES: Final = 3
_TRY_AGAIN_AFTER: Final = (timedelta(minutes=1), timedelta(minutes=5))
_LOCKED_AT_ONCE: Final = 5_000  # rides

Clock = Callable[[], datetime]


class Lost(Exception):  # as refusals are named
    """The export is no longer this worker's: cancelled, or its lease went to another one."""


class NoLongerPermitted(Exception):
    """Whoever asked for the export may not any more."""


@dataclass(slots=True)
class _Held:
    """An export in this worker's hands, and how far it is; `versions` are those of its rows where it is locked."""

    claim: Claim[Export]
    clock: Clock
    rows: int = 0
    versions: list[Identity] = field(default_factory=list)
    lost: threading.Event = field(default_factory=threading.Event)

    @property
    def export(self) -> Export:
        return self.claim.rows[0]

    def standing(self) -> Export:
        """Lock the row, so that nobody cancels, unlocks or claims it before this transaction ends.

        Raises:
            Lost: it is no longer this worker's.
        """
        row = self.claim.held().select_for_update(no_key=True).first()
        if row is None:
            raise Lost
        return row

    def beat(self) -> None:
        """Renew the lease and tell how far it is; notice that the export is another's."""
        if not self.claim.renew(at=self.clock(), lease=LEASE, rows=self.rows):
            self.lost.set()

    def progress(self, count: int, identities: Sequence[Identity]) -> None:
        """Count rows, collect what a locked export holds, and stop when another worker has the export.

        Raises:
            Lost: it has.
        """
        if self.lost.is_set():
            raise Lost
        self.rows += count
        self.versions.extend(identities)


def work(*, clock: Clock, most: int = 1) -> int:
    """Make exports that are due, one after the other, and say how many were looked at."""
    for made in range(most):
        claimed = claim(at=clock())
        if not claimed:
            return made
        _make(_Held(claimed, clock))
    return most


@transaction.atomic
def claim(*, at: datetime) -> Claim[Export] | None:
    """Take the export that is due longest, or one whose worker went away; None: there is none, or enough are made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('claims of exports', 0))")
    if Export.objects.filter(state=Export.State.RUNNING, lease_until__gt=at).count() >= AT_ONCE:
        return None
    due = Q(state=Export.State.QUEUED, due_at__lte=at) | Q(state=Export.State.RUNNING)
    rows = Export.objects.filter(due).order_by("due_at", "id")
    claimed = leases.claim(rows, at=at, lease=LEASE, limit=1, state=Export.State.RUNNING)
    if not claimed:
        return None
    export = claimed.rows[0]
    if export.attempts >= TRIES:
        _fail(export, "worker_lost", at)
        return None
    export.attempts, export.rows, export.bytes = export.attempts + 1, 0, 0
    export.save(update_fields=["attempts", "rows", "bytes"])
    return claimed


def _make(held: _Held) -> None:
    export = held.export
    try:
        with leases.heartbeat(held.beat, every=BEAT_SECONDS), _workshop(export) as scratch:
            _write(held, scratch)
    except Lost:
        log.info("export is no longer ours", extra={"export_id": str(export.pk)})
    except NoLongerPermitted:
        _settle_failed(held, "no_longer_permitted")
    except DomainError as refusal:  # the dataset is another by now, or the caller's rights are
        _settle_failed(held, refusal.code.name.lower())
    except (KeyError, InvalidTag):
        _settle_failed(held, "sealed_value_unreadable")
    except (DatabaseError, psycopg.Error, OSError) as trouble:
        log.warning("export failed: %s", type(trouble).__name__, extra={"export_id": str(export.pk)})
        code = "storage_unavailable" if isinstance(trouble, OSError) else "database_unavailable"
        _settle_failed(held, code, again=True)
    except Exception:
        log.exception("export failed", extra={"export_id": str(export.pk)})
        _settle_failed(held, "internal_error")


def _write(held: _Held, scratch: Path) -> None:
    export = held.export
    by = principal_of(export)
    filters = parse_stored_filters(export.filters)
    plan = plan_export(ExportRequest(export.dataset, export.format, filters, tuple(export.columns)), by)
    rows, export.data_as_of = exports.read(plan, by=by)
    export.total, riders = rows.count(), rows.riders()
    held.claim.held().update(total=export.total, data_as_of=export.data_as_of)
    table = exports.table_of(export, plan, rows, seconds=MAX_SECONDS)
    path = scratch / f"file.{export.format}"
    files.write(path, export.format, table, progress=held.progress)
    export.sha256, export.bytes = files.digest(path), path.stat().st_size
    _lock_rides(held)
    _settle_ready(held, path, riders, by=by)


def principal_of(export: Export) -> Principal:
    """Make whoever asked for an export again, with the reach and the level it was asked for with.

    Raises:
        NoLongerPermitted: the token was revoked, its client switched off, or the person has left.
    """
    kind, _, key = export.created_by.partition(":")
    if kind == "system":
        return system()
    people, tokens = (
        User.objects.filter(pk=key, is_active=True),
        ApiToken.objects.filter(pk=key, revoked_at__isnull=True, client__active=True),
    )
    if not (people if kind == "user" else tokens).exists():
        raise NoLongerPermitted
    return Principal(
        kind="user" if kind == "user" else "token",
        id=UUID(key),
        role="",
        scopes=AllScopes(),
        facility_ids=None if export.facility_ids is None else frozenset(export.facility_ids),
        provider_ids=None if export.provider_ids is None else frozenset(export.provider_ids),
        phi=Phi(export.phi),
        client_id=export.client_id,
    )


def _lock_rides(held: _Held) -> None:
    """Lock the rides of the file that are still as it says, some thousands at a time."""
    export = held.export
    corrections.release_rides(export_id=export.pk)  # of an earlier try
    for start in range(0, len(held.versions), _LOCKED_AT_ONCE):
        _lock_some(held, held.versions[start : start + _LOCKED_AT_ONCE])


@transaction.atomic
def _lock_some(held: _Held, versions: Sequence[Identity]) -> None:
    """Lock rides while nobody can cancel or unlock the export; none of an export that was unlocked meanwhile."""
    if held.standing().locked:
        corrections.lock_rides(versions, export_id=held.export.pk, at=held.clock())


@contextmanager
def _workshop(export: Export) -> Iterator[Path]:
    place = export_files.workshop(export)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@transaction.atomic
def _settle_ready(held: _Held, path: Path, riders: Sequence[UUID], *, by: Principal) -> None:
    """Put the file in its place and say that it is there, while nobody else can have the export.

    Raises:
        Lost: it is another's, or cancelled, and there is another file in that place, or none.
    """
    export, at = held.export, held.clock()
    expires_at = at + timedelta(hours=settings.EXPORT_RETENTION_HOURS)
    held.standing()
    path.replace(export_files.place_of(export))
    held.claim.held().update(
        state=Export.State.READY,
        error_code="",  # of an earlier try
        claim_id=None,
        lease_until=None,
        rows=held.rows,
        bytes=export.bytes,
        sha256=export.sha256,
        ended_at=at,
        expires_at=expires_at,
    )
    export.rows = held.rows
    exports.audit_riders("exports.make", export, riders, by=by)
    _tell("export.ready", export, at, rows=held.rows, expiresAt=instant_text(expires_at))


def _settle_failed(held: _Held, code: str, *, again: bool = False) -> None:
    """Give an export up, or back to be tried again later; unless it is another's by now."""
    leases.settle_with_retries(partial(_give_up_or_back, held, code, again=again))


@transaction.atomic
def _give_up_or_back(held: _Held, code: str, *, again: bool) -> None:
    at = held.clock()
    export = held.claim.held().select_for_update().first()
    if export is None:
        return
    if again and export.attempts < TRIES:
        export.state, export.due_at = Export.State.QUEUED, at + _TRY_AGAIN_AFTER[export.attempts - 1]
        export.error_code, export.claim_id, export.lease_until = code, None, None
        export.save(update_fields=["state", "due_at", "error_code", "claim_id", "lease_until"])
    else:
        _fail(export, code, at)


def _fail(export: Export, code: str, at: datetime) -> None:
    export.state, export.error_code, export.ended_at = Export.State.FAILED, code, at
    export.claim_id = export.lease_until = None
    export.save(update_fields=["state", "error_code", "ended_at", "claim_id", "lease_until"])
    corrections.release_rides(export_id=export.pk)
    _tell("export.failed", export, at, errorCode=code)


def _tell(name: str, export: Export, at: datetime, **facts: object) -> None:
    events.record(
        type=name,
        subject_type="export",
        subject_id=export.pk,
        sequence=1,  # an export ends once
        occurred_at=at,
        by=system(),
        data={
            "exportId": str(export.pk),
            "clientId": None if export.client_id is None else str(export.client_id),
            "dataset": export.dataset,
            "format": export.format,
            **facts,
        },
    )


def tend(*, at: datetime) -> None:
    """Take files away whose time has passed, forget old links, and sweep what crashes left."""
    Export.objects.filter(state=Export.State.READY, expires_at__lte=at).update(
        state=Export.State.EXPIRED, expires_at=None
    )
    downloads.forget(at=at)
    export_files.sweep()
