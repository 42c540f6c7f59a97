"""Downtime pack: its content, schedule and access, and failures of its folder."""

import csv
import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from pypdf import PdfReader

from apps.accounts.models import Alert
from apps.audit.models import AuditEntry
from apps.dispatch import tasks
from apps.dispatch.models import DowntimePack
from apps.dispatch.services import downtime, run_sheet
from apps.dispatch.services.downtime import PackResult
from apps.rides.models import Ride
from apps.rides.services import legs
from config.celery import TIMETABLE
from lib import pdf, sealed_zip
from lib.access import system
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db

PASSPHRASE = "correct horse battery staple"
HOUR, MINUTE = dt.timedelta(hours=1), dt.timedelta(minutes=1)


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.DOWNTIME_PASSPHRASE = PASSPHRASE
    settings.DOWNTIME_DIR = tmp_path / "packs"
    settings.DOWNTIME_COPY_DIR = ""
    return tmp_path / "packs"


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Save documents unrendered: most tests check only which documents there are."""
    written: list[str] = []

    def pdf_of(document: str) -> bytes:
        written.append(document)
        return document.encode()

    monkeypatch.setattr(run_sheet, "pdf_of", pdf_of)
    return written


def _make(at: dt.datetime = NOW, **how: Any) -> PackResult:
    return downtime.make(by=system(), at=at, **how)


def _packs(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.glob("*.zip"))


def _newest(folder: Path) -> dict[str, bytes]:
    return sealed_zip.read((folder / _packs(folder)[-1]).read_bytes(), PASSPHRASE)


def _table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(content.decode("utf-8-sig"))))


def _driven(**columns: Any) -> Ride:
    ride: Ride = factories.RideFactory.create(**columns)
    factories.put_driver_on(ride)
    return ride


def test_the_pack_has_every_sheet_and_all_rides_of_two_days(folder: Path) -> None:
    today = _driven(pickup_at=NOW + HOUR, driver_notes="Ring twice", dispatcher_notes="Call the son")
    legs.seal_access(today, pickup={"accessCode": "4711"}, dropoff=None)
    today.save()
    tomorrow = _driven(pickup_at=NOW + 24 * HOUR, appointment_at=NOW + 25 * HOUR)
    late = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": NOW + 9 * HOUR}
    waiting = factories.RideFactory.create(pickup_at=NOW + 2 * HOUR, **late)
    factories.RideFactory.create(pickup_at=NOW + 48 * HOUR)

    assert _make() is PackResult.MADE

    files = _newest(folder)
    assert _packs(folder) == ["carelane-downtime-20261120-150000Z.zip"]
    sheets = _table(files["contents.csv"])
    assert [row["Day"] for row in sheets] == ["2026-11-20", "2026-11-21"]
    assert set(files) == {
        "contents.csv", "rides-2026-11-20.csv", "rides-2026-11-21.csv", *(row["File"] for row in sheets),
    }  # fmt: skip
    for row, ride in zip(sheets, (today, tomorrow), strict=True):
        assert ride.driver is not None
        assert ride.driver.last_name in row["Driver"]
        text = " ".join(page.extract_text() for page in PdfReader(BytesIO(files[row["File"]])).pages)
        assert ride.rider.last_name in text
        assert "for the downtime pack" in " ".join(text.split())
    first, second = _table(files["rides-2026-11-20.csv"])
    assert (first["Ride"], second["Ride"]) == (str(today.pk), str(waiting.pk))
    assert (first["Pickup"], first["Zone"]) == ("2026-11-20 10:00", "CT")
    assert (first["Notes"], first["Phone"]) == ("Ring twice / Call the son", "(312) 555-0111")
    assert "Door code 4711" in first["From"]
    assert (first["Will-call, not ready yet"], second["Will-call, not ready yet"], second["Driver"]) == ("", "yes", "")
    (only,) = _table(files["rides-2026-11-21.csv"])
    assert only["Appointment"] == "2026-11-21 10:00"


def test_what_lies_open_in_it_names_nobody(folder: Path, rendered: list[str]) -> None:
    ride = _driven()

    _make()

    (pack,) = folder.glob("*.zip")
    (kept,) = (folder / "sheets").glob("*.zip")
    assert ride.driver is not None
    for file in (pack, kept):
        assert file.stat().st_mode & 0o077 == 0
        for name in (ride.rider.last_name, ride.driver.last_name):
            assert name.encode() not in file.read_bytes()
    assert (folder / "sheets").stat().st_mode & 0o077 == 0


def test_the_row_and_the_trail_say_what_was_made(folder: Path, rendered: list[str]) -> None:
    _driven()
    factories.RideFactory.create()

    _make()

    row = DowntimePack.objects.get()
    assert (row.made_at, row.file, row.sheets, row.rides) == (NOW, _packs(folder)[0], 1, 2)
    assert row.size == (folder / row.file).stat().st_size
    assert (row.lease_until, row.without_sheets, str(row)) == (None, False, "downtime pack 1")
    entry = AuditEntry.objects.get(action="rides.downtime_pack")
    assert (entry.actor, entry.details) == ("system", {"sheets": 1, "rides": 2})


def test_without_a_passphrase_there_is_none(folder: Path, settings: Any) -> None:
    settings.DOWNTIME_PASSPHRASE = ""

    assert _make() is PackResult.OFF

    assert not folder.exists()
    assert not DowntimePack.objects.exists()


def test_next_pack_is_made_within_a_quarter_of_an_hour(rendered: list[str]) -> None:
    found = [_make(NOW + minutes * MINUTE) for minutes in (0, 5, 9, 10, 11)]

    assert found == [PackResult.MADE, PackResult.NOT_YET, PackResult.NOT_YET, PackResult.MADE, PackResult.NOT_YET]
    assert _make(NOW + 11 * MINUTE, due=False) is PackResult.MADE


def test_four_packs_are_kept(folder: Path, rendered: list[str]) -> None:
    for count in range(6):
        _make(NOW + count * 15 * MINUTE)

    assert _packs(folder) == [
        f"carelane-downtime-20261120-{clock}00Z.zip" for clock in ("1530", "1545", "1600", "1615")
    ]


def test_only_sheets_that_changed_are_laid_out_again(folder: Path, rendered: list[str]) -> None:
    rides = [_driven() for _ in range(3)]
    _make()
    before = _newest(folder)
    Ride.objects.filter(pk=rides[1].pk).update(driver_notes="Ring twice")
    rendered.clear()

    _make(NOW + 15 * MINUTE)

    assert len(rendered) == 1
    assert "Ring twice" in rendered[0]
    after = _newest(folder)
    assert sum(after[name] != content for name, content in before.items() if name.endswith(".pdf")) == 1
    assert len(list((folder / "sheets").glob("*.zip"))) == 3  # and none of the earlier ones


def test_another_passphrase_makes_all_of_them_anew(folder: Path, rendered: list[str], settings: Any) -> None:
    _driven()
    _make()
    settings.DOWNTIME_PASSPHRASE = "another " + PASSPHRASE

    _make(NOW + 15 * MINUTE)

    assert len(rendered) == 2
    assert sealed_zip.read((folder / _packs(folder)[-1]).read_bytes(), "another " + PASSPHRASE)


def test_a_kept_sheet_that_does_not_open_is_laid_out_again(folder: Path, rendered: list[str]) -> None:
    _driven()
    _make()
    (kept,) = (folder / "sheets").glob("*.zip")
    kept.write_bytes(b"half of it")

    assert _make(NOW + 15 * MINUTE) is PackResult.MADE

    assert len(rendered) == 2


def test_many_new_sheets_are_laid_out_in_portions(folder: Path, rendered: list[str]) -> None:
    for _ in range(3):
        _driven()

    found = [_make(seconds=0) for _ in range(4)]

    assert found == [PackResult.MORE, PackResult.MORE, PackResult.MADE, PackResult.NOT_YET]
    assert len(rendered) == 3
    assert DowntimePack.objects.get().sheets == 3


def test_a_server_without_pango_packs_the_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _driven()

    def missing(document: str) -> bytes:
        raise pdf.PangoMissing

    monkeypatch.setattr(run_sheet, "pdf_of", missing)

    assert _make() is PackResult.MADE

    assert set(_newest(folder)) == {"contents.csv", "rides-2026-11-20.csv", "rides-2026-11-21.csv"}
    row = DowntimePack.objects.get()
    assert (row.without_sheets, row.sheets, row.rides) == (True, 0, 1)


def test_before_four_in_the_morning_it_is_still_yesterday(folder: Path, rendered: list[str]) -> None:
    _make(dt.datetime(2026, 11, 21, 9, 30, tzinfo=dt.UTC))  # 03:30 in Chicago

    assert {"rides-2026-11-20.csv", "rides-2026-11-21.csv"} <= set(_newest(folder))


def test_who_was_killed_at_work_is_followed_after_a_while(rendered: list[str]) -> None:
    DowntimePack.objects.create(claim_id=uuid4(), lease_until=NOW + MINUTE)

    assert [_make(), _make(NOW + MINUTE)] == [PackResult.NOT_YET, PackResult.MADE]


def test_a_folder_that_takes_nothing_is_told_and_tried_again(
    folder: Path, rendered: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder.write_text("no folder")

    assert _make() is PackResult.FAILED
    assert _make(NOW + MINUTE) is PackResult.FAILED

    alert = Alert.objects.get()
    assert (alert.severity, alert.title, alert.scope) == (
        "critical", "The downtime pack cannot be written", "tokens:manage",
    )  # fmt: skip
    assert "downtime pack not written: " in caplog.text
    folder.unlink()
    assert _make(NOW + 2 * MINUTE) is PackResult.MADE
    assert not Alert.objects.open().exists()


def test_each_pack_is_copied_to_the_configured_place(
    folder: Path, rendered: list[str], settings: Any, tmp_path: Path
) -> None:
    share = tmp_path / "share"
    share.mkdir()
    (share / "of somebody else.zip").touch()
    settings.DOWNTIME_COPY_DIR = str(share)

    for count in range(5):
        _make(NOW + count * 15 * MINUTE)

    ours = [name for name in _packs(share) if name != "of somebody else.zip"]
    assert ours == _packs(folder)
    assert len(ours) == 4
    assert (share / "of somebody else.zip").exists()
    assert (share / ours[-1]).read_bytes() == (folder / ours[-1]).read_bytes()
    row = DowntimePack.objects.get()
    assert row.copied_at == row.made_at


def test_a_share_that_is_away_is_told_and_the_pack_stands(
    folder: Path, rendered: list[str], settings: Any, tmp_path: Path
) -> None:
    settings.DOWNTIME_COPY_DIR = str(tmp_path / "share")

    assert _make() is PackResult.MADE

    assert len(_packs(folder)) == 1
    assert DowntimePack.objects.get().copied_at is None
    assert [alert.title for alert in Alert.objects.open()] == ["The downtime pack cannot be copied"]
    (tmp_path / "share").mkdir()
    _make(NOW + 15 * MINUTE)
    assert not Alert.objects.open().exists()


def test_beat_wakes_it_often_enough(folder: Path, rendered: list[str]) -> None:
    with time_machine.travel(NOW, tick=False):
        tasks.make_downtime_pack()

    assert len(_packs(folder)) == 1
    assert TIMETABLE[tasks.make_downtime_pack.name] <= dt.timedelta(seconds=30)


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_make_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _driven()
    together, written = threading.Barrier(4), []

    def pdf_of(document: str) -> bytes:
        written.append(document)
        return document.encode()

    monkeypatch.setattr(run_sheet, "pdf_of", pdf_of)

    def one(_: int) -> PackResult:
        try:
            together.wait()
            return _make()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        found = sorted(outcome.name for outcome in threads.map(one, range(4)))

    assert found == ["MADE", "NOT_YET", "NOT_YET", "NOT_YET"]
    assert len(written) == 1
    assert AuditEntry.objects.filter(action="rides.downtime_pack").count() == 1
