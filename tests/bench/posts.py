"""POST /rides and POST /rides/{id}/status: processor time beside a plain REST Framework view, and latency."""

import json
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID, uuid4

from apps.rides.models import Ride
from tests.bench.cast import REFERENCE, AssignedRides, Bookings, issue_token
from tests.bench.load import CONNECTIONS, Request, Round, Series, at_rate, cpu_of, drive, fetch_one, interleaved
from tests.bench.plain_views import RideSerializer
from tests.bench.servers import Server, serving, settle_database
from tests.bench.table import Figure

_MOST_PER_ROUND: Final = 3_000  # more than a round can write
_PLAIN: Final = "tests.bench.plain_drf:application"
PER_SECOND: Final = 50
_SECONDS: Final = 20


def booking() -> list[Figure]:
    """Book rides, also with an Idempotency-Key, and insert the same rows by a plain view."""
    token, _ = issue_token()
    bookings = Bookings()
    with serving() as ours, serving("DRF", _PLAIN, first="/rides?limit=1") as plain:
        columns = _columns_of(fetch_one(ours, bookings.take(1)[0], token=token))
        mine, keyed, theirs = _race(
            lambda: drive(ours, bookings.take(_MOST_PER_ROUND), token=token),
            lambda: drive(ours, [_keyed(one) for one in bookings.take(_MOST_PER_ROUND)], token=token),
            lambda: drive(plain, [_plain_booking(columns) for _ in range(_MOST_PER_ROUND)]),
        )
    return [
        _beside("booking_cpu_vs_drf", mine, theirs),
        _beside("booking_with_key_cpu_vs_drf", keyed, theirs),
    ]


def status() -> list[Figure]:
    """Report departures, and write the same rows by a plain view."""
    token, _ = issue_token()
    rides = AssignedRides()

    def report(server: Server, prefix: str, token: str) -> Round:
        taken = rides.take(_MOST_PER_ROUND)
        measured = drive(server, [_departure(ride, prefix) for ride in taken], token=token)
        rides.put_back(taken[measured.requests + 2 * CONNECTIONS :])  # some were in flight when the round ended
        return measured

    with serving() as ours, serving("DRF", _PLAIN, first="/rides?limit=1") as plain:
        mine, theirs = _race(lambda: report(ours, "/api", token), lambda: report(plain, "", ""))
    return [_beside("status_cpu_vs_drf", mine, theirs)]


def at_fifty() -> list[Figure]:
    """Book 50 rides a second on one worker."""
    token, _ = issue_token()
    bookings = Bookings(first=200)
    with serving() as ours:
        drive(ours, bookings.take(_MOST_PER_ROUND), token=token)
        settle_database()
        took = at_rate(ours, bookings.take(PER_SECOND * _SECONDS), token=token, per_second=PER_SECOND)
    p50, p95 = (took[int(len(took) * share)] for share in (0.5, 0.95))
    return [Figure("booking_p95", p95, f"{PER_SECOND}/s for {_SECONDS} s, p50 {p50:.0f} ms, slowest {took[-1]:.0f} ms")]


def _race(*contestants: Callable[[], Round]) -> Sequence[Series]:
    for warm_up in contestants:
        warm_up()
    settle_database()
    return interleaved(contestants)


def _beside(name: str, mine: Series, theirs: Series) -> Figure:
    ratio = mine.median(cpu_of) / theirs.median(cpu_of)
    return Figure(name, ratio, f"{mine.summary} beside {theirs.summary}")


def _keyed(request: Request) -> Request:
    return Request(request.method, request.path, request.body, key=uuid4().hex)


def _departure(ride: UUID, prefix: str) -> Request:
    return Request("POST", f"{prefix}/rides/{ride}/status", '{"status":"en_route","source":"driver_app"}')


def _columns_of(answer: bytes) -> dict[str, object]:
    """Return the columns of a booked ride, as the plain view expects them."""
    ride = Ride.objects.get(pk=json.loads(answer)["id"])
    shown = json.loads(json.dumps(RideSerializer(ride).data, default=str))
    return {name: value for name, value in shown.items() if value is not None}


def _plain_booking(columns: dict[str, object]) -> Request:
    return Request("POST", "/rides", json.dumps({**columns, "client_reference": f"{REFERENCE}{uuid4()}"}))
