"""Creates the downtime pack: the printable data that dispatchers work with while the service is down.

A pack is one encrypted ZIP of all run sheets and all rides of two days.  Laying out a sheet takes a third of a second,
so unchanged sheets are reused; they are stored encrypted beside the packs.  A lease lets one worker at a time work on
the pack, for some seconds per run; the next run continues with the remaining sheets.
"""

import datetime as dt
import logging
import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.audit.services import audit
from apps.dispatch.models import DowntimePack
from apps.dispatch.queries.board import board
from apps.dispatch.queries.run import rides_of_day, still_to_drive
from apps.dispatch.rules.axis import Axis, service_day
from apps.dispatch.services import downtime_page, run_sheet
from apps.dispatch.services.downtime_page import DriverSheet
from apps.rides import pickup_points
from apps.rides.models import Ride
from apps.rides.queries.entrances import entrance_names_of
from apps.rides.rules.disclosure import disclosure_of
from lib import pdf, private_files, sealed_zip
from lib.access import Principal
from lib.crypto import keyed_digest
from lib.csv_file import csv_text
from lib.db import leases
from lib.messages import Text
from lib.scopes import Scope

log = logging.getLogger(__name__)

SECONDS: Final = 10.0  # of layout per run: other tasks of the worker wait meanwhile
KEPT: Final = 4  # packs, of one hour
_LEASE: Final = dt.timedelta(seconds=90)  # longer than the time limit of a task
_NOT_WRITTEN, _NOT_COPIED = "downtime_pack:written", "downtime_pack:copied"


class PackResult(Enum):
    OFF = "no passphrase is set"
    NOT_YET = "not due, or somebody else is at work on it"
    MORE = "sheets are left to lay out"
    FAILED = "the folder cannot be written to"
    MADE = "made"


class _Days(NamedTuple):
    tables: dict[str, list[Ride]]  # by file
    sheets: list[DriverSheet]
    entrance_names: pickup_points.EntranceNames


def is_on() -> bool:
    return bool(settings.DOWNTIME_PASSPHRASE)


def make(*, by: Principal, at: dt.datetime, seconds: float = SECONDS, due: bool = True) -> PackResult:
    """Continue with the next pack for about `seconds`, if one is due; with `due=False`, in any case.

    Safe to call from any number of processes at once.  Finished sheets are kept if a process is killed.
    """
    if not is_on():
        return PackResult.OFF
    claim = _claim(at, due=due)
    if not claim:
        return PackResult.NOT_YET
    try:
        outcome, pack = _continue_pack(by, at, seconds)
    except OSError as trouble:  # for example: the disk is full, or another user owns the folder
        log.warning("downtime pack not written: %s", type(trouble).__name__)
        _raise_alert(_NOT_WRITTEN, _("The downtime pack cannot be written"), Alert.Severity.CRITICAL, at)
        outcome, pack = PackResult.FAILED, {}
    claim.settle(claim.rows[0], **pack)
    if outcome is PackResult.MADE:
        audit.record(by=by, action="rides.downtime_pack", details={name: pack[name] for name in ("sheets", "rides")})
        alerts.resolve(_NOT_WRITTEN, at=at)
        _copy(at)
    return outcome


def _claim(at: dt.datetime, *, due: bool) -> leases.Claim[DowntimePack]:
    if not _row().exists():
        DowntimePack.objects.bulk_create([DowntimePack()], ignore_conflicts=True)
    rows = _row()
    if due:
        rows = rows.filter(Q(made_at=None) | Q(made_at__lte=at - downtime_page.DUE_AFTER))
    return leases.claim(rows, at=at, lease=_LEASE, limit=1)


def _row() -> QuerySet[DowntimePack]:
    return DowntimePack.objects.filter(pk=1)


def _continue_pack(by: Principal, at: dt.datetime, seconds: float) -> tuple[PackResult, dict[str, object]]:
    zone = ZoneInfo(settings.OPERATOR_TIME_ZONE)
    folder = Path(settings.DOWNTIME_DIR)
    sheet_folder = folder / "sheets"
    sheet_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    days = _days(by, at, zone)
    without_sheets = False
    try:
        reader = run_sheet.SheetReader(by, zone, str(_("the downtime pack")), at, days.entrance_names)
        complete, rendered = _rendered_sheets(days.sheets, sheet_folder, reader, seconds)
    except pdf.PangoMissing:
        complete, rendered, without_sheets = True, {}, True
    if not complete:
        return PackResult.MORE, {}
    sheets = [] if without_sheets else days.sheets
    tables = {name: downtime_page.table(rides, by, days.entrance_names) for name, rides in days.tables.items()}
    tables["contents.csv"] = downtime_page.contents(sheets, by, zone)
    files = {name: csv_text(rows).encode() for name, rows in tables.items()}
    files |= {sheet.file: rendered[sheet.file][1] for sheet in sheets}
    name = downtime_page.file_name(at)
    packed = sealed_zip.write(files, settings.DOWNTIME_PASSPHRASE, at=at.astimezone(zone))
    private_files.write(folder / name, packed)
    _delete_except(sheet_folder.glob("*.zip"), {f"{digest}.zip" for digest, _pdf in rendered.values()})
    _delete_except(folder.glob(downtime_page.FILES), _newest(folder))
    count = sum(map(len, days.tables.values()))
    pack = {"made_at": at, "file": name, "size": len(packed), "sheets": len(sheets), "rides": count}
    return PackResult.MADE, pack | {"without_sheets": without_sheets}


def _days(by: Principal, at: dt.datetime, zone: ZoneInfo) -> _Days:
    """Return the rides and sheets of today and tomorrow.  Thirteen queries."""
    today = service_day(at, zone.key)
    days = _Days({}, [], {})
    for day in (today, today + dt.timedelta(days=1)):
        axis = Axis(day, zone.key)
        rides = rides_of_day(axis, by=by)
        days.tables[f"rides-{day.isoformat()}.csv"] = rides
        days.sheets.extend(downtime_page.sheets(day, board(axis, by=by, at=at).rows, still_to_drive(rides)))
    rides = [ride for rides in days.tables.values() for ride in rides]
    return days._replace(entrance_names=entrance_names_of(rides, disclosure_of(by)))


def _rendered_sheets(
    sheets: Iterable[DriverSheet], sheet_folder: Path, reader: run_sheet.SheetReader, seconds: float
) -> tuple[bool, dict[str, tuple[str, bytes]]]:
    """Return whether all sheets are finished, and digest and PDF by file; each run lays out at least one new sheet.

    A sheet with unchanged content is reused: it prints its own creation time.
    """
    until, new = time.monotonic() + seconds, 0
    made_at = reader.made_at.astimezone(reader.zone)
    rendered: dict[str, tuple[str, bytes]] = {}
    for job in sheets:
        digest = _digest(job, reader)
        sheet = _stored_sheet(sheet_folder / f"{digest}.zip")
        if sheet is None:
            if new and time.monotonic() >= until:
                return False, rendered
            sheet = run_sheet.pdf_of(run_sheet.html(job.row, job.rides, job.day, reader))
            packed = sealed_zip.write({"sheet.pdf": sheet}, settings.DOWNTIME_PASSPHRASE, at=made_at)
            private_files.write(sheet_folder / f"{digest}.zip", packed)
            new += 1
        rendered[job.file] = digest, sheet
    return True, rendered


def _digest(sheet: DriverSheet, reader: run_sheet.SheetReader) -> str:
    """Return a keyed digest of a sheet's content without its creation time, of the style and of the passphrase."""
    content = run_sheet.html(
        sheet.row, sheet.rides, sheet.day, replace(reader, made_for="", made_at=sheet.rides[0].pickup_at)
    )
    parts = (content.encode(), run_sheet.STYLE.read_bytes(), settings.DOWNTIME_PASSPHRASE.encode())
    return keyed_digest(b"\0".join(parts), purpose="downtime sheet").hex()


def _stored_sheet(path: Path) -> bytes | None:
    try:
        return sealed_zip.read(path.read_bytes(), settings.DOWNTIME_PASSPHRASE)["sheet.pdf"]
    except (FileNotFoundError, sealed_zip.NotOpened):
        return None


def _newest(folder: Path) -> set[str]:
    return set(sorted((pack.name for pack in folder.glob(downtime_page.FILES)), reverse=True)[:KEPT])


def _delete_except(files: Iterable[Path], names: set[str]) -> None:
    for file in files:
        if file.name not in names:
            file.unlink(missing_ok=True)


def _copy(at: dt.datetime) -> None:
    """Copy the newest pack to DOWNTIME_COPY_DIR.  A failure raises an alert; the pack itself remains valid."""
    if not settings.DOWNTIME_COPY_DIR:
        return
    place, name = Path(settings.DOWNTIME_COPY_DIR), downtime_page.file_name(at)
    part = place / f".{name}.part"
    try:
        shutil.copyfile(Path(settings.DOWNTIME_DIR) / name, part)
        part.replace(place / name)
        _delete_except(place.glob(downtime_page.FILES), _newest(place))
    except OSError as trouble:
        log.warning("downtime pack not copied: %s", type(trouble).__name__)
        _raise_alert(_NOT_COPIED, _("The downtime pack cannot be copied"), Alert.Severity.WARNING, at)
        return
    _row().update(copied_at=at)
    alerts.resolve(_NOT_COPIED, at=at)


def _raise_alert(key: str, title: Text, severity: str, at: dt.datetime) -> None:
    alerts.raise_alert(
        kind="downtime_pack",
        severity=severity,
        scope=Scope.TOKENS_MANAGE,
        key=key,
        title=title,
        text=[_("Its folder does not take files: see docs/operations.md, Downtime.")],
        path="/",
        at=at,
    )
