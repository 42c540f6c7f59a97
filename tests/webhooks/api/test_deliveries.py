"""Delivery log over HTTP: search, disclosure, and actions."""

import datetime as dt
import json
from typing import Any

import pytest

from apps.accounts.models import ApiClient
from apps.audit.models import AuditEntry
from apps.webhooks.models import Attempt, Delivery, Endpoint
from lib.ids import uuid7
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW, RideFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db

PATH = "/api/webhooks/deliveries"
HOUR = dt.timedelta(hours=1)


def attempt(delivery: Delivery, number: int = 1, **columns: Any) -> Attempt:
    known: dict[str, Any] = {
        "endpoint_id": delivery.endpoint_id,
        "started_at": NOW,
        "duration_ms": 41,
        "code": 500,
        "error": "http_5xx",
        "response_headers": {"server": "nginx"},
        "response_snippet": "kaputt",
        "remote_ip": "192.0.2.7",
        "worker": "w",
    }
    return Attempt.objects.create(delivery=delivery, number=number, **(known | columns))


def listed(api: TokenClient, query: str = "") -> list[str]:
    response = api.get(f"{PATH}?{query}")
    assert response.status_code == 200, response.json()
    return [one["id"] for one in response.json()["data"]]


@pytest.mark.parametrize("count", [1, 3])
def test_list_is_newest_first_at_two_queries(
    api: TokenClient, client: ApiClient, count: int, django_assert_num_queries: Any
) -> None:
    endpoint = made.endpoint(client=client)
    rows = [made.delivery(endpoint, made.event()) for _ in range(count)]

    with django_assert_num_queries(2):
        found = listed(api)

    assert found == [str(row.pk) for row in reversed(rows)]


def test_pages_follow_one_another(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client)
    rows = [str(made.delivery(endpoint, made.event()).pk) for _ in range(3)]

    first = api.get(f"{PATH}?limit=2&status=pending").json()
    rest = listed(api, f"limit=2&status=pending&cursor={first['page']['nextCursor']}")

    assert [one["id"] for one in first["data"]] + rest == rows[::-1]


def test_row_shows_how_it_stands(api: TokenClient, client: ApiClient) -> None:
    event = made.event(sequence=7)
    delivery = made.delivery(
        made.endpoint(client=client), event, attempts=2, last_code=500, last_error="http_5xx", due_at=NOW + HOUR
    )

    (shown,) = api.get(PATH).json()["data"]

    assert shown == {
        "id": str(delivery.pk),
        "endpointId": str(delivery.endpoint_id),
        "eventId": str(event.pk),
        "eventType": "ride.completed",
        "subject": {"type": "ride", "id": str(event.subject_id), "sequence": 7},
        "status": "pending",
        "trigger": "event",
        "attemptCount": 2,
        "nextAttemptAt": "2026-11-20T16:00:00Z",
        "lastCode": 500,
        "lastError": "http_5xx",
        "createdAt": "2026-11-20T15:00:00Z",
        "expiresAt": "2026-11-23T15:00:00Z",
        "endedAt": None,
    }


def test_list_is_narrowed_by_everything_that_it_can_be_asked_for(api: TokenClient, client: ApiClient) -> None:
    endpoint, other = made.endpoint(client=client), made.endpoint(client=client)
    ride, vehicle = made.event(), made.event("vehicle.updated", subject_type="vehicle")
    first = made.delivery(endpoint, ride, created_at=NOW - HOUR)
    second = made.delivery(other, ride, status="held")
    third = made.delivery(endpoint, vehicle, status="delivered", ended_at=NOW, created_at=NOW + HOUR)
    rows = {str(first.pk): 1, str(second.pk): 2, str(third.pk): 3}

    found = {
        query: [rows[one] for one in listed(api, query)]
        for query in (
            "",
            f"endpointId={endpoint.pk}",
            f"endpointId={uuid7()}",
            "status=held,delivered",
            "type=ride.*",
            "type=vehicle.updated",
            "type=ride.*,vehicle.updated",
            "type=ride.started",
            "type=*",
            f"rideId={ride.subject_id}",
            f"rideId={vehicle.subject_id}",
            f"eventId={vehicle.pk}",
            "createdFrom=2026-11-20T15:00:00Z",
            "createdTo=2026-11-20T15:00:00Z",
            f"createdFrom=2026-11-20T14:00:00Z&createdTo=2026-11-20T15:00:00Z&endpointId={endpoint.pk}&type=ride.*",
        )
    }

    assert list(found.values()) == [
        [3, 2, 1], [3, 1], [], [3, 2], [2, 1], [3], [3, 2, 1], [], [3, 2, 1], [2, 1], [], [3], [3, 2], [1], [1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("type=ride.flown", "type", "unknown_event_type"),
        ("type=ride", "type", "unknown_event_type"),
        ("status=lost", "status[0]", "invalid_choice"),
        ("endpointId=7", "endpointId", "form"),
        ("createdFrom=yesterday", "createdFrom", "form"),
        ("sort=id", "sort", "unknown"),
    ],
)
def test_wrong_query_is_refused(api: TokenClient, query: str, field: str, code: str) -> None:
    error = error_of(api.get(f"{PATH}?{query}"))

    assert (error["code"], error["details"][0]["field"], error["details"][0]["code"]) == (
        "VALIDATION_ERROR",
        field,
        code,
    )


def test_delivery_is_shown_with_all_that_was_sent_and_answered(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client)
    endpoint.headers_text = '{"Authorization":"Basic c2VjcmV0"}'
    endpoint.save()
    event = made.event()
    delivery = made.delivery(endpoint, event)
    attempt(delivery, 1)
    attempt(delivery, 0, code=None, error="lost_worker", response_headers={}, response_snippet="", remote_ip=None)
    attempt(delivery, 2, code=204, error="", started_at=NOW + HOUR, response_snippet="")

    shown = api.get(f"{PATH}/{delivery.pk}").json()

    sent = {
        "Authorization": "(not shown)",
        "content-type": "application/json",
        "user-agent": "Carelane-Webhooks/1.0",
        "webhook-id": str(event.pk),
    }
    assert shown["redacted"] is False
    assert json.loads(shown["body"])["data"] == {"rideId": str(event.subject_id), "href": f"/rides/{event.subject_id}"}
    assert shown["attempts"] == [
        {
            "number": 1,
            "startedAt": "2026-11-20T15:00:00Z",
            "durationMs": 41,
            "code": 500,
            "error": "http_5xx",
            "requestHeaders": sent | {"webhook-attempt": "1", "webhook-timestamp": str(int(NOW.timestamp()))},
            "responseHeaders": {"server": "nginx"},
            "responseSnippet": "kaputt",
            "remoteIp": "192.0.2.7",
        },
        {
            "number": 0,
            "startedAt": "2026-11-20T15:00:00Z",
            "durationMs": 41,
            "code": None,
            "error": "lost_worker",
            "requestHeaders": None,
            "responseHeaders": {},
            "responseSnippet": "",
            "remoteIp": None,
        },
        {
            "number": 2,
            "startedAt": "2026-11-20T16:00:00Z",
            "durationMs": 41,
            "code": 204,
            "error": "",
            "requestHeaders": sent | {"webhook-attempt": "2", "webhook-timestamp": str(int(NOW.timestamp()) + 3600)},
            "responseHeaders": {"server": "nginx"},
            "responseSnippet": "",
            "remoteIp": "192.0.2.7",
        },
    ]
    assert not AuditEntry.objects.filter(action="webhooks.read_delivery").exists()


def whole_ride(endpoint: Endpoint, **columns: Any) -> tuple[Delivery, Any]:
    """Create a delivery of a whole ride whose response repeats the ride."""
    ride = RideFactory.create()
    delivery = made.delivery(endpoint, made.event(subject_id=ride.pk), body_level="full-resource", **columns)
    delivery.body_text = '{"riderId":"canary"}'
    delivery.save()
    attempt(delivery, response_snippet="canary", response_headers={"location": "/?rider=canary"})
    return delivery, ride


@pytest.mark.parametrize("level", ["full-resource", "id-only"])
def test_whole_ride_is_shown_at_full_and_the_trail_says_to_whom(
    api: TokenClient, client: ApiClient, level: str
) -> None:
    delivery, ride = whole_ride(made.endpoint(client=client, payload_level=level))

    shown = api.get(f"{PATH}/{delivery.pk}").json()

    assert (shown["redacted"], shown["body"]) == (False, '{"riderId":"canary"}')
    assert shown["attempts"][0]["responseSnippet"] == "canary"
    assert shown["attempts"][0]["responseHeaders"] == {"location": "/?rider=canary"}
    entry = AuditEntry.objects.get(action="webhooks.read_delivery")
    assert (entry.actor, entry.subject_id, entry.phi) == (f"token:{api.token.pk}", delivery.pk, "full")
    assert entry.rider_ids == [ride.rider_id]


@pytest.mark.parametrize("level", ["full-resource", "id-only"])
@pytest.mark.parametrize("phi", ["none", "limited"])
def test_whole_ride_is_kept_from_others(client: ApiClient, phi: str, level: str) -> None:
    delivery, _ = whole_ride(made.endpoint(client=client, payload_level=level))
    api = api_with(client=client, phi_level=phi)

    response = api.get(f"{PATH}/{delivery.pk}")

    shown = response.json()
    assert (shown["redacted"], shown["body"], shown["attempts"][0]["responseSnippet"]) == (True, None, None)
    assert shown["attempts"][0]["requestHeaders"]["webhook-attempt"] == "1"
    assert shown["attempts"][0]["responseHeaders"] == {"location": "(not shown)"}
    assert b"canary" not in response.content
    assert not AuditEntry.objects.filter(action="webhooks.read_delivery").exists()


def test_body_that_is_not_made_yet_is_not_shown(api: TokenClient, client: ApiClient) -> None:
    vehicle = made.event("vehicle.updated", subject_type="vehicle")
    delivery = made.delivery(made.endpoint(client=client, payload_level="full-resource"), vehicle)

    shown = api.get(f"{PATH}/{delivery.pk}").json()

    assert (shown["body"], shown["redacted"]) == (None, False)
    assert AuditEntry.objects.get(action="webhooks.read_delivery").rider_ids == []


def test_body_that_cannot_be_made_is_not_shown(api: TokenClient, client: ApiClient) -> None:
    delivery = made.delivery(made.endpoint(client=client), made.event("ride.flown"))

    assert api.get(f"{PATH}/{delivery.pk}").json()["body"] is None


def test_resend_and_cancel_answer_with_the_delivery(api: TokenClient, client: ApiClient) -> None:
    endpoint = made.endpoint(client=client)
    waiting = made.delivery(endpoint, made.event())
    arrived = made.delivery(endpoint, made.event(), status="delivered", ended_at=NOW)

    forward = api.post(f"{PATH}/{waiting.pk}/resend")
    unasked = api.post(f"{PATH}/{arrived.pk}/resend")
    again = api.post(f"{PATH}/{arrived.pk}/resend", {"confirm": True})
    cancelled = api.post(f"{PATH}/{waiting.pk}/cancel")
    twice = api.post(f"{PATH}/{waiting.pk}/cancel")

    assert (forward.status_code, forward.json()["id"]) == (202, str(waiting.pk))
    assert (error_of(unasked)["code"], error_of(unasked)["details"][0]["field"]) == ("RULE_VIOLATION", "confirm")
    assert (again.status_code, again.json()["trigger"], again.json()["eventId"]) == (
        202,
        "resend",
        str(arrived.event_id),
    )
    assert again.json()["id"] != str(arrived.pk)
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert (cancelled.json()["nextAttemptAt"], cancelled.json()["endedAt"]) == (None, "2026-11-20T15:00:00Z")
    assert error_of(twice)["code"] == "INVALID_TRANSITION"


def test_deliveries_of_other_clients_are_absent(api: TokenClient) -> None:
    delivery = made.delivery(made.endpoint(), made.event())

    calls = [
        api.get(f"{PATH}/{delivery.pk}"),
        *(api.post(f"{PATH}/{delivery.pk}/{verb}") for verb in ("resend", "cancel")),
    ]

    assert [error_of(call)["code"] for call in calls] == ["NOT_FOUND"] * 3
    assert listed(api) == []
