"""Health of endpoints over HTTP."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.models import ApiClient
from apps.webhooks.models import Attempt, Endpoint
from tests.callers import TokenClient
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)


def attempts(endpoint: Endpoint, at: dt.datetime, *rows: tuple[int | None, int], number: int = 1) -> None:
    """Record attempts, each with its response status and milliseconds."""
    delivery = made.delivery(endpoint, made.event(), status="delivered", ended_at=NOW)
    Attempt.objects.bulk_create(
        Attempt(
            delivery=delivery,
            endpoint_id=endpoint.pk,
            number=number,
            started_at=at,
            duration_ms=duration,
            code=code,
            error="" if code == 204 else "timeout",
            worker="w",
        )
        for code, duration in rows
    )


def read(api: TokenClient, endpoint: Endpoint) -> Any:
    response = api.get(f"/api/webhooks/endpoints/{endpoint.pk}/health")
    assert response.status_code == 200
    return response.json()


def test_new_endpoint_has_nothing_to_tell(api: TokenClient, client: ApiClient) -> None:
    health = read(api, made.endpoint(client=client))

    assert [hour["at"] for hour in health["hours"]][::23] == ["2026-11-19T16:00:00Z", "2026-11-20T15:00:00Z"]
    assert {(hour["delivered"], hour["failed"]) for hour in health.pop("hours")} == {(0, 0)}
    assert health == {
        "state": "active",
        "reason": "",
        "lastSuccessAt": None,
        "lastFailureAt": None,
        "lastError": "",
        "failingSince": None,
        "consecutiveFailures": 0,
        "breaker": {"open": False, "until": None},
        "window": 8,
        "pending": 0,
        "held": 0,
        "inFlight": 0,
        "exhausted": 0,
        "quarantined": 0,
        "oldestDueAt": None,
        "latencyMs": {"p50": None, "p95": None},
        "successRate": None,
    }


def test_failing_endpoint_says_since_when_and_what_waits(api: TokenClient, client: ApiClient) -> None:
    health = {
        "open_count": 1,
        "failures": 6,
        "open_until": NOW + MINUTE,
        "failing_since": NOW - HOUR,
        "last_success_at": NOW - 2 * HOUR,
        "last_failure_at": NOW - MINUTE,
    }
    endpoint = made.endpoint(client=client, health=health)
    other = made.endpoint(client=client)
    claimed: dict[str, Any] = {"status": "in_flight", "claim_id": endpoint.pk, "lease_until": NOW}
    rows: tuple[dict[str, Any], ...] = (
        {"due_at": NOW + MINUTE},
        {"due_at": NOW - MINUTE},
        *({"status": "held", "due_at": NOW - HOUR} for _ in range(3)),
        *(claimed for _ in range(4)),
        *({"status": "exhausted", "ended_at": NOW} for _ in range(5)),
        {"status": "quarantined", "ended_at": NOW},
    )
    for columns in rows:
        made.delivery(endpoint, made.event(), **columns)
        made.delivery(other, made.event())
    attempts(endpoint, NOW - MINUTE, (None, 15_000))

    health = read(api, endpoint)

    assert (health["lastSuccessAt"], health["lastFailureAt"]) == ("2026-11-20T13:00:00Z", "2026-11-20T14:59:00Z")
    assert (health["failingSince"], health["consecutiveFailures"]) == ("2026-11-20T14:00:00Z", 6)
    assert health["breaker"] == {"open": True, "until": "2026-11-20T15:01:00Z"}
    assert (health["window"], health["lastError"]) == (1, "timeout")
    waiting = [health[name] for name in ("pending", "held", "inFlight", "exhausted", "quarantined")]
    assert waiting == [2, 3, 4, 5, 1]
    assert health["oldestDueAt"] == "2026-11-20T14:59:00Z"
    assert (health["successRate"], health["latencyMs"]) == (0, {"p50": None, "p95": None})


def test_breaker_that_may_be_probed_is_no_longer_open(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client, health={"open_count": 1, "open_until": NOW})

    assert read(api, endpoint)["breaker"] == {"open": False, "until": "2026-11-20T15:00:00Z"}


def test_day_is_told_hour_by_hour(api: TokenClient, client: ApiClient) -> None:
    endpoint, other = made.endpoint(client=client), made.endpoint(client=client)
    attempts(endpoint, NOW - 23 * HOUR - MINUTE, (204, 9_999))  # the hour before the first
    attempts(endpoint, NOW - 23 * HOUR, (204, 10), (500, 30), (None, 15_000))
    attempts(endpoint, NOW, (204, 20), (204, 40))
    attempts(endpoint, NOW, (None, 0), number=0)  # was never sent
    attempts(other, NOW, (500, 1))

    health = read(api, endpoint)

    told = {hour["at"]: (hour["delivered"], hour["failed"]) for hour in health["hours"] if hour["delivered"]}
    assert told == {"2026-11-19T16:00:00Z": (1, 2), "2026-11-20T15:00:00Z": (2, 0)}
    assert len(health["hours"]) == 24
    assert health["successRate"] == 0.6
    assert health["latencyMs"] == {"p50": 25, "p95": 38}
