"""Measurement of the exception monitor on a million rides of which some are due, beside bare SQL for the same rows."""

import datetime as dt
import json
import statistics
import subprocess
import sys
from typing import Any, Final

import psycopg
from django.db import connections

from apps.rides.services import exception_monitor
from tests.bench import ROOT, RUN, conninfo
from tests.bench.recurring import NotTheSame
from tests.bench.servers import on_server_core
from tests.bench.table import Figure

DUE: Final = 2_000
ROUNDS: Final = 9
# Rides whose driver has not arrived: the next ones in the dataset, each only late for the pickup.
_CHOOSE: Final = """
    CREATE TABLE bench_due AS
    SELECT id, version, updated_at, window_ends_at + interval '1 microsecond' AS next_check_at
    FROM rides_ride WHERE status = 'assigned' AND appointment_at IS NULL ORDER BY pickup_at LIMIT %s
"""
_ALONE: Final = "UPDATE rides_ride SET next_check_at = '2099-01-01Z' WHERE next_check_at IS NOT NULL"
_BACK: Final = """
    UPDATE rides_ride r SET next_check_at = d.next_check_at, version = d.version, updated_at = d.updated_at,
        open_exception_count = 0, max_exception_severity = ''
    FROM bench_due d WHERE r.id = d.id
"""
_KEEP: Final = (
    "CREATE TABLE bench_exception AS SELECT * FROM rides_rideexception",
    "CREATE TABLE bench_event AS SELECT e.* FROM events_event e JOIN bench_due d ON e.subject_id = d.id",
    "CREATE INDEX ON bench_exception (ride_id)",
    "CREATE INDEX ON bench_event (subject_id)",
    "ANALYZE bench_exception, bench_event",
)


def ticking(*, due: int = DUE, rounds: int = ROUNDS) -> list[Figure]:
    """Evaluate the rides that are due, and insert the same exceptions and events by SQL, alternating; evaluate none."""
    at = _prepare(due)
    _run_ours(at, due)
    _do(*_KEEP)
    ours, bare, cpu, idle = [], [], [], []
    for _ in range(rounds):
        _undo()
        took = _run_ours(at, due)
        ours.append(took["seconds"])
        cpu.append(took["cpu"])
        idle.append(_run("ours", at)["seconds"])
        _undo()
        bare.append(_run("bare", at)["seconds"])
        _same(due)
    mine, floor, nothing = (statistics.median(one) * 1000 for one in (ours, bare, idle))
    made_of = (
        f"{mine:.0f} ms beside {floor:.0f} ms for {due:,} of {_count('rides_ride'):,} rides;"
        f" {nothing:.0f} ms where none is due"
    )
    _do("DROP TABLE bench_due, bench_exception, bench_event")
    return [Figure("exceptions_vs_bare", mine / floor, made_of)]


def _prepare(due: int) -> dt.datetime:
    """Make this many rides due; return the instant."""
    with psycopg.connect(conninfo(RUN), autocommit=True) as session:
        session.execute(_ALONE)
        session.execute(_CHOOSE.replace("%s", str(due)))
        session.execute(_BACK)
        (at,) = session.execute("SELECT max(next_check_at) FROM bench_due").fetchone() or (None,)
        session.execute("VACUUM ANALYZE rides_ride")
    exception_monitor.follow_settings(at=at)  # once, for all facilities: not part of the measurement
    connections.close_all()
    _do(_ALONE)  # which those of them may have moved
    _undo()  # what was measured before has events, too
    return at  # type: ignore[no-any-return]  # untyped column


def _run_ours(at: dt.datetime, due: int) -> dict[str, Any]:
    measured = _run("ours", at)
    if measured["rides"] != due:
        raise NotTheSame(f"{measured['rides']} rides were looked at.")
    _same(due)
    return measured


def _same(due: int) -> None:
    written = {table: _count(table) for table in ("rides_rideexception", "events_event", "events_outboxentry")}
    if set(written.values()) != {due}:
        raise NotTheSame(f"These rows were written: {written}.")


def _run(name: str, at: dt.datetime) -> dict[str, Any]:
    command = [*on_server_core(), sys.executable, "-m", "tests.bench.looking", name, at.isoformat()]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    measured: dict[str, Any] = json.loads(output)
    return measured


def _undo() -> None:
    """Delete the rows that a contestant wrote, and make the rides due again."""
    written = ("rides_rideexception", "events_event", "events_outboxentry")
    _do(
        "ALTER TABLE events_event DISABLE TRIGGER USER",
        f"TRUNCATE {', '.join(written)} CASCADE",
        "ALTER TABLE events_event ENABLE TRIGGER USER",
        _BACK,
        "VACUUM rides_ride",
        "CHECKPOINT",
    )


def _count(table: str) -> int:
    with psycopg.connect(conninfo(RUN)) as session:
        (count,) = session.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)  # noqa: S608  # constant names
        return int(count)


def _do(*statements: str) -> None:
    with psycopg.connect(conninfo(RUN), autocommit=True) as session:
        for statement in statements:
            session.execute(statement)
