"""The two contestants of `exceptions`, each a process that works once and prints a line of JSON.

python -m tests.bench.looking ours AT     evaluation of every ride that is due
python -m tests.bench.looking bare AT     its rows, selected and inserted by one SQL statement
"""

import datetime as dt
import json
import sys
import time
from typing import Any, Final

import psycopg
from django.db import connection

from apps.rides.services import exception_monitor
from lib.access import system
from tests.bench import RUN, conninfo

# The rows are prepared in two tables: the measurement is finding the rides by the index, and writing.
BARE: Final = """
    WITH due AS (SELECT id FROM rides_ride WHERE next_check_at <= %s ORDER BY next_check_at),
    opened AS (INSERT INTO rides_rideexception SELECT e.* FROM due JOIN bench_exception e ON e.ride_id = due.id)
    INSERT INTO events_event SELECT e.* FROM due JOIN bench_event e ON e.subject_id = due.id
"""


def _ours(at: dt.datetime) -> tuple[int, float]:
    connection.ensure_connection()
    began = time.perf_counter()
    return exception_monitor.watch(by=system(), at=at), time.perf_counter() - began


def _bare(at: dt.datetime) -> tuple[int, float]:
    with psycopg.connect(conninfo(RUN)) as session:
        began = time.perf_counter()
        count = session.execute(BARE, [at]).rowcount
        session.commit()
        return count, time.perf_counter() - began


def main(name: str, at: str) -> None:
    """Run, and print the number of rides, elapsed time, and Python's processor time."""
    cpu = time.process_time()
    rides, seconds = (_ours if name == "ours" else _bare)(dt.datetime.fromisoformat(at))
    measured: dict[str, Any] = {"rides": rides, "seconds": seconds, "cpu": time.process_time() - cpu}
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
