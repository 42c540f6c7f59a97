"""Reports over two years of rides beside the same figures computed from the rides, and the cost of the rollups.

`BENCH_REPORT_RIDES` reduces the data for a quick run; the goals assume about five million.
"""

import datetime as dt
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import psycopg
from django.db import connection, connections

from apps.fleet.models import Driver, Vehicle
from apps.organizations.models import Facility
from apps.reporting.queries.reports import facility_kpis, measures_of, trends
from apps.reporting.queries.selection import select
from apps.reporting.rules.facts import RIDES_OF_PERIOD, facts_of
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY
from apps.reporting.rules.measures import MEASURES
from apps.reporting.services import backfill, rollup_check, rollups
from apps.rides.models import Ride
from apps.rides.rules.draft import RideDraft
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import assignment, booking, status_report
from lib.access import system
from tests import factories
from tests.bench import ROOT, RUN, conninfo
from tests.bench.table import Figure, say

RIDES: Final = int(os.environ.get("BENCH_REPORT_RIDES", "5000000"))
SCRIPT: Final = ROOT / "tests" / "bench" / "reports.sql"
LAST: Final = dt.date(2026, 11, 19)
FIRST: Final = LAST - dt.timedelta(days=89)
ROUNDS: Final = 40
AT: Final = dt.datetime(2026, 11, 20, 15, 0, tzinfo=dt.UTC)
WRITTEN: Final = 360  # rides of one refresh, each from booking to completion
UPKEEP_ROUNDS: Final = 3
TRENDS: Final = ("pickupOnTimeRate", "fulfillmentRate", "driverWait")
BY: Final = system("bench")


class NotTheSame(Exception):
    """Rollups and rows differ, so that the measurement is invalid."""


def answering() -> list[Figure]:
    """Backfill two years, report a quarter of all facilities and the whole time, and refresh during writes."""
    prepare(RIDES)
    quarter = select(by=BY, first=FIRST, last=LAST)
    ours = _times(lambda: facility_kpis(by=BY, selection=quarter, compared=False), ROUNDS)
    rows = _times(_from_rows, 3)
    _same()
    p95, floor = _p95(ours) * 1000, statistics.median(rows) * 1000
    years = select(by=BY, first=LAST - dt.timedelta(days=729), last=LAST)
    chosen = [KPI_BY_KEY[key] for key in TRENDS]
    trend = _p95(_times(lambda: trends(by=BY, selection=years, kpis=chosen, bucket_by="day"), ROUNDS)) * 1000
    writing, keeping, events = _upkeep()
    return [
        Figure(
            "report_quarter_p95", p95, f"{statistics.median(ours) * 1000:.0f} ms median; all figures, 60 facilities"
        ),
        Figure("report_vs_rows", floor / (statistics.median(ours) * 1000), f"{floor:.0f} ms from {RIDES:,} rides"),
        Figure("report_trend", trend, f"{len(chosen)} figures of 730 days"),
        Figure(
            "report_upkeep",
            keeping / writing * 100,
            f"{keeping * 1000:.0f} ms for {events} events that took {writing * 1000:.0f} ms to write",
        ),
    ]


def prepare(rides: int) -> None:
    """Write this many rides over two years, and backfill their rollups."""
    say(f"Making {rides:,} rides.")
    with psycopg.connect(conninfo(RUN), autocommit=True) as session:
        session.execute("SET synchronous_commit = off")
        session.execute("SET maintenance_work_mem = '512MB'")
        session.execute(f"SET bench.rides = {rides}")
        session.execute(SCRIPT.read_bytes())
        session.execute("VACUUM ANALYZE")
    began = time.perf_counter()
    rollups.create_checkpoint()
    while backfill.backfill_days():
        pass
    rollups.refresh(by=BY, at=AT)
    say(f"Filled in within {time.perf_counter() - began:.0f} s.")
    connections.close_all()
    with psycopg.connect(conninfo(RUN), autocommit=True) as session:
        session.execute("VACUUM ANALYZE")


def _times(run: Callable[[], Any], rounds: int) -> list[float]:
    run()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return took


def _p95(took: list[float]) -> float:
    return statistics.quantiles(took, n=20)[-1]


def _from_rows() -> list[tuple[Any, ...]]:
    """Read the same figures in one statement from the rides of the quarter."""
    columns = []
    for one in ALL_KPIS:
        if one.denominator:
            columns += [" + ".join(map(_of_rows, names)) for names in (one.numerator, one.denominator)]
        else:
            measure = MEASURES[one.numerator[0]]
            values = f"({measure.sql})" if measure.kind.name == "VALUE" else f"({measure.sql})[1]"
            columns.append(f"percentile_cont({one.quantile}) WITHIN GROUP (ORDER BY {values})")
    statement = (
        f"SELECT facility_id, {', '.join(columns)} FROM ({facts_of(RIDES_OF_PERIOD)}) fact"  # noqa: S608  # no user input
        " GROUP BY facility_id"
    )
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(statement, {"first": FIRST, "last": LAST})
        return list(cursor.fetchall())


def _of_rows(name: str) -> str:
    measure = MEASURES[name]
    if measure.kind.name == "COUNT":
        return f"count(*) FILTER (WHERE {measure.sql})"
    return f"coalesce(sum({measure.sql}), 0)"


def _same() -> None:
    """Compare numerators and denominators of all rates with those of the rows.

    Raises:
        NotTheSame: one of them differs.
    """
    rates = [one for one in ALL_KPIS if one.denominator]
    assert measures_of(rates) <= MEASURES.keys()
    found = {
        row.facility_id: [
            number for one in rates for number in (row.figures[one.key].numerator, row.figures[one.key].denominator)
        ]
        for row in facility_kpis(by=BY, selection=select(by=BY, first=FIRST, last=LAST), compared=False).rows
    }
    plain = {}
    for facility, *values in _from_rows():
        rest = iter(values)
        plain[facility] = [int(next(rest)) for one in ALL_KPIS for _ in range(_width(one.denominator, rest))]
    if found != plain:
        raise NotTheSame("rollups and rows differ")


def _width(denominator: tuple[str, ...], rest: Any) -> int:
    """Return how many numbers of a figure are compared; skips the value of a quantile."""
    if denominator:
        return 2
    next(rest)
    return 0


def _upkeep() -> tuple[float, float, int]:
    """Write rides through the services and refresh the rollups, alternating; return seconds and events."""
    crews = _crews()
    facilities = list(Facility.objects.order_by("pk").values_list("pk", flat=True)[:60])
    writing = keeping = 0.0
    events = 0
    for number in range(UPKEEP_ROUNDS):
        riders = [factories.RiderFactory.create().pk for _ in range(WRITTEN)]
        began = time.perf_counter()
        _write(facilities, crews, riders, day=number)
        writing += time.perf_counter() - began
        began = time.perf_counter()
        events += rollups.refresh(by=BY, at=AT + dt.timedelta(days=number + 3))
        keeping += time.perf_counter() - began
    days = {AT.date() + dt.timedelta(days=number) for number in range(UPKEEP_ROUNDS)}
    wrong = [place for day in days for place in rollup_check.differing_days(first=day, last=day)]
    if wrong:
        raise NotTheSame(f"{len(wrong)} cells")
    return writing, keeping, events


def _crews() -> list[tuple[UUID, UUID]]:
    crews = []
    for _ in range(60):
        driver: Driver = factories.DriverFactory.create()
        vehicle: Vehicle = factories.VehicleFactory.create(provider=driver.provider)
        factories.file_credentials(driver, vehicle)
        crews.append((driver.pk, vehicle.pk))
    return crews


def _write(facilities: list[UUID], crews: list[tuple[UUID, UUID]], riders: list[UUID], *, day: int) -> None:
    for number, rider in enumerate(riders):
        hour, place = divmod(number, len(facilities))
        pickup_at = AT + dt.timedelta(days=day, hours=hour)
        ride = _booked(facilities[place], rider, pickup_at)
        driver, vehicle = crews[place]
        before = pickup_at - dt.timedelta(minutes=40)
        assignment.assign(
            ride_id=ride.pk,
            driver_id=driver,
            vehicle_id=vehicle,
            override=True,
            override_reason="measured",
            by=BY,
            at=before,
        )
        for status, minutes in (
            (RideStatus.EN_ROUTE, -20),
            (RideStatus.ARRIVED, -2),
            (RideStatus.IN_PROGRESS, 3),
            (RideStatus.COMPLETED, 25),
        ):
            at = pickup_at + dt.timedelta(minutes=minutes)
            status_report.change_status(ride_id=ride.pk, report=_report(status, at), by=BY, at=at)


def _report(status: RideStatus, at: dt.datetime) -> StatusReport:
    arrived = (MilestoneReport("arrived_dropoff", at - dt.timedelta(minutes=2)),) if status == "completed" else ()
    return StatusReport(status=status, source="driver_app", occurred_at=at, milestones=arrived)


def _booked(facility: UUID, rider: UUID, pickup_at: dt.datetime) -> Ride:
    stop = {
        "name": "Home",
        "addressLine1": "1418 N Canary Ave",
        "city": "Chicago",
        "state": "IL",
        "postalCode": "60622",
        "lat": 41.9071,
        "lng": -87.6722,
    }
    asked = RideDraft(pickup_at=pickup_at, pickup=stop, dropoff={"facilityId": str(facility)}, rider_id=rider)
    return booking.book(draft=asked, by=BY, at=pickup_at - dt.timedelta(days=1)).ride
