"""Measure the service against minimal implementations: `python -m tests.bench [name,...]`, `make bench ONLY=name,...`.

A name is that of a figure or of a measurement.  Prints a table and writes var/bench.json.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from django.db import connections
from django.utils import timezone

from tests.bench import (
    EMBEDDED,
    ROOT,
    RUN,
    board,
    conninfo,
    dataset,
    deliveries,
    exceptions,
    export_beside,
    exporting,
    lists,
    live,
    map_page,
    memory,
    posts,
    recurring,
    report_page,
    reports,
    searching,
)
from tests.bench.servers import leave_server_core, missing
from tests.bench.table import Figure, Goal, say, show, write

MEASUREMENTS: Final[dict[str, Callable[[], list[Figure]]]] = {
    "floor": lists.beside_floor,
    "drf": lists.beside_drf,
    "deep": lists.deep,
    "booking": posts.booking,
    "status": posts.status,
    "at_fifty": posts.at_fifty,
    "memory": memory.resident,
    "deliveries": deliveries.throughput,
    "hanging": deliveries.with_hanging,
    "claiming": deliveries.claim,
    "first_attempt": deliveries.first_attempt,
    "recurring": recurring.following,
    "exceptions": exceptions.ticking,
    "board": board.standing,
    "sheet": board.sheet,
    "map": map_page.drawing,
    "live": live.listening,
    "riders": searching.answering,
    "reports": reports.answering,
    "report_page": report_page.opening,
    "exports": exporting.exporting,
    "export_beside": export_beside.reading,
}
WITHOUT_RIDES: Final = {
    "deliveries",
    "hanging",
    "claiming",
    "first_attempt",
    "recurring",
    "live",
    "board",
    "sheet",
    "map",
    "riders",
    "reports",
    "report_page",
}
GOALS: Final = (
    Goal("export_ndjson_vs_copy", "x", ">=", 0.4, measures="exports"),
    Goal("export_csv_vs_copy", "x", ">=", 0.4, measures="exports"),
    Goal("export_ndjson_memory", "MB", "<=", 150, measures="exports"),
    Goal("export_csv_memory", "MB", "<=", 150, measures="exports"),
    Goal("export_xlsx_memory", "MB", "<=", 300, measures="exports"),
    Goal("export_parquet_memory", "MB", "<=", 300, measures="exports"),
    Goal("export_others_p95", "x", "<=", 1.2, measures="export_beside"),
    Goal("list_vs_floor_cpu", "x", ">=", 0.3, measures="floor"),
    Goal("list_vs_floor_p99", "x", "<=", 3, measures="floor"),
    Goal("list_vs_drf", "x", ">=", 5, measures="drf"),
    Goal("list_deep_vs_first", "x", "<=", 1.2, measures="deep"),
    Goal("booking_cpu_vs_drf", "x", "<=", 0.7, measures="booking"),
    Goal("booking_with_key_cpu_vs_drf", "x", "<=", 0.7, measures="booking"),
    Goal("status_cpu_vs_drf", "x", "<=", 0.7, measures="status"),
    Goal("booking_p95", "ms", "<=", 150, measures="at_fifty"),
    Goal("worker_memory", "MB", "<=", 160, measures="memory"),
    Goal("worker_memory_growth", "%", "<=", 2, measures="memory"),
    Goal("deliveries_vs_bare", "x", ">=", 0.4, measures="deliveries"),
    # For machines on which the bare loop reaches 8,000 per second; on a slower machine the ratio counts.
    Goal("deliveries_per_second", "/s", ">=", 3000, measures="deliveries"),
    Goal("deliveries_with_hanging", "x", ">=", 0.9, measures="hanging"),
    Goal("claim", "x", "<=", 1.5, measures="claiming"),
    Goal("first_attempt_p50", "s", "<=", 1, measures="first_attempt"),
    Goal("first_attempt_p99", "s", "<=", 2.5, measures="first_attempt"),
    Goal("generating_vs_copy", "x", "<=", 6, measures="recurring"),
    Goal("generating_again", "%", "<=", 5, measures="recurring"),
    Goal("occurrences_vs_rrule", "x", "<=", 3, measures="recurring"),
    Goal("generating_memory", "MB", "<=", 200, measures="recurring"),
    Goal("generating_memory_growth", "%", "<=", 5, measures="recurring"),
    Goal("exceptions_vs_bare", "x", "<=", 4, measures="exceptions"),
    Goal("board_lcp", "ms", "<=", 1500, measures="board"),
    Goal("board_ttfb", "ms", "<=", 150, measures="board"),
    Goal("board_lcp_slowed", "ms", "<=", 2500, measures="board"),
    Goal("board_blocked", "ms", "<=", 150, measures="board"),
    Goal("board_assets", "kB", "<=", 60, measures="board"),
    Goal("ride_page_opens", "ms", "<=", 300, measures="board"),
    Goal("board_change_p95", "ms", "<=", 500, measures="board"),
    Goal("candidates_p95", "ms", "<=", 120, measures="board"),
    Goal("suggestions", "ms", "<=", 2000, measures="board"),
    Goal("run_sheet", "ms", "<=", 3000, measures="sheet"),
    Goal("map_drawn", "ms", "<=", 1000, measures="map"),
    Goal("map_frame", "ms", "<=", 20, measures="map"),
    Goal("live_memory", "MB", "<=", 80, measures="live"),
    Goal("live_arrival_p95", "ms", "<=", 500, measures="live"),
    Goal("live_telling", "x", "<=", 2, measures="live"),
    # Commits that notify wait for each other, docs/adr/0020: the slower the disk, the longer.
    Goal("live_telling_at_once", "x", "<=", 4, measures="live"),
    Goal("live_telling_sets", "x", "<=", 1.5, measures="live"),
    Goal("rider_search_p95", "ms", "<=", 100, measures="riders"),
    Goal("search_p95", "ms", "<=", 150, measures="riders"),
    Goal("report_quarter_p95", "ms", "<=", 150, measures="reports"),
    Goal("report_vs_rows", "x", ">=", 20, measures="reports"),
    Goal("report_trend", "ms", "<=", 500, measures="reports"),
    Goal("report_upkeep", "%", "<=", 15, measures="reports"),
    Goal("report_page_p95", "ms", "<=", 2000, measures="report_page"),
    Goal("report_figure_p95", "ms", "<=", 2000, measures="report_page"),
)
FOOTNOTES: Final = (
    "One gunicorn gthread worker with 4 threads and a pool of 8 has a core for itself; PostgreSQL and wrk (1 thread,",
    "8 connections) share another.  Contestants take turns in 6 rounds of 3 s: values are ratios of medians, `best` of",
    "the best rounds, CPU is what Python spends on a request; `cpu` figures are ratios of that, to the floor or to a",
    "plain view of REST Framework that writes the same rows without token and rules.  API_RATE_READ and API_RATE_WRITE",
    "lift the rate limits of the service under test; other settings are as delivered.  Deliveries: one worker process",
    "has the first core, PostgreSQL and the receiver the second; a bare loop posts the same signed bytes in turn.",
    "Recurring rides: the task, and COPY of the very rows it wrote into the same emptied tables, in turn, 3 rounds.",
    "Live: streams under uvicorn; the same events recorded with and without the trigger that tells of them, in turn.",
    "Board: 1,500 rides and 80 drivers in Chromium, files compressed as in production, no cache; medians of 5 loads.",
    "Map: a day of 400 rides and 45 vehicles in Chromium, no cache; medians of 5 loads, and of frames of 8 drags.",
    "Exceptions: one run of the task, and one statement that finds the rides by the index and inserts the same rows.",
    "Riders: searches in the booking form and in the palette, 1,000,000 rides, whole requests in one process, by a",
    "dispatcher and a planner; the worst kind.",
    "Exports: 1,000,000 completions; a bare COPY of the same columns by the same statement, NDJSON and CSV in turn, 3",
    "rounds, ratios of medians; XLSX and Parquet once.  Memory is the peak of the process that writes the file.",
    "Others: lists are asked for 20 times a second, 15 s alone and 15 s beside an export, in 4 turns; no process is",
    "kept to a core but the web server's.",
    "Reports: 5,000,000 rides over two years; upkeep: rides from booking to handing over, and one run of the task.",
    "Pages of reports: 90 days with 250,000 rides in Chromium, no cache, until the page has loaded; 20 loads each.",
)


def main(only: str = "") -> int:
    """Measure, print and write the results; return 1 if a name is unknown or a program is missing."""
    asked = set(filter(None, only.split(",")))
    if unknown := asked - {name for goal in GOALS for name in (goal.name, goal.measures)}:
        say(f"No figure is called {', '.join(sorted(unknown))}; there are {', '.join(goal.name for goal in GOALS)}.")
        return 1
    wanted = [goal for goal in GOALS if not asked or {goal.name, goal.measures} & asked]
    if lack := missing():
        say(lack)
        return 1
    figures: list[Figure] = []
    names = list(dict.fromkeys(goal.measures for goal in wanted))
    with _database(rides=not WITHOUT_RIDES.issuperset(names)):
        for name in names:
            say(f"Measuring {name}.")
            figures += MEASUREMENTS[name]()
        machine = _machine()
    show(wanted, figures, [f"{timezone.now():%d %B %Y}, {machine}.", *FOOTNOTES])
    write(ROOT / "var" / "bench.json", wanted, figures)
    return 0


@contextmanager
def _database(*, rides: bool) -> Iterator[None]:
    """Run the embedded server unless one is named, with the copy of the dataset or an empty database."""
    if EMBEDDED is not None:
        EMBEDDED.start("postgres")
    try:
        (dataset.prepare if rides else dataset.prepare_empty)()
        leave_server_core()
        yield
        connections.close_all()
        dataset.remove_copy()
    finally:
        if EMBEDDED is not None:
            EMBEDDED.stop()


def _machine() -> str:
    """Describe the machine of the measurements."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
    with psycopg.connect(conninfo(RUN)) as session:
        version = session.info.parameter_status("server_version")
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, PostgreSQL {version}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
