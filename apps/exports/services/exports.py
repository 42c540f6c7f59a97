"""Exports: asked for, sent at once or made by workers, and fetched once.

Every export is a row, those that are sent at once too: its id stands in the file, and says for ever who asked for what.
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
from apps.exports.services.export_validation import ExportRequest, Plan, plan_export, stored_filters
from apps.riders.rules import disclosure
from apps.rides.services import corrections
from lib import replica
from lib.access import Phi, Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound, ScopeMissing
from lib.ids import uuid7
from lib.messages import lowered
from lib.scopes import Scope

MAX_STREAMED_ROWS: Final = 100_000  # rows; more is a job
STREAM_SECONDS: Final = 120  # that the database may take, and the client to read
_HOUR: Final = timedelta(hours=1)
_RIDERS_IN_A_ROW: Final = 10_000  # of the trail


class TooManyRows(DomainError):
    """The export has more rows than are sent at once."""

    code = Code.PAYLOAD_TOO_LARGE
    template = _("The export has more than %(most)s rows. Narrow the filters, or use POST /exports.")

    def __init__(self, most: int) -> None:
        detail = Detail(code="make_an_export", message=_("Use POST /exports."), also={"maxRows": most})
        super().__init__(most=f"{most:,}", details=[detail])


class TooManyExports(DomainError):
    """The caller has made as many exports within an hour as it may."""

    code = Code.RATE_LIMITED
    template = _("You can make up to %(most)s exports an hour.")

    def __init__(self, wait: float) -> None:
        super().__init__(most=settings.EXPORTS_PER_HOUR)
        self.wait = wait  # seconds


class AlreadyEnded(DomainError):
    """There is nothing left to cancel."""

    code = Code.INVALID_TRANSITION
    template = _("The export is %(state)s.")


@dataclass(frozen=True, slots=True)
class StreamedExport:
    """An export that is sent at once."""

    export: Export
    pieces: Iterator[bytes]


def create(*, request: ExportRequest, lock: bool = False, by: Principal, at: datetime) -> Export:
    """Have an export made by a worker.  With `lock`, rides in it can no longer be corrected once it is ready.

    Raises:
        InvalidInput, ScopeMissing, PhiNotPermitted: see `export_validation.plan_export`; or the dataset cannot be
        locked.
        TooManyExports: as many were made within the hour.
    """
    plan = plan_export(request, by)
    if lock:
        if not plan.dataset.lockable:
            raise InvalidInput("lock", _("%(field)s is only for the dataset completions."))
        if not by.has_scope(Scope.RIDES_CORRECT):
            raise ScopeMissing(Scope.RIDES_CORRECT)
    with transaction.atomic():
        _within_limit(by, at)
        made = _row(plan, by, at)
        made.state, made.locked = Export.State.QUEUED, lock
        made.save(force_insert=True)
        _audit("exports.create", made, by)
    return made


def stream(*, request: ExportRequest, by: Principal, at: datetime) -> StreamedExport:
    """Make an export while it is sent.  What is in it is true at one moment, which `data_as_of` tells.

    Raises:
        InvalidInput, ScopeMissing, PhiNotPermitted: see `export_validation.plan_export`.
        TooManyRows: it would be longer than is sent at once.
        TooManyExports: as many were made within the hour.
    """
    plan = plan_export(request, by)
    rows, as_of = read(plan, by=by)
    total = rows.count(most=MAX_STREAMED_ROWS)
    if total > MAX_STREAMED_ROWS:
        raise TooManyRows(MAX_STREAMED_ROWS)
    riders = rows.riders()
    with transaction.atomic():
        _within_limit(by, at)
        made = _row(plan, by, at)
        made.state, made.total, made.rows = Export.State.STREAMED, total, total
        made.ended_at, made.data_as_of = at, as_of
        made.save(force_insert=True)
        _audit("exports.create", made, by)
        audit_riders("exports.send", made, riders, by=by)
    return StreamedExport(made, _pieces(made.format, table_of(made, plan, rows, seconds=STREAM_SECONDS)))


def read(plan: Plan, *, by: Principal) -> tuple[Rows, datetime | None]:
    """Say which rows a plan has, and up to which moment they know everything; None: nobody can tell.

    Of figures, too, no more is shown than the level of the export tells: its file goes by that.
    """
    using, dataset = replica.alias(), plan.dataset
    as_of = replica.as_of(using) if dataset.known_until is None else dataset.known_until(using)
    return datasets.rows_of(dataset, plan.filters, by=replace(by, phi=plan.phi), using=using), as_of


def table_of(export: Export, plan: Plan, rows: Rows, *, seconds: int) -> Table:
    """Say what the file of an export is made of."""
    metadata = {
        "dataset": export.dataset,
        "datasetVersion": str(export.dataset_version),
        "exportBatchId": str(export.pk),
    }
    show = partial(disclosure.masked, phi=Phi(export.phi))
    source = rows.source(plan.columns, batch=export.pk)
    return Table(export.dataset, plan.columns, source, show, seconds, metadata, identified=export.locked)


def cancel(*, export_id: UUID, by: Principal, at: datetime) -> Export:
    """Stop an export, or take the file of one that is ready away.  A worker that is at it notices within seconds.

    Raises:
        NotFound: there is no such export.
        AlreadyEnded: it was sent at once, has failed, was cancelled or its file is gone.
    """
    with transaction.atomic():
        export = locked(export_id, by)
        if export.state not in (Export.State.QUEUED, Export.State.RUNNING, Export.State.READY):
            raise AlreadyEnded(state=lowered(Export.State(export.state).label))
        export.state, export.ended_at = Export.State.CANCELLED, at
        export.claim_id = export.lease_until = export.expires_at = None
        export.save(update_fields=["state", "ended_at", "claim_id", "lease_until", "expires_at"])
        corrections.release_rides(export_id=export.pk)
        audit.record(by=by, action="exports.cancel", subject_type="export", subject_id=export.pk)
    export_files.remove(export)
    return export


@transaction.atomic
def unlock(*, export_id: UUID, by: Principal) -> Export:
    """Let the rides of a locked export be corrected again.

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
    """Lock an export of the caller's.

    Raises:
        NotFound: there is none.
    """
    export = Export.objects.visible_to(by).select_for_update(of=("self",), no_key=True).filter(pk=export_id).first()
    if export is None:
        raise NotFound(_("export"))
    return export


def _row(plan: Plan, by: Principal, at: datetime) -> Export:
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


def _within_limit(by: Principal, at: datetime) -> None:
    """Count what the caller made within an hour, one request of the caller's after the other."""
    if by.kind == "system":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"exports of {by.actor}"])
    recent = Export.objects.filter(created_by=by.actor, created_at__gt=at - _HOUR)
    made = list(recent.order_by("-created_at").values_list("created_at", flat=True)[: settings.EXPORTS_PER_HOUR])
    if len(made) == settings.EXPORTS_PER_HOUR:
        raise TooManyExports(math.ceil((made[-1] + _HOUR - at).total_seconds()))


def _audit(action: str, export: Export, by: Principal) -> None:
    """Say who asked for which rows, and with which kinds of columns."""
    details = {
        "dataset": export.dataset,
        "format": export.format,
        "filters": sorted(export.filters),
        "columns": len(export.columns),
    }
    level = Phi(export.phi).name.lower()
    audit.record(by=by, action=action, subject_type="export", subject_id=export.pk, phi=level, details=details)


def audit_riders(action: str, export: Export, riders: Sequence[UUID], *, by: Principal) -> None:
    """Write down which riders an export holds, however many: whoever asks who saw one of them finds it."""
    for start in range(0, max(1, len(riders)), _RIDERS_IN_A_ROW):
        audit.record(
            by=by,
            action=action,
            subject_type="export",
            subject_id=export.pk,
            rider_ids=riders[start : start + _RIDERS_IN_A_ROW],
            phi=Phi(export.phi).name.lower(),
            details={"dataset": export.dataset, "format": export.format, "rows": export.rows},
        )


def _pieces(format: str, table: Table) -> Iterator[bytes]:
    if format in files.STREAMED:
        yield from table.streamed(format)
        return
    # Groups of rows of a Parquet file come together only when they are whole: it is made before it is sent.
    with TemporaryDirectory(dir=export_files.folder(), prefix=export_files.SENDING) as scratch:
        path = Path(scratch) / "file"
        files.write(path, format, table)
        yield from files.read(path)
