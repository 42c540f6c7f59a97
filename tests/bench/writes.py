"""Writes by bare psycopg: what the service writes for one request, in one transaction, without service and HTTP.

`captured` runs a request through the service once, inside a transaction that is rolled back, and keeps the statements
that write.  The process started by `hammer` then repeats them with new ids from as many threads as the server has.
"""

import json
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
from django.db import connection, transaction

from lib.ids import uuid7
from tests.bench import ROOT, RUN, conninfo
from tests.bench.load import ROUND_SECONDS, Round
from tests.bench.servers import THREADS, on_server_core

REFERENCE: Final = "BENCH-"  # how the names begin that may be used once
_WRITES: Final = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Write:
    """One statement and what was sent with it."""

    statement: str
    parameters: tuple[Any, ...]


def captured(run: Callable[[], None]) -> list[Write]:
    """Keep what `run` writes; nothing of it stays."""
    writes: list[Write] = []

    def note(execute: Callable[..., Any], statement: str, parameters: Any, many: bool, context: Any) -> Any:
        if statement.lstrip().upper().startswith(_WRITES):
            writes.append(Write(statement, tuple(parameters)))
        return execute(statement, parameters, many, context)

    with transaction.atomic(), connection.execute_wrapper(note):
        run()
        transaction.set_rollback(True)
    return writes


Subject = tuple[UUID, ...]  # a ride, and what of its own is written with it


def hammer(writes: Sequence[Write], *, subject: Subject, subjects: Sequence[Subject] = ()) -> Round:
    """Repeat the writes of one request for a round.

    `subject` is what they were captured of; each transaction takes the next of `subjects` in its place, so that none
    waits for the row of another, or new ids where there are none.
    """
    with tempfile.NamedTemporaryFile(suffix=".pickle") as plan:
        pickle.dump((list(writes), subject, list(subjects)), plan)
        plan.flush()
        command = [*on_server_core(), sys.executable, "-m", "tests.bench.writes", plan.name]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    measured = json.loads(output)
    return Round(**measured)


class _Subjects:
    """Gives each transaction a ride of its own."""

    def __init__(self, known: Sequence[Subject]) -> None:
        self._known: Iterator[Subject] | None = iter(known) if known else None
        self._lock = threading.Lock()

    def next(self) -> Subject:
        if self._known is None:
            return (uuid7(),)
        with self._lock:
            return next(self._known)


def _renewed(parameters: tuple[Any, ...], changes: dict[Any, Any]) -> list[Any]:
    return [changes.get(value, value) if isinstance(value, UUID | str) else value for value in parameters]


def _own_ids(writes: Sequence[Write], subject: Subject) -> set[UUID]:
    """Find the ids of the rows that are inserted: the first column of each INSERT."""
    found = {one.parameters[0] for one in writes if one.statement.startswith("INSERT")}
    return {one for one in found if isinstance(one, UUID)} - set(subject)


def _write_until(
    deadline: float, writes: Sequence[Write], subject: Subject, subjects: _Subjects, took: list[float]
) -> None:
    own = _own_ids(writes, subject)
    sent = (value for one in writes for value in one.parameters)
    names = {value for value in sent if isinstance(value, str) and value.startswith(REFERENCE)}
    with psycopg.connect(conninfo(RUN)) as session:
        while (began := time.perf_counter()) < deadline:
            changes: dict[Any, Any] = dict(zip(subject, subjects.next(), strict=True))
            changes |= {one: uuid7() for one in own}
            changes |= {one: f"{REFERENCE}{uuid7()}" for one in names}
            with session.transaction(), session.cursor() as cursor:
                for one in writes:
                    cursor.execute(one.statement, _renewed(one.parameters, changes), prepare=True)
            took.append(time.perf_counter() - began)


def main(plan: Path) -> None:
    """Write for a round and print how much was written."""
    writes, subject, known = pickle.loads(plan.read_bytes())  # noqa: S301  # written by `hammer` a moment ago
    subjects, took = _Subjects(known), list[float]()
    began, spent = time.perf_counter(), time.process_time()
    work = (began + ROUND_SECONDS, writes, subject, subjects, took)
    threads = [threading.Thread(target=_write_until, args=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    took.sort()
    p50, p99 = (took[int(len(took) * share)] * 1000 for share in (0.5, 0.99))
    rate, cpu = len(took) / seconds, spent / len(took) * 1000
    json.dump({"requests": len(took), "per_second": rate, "p50": p50, "p99": p99, "cpu": cpu}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
