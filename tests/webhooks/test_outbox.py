"""Matching of events to endpoints."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection, transaction

from apps.events.models import Event, OutboxEntry
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.rules.schedule import MAX_AGE
from apps.webhooks.services.outbox import PUBLISHER_LOCK, publish
from tests.factories import NOW, ApiClientFactory, FacilityFactory, TransportProviderFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db


def _told(endpoint: Endpoint) -> list[UUID]:
    return list(Delivery.objects.filter(endpoint=endpoint).order_by("pk").values_list("event_id", flat=True))


def test_every_recorded_event_enters_the_outbox_even_from_sql() -> None:
    one = made.event()
    Event.objects.bulk_create(
        Event(type="ride.started", subject_type="ride", subject_id=uuid4(), sequence=1, occurred_at=NOW, actor="sql")
        for _ in range(2)
    )

    waiting = list(OutboxEntry.objects.order_by("pk").values_list("event_id", flat=True))

    assert waiting[0] == one.pk
    assert set(waiting) == set(Event.objects.values_list("pk", flat=True))


def test_a_delivery_is_due_at_once_and_has_three_days() -> None:
    endpoint = made.endpoint(ordering="subject")
    event = made.event(sequence=7)

    assert publish(at=NOW) == 1

    row = Delivery.objects.get()
    assert (row.endpoint_id, row.event_id, row.event_type) == (endpoint.pk, event.pk, "ride.completed")
    assert (row.subject_id, row.subject_sequence, row.ordered) == (event.subject_id, 7, True)
    assert (row.status, row.priority, row.trigger, row.round, row.attempts, row.claims) == (
        "pending", 0, "event", 0, 0, 0,
    )  # fmt: skip
    assert (row.due_at, row.created_at, row.expires_at) == (NOW, NOW, NOW + MAX_AGE)
    assert row.pk.version == 7
    assert OutboxEntry.objects.count() == 0


@pytest.mark.parametrize(
    ("types", "hears"),
    [
        (["ride.completed"], True),
        (["ride.*"], True),
        (["*"], True),
        (["driver.*", "ride.completed"], True),
        (["ride.started"], False),
        (["driver.*"], False),
    ],
)
def test_a_subscription_names_types_families_or_everything(types: list[str], hears: bool) -> None:
    endpoint = made.endpoint(event_types=types)
    event = made.event("ride.completed")

    publish(at=NOW)

    assert _told(endpoint) == ([event.pk] if hears else [])


def test_an_endpoint_bound_to_facilities_hears_of_theirs_alone() -> None:
    here, there = FacilityFactory.create(), FacilityFactory.create()
    bound, free = made.endpoint(facility_ids=[here.pk]), made.endpoint()
    ours, theirs, nobodys = (made.event(facility_id=one) for one in (here.pk, there.pk, None))

    publish(at=NOW)

    assert _told(bound) == [ours.pk]
    assert set(_told(free)) == {ours.pk, theirs.pk, nobodys.pk}


def test_an_endpoint_bound_to_providers_hears_of_theirs_alone() -> None:
    ours, theirs = TransportProviderFactory.create(), TransportProviderFactory.create()
    bound = made.endpoint(provider_ids=[ours.pk])
    event, _ = made.event(provider_id=ours.pk), made.event(provider_id=theirs.pk)

    publish(at=NOW)

    assert _told(bound) == [event.pk]


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        ({"state": "active"}, "pending"),
        ({"state": "paused"}, "held"),
        ({"state": "disabled"}, "held"),
        ({"state": "pending"}, None),
        ({"state": "active", "deleted_at": NOW}, None),
    ],
)
def test_what_becomes_of_an_event_depends_on_the_endpoints_state(columns: dict[str, Any], status: str | None) -> None:
    made.endpoint(**columns)
    made.event()

    publish(at=NOW)

    assert [row.status for row in Delivery.objects.all()] == ([] if status is None else [status])


def test_the_events_of_a_client_that_is_switched_off_are_held() -> None:
    made.endpoint(client=ApiClientFactory.create(active=False))
    made.event()

    publish(at=NOW)

    assert Delivery.objects.get().status == "held"


def test_client_events_reach_that_client_and_the_operator() -> None:
    client, other = ApiClientFactory.create(), ApiClientFactory.create()
    failing = made.endpoint(client=client)
    own, foreign, operators = made.endpoint(client=client), made.endpoint(client=other), made.endpoint()
    about = {"subject_type": "endpoint", "subject_id": failing.pk, "data": {"clientId": str(client.pk)}}
    event = made.event("webhook.endpoint.failing", **about)
    token = made.event("token.expiring", subject_type="token", data={"clientId": str(other.pk)})

    publish(at=NOW)

    assert _told(failing) == []  # no event about an endpoint is sent to itself
    assert _told(own) == [event.pk]
    assert _told(foreign) == [token.pk]
    assert _told(operators) == [event.pk, token.pk]


def test_client_events_reach_its_endpoints_despite_bounds() -> None:
    client, other = ApiClientFactory.create(), ApiClientFactory.create()
    here, ours = FacilityFactory.create(), TransportProviderFactory.create()
    bound = made.endpoint(client=client, facility_ids=[here.pk], provider_ids=[ours.pk])
    foreign = made.endpoint(client=other, facility_ids=[here.pk])
    data = {"clientId": str(client.pk)}
    failing = made.event("webhook.endpoint.failing", subject_type="endpoint", data=data)
    token = made.event("token.expiring", subject_type="token", data=data)
    made.event("driver.updated", subject_type="driver", data=data)

    publish(at=NOW)

    assert (_told(bound), _told(foreign)) == ([failing.pk, token.pk], [])


def test_a_test_is_for_one_endpoint_and_never_published() -> None:
    made.endpoint()
    made.event("webhook.test", subject_type="endpoint", data={"clientId": "None"})

    assert publish(at=NOW) == 1

    assert Delivery.objects.count() == 0


def test_oldest_events_are_published_first_up_to_the_limit() -> None:
    endpoint = made.endpoint()
    events = [made.event() for _ in range(3)]

    taken = [publish(at=NOW, limit=2), publish(at=NOW + dt.timedelta(seconds=1), limit=2), publish(at=NOW, limit=2)]

    assert taken == [2, 1, 0]
    due = Delivery.objects.filter(endpoint=endpoint).order_by("due_at", "pk")
    assert [row.event_id for row in due] == [event.pk for event in events]


def test_a_second_publisher_takes_nothing() -> None:
    made.endpoint()
    made.event()

    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [PUBLISHER_LOCK])
        meanwhile = publish(at=NOW)
        cursor.execute("SELECT pg_advisory_unlock(%s)", [PUBLISHER_LOCK])

    assert (meanwhile, publish(at=NOW)) == (0, 1)


def test_publishing_that_is_undone_is_done_again() -> None:
    made.endpoint()
    made.event()

    with transaction.atomic():
        publish(at=NOW)
        transaction.set_rollback(True)

    assert (Delivery.objects.count(), publish(at=NOW), Delivery.objects.count()) == (0, 1, 1)


@pytest.mark.parametrize("count", [1, 30])
def test_publishing_asks_as_often_for_many_as_for_one(count: int, django_assert_num_queries: Any) -> None:
    for _ in range(count):
        made.endpoint()
        made.event()

    with django_assert_num_queries(6):  # a savepoint and its end among them
        publish(at=NOW, limit=count)

    assert Delivery.objects.count() == count * count


def test_the_outbox_is_vacuumed_early() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = 'events_outboxentry'")
        (options,) = cursor.fetchone()

    assert "autovacuum_vacuum_scale_factor=0.01" in options


def test_database_ids_are_version_7_and_sorted_by_creation() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT webhooks_new_id(), pg_sleep(0.00001) FROM generate_series(1, 200)")
        ids = [row[0] for row in cursor.fetchall()]

    assert ids == sorted(ids)
    assert len(set(ids)) == 200
    assert {(one.version, one.variant) for one in ids} == {(7, "specified in RFC 4122")}


def test_events_from_before_the_endpoint_are_not_delivered() -> None:
    event = made.event()
    late = made.endpoint(created_at=event.recorded_at + dt.timedelta(minutes=2))
    near = made.endpoint(created_at=event.recorded_at + dt.timedelta(seconds=50))

    publish(at=NOW)

    assert (_told(late), _told(near)) == ([], [event.pk])


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_event_published_during_resume_is_not_left_held() -> None:
    endpoint = made.endpoint(state="paused")
    made.event()
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            Endpoint.objects.filter(pk=endpoint.pk).update(state="active")
            publishing = other.submit(_publish_and_close)
            with pytest.raises(TimeoutError):
                publishing.result(0.5)  # it waits
        assert publishing.result(5) == 1

    assert Delivery.objects.get().status == "pending"


def _publish_and_close() -> int:
    try:
        return publish(at=NOW)
    finally:
        connection.close()


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_publish_waits_for_a_locked_endpoint_and_loses_nothing() -> None:
    endpoint, _ = made.endpoint(), made.endpoint()
    made.event()

    with ThreadPoolExecutor(1) as other, transaction.atomic():
        Endpoint.objects.filter(pk=endpoint.pk).update(name="Other")
        publishing = other.submit(_publish_impatiently)
        with pytest.raises(OperationalError, match="lock timeout"):
            publishing.result(5)

    assert Delivery.objects.count() == 0
    assert (publish(at=NOW), Delivery.objects.count()) == (1, 2)


def _publish_impatiently() -> int:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")
        return publish(at=NOW)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")  # the connection goes back to the pool
        connection.close()


def test_sessions_have_statement_lock_and_idle_timeouts() -> None:
    bounds = {}
    with connection.cursor() as cursor:
        for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            cursor.execute(f"SHOW {name}")
            (bounds[name],) = cursor.fetchone()

    assert bounds == {
        "statement_timeout": "10s",
        "lock_timeout": "5s",
        "idle_in_transaction_session_timeout": "30s",
    }
