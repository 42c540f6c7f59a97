"""Delivery runs: claimed deliveries, their order, and delays."""

import asyncio
import itertools
import threading
import time
from typing import Any

import pytest
from aiohttp import web
from django.db import InterfaceError, OperationalError, transaction

from apps.webhooks import tasks
from apps.webhooks.models import Attempt, Delivery, Endpoint, EndpointHealth
from apps.webhooks.services import delivery, outbox, rendering
from lib.outbound import Rules
from tests.factories import NOW
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock]


def test_one_shift_at_a_time_works_in_a_process() -> None:
    with delivery._run_lock:
        assert delivery.deliver(rules=made.LOOPBACK) is None


def test_a_body_that_cannot_be_made_waits_and_others_leave(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    render = rendering._render

    def fail(row: Delivery, *given: Any) -> bytes:
        if row.event.type == "ride.started":
            raise RuntimeError
        return render(row, *given)

    monkeypatch.setattr(rendering, "_render", fail)
    made.endpoint(f"{receiver.url}/hook")
    made.event("ride.started")
    made.event("ride.completed")

    done = made.work()

    assert (done.attempted, done.delivered) == (2, 1)
    poison = Delivery.objects.get(event_type="ride.started")
    assert (poison.status, poison.attempts, poison.claims) == ("pending", 0, 1)


def test_suspects_are_tried_alone_before_anything_else(receiver: Receiver) -> None:
    at_once, most = 0, []

    async def count(request: web.Request) -> web.Response:
        nonlocal at_once
        at_once += 1
        most.append(at_once)
        await asyncio.sleep(0.05)
        at_once -= 1
        return web.Response()

    receiver.answers["/hook"] = count
    made.endpoint(f"{receiver.url}/hook")
    with transaction.atomic():
        for _ in range(6):
            made.event()
    outbox.publish(at=delivery.DatabaseClock()())
    suspects = list(Delivery.objects.values_list("pk", flat=True)[:3])
    Delivery.objects.filter(pk__in=suspects).update(claims=5)

    made.work()

    assert most[:4] == [1, 1, 1, 1]  # three alone, and then the first of the others
    assert max(most) == 3
    assert set(Delivery.objects.values_list("status", "claims")) == {("delivered", 0)}


def test_suspects_do_not_keep_everything_else_waiting(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    async def take_time(request: web.Request) -> web.Response:
        await asyncio.sleep(0.2)
        return web.Response()

    monkeypatch.setattr(delivery, "SUSPECTS_FOR", 0.1)
    receiver.answers["/slow"] = take_time
    made.endpoint(f"{receiver.url}/slow", event_types=["ride.started"])
    made.endpoint(f"{receiver.url}/hook", event_types=["ride.completed"])
    for kind in ("ride.started", "ride.started", "ride.completed"):
        made.event(kind)
    outbox.publish(at=delivery.DatabaseClock()())
    Delivery.objects.filter(event_type="ride.started").update(claims=5)

    made.work()

    assert [one.path for one in receiver.got] == ["/slow", "/hook"]


@pytest.mark.parametrize("due", [False, True])
def test_a_shift_without_anything_to_send_makes_no_session(due: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(rules: Rules) -> Any:
        raise AssertionError

    monkeypatch.setattr("apps.webhooks.services.sending.open_session", fail)
    endpoint = made.endpoint(max_in_flight=1)
    if due:  # and the endpoint has no capacity
        made.event()
        made.event()
        outbox.publish(at=delivery.DatabaseClock()())
        assert len(delivery.claim(at=delivery.DatabaseClock()(), limit=10)) == 1

    assert made.work() == delivery.RunSummary()
    assert Delivery.objects.filter(endpoint=endpoint).count() == (2 if due else 0)


def test_a_process_that_is_told_to_end_claims_no_more(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_is_shutting_down", threading.Event())

    async def end(request: web.Request) -> web.Response:
        delivery.shut_down()
        return web.Response()

    receiver.answers["/hook"] = end
    made.endpoint(f"{receiver.url}/hook", max_in_flight=1)
    made.event()
    made.event()

    assert made.work() == delivery.RunSummary(
        published=2, attempted=1, delivered=1
    )  # deliveries in flight were finished
    assert delivery.deliver(rules=made.LOOPBACK) is None
    assert sorted(Delivery.objects.values_list("status", flat=True)) == ["delivered", "pending"]


def test_a_mistake_of_ours_is_an_attempt_that_failed(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*given: Any, **more: Any) -> Any:
        raise OverflowError

    monkeypatch.setattr("apps.webhooks.services.sending.post", fail)
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    assert made.work().attempted == 1

    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempts, delivery.last_error) == ("pending", 1, "protocol")
    (told,) = [record for record in caplog.records if record.msg == "webhook not sent"]
    assert told.delivery_id == str(delivery.pk)  # type: ignore[attr-defined]  # set by extra=


def test_attempt_on_a_reused_connection_records_its_address(receiver: Receiver) -> None:
    made.endpoint(f"{receiver.url}/hook", max_in_flight=1)
    for _ in range(3):
        made.event()

    made.work()

    assert list(Attempt.objects.values_list("remote_ip", flat=True)) == ["127.0.0.1"] * 3


def test_a_removed_endpoint_is_sent_no_tests() -> None:
    endpoint = made.endpoint()
    made.delivery(endpoint, made.event(), trigger="test")
    Endpoint.objects.filter(pk=endpoint.pk).update(deleted_at=NOW)

    assert delivery.claim(at=NOW, limit=10) == []


def test_healthy_only_claim_skips_endpoints_that_failed_last(receiver: Receiver) -> None:
    failing, sound = made.endpoint(f"{receiver.url}/failing"), made.endpoint(f"{receiver.url}/sound")
    EndpointHealth.objects.filter(pk=failing.pk).update(failures=1)
    made.event()
    outbox.publish(at=NOW)

    idle = delivery.claim(at=NOW, limit=10, healthy_only=True)
    rest = delivery.claim(at=NOW, limit=10)

    assert [row.endpoint_id for row in idle] == [sound.pk]
    assert [row.endpoint_id for row in rest] == [failing.pk]


def test_results_outlast_a_database_that_is_away_for_a_moment(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, failures = delivery.record_attempts, iter([OperationalError, InterfaceError])

    def away(*given: Any, **more: Any) -> int:
        for failure in failures:
            raise failure
        return record(*given, **more)

    monkeypatch.setattr(delivery, "record_attempts", away)
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    done = made.work()

    assert (done.attempted, done.delivered, len(receiver.got)) == (1, 1, 1)
    assert Delivery.objects.get().status == "delivered"


def test_a_claim_that_fails_is_made_again(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    publish, failures = outbox.publish, iter([OperationalError, InterfaceError])

    def away(*given: Any, **more: Any) -> int:
        for failure in failures:
            raise failure
        return publish(*given, **more)

    monkeypatch.setattr(outbox, "publish", away)
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    assert made.work().delivered == 1


def test_claims_that_fail_are_made_again_and_publishing_goes_on(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, failures = delivery.claim, iter([OperationalError, InterfaceError])

    def away(*given: Any, **more: Any) -> list[Delivery]:
        for failure in failures:
            raise failure
        return claim(*given, **more)

    monkeypatch.setattr(delivery, "claim", away)
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    assert made.work() == delivery.RunSummary(published=1, attempted=1, delivered=1)


def test_what_is_due_leaves_while_more_is_published(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    publish, left = outbox.publish, threading.Event()

    def slowly(*given: Any, **more: Any) -> int:
        assert left.wait(5)  # for the answer to the earlier delivery
        return publish(*given, **more)

    async def answer(request: web.Request) -> web.Response:
        left.set()
        return web.Response()

    receiver.answers["/hook"] = answer
    made.delivery(made.endpoint(f"{receiver.url}/hook"), made.event())
    monkeypatch.setattr(outbox, "publish", slowly)

    assert made.work().delivered == 1


def test_one_batch_is_sent_while_the_next_is_published(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    publish, left, calls, in_time = outbox.publish, threading.Event(), itertools.count(), []

    def one_by_one(**given: Any) -> int:
        if next(calls) == 2:  # the second call, during the run
            in_time.append(left.wait(5))
        return publish(**given | {"limit": 1})

    async def answer(request: web.Request) -> web.Response:
        if len(receiver.at("/hook")) == 2:
            left.set()
        return web.Response()

    receiver.answers["/hook"] = answer
    made.endpoint(f"{receiver.url}/hook")
    for _ in range(3):
        made.event()
    monkeypatch.setattr(outbox, "publish", one_by_one)
    monkeypatch.setattr(delivery, "_LONGEST_PAUSE", 20.0)

    assert made.work().delivered == 3
    assert in_time == [True]


def test_what_is_published_as_a_shift_ends_counts(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = outbox.publish

    def slowly(*given: Any, **more: Any) -> int:
        time.sleep(1)
        return publish(*given, **more)

    made.endpoint(f"{receiver.url}/hook")
    made.event()
    publish(at=NOW)
    monkeypatch.setattr(outbox, "publish", slowly)
    made.event()

    assert made.work(for_seconds=0.1) == delivery.RunSummary(published=1, attempted=1, delivered=1)
    assert made.work() == delivery.RunSummary(attempted=1, delivered=1)


def test_more_than_one_claim_holds_leaves_in_one_shift(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "BATCH_SIZE", 2)
    made.endpoint(f"{receiver.url}/hook")
    with transaction.atomic():
        for _ in range(7):
            made.event()

    assert made.work() == delivery.RunSummary(published=7, attempted=7, delivered=7)


def test_a_lane_for_one_at_a_time_is_emptied_in_one_shift(receiver: Receiver) -> None:
    made.endpoint(f"{receiver.url}/hook", max_in_flight=1)
    with transaction.atomic():
        for _ in range(5):
            made.event()

    assert made.work().delivered == 5


def test_a_shift_with_no_room_left_goes_on_until_there_is(receiver: Receiver) -> None:
    async def take_time(request: web.Request) -> web.Response:
        await asyncio.sleep(0.1)
        return web.Response()

    receiver.answers["/hook"] = take_time
    made.endpoint(f"{receiver.url}/hook")
    with transaction.atomic():
        for _ in range(9):
            made.event()

    assert made.work(slots=2).delivered == 9


def test_lasting_database_outage_ends_run_and_lease_recovers_it(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*given: Any, **more: Any) -> int:
        raise OperationalError

    monkeypatch.setattr(delivery, "record_attempts", away)
    monkeypatch.setattr(delivery, "RECORD_WITHIN", 0.0)
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    with pytest.raises(OperationalError):
        made.work(for_seconds=0.5)

    row = Delivery.objects.get()
    assert row.status == "in_flight"
    assert row.lease_until is not None
    assert delivery.release_expired_leases(at=row.lease_until) == 1
    monkeypatch.undo()
    Delivery.objects.update(due_at=made.due_now())
    assert made.work().delivered == 1


def test_the_tasks_do_what_the_clock_asks_of_them(receiver: Receiver, settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS, settings.WEBHOOK_PLAIN_HTTP = made.LOOPBACK.networks, True
    made.endpoint(f"{receiver.url}/hook")
    made.event()

    for task in (tasks.deliver, tasks.sweep, tasks.watch, tasks.recover, tasks.clean_up, tasks.purge):
        task()

    assert Delivery.objects.get().status == "delivered"


def test_fast_application_clock_does_not_release_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = delivery.DatabaseClock()
    made.endpoint()
    made.event()
    outbox.publish(at=clock())
    delivery.claim(at=clock(), limit=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: clock() + 2 * delivery.LEASE)

    tasks.sweep()

    assert Delivery.objects.get().status == "in_flight"
