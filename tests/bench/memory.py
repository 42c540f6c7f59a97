"""Measurement of a web worker's memory under a long mixed load."""

from typing import Final

from apps.organizations.models import Facility
from apps.rides.models import Ride
from tests.bench.cast import Bookings, issue_token
from tests.bench.load import Request, drive
from tests.bench.servers import Server, serving
from tests.bench.table import Figure

_FIRST: Final = 10_000
_ALL: Final = 100_000
_STEP_SECONDS: Final = 5
_READS_PER_BOOKING: Final = 19
_BOOKINGS_PER_STEP: Final = 500  # more than a step can use, given the reads in between
_DAYS_AHEAD: Final = 300  # after the days used by `booking`
_MEGABYTE: Final = 1_000_000


def resident() -> list[Figure]:
    """Send 100,000 mixed requests; compare the worker's memory after 10,000 of them and at the end."""
    token, _ = issue_token()
    bookings, reads = Bookings(first=_DAYS_AHEAD), _reads()
    with serving() as server:
        sent = early = 0
        while sent < _ALL:
            sent += drive(server, _mixed(reads, bookings), token=token, seconds=_STEP_SECONDS).requests
            if not early and sent >= _FIRST:
                early = _resident(server)
        late = _resident(server)
    made_of = f"{early / _MEGABYTE:.1f} MB after {_FIRST:,} requests, {late / _MEGABYTE:.1f} MB after {sent:,}"
    return [
        Figure("worker_memory", late / _MEGABYTE, made_of),
        Figure("worker_memory_growth", (late / early - 1) * 100, made_of),
    ]


def _mixed(reads: list[Request], bookings: Bookings) -> list[Request]:
    """Insert a booking after every few reads."""
    mixed: list[Request] = []
    for number, booking in enumerate(bookings.take(_BOOKINGS_PER_STEP)):
        start = number * _READS_PER_BOOKING % len(reads)
        mixed += [*reads[start : start + _READS_PER_BOOKING], booking]
    return mixed


def _reads() -> list[Request]:
    """Read single rides, and pages of three kinds in between."""
    facilities = Facility.objects.order_by("pk").values_list("pk", flat=True)[:50]
    rides = Ride.objects.order_by("-pickup_at", "-pk").values_list("pk", flat=True)[:50]
    reads: list[Request] = []
    for facility, ride in zip(facilities, rides, strict=True):
        paths = (
            f"/api/rides/{ride}",
            f"/api/rides?facilityId={facility}&limit=25",
            "/api/rides?status=scheduled&limit=25",
            f"/api/rides/{ride}/timeline",
            "/api/rides?limit=100",
        )
        reads.extend(Request("GET", path) for path in paths)
    return reads


def _resident(server: Server) -> int:
    return int(server.worker.memory_info().rss)
