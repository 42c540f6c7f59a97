"""`manage.py downtime_pack`: creating a pack, and opening one without a running service."""

import datetime as dt
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from apps.dispatch.models import DowntimePack
from apps.dispatch.services import downtime, run_sheet
from lib import sealed_zip
from tests import factories
from tests.factories import NOW

PASSPHRASE = "correct horse battery staple"


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.DOWNTIME_PASSPHRASE = PASSPHRASE
    settings.DOWNTIME_DIR = tmp_path / "packs"
    settings.DOWNTIME_COPY_DIR = ""
    monkeypatch.setattr(run_sheet, "pdf_of", str.encode)
    return tmp_path / "packs"


def _call(*words: Any) -> str:
    out = StringIO()
    call_command("downtime_pack", *map(str, words), stdout=out)
    return out.getvalue()


def _packed(path: Path, files: dict[str, bytes]) -> Path:
    path.write_bytes(sealed_zip.write(files, PASSPHRASE, at=NOW))
    return path


@pytest.mark.django_db
def test_one_is_made_at_once_in_as_many_portions_as_it_takes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        factories.put_driver_on(factories.RideFactory.create())
    monkeypatch.setattr(downtime.make, "__kwdefaults__", {"seconds": 0, "due": True})

    said = _call("make")

    assert said == f"Laying out run sheets ...\nMade the downtime pack in {folder}.\n"
    assert DowntimePack.objects.get().sheets == 2


@pytest.mark.django_db
def test_making_one_says_why_it_cannot(folder: Path) -> None:
    DowntimePack.objects.create(claim_id=uuid4(), lease_until=NOW + dt.timedelta(minutes=1))
    with pytest.raises(CommandError, match="A worker is at work on one"):
        _call("make")

    DowntimePack.objects.all().delete()
    folder.write_text("no folder")
    with pytest.raises(CommandError, match="Cannot write to"):
        _call("make")


def test_opening_one_takes_no_database(tmp_path: Path) -> None:
    pack = _packed(tmp_path / "a.zip", {"contents.csv": b"a", "run-sheets/2026-11-20/001.pdf": b"b"})

    said = _call("open", pack, tmp_path / "open")

    assert said.startswith("2 files are in ")
    assert (tmp_path / "open" / "contents.csv").read_bytes() == b"a"
    sheet_file = tmp_path / "open" / "run-sheets" / "2026-11-20" / "001.pdf"
    assert (sheet_file.read_bytes(), sheet_file.stat().st_mode & 0o077) == (b"b", 0)
    assert (tmp_path / "open").stat().st_mode & 0o077 == 0


def test_what_is_none_of_ours_is_refused(tmp_path: Path, settings: Any) -> None:
    pack = _packed(tmp_path / "a.zip", {"a": b"a"})

    with pytest.raises(CommandError, match="There is no "):
        _call("open", tmp_path / "b.zip", tmp_path / "open")
    with pytest.raises(CommandError, match="is there already"):
        _call("open", pack, tmp_path)
    settings.DOWNTIME_PASSPHRASE = "another " + PASSPHRASE
    with pytest.raises(CommandError, match="another passphrase"):
        _call("open", pack, tmp_path / "open")
    settings.DOWNTIME_PASSPHRASE = ""
    with pytest.raises(CommandError, match="Set DOWNTIME_PASSPHRASE"):
        _call("open", pack, tmp_path / "open")
    assert not (tmp_path / "open").exists()


@pytest.mark.parametrize("name", ["../outside", "/outside"])
def test_no_file_is_written_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    pack = _packed(tmp_path / "a.zip", {name: b"a"})

    with pytest.raises(CommandError, match="outside of the folder"):
        _call("open", pack, tmp_path / "open")

    assert not (tmp_path / "outside").exists()
