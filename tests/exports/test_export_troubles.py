"""Failures while an export is made, sent and cleaned up."""

import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from django.db import InterfaceError, connection

from apps.accounts.rules.roles import TokenRole
from apps.exports import tasks
from apps.exports.formats import encrypted_values, files, parquet
from apps.exports.formats.columns import Column, ColumnType
from apps.exports.formats.copy_stream import Source
from apps.exports.formats.files import Table
from apps.exports.models import Export
from apps.exports.services import downloads, export_runs, exports
from apps.rides.rules.lifecycle import RideStatus
from lib import replica
from lib.access import Principal
from lib.errors import NotFound, ScopeMissing
from lib.messages import Message
from tests import factories
from tests.callers import TokenClient, api_with
from tests.exports.exported import ask, body_of, exported, get
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORTS_DIR = str(tmp_path / "exports")
    return tmp_path / "exports"


def test_lease_is_renewed_beside_the_work_even_after_a_failure(
    api: TokenClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats, twice, connected = [], threading.Event(), []

    def beat(held: export_runs._ClaimedExport) -> None:
        beats.append(held.export.pk)
        connected.append(connection.connection)
        connection.ensure_connection()
        if len(beats) == 1:
            raise InterfaceError
        twice.set()

    def wait(*given: Any, **named: Any) -> None:
        assert twice.wait(10)
        raise NotFound(Message("export"))

    monkeypatch.setattr(export_runs, "BEAT_SECONDS", 0.001)
    monkeypatch.setattr(export_runs._ClaimedExport, "beat", beat)
    monkeypatch.setattr(files, "write", wait)
    ask(api)
    tasks.make_exports()

    export = Export.objects.get()
    assert set(beats) == {export.pk}
    assert connected[:2] == [None, None]  # a broken connection is not reused
    assert (export.state, export.error_code) == ("failed", "not_found")


def test_failure_of_worker_that_lost_its_export_is_ignored(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(api)
    other = uuid4()

    def lose(*given: Any, **named: Any) -> None:
        Export.objects.update(claim_id=other)
        raise OSError

    monkeypatch.setattr(files, "write", lose)
    tasks.make_exports()

    export = Export.objects.get()
    assert (export.state, export.claim_id, export.error_code) == ("running", other, "")


def test_several_are_made_one_after_the_other(api: TokenClient) -> None:
    ask(api)
    ask(api)

    made = export_runs.work(clock=lambda: factories.NOW, limit=2)
    tasks.cleanup()

    assert (made, set(Export.objects.values_list("state", flat=True))) == (2, {"ready"})


def test_export_that_nobody_has_is_not_found(supervisor: Principal, dispatcher: Principal) -> None:
    at = factories.NOW

    with pytest.raises(NotFound):
        exports.cancel(export_id=uuid4(), by=supervisor, at=at)
    with pytest.raises(NotFound):
        downloads.link(export_id=uuid4(), by=supervisor, at=at, reauthenticated=True)
    with pytest.raises(NotFound):
        downloads.use(secret="none", at=at, request_id="", ip=None)
    with pytest.raises(ScopeMissing):
        exports.unlock(export_id=uuid4(), by=dispatcher)


def test_export_beyond_the_reach_of_a_narrower_token_is_absent(api: TokenClient) -> None:
    ask(api)
    reach = {"facility_ids": [factories.FacilityFactory.create().pk], "provider_ids": [uuid4()]}
    narrow = api_with(TokenRole.FULL_ACCESS, client=api.token.client, **reach)

    assert narrow.get("/api/exports").json()["data"] == []


def test_copy_that_cannot_tell_its_age_is_read_all_the_same(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "as_of", lambda using: None)

    answer = get(api, "rides.csv")

    assert body_of(answer).startswith(b"rideId,")
    assert "Data-As-Of" not in answer.headers


def test_opened_values_are_not_kept_without_bound(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encrypted_values, "_CACHE_SIZE", 1)
    for code in ("IL1", "IL2"):
        ride = ride_in(RideStatus.COMPLETED)
        ride.rider.medicaid_id = code
        ride.rider.save()

    rows = exported(api, "completions.csv", sealedColumns="true")

    assert {row["medicaidId"] for row in rows} == {"IL1", "IL2"}


def test_parquet_is_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 100)
    monkeypatch.setattr(parquet, "_BLOCK_BYTES", 1000)
    columns = (Column("number", ColumnType.COUNT, "n.number"), Column("text", ColumnType.TEXT, "repeat('x', 1000)"))
    source = Source("FROM generate_series(1, 500) AS n(number) ORDER BY n.number", {})

    files.write(tmp_path / "file", "parquet", Table("rides", columns, source, str, seconds=5))

    found = pq.ParquetFile(tmp_path / "file")
    assert found.metadata.num_row_groups > 2
    assert found.read().column("number").to_pylist() == list(range(1, 501))
