"""The health of endpoints: circuit breaker, waiting deliveries, and the attempts of the last day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from apps.webhooks.models import Attempt, Endpoint, EndpointHealth

HOURS: Final = 24

# Each count uses its own partial index: an endpoint may have millions of delivered rows.
_WAITING: Final = """
    SELECT e.id, (SELECT count(*) FROM webhooks_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending'),
        (SELECT count(*) FROM webhooks_delivery d WHERE d.endpoint_id = e.id AND d.status = 'held'),
        (SELECT count(*) FROM webhooks_delivery d WHERE d.endpoint_id = e.id AND d.status = 'in_flight'),
        (SELECT count(*) FROM webhooks_delivery d WHERE d.endpoint_id = e.id AND d.status = 'exhausted'),
        (SELECT count(*) FROM webhooks_delivery d WHERE d.endpoint_id = e.id AND d.status = 'quarantined'),
        (SELECT min(d.due_at) FROM webhooks_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending'),
        (SELECT a.error FROM webhooks_attempt a WHERE a.endpoint_id = e.id
            ORDER BY a.started_at DESC, a.id DESC LIMIT 1)
    FROM unnest(%(ids)s::uuid[]) AS e(id)
"""
# For each endpoint, a row for each hour with attempts, and a row without an hour for their sum.  Attempts that were not
# sent (number 0) are left out; latency is that of answered ones.
_HOURS: Final = """
    SELECT endpoint_id, date_trunc('hour', started_at, 'UTC'),
        count(*) FILTER (WHERE code BETWEEN 200 AND 299), count(*),
        percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY duration_ms) FILTER (WHERE code IS NOT NULL)
    FROM webhooks_attempt
    WHERE endpoint_id = ANY(%(ids)s) AND started_at >= %(since)s AND number > 0
    GROUP BY GROUPING SETS ((1, 2), (1))
"""


@dataclass(frozen=True, slots=True)
class HourlyAttempts:
    """Attempts in one hour; `at` is its start."""

    at: datetime
    delivered: int
    failed: int


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """Deliveries that have not arrived by status, and when the oldest pending one was due."""

    pending: int
    held: int
    in_flight: int
    exhausted: int
    quarantined: int
    oldest_due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Health:
    """The health of an endpoint.

    `latency_p50_ms`, `latency_p95_ms`, `success_rate` (0 to 1) and `hours` cover 24 clock hours (UTC), including the
    current one; None without an answer, or an attempt, in that time.
    """

    endpoint: Endpoint
    circuit: EndpointHealth
    is_open: bool
    waiting: DeliveryCounts
    latency_p50_ms: int | None
    latency_p95_ms: int | None
    success_rate: float | None
    last_error: str
    hours: list[HourlyAttempts]

    @property
    def window(self) -> int:
        """How many deliveries may be in flight now."""
        return 1 if self.circuit.open_count else self.endpoint.max_in_flight


def get(endpoint: Endpoint, *, at: datetime) -> Health:
    """Read the health of an endpoint.  Three queries."""
    (health,) = get_each([endpoint], at=at)
    return health


def get_each(endpoints: Sequence[Endpoint], *, at: datetime) -> list[Health]:
    """Read the health of endpoints, in their order.  Three queries for any number."""
    ids = [endpoint.pk for endpoint in endpoints]
    circuits = EndpointHealth.objects.in_bulk(ids)
    first = at.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, {"ids": ids})
        waiting = {key: counts for key, *counts in cursor.fetchall()}
        cursor.execute(_HOURS, {"ids": ids, "since": first})
        rows = {(key, hour): figures for key, hour, *figures in cursor.fetchall()}
    return [
        _health(endpoint, circuits[endpoint.pk], waiting[endpoint.pk], rows, first=first, at=at)
        for endpoint in endpoints
    ]


def _health(
    endpoint: Endpoint,
    circuit: EndpointHealth,
    waiting: list[Any],
    rows: Mapping[tuple[UUID, datetime | None], list[Any]],
    *,
    first: datetime,
    at: datetime,
) -> Health:
    *counts, last_error = waiting
    delivered, tried, latency = rows.get((endpoint.pk, None), (0, 0, None))
    p50, p95 = map(round, latency) if latency else (None, None)
    hours = [first + timedelta(hours=number) for number in range(HOURS)]
    return Health(
        endpoint=endpoint,
        circuit=circuit,
        is_open=circuit.open_until is not None and at < circuit.open_until,
        waiting=DeliveryCounts(*counts),
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        success_rate=round(delivered / tried, 4) if tried else None,
        last_error=last_error or "",
        hours=[_hour(hour, *rows.get((endpoint.pk, hour), (0, 0, None))) for hour in hours],
    )


def _hour(at: datetime, delivered: int, tried: int, _latency: object) -> HourlyAttempts:
    return HourlyAttempts(at, delivered, tried - delivered)


def last_error(endpoint_id: UUID) -> str:
    """Return the error of the last attempt at an endpoint; "" if it succeeded."""
    last = Attempt.objects.filter(endpoint_id=endpoint_id).order_by("-started_at", "-pk").first()
    return last.error if last is not None else ""
