"""Crashes: a worker killed during an export, and an ASGI client that disconnects during the download."""

import asyncio
import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.handlers.asgi import ASGIHandler
from django.db import connection
from django.utils import timezone

from apps.accounts.rules.roles import TokenRole
from apps.exports.formats.files import STREAMED
from apps.exports.models import Export
from apps.exports.services import export_runs
from tests import factories
from tests.callers import TokenClient, api_with

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real_clock]
ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = 40_000

# A separate worker on the test database that stops at the first rows until it is killed.
WORKER = """
import sys, time
from tests import environment
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
settings.EXPORTS_DIR = sys.argv[2]
django.setup()
from apps.exports.services import export_runs
progress = export_runs._ClaimedExport.progress
def wait(held, *given):
    progress(held, *given)
    if held.rows > 2000:
        print("in the middle", flush=True)
        time.sleep(60)
export_runs._ClaimedExport.progress = wait
from django.utils import timezone
export_runs.work(clock=timezone.now)
"""


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORTS_DIR = str(tmp_path / "exports")
    return tmp_path / "exports"


@pytest.fixture
def many() -> None:
    """Forty thousand drivers, some megabytes."""
    driver = factories.DriverFactory.create()
    with connection.cursor() as cursor:
        columns = [str(field.column) for field in driver._meta.concrete_fields if field.column != "id"]
        named = ", ".join(columns)
        cursor.execute(
            f"INSERT INTO fleet_driver (id, {named}) SELECT gen_random_uuid(), {named}"  # noqa: S608  # constant names, values are parameters
            f" FROM fleet_driver, generate_series(2, {ROWS})"
        )


@pytest.fixture
def asked(many: None) -> Export:
    api = api_with()
    response = api.post("/api/exports", {"dataset": "drivers", "format": "csv"}, format="json")
    return Export.objects.get(pk=response.json()["id"])


def test_export_of_killed_worker_is_completed_by_another(asked: Export, folder: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "config.settings"}
    name = str(connection.settings_dict["NAME"])
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, name, str(folder)], cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout
        assert worker.stdout.readline() == "in the middle\n"
        left = list(folder.rglob("*.csv"))
        worker.send_signal(signal.SIGKILL)
    asked.refresh_from_db()
    killed = (asked.state, asked.attempts)
    at = timezone.now() + export_runs.LEASE

    export_runs.work(clock=lambda: at)
    export_runs.clean_up(at=at)

    assert killed == ("running", 1)
    assert [path.parent.name.startswith(f".{asked.pk}") for path in left] == [
        True
    ]  # in a temporary folder, and incomplete
    asked.refresh_from_db()
    assert (asked.state, asked.attempts, asked.rows) == ("ready", 2, ROWS)
    (whole,) = folder.iterdir()
    assert whole.name == f"{asked.pk}.csv"
    assert whole.read_bytes().count(b"\r\n") == ROWS + 1


def _scope(api: TokenClient, path: str) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"authorization", f"Bearer {api.text}".encode())],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 8000),
    }


async def _read(api: TokenClient, path: str, *, pieces: int | None) -> tuple[int, list[bytes]]:
    """Read an answer of the ASGI application, or its first chunks before disconnecting."""
    asgi: Any = ApplicationCommunicator(ASGIHandler(), _scope(api, path))  # type: ignore[no-untyped-call]  # untyped
    await asgi.send_input({"type": "http.request", "body": b""})
    start = await asgi.receive_output(timeout=10)
    found: list[bytes] = []
    while pieces is None or len(found) < pieces:
        message = await asgi.receive_output(timeout=10)
        found.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    if pieces is not None:
        await asgi.send_input({"type": "http.disconnect"})
    await asgi.wait(timeout=10)
    return start["status"], found


def _running_copies() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state <> 'idle'"
            " AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])


def test_asgi_server_sends_rows_as_they_come(many: None) -> None:
    api = api_with(TokenRole.FULL_ACCESS)

    status, found = asyncio.run(_read(api, "/api/exports/drivers.csv", pieces=None))

    assert status == 200
    assert b"".join(found).count(b"\r\n") == ROWS + 1
    assert len(found) > 50
    assert max(map(len, found)) < 80_000


@pytest.mark.parametrize("format", STREAMED)
def test_client_that_goes_away_ends_the_statement(many: None, format: str) -> None:
    api = api_with(TokenRole.FULL_ACCESS)

    status, found = asyncio.run(_read(api, f"/api/exports/drivers.{format}", pieces=2))

    assert (status, len(found)) == (200, 2)
    until = time.monotonic() + 10
    while _running_copies() and time.monotonic() < until:
        time.sleep(0.05)
    assert _running_copies() == 0
    assert Export.objects.get().created_at < timezone.now() + dt.timedelta(seconds=1)
