"""Measurements of POST /rides and POST /rides/{id}/status, beside the same writes by bare psycopg."""

import json
from collections.abc import Callable
from typing import Final
from uuid import UUID

from rest_framework.test import APIClient

from tests.bench.cast import AssignedRides, Bookings, issue_token
from tests.bench.load import CONNECTIONS, Request, Round, Series, drive, interleaved, ratios
from tests.bench.servers import THREADS, serving, settle_database
from tests.bench.table import Figure
from tests.bench.writes import Write, captured, hammer

_MOST_PER_ROUND: Final = 6_000  # more than a round can write


class RequestRefused(Exception):
    """The request that is measured was not answered with success."""


def booking() -> list[Figure]:
    """Book rides, and insert the same rows without the service."""
    token, _ = issue_token()
    bookings = Bookings()
    request = bookings.take(1)[0]
    writes, ride = _writes_of(request, token)
    with serving() as ours:
        series = _race(
            lambda: drive(ours, bookings.take(_MOST_PER_ROUND), token=token),
            lambda: hammer(writes, subject=(ride,)),
        )
    return [Figure("booking_vs_bare", *ratios(*series))]


def status() -> list[Figure]:
    """Report departures, and write the same rows without the service."""
    token, _ = issue_token()
    rides = AssignedRides()
    (sample,) = rides.take(1)
    writes, _ = _writes_of(_departure(sample[0]), token)

    def service() -> Round:
        taken = rides.take(_MOST_PER_ROUND)
        measured = drive(ours, [_departure(ride) for ride, _ in taken], token=token)
        rides.put_back(taken[measured.requests + 2 * CONNECTIONS :])  # some were on the way when the round ended
        return measured

    def bare() -> Round:
        taken = rides.take(_MOST_PER_ROUND)
        measured = hammer(writes, subject=sample, subjects=taken)
        rides.put_back(taken[measured.requests + THREADS :])
        return measured

    with serving() as ours:
        return [Figure("status_vs_bare", *ratios(*_race(service, bare)))]


def _race(*contestants: Callable[[], Round]) -> list[Series]:
    for warm_up in contestants:
        warm_up()
    settle_database()
    return interleaved(contestants)


def _departure(ride: UUID) -> Request:
    return Request("POST", f"/api/rides/{ride}/status", '{"status":"en_route","source":"driver_app"}')


def _writes_of(request: Request, token: str) -> tuple[list[Write], UUID]:
    """Send one request through the service in this process, and keep what it writes and the id of its ride."""
    answers: list[UUID] = []

    def send() -> None:
        client = APIClient(HTTP_AUTHORIZATION=f"Bearer {token}")
        answer = client.generic(request.method, request.path, request.body, content_type="application/json")
        if answer.status_code not in (200, 201):
            raise RequestRefused(answer.content.decode())
        answers.append(UUID(json.loads(answer.content)["id"]))

    writes = captured(send)
    return writes, answers[0]
