"""Exports of the whole dataset, each by a worker of its own, beside a bare COPY of the same columns.

`EXPORT_ROWS` takes fewer of its 960,000 ended rides, for a quick look.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import psycopg
from django.db import connection

from tests.bench import ROOT, RUN, conninfo
from tests.bench.table import Figure

_MEGABYTE: Final = 1_000_000
_ROUNDS: Final = 3
_WORKER: Final = "tests.bench.exporting"
_MILESTONES: Final = """
    INSERT INTO rides_milestone (id, ride_id, type, occurred_at, recorded_at, source, lat, lng, actor, edited, voided,
        note, contacted)
    SELECT gen_random_uuid(), r.id, m.type, m.at, m.at, 'driver_app', 41.9, -87.6, 'system', false, false, '', ''
    FROM rides_ride r CROSS JOIN LATERAL (VALUES ('arrived_pickup', r.arrived_pickup_at), ('boarded', r.boarded_at),
        ('arrived_dropoff', r.arrived_dropoff_at), ('dropped_off', r.dropped_off_at)) AS m(type, at)
    WHERE r.status = 'completed'
"""
_CREWS: Final = """
    INSERT INTO rides_assignment (id, ride_id, sequence, provider_id, driver_id, vehicle_id, attendant_ids, status,
        method, offered_at, responded_at, decline_reason, assigned_by, overridden, override_reason, ended_at,
        end_reason, driver_name, vehicle_plate)
    SELECT assignment_id, id, 1, provider_id, driver_id, vehicle_id, '{}', 'completed', 'manual', created_at,
        created_at, '', 'system', '{}', '', status_changed_at, '', 'Marek Novak', 'CL00000'
    FROM rides_ride WHERE status IN ('completed', 'no_show', 'unfulfilled', 'cancelled')
    ON CONFLICT DO NOTHING
"""


def exporting() -> list[Figure]:
    """Export all rides that ended in each format, with everything billing gets but what is sealed."""
    with psycopg.connect(conninfo(RUN), autocommit=True) as server:
        server.execute(_CREWS)
        server.execute(_MILESTONES)
        server.execute("VACUUM ANALYZE rides_ride, rides_assignment, rides_milestone")
    bare = max(_run("bare") for _ in range(_ROUNDS))
    figures = []
    for kind in ("ndjson", "csv"):
        best = max(_run(kind) for _ in range(_ROUNDS))
        made_of = f"{best[0]:,.0f} rows/s beside {bare[0]:,.0f} of COPY alone"
        figures.append(Figure(f"export_{kind}_vs_copy", best[0] / bare[0], made_of))
        figures.append(Figure(f"export_{kind}_memory", best[1], f"at {best[2]:,} rows"))
    for kind in ("xlsx", "parquet"):
        rate, memory, rows = _run(kind)
        figures.append(Figure(f"export_{kind}_memory", memory, f"at {rows:,} rows, {rate:,.0f} rows/s"))
    return figures


def _run(what: str) -> tuple[float, float, int]:
    """Measure in a process of its own: rows a second, the most megabytes it was resident with, rows."""
    found = subprocess.run(
        [sys.executable, "-m", _WORKER, what], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True
    )
    rate, memory, rows = found.stdout.split()
    return float(rate), float(memory), int(rows)


def _measure(what: str) -> None:
    from apps.reporting.models import Export  # noqa: PLC0415
    from apps.reporting.services import exports  # noqa: PLC0415
    from apps.reporting.services.export_wishes import Wanted, plan_of  # noqa: PLC0415
    from lib.access import system  # noqa: PLC0415
    from lib.exporting import files  # noqa: PLC0415
    from lib.exporting.columns import selected  # noqa: PLC0415
    from lib.ids import uuid7  # noqa: PLC0415

    plan = plan_of(Wanted("completions", "csv" if what == "bare" else what), system())
    export = Export(id=uuid7(), dataset="completions", dataset_version=1, format=plan.format, phi=plan.phi)
    table = exports.table_of(export, plan, by=system(), using="default", seconds=3_000)
    rows: Any = os.environ.get("EXPORT_ROWS")
    if rows:
        limited = files.Table(table.name, table.columns, _limited(table.source, int(rows)), table.show, table.seconds)
        table = limited
    counted = [0]

    def hear(heard: Any) -> None:
        counted[0] += len(heard)

    began = time.perf_counter()
    if what == "bare":
        select = f"SELECT {selected(plan.columns)} {table.source.sql}"
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            with cursor.copy(f"COPY ({select}) TO STDOUT", table.source.parameters) as copy:
                for _ in copy:
                    counted[0] += 1
    else:
        with tempfile.TemporaryDirectory() as place:
            files.write(Path(place) / "file", what, table, heard=hear)
    took = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _MEGABYTE
    sys.stdout.write(f"{counted[0] / took} {memory} {counted[0]}\n")


def _limited(source: Any, rows: int) -> Any:
    return type(source)(f"{source.sql} LIMIT {rows}", source.parameters, source.using)


if __name__ == "__main__":
    _measure(sys.argv[1])
