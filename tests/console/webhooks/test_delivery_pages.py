"""Pages of deliveries: search, detail, resending, cancellation."""

import datetime as dt
import json
from typing import Any
from uuid import uuid4

import pytest
from django.utils.html import escape

from apps.accounts.rules.roles import PHI_OF_USER, UserRole
from apps.audit.models import AuditEntry
from apps.webhooks.models import Attempt, Delivery, Endpoint
from lib.access import Phi
from tests import factories
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

LIST = "/console/developers/deliveries/"


def _page(delivery: Delivery, more: str = "") -> str:
    return f"{LIST}{delivery.pk}/{more}"


def _delivered(endpoint: Endpoint, **columns: Any) -> Delivery:
    return made.delivery(endpoint, made.event(), **({"status": "delivered", "ended_at": NOW} | columns))


def _found(query: dict[str, Any]) -> set[Any]:
    return {row["delivery"].pk for row in visitor().get(LIST, query).context["rows"]}


@pytest.mark.parametrize("count", [1, 3])
def test_list_asks_the_same_however_many_deliveries(django_assert_num_queries: Any, count: int) -> None:
    for _ in range(count):
        _delivered(made.endpoint())
    client = visitor()

    # session, user, endpoints of the filter, list preferences, deliveries, views, open alerts
    with django_assert_num_queries(7):
        client.get(LIST)


def test_list_tells_what_came_of_each() -> None:
    endpoint = made.endpoint()
    _delivered(endpoint, last_code=204, attempts=1)
    made.delivery(endpoint, made.event("ride.started"), attempts=2, last_error="dns", trigger="resend")

    page = text_of(visitor().get(LIST))

    assert "ride.started Sent again by a user Waiting Interface engine Fri, Nov 20, 09:00:00 2" in page
    assert "2 The name was not found Fri, Nov 20, 09:00:00" in page
    assert "ride.completed Delivered Interface engine Fri, Nov 20, 09:00:00 1 204" in page


def test_deliveries_filter_by_endpoint_status_event_ride_and_day() -> None:
    ride = uuid4()
    one = made.delivery(made.endpoint(), made.event("ride.started", subject_id=ride), created_at=NOW)
    two = _delivered(made.endpoint(), created_at=NOW - dt.timedelta(days=1))

    assert _found({"endpoint": str(one.endpoint_id)}) == {one.pk}
    assert _found({"status": "delivered"}) == {two.pk}
    assert _found({"type": "ride.started"}) == {one.pk}
    assert _found({"type": "ride.*"}) == {one.pk, two.pk}
    assert _found({"ride": str(ride)}) == {one.pk}
    assert _found({"event": str(two.event_id)}) == {two.pk}
    assert _found({"since": "2026-11-20"}) == {one.pk}
    assert _found({"until": "2026-11-19"}) == {two.pk}


def test_days_of_the_filter_are_those_of_the_page() -> None:
    late = dt.datetime(2026, 11, 20, 5, 59, tzinfo=dt.UTC)  # the 19th in Chicago
    one = _delivered(made.endpoint(), created_at=late)

    assert _found({"until": "2026-11-19"}) == {one.pk}
    assert _found({"since": "2026-11-20"}) == set()


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("day", ["0001-01-01", "1999-12-31", "2200-01-01", "9999-12-31"])
def test_day_where_the_calendar_ends_is_refused_by_its_field(name: str, day: str) -> None:
    response = visitor().get(LIST, {name: day})

    assert response.status_code == 200
    assert list(response.context["form"].errors) == [name]
    assert "Correct the filter above." in text_of(response)


def test_deliveries_are_listed_in_both_orders_and_page_sizes() -> None:
    endpoint = made.endpoint()
    every = [made.delivery(endpoint, made.event()).pk for _ in range(52)]
    client = visitor()

    for sort, expected in (("", every[::-1]), ("created", every)):
        first = client.get(LIST, {"sort": sort})
        second = client.get(LIST, {"sort": sort, "after": first.context["next"]})
        rows = [row["delivery"].pk for page in (first, second) for row in page.context["rows"]]
        assert (len(first.context["rows"]), rows, second.context["next"]) == (50, expected, "")
    assert len(client.get(LIST, {"rows": "100"}).context["rows"]) == 52


def test_filter_that_is_wrong_and_lists_without_rows_say_so() -> None:
    client = visitor()

    assert "Enter a ride id." in text_of(client.get(LIST, {"ride": "Ada"}))
    assert "Enter an event id" in text_of(client.get(LIST, {"event": "Ada"}))
    assert "No deliveries yet." in text_of(client.get(LIST))
    assert "No deliveries match this filter." in text_of(client.get(LIST, {"status": "held"}))


def test_page_shows_attempts_with_escaped_request_and_response() -> None:
    endpoint = made.endpoint()
    endpoint.headers_text = json.dumps({"Authorization": "Basic eDp5"})
    endpoint.save()
    delivery = made.delivery(endpoint, made.event("ride.started"), attempts=1)
    Attempt.objects.create(
        delivery=delivery,
        endpoint_id=endpoint.pk,
        number=1,
        started_at=NOW,
        duration_ms=31,
        code=500,
        error="http_5xx",
        response_headers={"server": "<i>nginx</i>"},
        response_snippet="<script>alert(1)</script>",
        remote_ip="192.0.2.7",
        worker="w",
    )
    lost = {"number": 0, "started_at": NOW, "duration_ms": 0, "error": "lost_worker", "worker": ""}
    Attempt.objects.create(delivery=delivery, endpoint_id=endpoint.pk, **lost)
    Attempt.objects.create(delivery=delivery, endpoint_id=endpoint.pk, **(lost | {"error": "render"}))

    response = visitor().get(_page(delivery))

    page, raw = text_of(response), response.content.decode()
    assert "500 Attempt 1 , Fri, Nov 20, 09:00:00 , 31 ms" in page.replace("1, Fri", "1 , Fri")
    assert "The worker ended before the answer Possibly sent" in page
    assert "The body could not be made Not sent" in page
    assert "Authorization (not shown)" in page
    assert f"webhook-id {delivery.event_id}" in page
    assert "from 192.0.2.7" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in raw
    assert "&lt;i&gt;nginx&lt;/i&gt;" in raw
    assert "<script>alert" not in raw
    assert "eDp5" not in raw
    assert f'"rideId": "{delivery.subject_id}"' in page
    assert "The rider is on board." in page


def test_page_shows_other_deliveries_of_the_event() -> None:
    delivery = _delivered(made.endpoint(), last_code=204)
    again = made.delivery(delivery.endpoint, delivery.event, round=1, trigger="resend")

    page = visitor().get(_page(delivery)).content.decode()

    assert f'href="{_page(again)}"' in page


def test_body_that_nobody_made_before_the_end_was_never_made() -> None:
    delivery = made.delivery(made.endpoint(), made.event("ride.teleported"), status="cancelled", ended_at=NOW)

    assert "Never created." in text_of(visitor().get(_page(delivery)))


def test_empty_list_says_how_long_deliveries_are_kept(settings: Any) -> None:
    settings.DELIVERY_RETENTION_DAYS = 45

    assert "They are kept for 45 days." in text_of(visitor().get(LIST, {"status": "held"}))


def test_delivery_of_a_kind_that_is_told_of_no_more_is_shown() -> None:
    delivery = made.delivery(made.endpoint(), made.event("ride.teleported"))

    response = visitor().get(_page(delivery))

    assert response.status_code == 200
    assert "Not created yet." in text_of(response)


@pytest.mark.parametrize(
    ("columns", "every"),
    [
        ({"due_at": NOW}, 1000),
        ({"due_at": NOW + dt.timedelta(minutes=5)}, 15_000),
        ({"status": "in_flight", "claim_id": uuid4(), "lease_until": NOW}, 1000),
        ({"status": "delivered", "ended_at": NOW}, 0),
    ],
    ids=["due", "later", "on its way", "ended"],
)
def test_progress_is_asked_for_as_often_as_something_happens(columns: dict[str, Any], every: int) -> None:
    delivery = made.delivery(made.endpoint(), made.event(), **columns)

    page = visitor().get(_page(delivery, "progress/")).content.decode()

    assert (f'data-every="{every}"' in page) == (every > 0)
    assert ("data-poll" in page) == (every > 0)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({}, "Fri, Nov 20, 09:10:00 The endpoint failed several times in a row."),
        ({"due_at": NOW + dt.timedelta(minutes=20)}, "Next attempt Fri, Nov 20, 09:20:00 Attempts"),
        ({"trigger": "test"}, "Next attempt Fri, Nov 20, 09:00:00 Attempts"),
    ],
    ids=["due", "later than that", "a test"],
)
def test_page_shows_next_retry_time_of_an_endpoint_on_hold(columns: dict[str, Any], says: str) -> None:
    health = {"failing_since": NOW, "open_count": 3, "open_until": NOW + dt.timedelta(minutes=10)}
    delivery = made.delivery(made.endpoint(health=health), made.event(), **columns)

    response = visitor().get(_page(delivery, "progress/"))

    assert says in text_of(response)
    assert ('data-every="1000"' in response.content.decode()) == ("trigger" in columns)


def _whole_ride(text: str = "Ada Canary") -> Delivery:
    ride = factories.RideFactory.create()
    endpoint = made.endpoint(payload_level="full-resource")
    delivery = _delivered(endpoint, event=made.event(subject_id=ride.pk), subject_id=ride.pk)
    delivery.body_text, delivery.body_level = json.dumps({"data": {"ride": {"rider": text}}}), "full-resource"
    delivery.save()
    Attempt.objects.create(
        delivery=delivery,
        endpoint_id=endpoint.pk,
        number=1,
        started_at=NOW,
        duration_ms=1,
        code=204,
        response_snippet=f"got {text}",
        worker="w",
    )
    return delivery


def test_full_ride_body_is_hidden_without_rider_access() -> None:
    delivery = _whole_ride()

    response = visitor().get(_page(delivery))

    assert "Canary" not in response.content.decode()
    assert "The response is hidden" in text_of(response)
    assert "shown only to users with access to rider data" in text_of(response)
    assert not AuditEntry.objects.filter(action="webhooks.read_delivery").exists()


def test_full_ride_body_is_shown_with_access_and_is_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PHI_OF_USER, UserRole.ADMIN, Phi.FULL)
    delivery = _whole_ride()
    client = visitor()

    response = client.get(_page(delivery))

    assert '"rider": "Ada Canary"' in text_of(response)
    assert "got Ada Canary" in text_of(response)
    entry = AuditEntry.objects.get(action="webhooks.read_delivery")
    assert (entry.subject_id, len(entry.rider_ids), entry.phi) == (delivery.pk, 1, "full")


def test_own_reference_of_a_booker_is_not_shown_below_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = _delivered(made.endpoint(payload_level="summary"))
    delivery.body_text = json.dumps({"data": {"clientReference": "Ada Canary", "status": "completed"}})
    delivery.save()
    client = visitor()

    hidden = text_of(client.get(_page(delivery)))
    monkeypatch.setitem(PHI_OF_USER, UserRole.ADMIN, Phi.LIMITED)
    shown = text_of(client.get(_page(delivery)))

    assert '"status": "completed"' in hidden
    assert "Canary" not in hidden
    assert '"clientReference": "Ada Canary"' in shown


def test_response_that_may_repeat_reference_is_hidden_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = _delivered(made.endpoint(payload_level="summary"))
    delivery.body_text = json.dumps({"data": {"clientReference": "Ada Canary"}})
    delivery.save()
    echo = {"server": "nginx", "location": "https://hooks.example.org/?ref=Ada+Canary"}
    Attempt.objects.create(
        delivery=delivery, endpoint_id=delivery.endpoint_id, number=1, started_at=NOW, duration_ms=1, code=200,
        response_headers=echo, response_snippet="got Ada Canary", worker="w",
    )  # fmt: skip
    client = visitor()

    hidden = [text_of(client.get(_page(delivery, more))) for more in ("", "progress/")]
    monkeypatch.setitem(PHI_OF_USER, UserRole.ADMIN, Phi.LIMITED)
    shown = text_of(client.get(_page(delivery)))

    for page in hidden:
        assert "Canary" not in page
        assert "nginx" in page
        assert "The response is hidden because it may contain rider data." in page
    assert "got Ada Canary" in shown
    assert "?ref=Ada+Canary" in shown


def test_what_was_given_up_is_sent_again_at_once() -> None:
    delivery = made.delivery(made.endpoint(), made.event(), status="exhausted", ended_at=NOW)

    answer = visitor().post(_page(delivery, "resend/"), follow=True)

    again = Delivery.objects.exclude(pk=delivery.pk).get()
    assert answer.redirect_chain == [(_page(again), 302)]
    assert (again.event_id, again.trigger, again.status) == (delivery.event_id, "resend", "pending")
    assert "It is sent again now." in text_of(answer)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"status": "delivered", "ended_at": NOW}, "It arrived before"),
        ({"due_at": NOW + dt.timedelta(hours=1)}, "An attempt is due anyway"),
    ],
    ids=["delivered", "retry scheduled"],
)
def test_resend_needs_confirmation_when_it_would_duplicate(columns: dict[str, Any], says: str) -> None:
    delivery = made.delivery(made.endpoint(), made.event(), **columns)
    client = visitor()

    asked = client.post(_page(delivery, "resend/"))
    before = list(Delivery.objects.values_list("pk", "due_at"))
    meant = client.post(_page(delivery, "resend/"), {"confirm": "yes"})

    assert says in text_of(asked)
    assert before == [(delivery.pk, delivery.due_at)]
    assert meant.status_code == 302
    assert Delivery.objects.filter(status="pending", due_at=NOW).count() == 1


def test_what_is_being_sent_is_neither_sent_again_nor_cancelled() -> None:
    claim = {"status": "in_flight", "claim_id": uuid4(), "lease_until": NOW}
    delivery = made.delivery(made.endpoint(), made.event(), **claim)
    client = visitor()

    resent = client.post(_page(delivery, "resend/"), follow=True)
    cancelled = client.post(_page(delivery, "cancel/"), follow=True)

    assert "The delivery is being sent." in text_of(resent)
    assert "The delivery is being sent." in text_of(cancelled)


def test_delivery_is_cancelled() -> None:
    delivery = made.delivery(made.endpoint(), made.event())

    answer = visitor().post(_page(delivery, "cancel/"), follow=True)

    delivery.refresh_from_db()
    assert delivery.status == "cancelled"
    assert "The delivery is canceled." in text_of(answer)


def test_selected_deliveries_are_resent_and_others_are_named() -> None:
    endpoint, paused = made.endpoint(), made.endpoint(state="paused")
    ended = {"status": "exhausted", "ended_at": NOW}
    ticked = [made.delivery(one, made.event(), **ended) for one in (endpoint, endpoint, paused)]

    answer = visitor().post(f"{LIST}resend/", {"delivery": [str(one.pk) for one in ticked]}, follow=True)

    assert Delivery.objects.filter(trigger="resend").count() == 2
    assert "2 deliveries are sent again now. Not sent again: 1. Resume the endpoint first." in text_of(answer)


def test_ticked_deliveries_are_asked_about_where_one_has_arrived() -> None:
    endpoint = made.endpoint()
    ticked = [_delivered(endpoint), made.delivery(endpoint, made.event(), status="exhausted", ended_at=NOW)]
    ids = [str(one.pk) for one in ticked]
    client = visitor()

    asked = client.post(f"{LIST}resend/", {"delivery": ids})
    before = Delivery.objects.count()
    meant = client.post(f"{LIST}resend/", {"delivery": ids, "confirm": "yes"}, follow=True)

    assert "Send 2 deliveries again? 1 of them needs a second thought." in text_of(asked)
    assert (before, Delivery.objects.count()) == (2, 4)
    assert "2 deliveries are sent again now." in text_of(meant)


def test_one_that_has_arrived_is_asked_about_in_its_own_words() -> None:
    asked = visitor().post(f"{LIST}resend/", {"delivery": [str(_delivered(made.endpoint()).pk)]})

    assert "Send 1 delivery again? It arrived before: the receiver gets it a second time" in text_of(asked)


def test_ticked_deliveries_lead_back_to_the_list_as_it_was() -> None:
    filtered = f"status=exhausted&before={uuid4()}"
    given = made.delivery(made.endpoint(), made.event(), status="exhausted", ended_at=NOW)
    arrived, client = _delivered(made.endpoint()), visitor()

    listed = client.get(f"{LIST}?status=exhausted").content.decode()
    sent = client.post(f"{LIST}resend/", {"delivery": [str(given.pk)], "back": filtered})
    none = client.post(f"{LIST}resend/", {"back": filtered})
    asked = client.post(f"{LIST}resend/", {"delivery": [str(arrived.pk)], "back": filtered}).content.decode()
    strange = client.post(f"{LIST}resend/", {"back": "//elsewhere.example.org/\r\nX: y"})

    assert '<input type="hidden" name="back" value="status=exhausted">' in listed
    assert [answer["Location"] for answer in (sent, none)] == [f"{LIST}?{filtered}"] * 2
    assert f'name="back" value="{escape(filtered)}"' in asked
    assert f'href="{LIST}?{escape(filtered)}"' in asked
    assert strange["Location"].startswith(f"{LIST}?%2F%2F")


def test_nothing_ticked_is_nothing_sent() -> None:
    answer = visitor().post(f"{LIST}resend/", {"delivery": ["no id"]}, follow=True)

    assert "Select the deliveries to send again." in text_of(answer)


def test_ticked_deliveries_that_are_gone_are_counted_as_such() -> None:
    answer = visitor().post(f"{LIST}resend/", {"delivery": [str(uuid4())]}, follow=True)

    assert "Not sent again: 1. There is no such webhook delivery." in text_of(answer)
