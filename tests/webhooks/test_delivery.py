"""From a committed event to a settled attempt, over real connections and real transactions."""

import asyncio
import datetime as dt
import json
from uuid import UUID

import pytest
from aiohttp import web
from django.db import transaction
from standardwebhooks.webhooks import Webhook

from apps.webhooks.models import Attempt, Delivery, Endpoint
from apps.webhooks.services import delivery
from lib.outbound import Rules
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock]


def test_event_reaches_every_subscribed_endpoint_only(receiver: Receiver) -> None:
    wants = made.endpoint(f"{receiver.url}/wants", event_types=["ride.completed"])
    family = made.endpoint(f"{receiver.url}/family", event_types=["ride.*"])
    made.endpoint(f"{receiver.url}/other", event_types=["ride.started"])
    made.endpoint(f"{receiver.url}/pending", state=Endpoint.State.PENDING)
    event = made.event()

    done = made.work()

    assert (done.published, done.attempted, done.delivered) == (1, 2, 2)
    assert sorted(one.path for one in receiver.got) == ["/family", "/wants"]
    rows = Delivery.objects.order_by("endpoint_id")
    assert [(row.endpoint_id, row.event_id, row.status, row.attempts, row.claims, row.last_code) for row in rows] == [
        (wants.pk, event.pk, "delivered", 1, 0, 204),
        (family.pk, event.pk, "delivered", 1, 0, 204),
    ]
    assert made.health_of(wants).attempts_total == 1


def test_the_official_library_verifies_what_is_sent(receiver: Receiver) -> None:
    made.endpoint(f"{receiver.url}/hook")
    event = made.event()

    made.work()

    (got,) = receiver.got
    verified = Webhook(made.SECRET).verify(got.body, got.headers)
    assert verified == {
        "id": str(event.pk),
        "type": "ride.completed",
        "apiVersion": "2026-11-20",
        "timestamp": "2026-11-20T15:00:00Z",
        "subject": {"type": "ride", "id": str(event.subject_id), "sequence": 1},
        "data": {"rideId": str(event.subject_id), "href": f"/rides/{event.subject_id}"},
    }
    assert got.body == json.dumps(verified, sort_keys=True, separators=(",", ":")).encode()
    assert (got.headers["webhook-id"], got.headers["webhook-attempt"]) == (str(event.pk), "1")
    assert got.headers["user-agent"] == "Carelane-Webhooks/1.0"
    assert got.headers["content-type"] == "application/json"


def test_what_was_rolled_back_is_told_to_nobody(receiver: Receiver) -> None:
    made.endpoint(f"{receiver.url}/hook")
    with transaction.atomic():
        made.event()
        transaction.set_rollback(True)

    done = made.work()

    assert done == delivery.RunSummary()
    assert receiver.got == []


def test_an_endpoint_that_is_paused_collects(receiver: Receiver) -> None:
    made.endpoint(f"{receiver.url}/hook", state=Endpoint.State.PAUSED)
    made.event()

    made.work()

    assert [row.status for row in Delivery.objects.all()] == ["held"]
    assert receiver.got == []


def test_failure_is_retried_after_ten_seconds_and_recorded(receiver: Receiver) -> None:
    async def fail(request: web.Request) -> web.Response:
        return web.Response(status=500, text="kaputt", headers={"x-request-id": "abc", "set-cookie": "secret=1"})

    receiver.answers["/hook"] = fail
    one = made.endpoint(f"{receiver.url}/hook")
    made.event()

    before = delivery.DatabaseClock()()
    made.work()

    row = Delivery.objects.get()
    assert (row.status, row.attempts, row.priority) == ("pending", 1, 1)
    assert dt.timedelta(seconds=8) <= row.due_at - before <= dt.timedelta(seconds=14)
    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.code, attempt.error, attempt.response_snippet) == (1, 500, "http_5xx", "kaputt")
    assert attempt.response_headers["x-request-id"] == "abc"
    assert "set-cookie" not in attempt.response_headers
    assert attempt.remote_ip == "127.0.0.1"
    assert made.health_of(one).failures == 1


def test_retry_sends_the_same_bytes_and_its_attempt_number(receiver: Receiver) -> None:
    receiver.answers["/hook"] = 500
    made.endpoint(f"{receiver.url}/hook", payload_level="summary")
    made.event()
    made.work()
    Delivery.objects.update(due_at=made.due_now())

    made.work()

    first, second = receiver.got
    assert first.body == second.body
    assert [one.headers["webhook-attempt"] for one in (first, second)] == ["1", "2"]
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


def test_a_redirect_is_a_failure_and_not_followed(receiver: Receiver) -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"location": f"{receiver.url}/elsewhere"})

    receiver.answers["/hook"] = redirect
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    made.work()

    assert [one.path for one in receiver.got] == ["/hook"]
    assert Attempt.objects.get().error == "http_3xx"


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_asks_for_time_is_given_it(receiver: Receiver, status: int) -> None:
    async def later(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"retry-after": "120"})

    receiver.answers["/hook"] = later
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    before = delivery.DatabaseClock()()
    made.work()

    due_in = Delivery.objects.get().due_at - before
    assert dt.timedelta(seconds=120) <= due_in <= dt.timedelta(seconds=125)


def test_410_pauses_the_endpoint_and_keeps_what_it_has_not_got(receiver: Receiver) -> None:
    receiver.answers["/hook"] = 410
    one = made.endpoint(f"{receiver.url}/hook", max_in_flight=1)
    for _ in range(3):
        made.event()

    made.work()

    one.refresh_from_db()
    assert (one.state, one.state_reason) == ("paused", "gone")
    assert len(receiver.got) == 1
    assert sorted(row.status for row in Delivery.objects.all()) == ["held", "held", "held"]


def test_slow_streaming_response_is_cut_off_at_the_deadline(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=200)
        await response.prepare(request)
        for _ in range(300):
            await response.write(b".")
            await asyncio.sleep(0.1)
        return response

    monkeypatch.setattr("apps.webhooks.services.sending.DEADLINE", 0.5)
    receiver.answers["/hook"] = drip
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    made.work()

    attempt = Attempt.objects.get()
    assert (attempt.code, attempt.error) == (None, "timeout")
    assert 500 <= attempt.duration_ms < 10_000  # it would have dripped for half a minute


def test_a_long_answer_is_read_no_further_than_it_matters(receiver: Receiver) -> None:
    async def flood(request: web.Request) -> web.Response:
        return web.Response(status=200, body=b"a" * 5_000_000)

    receiver.answers["/hook"] = flood
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    made.work()

    assert Attempt.objects.get().response_snippet == "a" * 4096
    assert Delivery.objects.get().status == "delivered"


def test_refused_connection_is_a_connect_failure() -> None:
    made.endpoint("http://127.0.0.1:9/hook")
    made.event()

    made.work()

    assert Attempt.objects.get().error == "connect"


def test_blocked_address_is_never_connected_to(receiver: Receiver) -> None:
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    delivery.deliver(rules=Rules(plain_http=True), for_seconds=5.0)

    assert receiver.got == []
    assert Attempt.objects.get().error == "blocked_ip"


def test_a_hanging_endpoint_delays_no_other(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(request: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    monkeypatch.setattr("apps.webhooks.services.sending.DEADLINE", 4.0)
    receiver.answers["/hangs"] = hang
    made.endpoint(f"{receiver.url}/hangs", event_types=["ride.started"])
    made.endpoint(f"{receiver.url}/good", event_types=["ride.completed"])
    with transaction.atomic():
        for _ in range(40):
            made.event("ride.started")
        for _ in range(40):
            made.event("ride.completed")

    made.work(for_seconds=2.0)

    assert len(receiver.at("/hangs")) == 8
    assert len(receiver.at("/good")) == 40
    assert max(one.at for one in receiver.at("/good")) < receiver.at("/hangs")[0].at + 4.0


def test_events_of_one_ride_are_in_order_with_subject_ordering(receiver: Receiver) -> None:
    failed: set[str] = set()

    async def fail_once(request: web.Request) -> web.Response:
        event_id = request.headers["webhook-id"]
        status = 204 if event_id in failed else 500
        failed.add(event_id)
        return web.Response(status=status)

    receiver.answers["/hook"] = fail_once
    made.endpoint(f"{receiver.url}/hook", ordering="subject")
    ride, other = UUID(int=1), UUID(int=2)
    for sequence in (1, 2, 3):
        made.event(subject_id=ride, sequence=sequence)
    made.event(subject_id=other, sequence=1)

    for _ in range(7):
        made.work()
        Delivery.objects.filter(status="pending").update(due_at=made.due_now())

    sequences = [body["subject"]["sequence"] for body in map(_json, receiver.got) if body["subject"]["id"] == str(ride)]
    assert sequences == [1, 1, 2, 2, 3, 3]
    assert Delivery.objects.filter(status="delivered").count() == 4


def _json(got: object) -> dict[str, dict[str, object]]:
    return json.loads(got.body)  # type: ignore[attr-defined,no-any-return]  # set by the receiver
