"""Exports of 1,000,000 completions, each by its own process, beside a bare COPY of the same columns.

The bare COPY sends the result of the same statement without formatting the values.  `EXPORT_ROWS` sets fewer rows for a
quick run; the goals assume a million.  A full run took 36 minutes on a busy machine, 19 of them for a workbook written
by a library.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import psycopg
from django.db import connection

from apps.exports.formats import files
from apps.exports.formats.columns import selected
from apps.exports.models import Export
from apps.exports.services import exports
from apps.exports.services.export_validation import ExportRequest, plan_export
from lib.access import system
from lib.ids import uuid7
from tests.bench import ROOT, RUN, conninfo
from tests.bench.table import Figure, say

SCRIPT: Final = ROOT / "tests" / "bench" / "exporting.sql"
_MEGABYTE: Final = 1_000_000
_ROUNDS: Final = 3
_SECONDS: Final = 3_000  # per file
_WORKER: Final = "tests.bench.exporting"
_BARE: Final = "bare"
_COPIED: Final = ("ndjson", "csv")


def exporting() -> list[Figure]:
    """Export all ended rides in each format, with all billing columns except the encrypted ones."""
    prepare()
    # Alternating, so that other load of the machine affects each contestant alike.
    runs = [{kind: _run(kind) for kind in (_BARE, *_COPIED)} for _ in range(_ROUNDS)]
    bare = statistics.median(run[_BARE][0] for run in runs)
    figures = []
    for kind in _COPIED:
        rate, memory = statistics.median(run[kind][0] for run in runs), max(run[kind][1] for run in runs)
        made_of = f"{rate:,.0f} rows/s beside {bare:,.0f} of COPY alone"
        figures.append(Figure(f"export_{kind}_vs_copy", rate / bare, made_of))
        figures.append(Figure(f"export_{kind}_memory", memory, f"at {runs[0][kind][2]:,} rows"))
    for kind in ("xlsx", "parquet"):
        rate, memory, rows = _run(kind)
        made_of = f"at {rows:,} rows, {rate:,.0f} rows/s, {rows / rate:,.0f} s"
        figures.append(Figure(f"export_{kind}_memory", memory, made_of))
    return figures


def prepare() -> None:
    """Prepare a million ended rides with all columns filled."""
    with psycopg.connect(conninfo(RUN), autocommit=True) as server:
        server.execute(SCRIPT.read_bytes())
        server.execute("VACUUM ANALYZE rides_ride, rides_assignment, rides_milestone")


def _run(what: str) -> tuple[float, float, int]:
    """Measure in a separate process: rows per second, peak resident memory in megabytes, rows."""
    found = subprocess.run(
        [sys.executable, "-m", _WORKER, what], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True
    )
    rate, memory, rows = found.stdout.split()
    say(f"  {what}: {float(rate):,.0f} rows/s, {float(memory):.0f} MB")
    return float(rate), float(memory), int(rows)


def _measure(what: str) -> None:
    plan = plan_export(ExportRequest("completions", "csv" if what == _BARE else what), system())
    export = Export(id=uuid7(), dataset="completions", dataset_version=1, format=plan.format, phi=plan.phi)
    rows, _ = exports.read(plan, by=system())
    table = exports.table_of(export, plan, rows, seconds=_SECONDS)
    if "EXPORT_ROWS" in os.environ:
        limited = f"{table.source.sql} LIMIT {int(os.environ['EXPORT_ROWS'])}"
        table = replace(table, source=replace(table.source, sql=limited))
    began = time.perf_counter()
    count = _copied(table) if what == _BARE else _written(table, what)
    took = time.perf_counter() - began
    sys.stdout.write(f"{count / took} {_peak()} {count}\n")


def _copied(table: files.Table) -> int:
    select = f"SELECT {selected(table.columns)} {table.source.sql}"
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        with cursor.copy(f"COPY ({select}) TO STDOUT", table.source.parameters) as copy:
            return sum(1 for _ in copy)


def _written(table: files.Table, format: str) -> int:
    counted = 0

    def count(rows: int, _: object) -> None:
        nonlocal counted
        counted += rows

    with tempfile.TemporaryDirectory() as place:
        files.write(Path(place) / "file", format, table, progress=count)
    return counted


def _peak() -> float:
    """Return the peak memory of this process in megabytes.

    Not `ru_maxrss`, which starts at the parent's peak.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / _MEGABYTE


if __name__ == "__main__":
    _measure(sys.argv[1])
