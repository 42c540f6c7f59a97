"""Measurements of standing orders: generating their rides, a run without changes, listing a year, and memory."""

import datetime as dt
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import psycopg
from dateutil import rrule  # type: ignore[import-untyped]  # it has no types
from django.db import transaction
from django.utils import timezone

from apps.recurring.rules.recurrence import Pattern, Plan, Terms, Times, instant, occurrences
from tests.bench import ROOT, RUN, conninfo
from tests.bench.generating import WRITTEN, columns_of
from tests.bench.servers import on_server_core
from tests.bench.table import Figure, say
from tests.recurring import many

ORDERS: Final = 10_000
FEW: Final = 1_000
LEGS: Final = 24  # per order: twelve dates in 28 days
PAIRS: Final = 3
YEARS: Final = 200  # listed by each contestant
_RESET: Final = "UPDATE recurring_standingorder SET generated_through = NULL"
_YEAR: Final = (dt.date(2026, 11, 23), dt.date(2027, 11, 22))


class NotTheSame(Exception):
    """The run wrote other rows than the measurement assumes."""


def following(*, orders: int = ORDERS, few: int = FEW) -> list[Figure]:
    """Generate 28 days of rides for every order and COPY the same rows, alternating; reconcile again; list a year.

    The second run reconciles all orders and finds no change; if no order is due, it reads no rows.
    """
    _orders(few)
    early = _ours(orders=few, legs=few * LEGS)["peak"]
    _orders(orders)
    made, copied, again, idle, peaks = [], [], [], [], []
    for number in range(PAIRS):
        _empty()
        took = _ours(orders=orders, legs=orders * LEGS)
        made.append(took)
        peaks.append(took["peak"])
        _run("ANALYZE")  # as autovacuum does by the next night
        idle.append(_ours(orders=0)["seconds"])
        _run(_RESET)
        again.append(_ours(orders=orders)["seconds"])
        copied.append(_copied()["seconds"])
        say(f"Round {number + 1}: {took['seconds']:.1f} s, again {again[-1]:.2f} s, COPY {copied[-1]:.1f} s.")
    ours, floor = (statistics.median(one) for one in ([took["seconds"] for took in made], copied))
    cpu, second, third = (statistics.median(one) for one in ([took["cpu"] for took in made], again, idle))
    late, of = max(peaks), f"{orders * LEGS:,} legs"
    held = f"{early:.0f} MB for {few:,} orders, {late:.0f} MB for {orders:,}"
    return [
        Figure("generating_vs_copy", ours / floor, f"{ours:.1f} s ({cpu:.1f} s Python) beside {floor:.1f} s, {of}"),
        Figure("generating_again", second / ours * 100, f"{second:.2f} s; {third * 1000:.0f} ms where none is due"),
        _year_of_one(),
        Figure("generating_memory", late, held),
        Figure("generating_memory_growth", (late / early - 1) * 100, held),
    ]


def _year_of_one() -> Figure:
    """Compute a year of one order, with times and clock changes; list its dates by dateutil, alternating."""
    pattern = Pattern(frozenset({0, 2, 4}), _YEAR[0])
    times = Times(dt.time(10, 30), lead=dt.timedelta(minutes=55), stay=dt.timedelta(minutes=270))
    plan = Plan(ZoneInfo("America/Chicago"), [Terms(_YEAR[0], pattern, times)])
    first, last = (dt.datetime.combine(day, dt.time()) for day in _YEAR)
    days = (rrule.MO, rrule.WE, rrule.FR)

    def ours() -> list[dt.date]:
        instant.cache_clear()  # other orders of the center would have filled it
        return [one.pattern_date for one in occurrences(plan, *_YEAR)]

    def theirs() -> list[dt.date]:
        return [one.date() for one in rrule.rrule(rrule.WEEKLY, byweekday=days, dtstart=first, until=last)]

    if ours() != theirs():
        raise NotTheSame("The two list other dates.")
    turns = [(_seconds(ours), _seconds(theirs)) for _ in range(YEARS)]
    mine, other = (statistics.median(one) * 1000 for one in zip(*turns, strict=True))
    return Figure("occurrences_vs_rrule", mine / other, f"{mine:.2f} ms beside {other:.2f} ms for a year")


def _seconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _orders(count: int) -> None:
    """Start over with this many orders."""
    _empty("organizations_facility", "organizations_transportprovider", "organizations_payer", "riders_rider")
    with transaction.atomic():
        many.make(count, at=timezone.now())
    _run("VACUUM ANALYZE")


def _empty(*tables: str) -> None:
    """Delete all rides and the rows created with them."""
    history = ("events_event", "audit_auditentry", "audit_auditseal")  # append-only in production
    _run(
        *(f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in history),
        f"TRUNCATE {', '.join([*WRITTEN, 'events_outboxentry', *tables])} CASCADE",
        *(f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in history),
        _RESET,
        "CHECKPOINT",
    )


def _ours(*, orders: int, legs: int = 0) -> dict[str, Any]:
    """Run the task in a separate process, and check that it wrote the expected rows."""
    before = _counts()
    measured = _process("ours")
    wrote = {table: count - before[table] for table, count in _counts().items() if count != before[table]}
    wanted = dict.fromkeys(("rides_ride", "events_event", "events_outboxentry", "recurring_occurrence"), legs)
    wanted |= {"rides_trip": legs // 2, "audit_auditentry": orders}
    if measured["orders"] != orders or wrote != (wanted if legs else {}):
        raise NotTheSame(f"{measured['orders']} orders were gone over, and these rows written: {wrote}.")
    return measured


def _copied() -> dict[str, Any]:
    """Export the written rows, and let COPY write them again."""
    with tempfile.TemporaryDirectory() as folder:
        with psycopg.connect(conninfo(RUN)) as session, session.cursor() as cursor:
            for table in WRITTEN:
                with Path(folder, f"{table}.rows").open("wb") as rows:
                    statement = f"COPY {columns_of(cursor, table)} TO STDOUT (FORMAT binary)"
                    with cursor.copy(statement) as copy:
                        for block in copy:
                            rows.write(block)
        counts = _counts()
        _empty()
        measured = _process("copy", folder)
    if _counts() != counts:
        raise NotTheSame("COPY wrote other rows.")
    return measured


def _process(*arguments: str) -> dict[str, Any]:
    command = [*on_server_core(), sys.executable, "-m", "tests.bench.generating", *arguments]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    measured: dict[str, Any] = json.loads(output)
    return measured


def _counts() -> dict[str, int]:
    """Count the rows of every table."""
    with psycopg.connect(conninfo(RUN)) as session:
        names = [name for (name,) in session.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        counts = session.execute(" UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names))  # noqa: S608  # constant names
        return {str(name): int(count) for name, count in counts}


def _run(*statements: str) -> None:
    with psycopg.connect(conninfo(RUN), autocommit=True) as session:
        for statement in statements:
            session.execute(statement)
