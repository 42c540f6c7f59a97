"""Making export files.

A worker claims an export under a lease (lib/db/leases.py), writes the file in a working folder of its own, and renames
it into place when it is complete.  If a worker dies, its lease ends and another worker starts over; the working folder
is deleted later.  However many tasks run, two exports are made at a time, so that the database has capacity for other
work.
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
MAX_CONCURRENT: Final = 2  # by all workers
MAX_SECONDS: Final = 1_500  # for the database to send all rows; below the time limit of the task
MAX_ATTEMPTS: Final = 3
_RETRY_DELAYS: Final = (timedelta(minutes=1), timedelta(minutes=5))
_LOCK_BATCH: Final = 5_000  # rides

Clock = Callable[[], datetime]


class ClaimLost(Exception):
    """This worker no longer holds the export: it was cancelled, or another worker claimed it."""


class NoLongerPermitted(Exception):
    """The owner has lost the right to make the export."""


@dataclass(slots=True)
class _ClaimedExport:
    """An export that this worker holds, and its progress; `versions` are those of its rows if it locks rides."""

    claim: Claim[Export]
    clock: Clock
    rows: int = 0
    versions: list[Identity] = field(default_factory=list)
    claim_lost: threading.Event = field(default_factory=threading.Event)

    @property
    def export(self) -> Export:
        return self.claim.rows[0]

    def lock_row(self) -> Export:
        """Lock the row, so that the export is not cancelled, unlocked or claimed before this transaction ends.

        Raises:
            ClaimLost: this worker no longer holds it.
        """
        row = self.claim.held().select_for_update(no_key=True).first()
        if row is None:
            raise ClaimLost
        return row

    def beat(self) -> None:
        """Renew the lease and store the progress; sets `claim_lost` if this worker no longer holds the export."""
        if not self.claim.renew(at=self.clock(), lease=LEASE, rows=self.rows):
            self.claim_lost.set()

    def progress(self, count: int, identities: Sequence[Identity]) -> None:
        """Count rows and collect their ids and versions.

        Raises:
            ClaimLost: this worker no longer holds the export.
        """
        if self.claim_lost.is_set():
            raise ClaimLost
        self.rows += count
        self.versions.extend(identities)


def work(*, clock: Clock, limit: int = 1) -> int:
    """Make up to `limit` due exports, one after the other; return how many were claimed."""
    for count in range(limit):
        new_claim = claim(at=clock())
        if not new_claim:
            return count
        _make(_ClaimedExport(new_claim, clock))
    return limit


@transaction.atomic
def claim(*, at: datetime) -> Claim[Export] | None:
    """Claim the oldest due export, or one whose lease has ended; None if there is none, or too many are being made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('claims of exports', 0))")
    if Export.objects.filter(state=Export.State.RUNNING, lease_until__gt=at).count() >= MAX_CONCURRENT:
        return None
    due = Q(state=Export.State.QUEUED, due_at__lte=at) | Q(state=Export.State.RUNNING)
    rows = Export.objects.filter(due).order_by("due_at", "id")
    new_claim = leases.claim(rows, at=at, lease=LEASE, limit=1, state=Export.State.RUNNING)
    if not new_claim:
        return None
    export = new_claim.rows[0]
    if export.attempts >= MAX_ATTEMPTS:
        _fail(export, "worker_lost", at)
        return None
    export.attempts, export.rows, export.bytes = export.attempts + 1, 0, 0
    export.save(update_fields=["attempts", "rows", "bytes"])
    return new_claim


def _make(claimed: _ClaimedExport) -> None:
    export = claimed.export
    try:
        with leases.heartbeat(claimed.beat, every=BEAT_SECONDS), _working_folder(export) as folder:
            _write(claimed, folder)
    except ClaimLost:
        log.info("export claim lost", extra={"export_id": str(export.pk)})
    except NoLongerPermitted:
        _settle_failed(claimed, "no_longer_permitted")
    except DomainError as refusal:  # the dataset or the owner's rights have changed
        _settle_failed(claimed, refusal.code.name.lower())
    except (KeyError, InvalidTag):
        _settle_failed(claimed, "sealed_value_unreadable")
    except (DatabaseError, psycopg.Error, OSError) as trouble:
        log.warning("export failed: %s", type(trouble).__name__, extra={"export_id": str(export.pk)})
        code = "storage_unavailable" if isinstance(trouble, OSError) else "database_unavailable"
        _settle_failed(claimed, code, retry=True)
    except Exception:
        log.exception("export failed", extra={"export_id": str(export.pk)})
        _settle_failed(claimed, "internal_error")


def _write(claimed: _ClaimedExport, folder: Path) -> None:
    export = claimed.export
    by = principal_of(export)
    filters = parse_stored_filters(export.filters)
    plan = plan_export(ExportRequest(export.dataset, export.format, filters, tuple(export.columns)), by)
    rows, export.data_as_of = exports.read(plan, by=by)
    export.total, riders = rows.count(), rows.riders()
    claimed.claim.held().update(total=export.total, data_as_of=export.data_as_of)
    table = exports.table_of(export, plan, rows, seconds=MAX_SECONDS)
    path = folder / f"file.{export.format}"
    files.write(path, export.format, table, progress=claimed.progress)
    export.sha256, export.bytes = files.digest(path), path.stat().st_size
    _lock_rides(claimed)
    _settle_ready(claimed, path, riders, by=by)


def principal_of(export: Export) -> Principal:
    """Return the owner of an export with the data scope and PHI level of the export.

    Raises:
        NoLongerPermitted: the token is revoked, its client inactive, or the user inactive.
    """
    kind, _, key = export.created_by.partition(":")
    if kind == "system":
        return system()
    users, tokens = (
        User.objects.filter(pk=key, is_active=True),
        ApiToken.objects.filter(pk=key, revoked_at__isnull=True, client__active=True),
    )
    if not (users if kind == "user" else tokens).exists():
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


def _lock_rides(claimed: _ClaimedExport) -> None:
    """Lock the rides that still have the exported version, in batches."""
    export = claimed.export
    corrections.release_rides(export_id=export.pk)  # of an earlier attempt
    for start in range(0, len(claimed.versions), _LOCK_BATCH):
        _lock_batch(claimed, claimed.versions[start : start + _LOCK_BATCH])


@transaction.atomic
def _lock_batch(claimed: _ClaimedExport, versions: Sequence[Identity]) -> None:
    """Lock rides while the row of the export is locked; none if the export was unlocked meanwhile."""
    if claimed.lock_row().locked:
        corrections.lock_rides(versions, export_id=claimed.export.pk, at=claimed.clock())


@contextmanager
def _working_folder(export: Export) -> Iterator[Path]:
    path = export_files.create_working_folder(export)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@transaction.atomic
def _settle_ready(claimed: _ClaimedExport, path: Path, riders: Sequence[UUID], *, by: Principal) -> None:
    """Move the file into place and set the state to ready, while the row of the export is locked.

    Raises:
        ClaimLost: the export was cancelled or claimed by another worker; the file is not moved.
    """
    export, at = claimed.export, claimed.clock()
    expires_at = at + timedelta(hours=settings.EXPORT_RETENTION_HOURS)
    claimed.lock_row()
    path.replace(export_files.file_path(export))
    claimed.claim.held().update(
        state=Export.State.READY,
        error_code="",  # of an earlier attempt
        claim_id=None,
        lease_until=None,
        rows=claimed.rows,
        bytes=export.bytes,
        sha256=export.sha256,
        ended_at=at,
        expires_at=expires_at,
    )
    export.rows = claimed.rows
    exports.audit_riders("exports.make", export, riders, by=by)
    _record_event("export.ready", export, at, rows=claimed.rows, expiresAt=instant_text(expires_at))


def _settle_failed(claimed: _ClaimedExport, code: str, *, retry: bool = False) -> None:
    """Set the state to failed, or with `retry` back to queued; no-op if this worker no longer holds the export."""
    leases.settle_with_retries(partial(_fail_or_requeue, claimed, code, retry=retry))


@transaction.atomic
def _fail_or_requeue(claimed: _ClaimedExport, code: str, *, retry: bool) -> None:
    at = claimed.clock()
    export = claimed.claim.held().select_for_update().first()
    if export is None:
        return
    if retry and export.attempts < MAX_ATTEMPTS:
        export.state, export.due_at = Export.State.QUEUED, at + _RETRY_DELAYS[export.attempts - 1]
        export.error_code, export.claim_id, export.lease_until = code, None, None
        export.save(update_fields=["state", "due_at", "error_code", "claim_id", "lease_until"])
    else:
        _fail(export, code, at)


def _fail(export: Export, code: str, at: datetime) -> None:
    export.state, export.error_code, export.ended_at = Export.State.FAILED, code, at
    export.claim_id = export.lease_until = None
    export.save(update_fields=["state", "error_code", "ended_at", "claim_id", "lease_until"])
    corrections.release_rides(export_id=export.pk)
    _record_event("export.failed", export, at, errorCode=code)


def _record_event(name: str, export: Export, at: datetime, **data: object) -> None:
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
            **data,
        },
    )


def clean_up(*, at: datetime) -> None:
    """Expire exports, and delete old links and files that are no longer needed."""
    Export.objects.filter(state=Export.State.READY, expires_at__lte=at).update(
        state=Export.State.EXPIRED, expires_at=None
    )
    downloads.delete_expired_links(at=at)
    export_files.delete_leftovers()
