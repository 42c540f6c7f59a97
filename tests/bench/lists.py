"""Measurements of GET /rides."""

from typing import Any, Final

import orjson

from apps.rides.models import Ride
from lib.access import Principal
from lib.pagination import digest_of, reach, seal_cursor
from tests.bench.cast import issue_token
from tests.bench.load import Request, Series, cpu_of, drive, interleaved, p99_of, ratios
from tests.bench.servers import Server, fetch, serving, settle_database
from tests.bench.table import Figure

PAGE: Final = "/rides?limit=100"
DEPTH: Final = 900_000


class NotTheSame(Exception):
    """Two contestants return different answers, so that comparing their speed is meaningless."""


def beside_floor() -> list[Figure]:
    """Compare page 1 with the lower bound, in content and in requests per second of processor time."""
    token, _ = issue_token()
    with serving() as ours, serving("floor", "floor:application", first=PAGE, bare=True) as floor:
        _require_same(_rides(fetch(f"{ours.url}/api{PAGE}", token)), _rides(fetch(f"{floor.url}{PAGE}")))
        mine, bare = _race((ours, f"/api{PAGE}", token), (floor, PAGE, ""))
    made_of = f"carelane {mine.summary}; floor {bare.summary}"
    return [
        Figure("list_vs_floor_cpu", bare.median(cpu_of) / mine.median(cpu_of), made_of),
        Figure("list_vs_floor_p99", mine.median(p99_of) / bare.median(p99_of), made_of),
    ]


def beside_drf() -> list[Figure]:
    """Compare page 1 with a page by ModelSerializer."""
    token, _ = issue_token()
    with serving() as ours, serving("DRF", "tests.bench.plain_drf:application", first=PAGE) as drf:
        _require_same(_rides(fetch(f"{ours.url}/api{PAGE}", token)), _rides(fetch(f"{drf.url}{PAGE}")))
        mine, theirs = _race((ours, f"/api{PAGE}", token), (drf, PAGE, ""))
    return [Figure("list_vs_drf", *ratios(mine, theirs))]


def deep() -> list[Figure]:
    """Compare page 1 with the page that follows 900,000 rides."""
    token, principal = issue_token()
    last, first = Ride.objects.order_by("pickup_at", "pk")[DEPTH - 1 : DEPTH + 1]
    path = f"/api{PAGE}&cursor={_cursor_after(last, principal)}"
    with serving() as ours:
        _require_same(_rides(fetch(f"{ours.url}{path}", token))[0]["id"], str(first.pk))
        near, far = _race((ours, f"/api{PAGE}", token), (ours, path, token))
    return [Figure("list_deep_vs_first", *ratios(near, far))]


def _cursor_after(ride: Ride, by: Principal) -> str:
    """Return the cursor that the list issues if this ride is the last one of a page."""
    return seal_cursor([ride.pickup_at, ride.pk], bound=digest_of(["rides", "pickupTime", {}, reach(by)]))


def _race(*contestants: tuple[Server, str, str]) -> list[Series]:
    def turn(server: Server, path: str, token: str) -> Any:
        return lambda: drive(server, [Request("GET", path)], token=token)

    turns = [turn(*contestant) for contestant in contestants]
    for warm_up in turns:
        warm_up()
    settle_database()
    return interleaved(turns)


def _rides(body: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads(body)["data"]
    return found


def _require_same(ours: object, theirs: object) -> None:
    if ours != theirs:
        raise NotTheSame("The two answers differ.")
