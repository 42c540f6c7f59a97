"""Creating exports: immediate ones, which are streamed, and jobs for workers.

Each export has a row, including immediate ones: its id is in every row of the file, so that the origin of a file can
always be traced.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.exports.formats import files
from apps.exports.formats.files import Table
from apps.exports.models import Export
from apps.exports.queries import datasets
from apps.exports.queries.datasets import Rows
from apps.exports.services import export_files
from apps.exports.services.export_validation import ExportPlan, ExportRequest, plan_export, stored_filters
from apps.riders.rules import disclosure
from apps.rides.services import corrections
from lib import replica
from lib.access import Phi, Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound, ScopeMissing
from lib.ids import uuid7
from lib.messages import lowered
from lib.scopes import Scope

MAX_STREAMED_ROWS: Final = 100_000  # more rows need a job
STREAM_SECONDS: Final = 120  # for the database to send, and the client to read, all rows
_HOUR: Final = timedelta(hours=1)
_RIDERS_PER_AUDIT_ENTRY: Final = 10_000


class TooManyRows(DomainError):
    """The export has too many rows to be sent immediately."""

    code = Code.PAYLOAD_TOO_LARGE
    template = _("The export has more than %(most)s rows. Narrow the filters, or use POST /exports.")

    def __init__(self, most: int) -> None:
        detail = Detail(code="make_an_export", message=_("Use POST /exports."), also={"maxRows": most})
        super().__init__(most=f"{most:,}", details=[detail])


class TooManyExports(DomainError):
    """The caller has reached the limit of exports per hour."""

    code = Code.RATE_LIMITED
    template = _("You can make up to %(most)s exports an hour.")

    def __init__(self, wait: float) -> None:
        super().__init__(most=settings.EXPORTS_PER_HOUR)
        self.wait = wait  # seconds


class NotCancellable(DomainError):
    """The export is in a final state."""

    code = Code.INVALID_TRANSITION
    template = _("The export is %(state)s.")


@dataclass(frozen=True, slots=True)
class StreamedExport:
    """An immediate export."""

    export: Export
    chunks: Iterator[bytes]


def create(*, request: ExportRequest, lock: bool = False, by: Principal, at: datetime) -> Export:
    """Create an export job.  With `lock`, its rides can no longer be corrected once it is ready.

    Raises:
        InvalidInput, ScopeMissing, PhiNotPermitted: see `export_validation.plan_export`; or the dataset cannot be
        locked.
        TooManyExports: the caller has reached the limit of exports per hour.
    """
    plan = plan_export(request, by)
    if lock:
        if not plan.dataset.lockable:
            raise InvalidInput("lock", _("%(field)s is only for the dataset completions."))
        if not by.has_scope(Scope.RIDES_CORRECT):
            raise ScopeMissing(Scope.RIDES_CORRECT)
    with transaction.atomic():
        _check_rate(by, at)
        export = _row(plan, by, at)
        export.state, export.locked = Export.State.QUEUED, lock
        export.save(force_insert=True)
        _audit("exports.create", export, by)
    return export


def stream(*, request: ExportRequest, by: Principal, at: datetime) -> StreamedExport:
    """Make an export while it is sent.  Its rows are one snapshot of the database, complete up to `data_as_of`.

    Raises:
        InvalidInput, ScopeMissing, PhiNotPermitted: see `export_validation.plan_export`.
        TooManyRows: it has too many rows to be sent immediately.
        TooManyExports: the caller has reached the limit of exports per hour.
    """
    plan = plan_export(request, by)
    rows, as_of = read(plan, by=by)
    total = rows.count(most=MAX_STREAMED_ROWS)
    if total > MAX_STREAMED_ROWS:
        raise TooManyRows(MAX_STREAMED_ROWS)
    riders = rows.riders()
    with transaction.atomic():
        _check_rate(by, at)
        export = _row(plan, by, at)
        export.state, export.total, export.rows = Export.State.STREAMED, total, total
        export.ended_at, export.data_as_of = at, as_of
        export.save(force_insert=True)
        _audit("exports.create", export, by)
        audit_riders("exports.send", export, riders, by=by)
    return StreamedExport(export, _chunks(export.format, table_of(export, plan, rows, seconds=STREAM_SECONDS)))


def read(plan: ExportPlan, *, by: Principal) -> tuple[Rows, datetime | None]:
    """Return the rows of a plan, and the time up to which they are complete; None if unknown.

    KPI values are also limited to the PHI level of the export: who may receive its file depends on that level.
    """
    using, dataset = replica.alias(), plan.dataset
    as_of = replica.as_of(using) if dataset.complete_until is None else dataset.complete_until(using)
    return datasets.rows_of(dataset, plan.filters, by=replace(by, phi=plan.phi), using=using), as_of


def table_of(export: Export, plan: ExportPlan, rows: Rows, *, seconds: int) -> Table:
    """Return the content of the file of an export."""
    metadata = {
        "dataset": export.dataset,
        "datasetVersion": str(export.dataset_version),
        "exportBatchId": str(export.pk),
    }
    mask = partial(disclosure.masked, phi=Phi(export.phi))
    source = rows.source(plan.columns, batch=export.pk)
    return Table(export.dataset, plan.columns, source, mask, seconds, metadata, identified=export.locked)


def cancel(*, export_id: UUID, by: Principal, at: datetime) -> Export:
    """Cancel an export, or delete the file of one that is ready.  A worker that makes it stops within seconds.

    Raises:
        NotFound: there is no such export.
        NotCancellable: it was sent immediately, failed, was cancelled or has expired.
    """
    with transaction.atomic():
        export = locked(export_id, by)
        if export.state not in (Export.State.QUEUED, Export.State.RUNNING, Export.State.READY):
            raise NotCancellable(state=lowered(Export.State(export.state).label))
        export.state, export.ended_at = Export.State.CANCELLED, at
        export.claim_id = export.lease_until = export.expires_at = None
        export.save(update_fields=["state", "ended_at", "claim_id", "lease_until", "expires_at"])
        corrections.release_rides(export_id=export.pk)
        audit.record(by=by, action="exports.cancel", subject_type="export", subject_id=export.pk)
    export_files.remove(export)
    return export


@transaction.atomic
def unlock(*, export_id: UUID, by: Principal) -> Export:
    """Unlock the rides of a locked export, so that they can be corrected again.

    Raises:
        NotFound: there is no such export.
        ScopeMissing: the caller may not correct rides.
    """
    if not by.has_scope(Scope.RIDES_CORRECT):
        raise ScopeMissing(Scope.RIDES_CORRECT)
    export = locked(export_id, by)
    released = corrections.release_rides(export_id=export.pk)
    export.locked = False
    export.save(update_fields=["locked"])
    details = {"rides": released}
    audit.record(by=by, action="exports.unlock", subject_type="export", subject_id=export.pk, details=details)
    return export


def locked(export_id: UUID, by: Principal) -> Export:
    """Return an export of the caller, with its row locked.

    Raises:
        NotFound: there is no such export.
    """
    export = Export.objects.visible_to(by).select_for_update(of=("self",), no_key=True).filter(pk=export_id).first()
    if export is None:
        raise NotFound(_("export"))
    return export


def _row(plan: ExportPlan, by: Principal, at: datetime) -> Export:
    return Export(
        id=uuid7(),
        dataset=plan.dataset.name,
        dataset_version=plan.dataset.version,
        format=plan.format,
        columns=[column.name for column in plan.columns],
        filters=stored_filters(plan.filters),
        created_by=by.actor,
        client_id=by.client_id,
        facility_ids=None if by.facility_ids is None else sorted(by.facility_ids),
        provider_ids=None if by.provider_ids is None else sorted(by.provider_ids),
        phi=plan.phi,
        created_at=at,
        due_at=at,
    )


def _check_rate(by: Principal, at: datetime) -> None:
    """Check the caller's exports of the last hour; serializes requests of the same caller by an advisory lock.

    Raises:
        TooManyExports: the limit is reached.
    """
    if by.kind == "system":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"exports of {by.actor}"])
    recent = Export.objects.filter(created_by=by.actor, created_at__gt=at - _HOUR)
    times = list(recent.order_by("-created_at").values_list("created_at", flat=True)[: settings.EXPORTS_PER_HOUR])
    if len(times) == settings.EXPORTS_PER_HOUR:
        raise TooManyExports(math.ceil((times[-1] + _HOUR - at).total_seconds()))


def _audit(action: str, export: Export, by: Principal) -> None:
    """Record who requested which rows, and the PHI level of the columns."""
    details = {
        "dataset": export.dataset,
        "format": export.format,
        "filters": sorted(export.filters),
        "columns": len(export.columns),
    }
    level = Phi(export.phi).name.lower()
    audit.record(by=by, action=action, subject_type="export", subject_id=export.pk, phi=level, details=details)


def audit_riders(action: str, export: Export, riders: Sequence[UUID], *, by: Principal) -> None:
    """Record all riders of an export, so that a search for who saw a rider finds it."""
    for start in range(0, max(1, len(riders)), _RIDERS_PER_AUDIT_ENTRY):
        audit.record(
            by=by,
            action=action,
            subject_type="export",
            subject_id=export.pk,
            rider_ids=riders[start : start + _RIDERS_PER_AUDIT_ENTRY],
            phi=Phi(export.phi).name.lower(),
            details={"dataset": export.dataset, "format": export.format, "rows": export.rows},
        )


def _chunks(format: str, table: Table) -> Iterator[bytes]:
    if format in files.STREAMED:
        yield from table.stream(format)
        return
    # A Parquet file is complete only after its last row group, so it is written before it is sent.
    with TemporaryDirectory(dir=export_files.folder(), prefix=export_files.STREAMING_PREFIX) as scratch:
        path = Path(scratch) / "file"
        files.write(path, format, table)
        yield from files.read(path)
