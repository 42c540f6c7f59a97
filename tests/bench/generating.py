"""The two contestants of `recurring`, each a process that works once and prints a line of JSON.

python -m tests.bench.generating ours          the task that generates the rides of all orders
python -m tests.bench.generating copy FOLDER   COPY of the files in FOLDER into the tables that they are named for
"""

import json
import sys
import time
from pathlib import Path
from typing import Any, Final

import psycopg
from django.utils import timezone

from apps.recurring.services import generate_rides
from lib.access import system
from tests.bench import RUN, conninfo

BLOCK: Final = 1 << 20  # bytes sent at a time
# In the order of their references.
WRITTEN: Final = ("rides_trip", "rides_ride", "events_event", "recurring_occurrence", "audit_auditentry")


def _ours() -> dict[str, Any]:
    return {"orders": generate_rides.generate(by=system("recurring"), at=timezone.now())}


def _copy(folder: str) -> dict[str, Any]:
    """Write all rows in one transaction, with indexes, constraints and triggers active."""
    with psycopg.connect(conninfo(RUN)) as session, session.cursor() as cursor:
        for table in WRITTEN:
            with (
                Path(folder, f"{table}.rows").open("rb") as rows,
                cursor.copy(f"COPY {columns_of(cursor, table)} FROM STDIN (FORMAT binary)") as copy,
            ):
                while block := rows.read(BLOCK):
                    copy.write(block)
    return {}


def columns_of(cursor: "psycopg.Cursor[Any]", table: str) -> str:
    """Return the table with the columns that are written."""
    cursor.execute(
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
        [table],
    )
    (names,) = cursor.fetchone() or ("",)
    return f"{table} ({names})"


def _peak_megabytes() -> float:
    """Return the peak memory of this process.  Not `ru_maxrss`, which starts at the parent's peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main(name: str, *arguments: str) -> None:
    """Run, and print elapsed time, processor time of Python, and peak memory."""
    began, cpu = time.perf_counter(), time.process_time()
    measured = _ours() if name == "ours" else _copy(*arguments)
    measured |= {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "peak": _peak_megabytes()}
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
