"""Recovery of missed events: counted, started, monitored."""

import datetime as dt
from typing import Any

import pytest

from apps.webhooks.models import Delivery, Endpoint, Job
from apps.webhooks.services import recovery
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

SINCE = {"since": "2026-11-19T09:00", "statuses": ["exhausted", "held"]}  # in the zone of the page


def _page(endpoint: Endpoint, more: str = "recover/") -> str:
    return f"/console/developers/endpoints/{endpoint.pk}/{more}"


def _missed(endpoint: Endpoint, count: int = 2) -> None:
    for _ in range(count):
        event = made.event_at(NOW - dt.timedelta(hours=1))
        made.delivery(endpoint, event, status="exhausted", ended_at=NOW)


def test_form_begins_where_the_failing_began() -> None:
    failing = made.endpoint(health={"failing_since": NOW - dt.timedelta(hours=5, seconds=7)})
    well = made.endpoint()
    client = visitor()

    pages = [client.get(_page(one)).content.decode() for one in (failing, well)]

    assert 'value="2026-11-20T03:59"' in pages[0]
    assert 'value="2026-11-19T09:00"' in pages[1]


def test_count_comes_first_and_sends_nothing() -> None:
    endpoint = made.endpoint()
    _missed(endpoint)
    made.delivery(endpoint, made.event_at(NOW - dt.timedelta(hours=2)), status="held")

    response = visitor().get(_page(endpoint), SINCE | {"until": "2026-11-20T09:01"})

    page = text_of(response)
    assert "3 events would be sent again Recorded from Thu, Nov 19, 09:00 until Fri, Nov 20, 09:01 ." in page
    assert "Given up 2 Held while nothing was sent 1 Send 3 events" in page
    assert (Job.objects.count(), Delivery.objects.filter(status="pending").count()) == (0, 0)


def test_what_was_counted_is_sent_and_watched() -> None:
    endpoint = made.endpoint()
    _missed(endpoint)
    client = visitor()
    form = client.get(_page(endpoint), SINCE | {"until": "2026-11-20T09:01"}).context

    started = client.post(
        _page(endpoint),
        {"since": form["form"]["since"].value(), "until": form["until_text"], "statuses": ["exhausted"]},
        follow=True,
    )

    job = Job.objects.get()
    watched = client.get(_page(endpoint, "recoveries/"))
    assert "The recovery has begun: 2 events." in text_of(started)
    assert Delivery.objects.filter(trigger="replay", status="pending").count() == 2
    assert (job.done, job.total, job.params["until"]) == (2, 2, "2026-11-20T15:01:00Z")
    assert "Running 2 of 2 events" in text_of(watched)
    assert "data-poll" in watched.content.decode()


@pytest.mark.parametrize(("state", "says"), [("done", "All are on their way"), ("cancelled", "Canceled")])
def test_recovery_that_is_over_is_looked_at_no_more(state: str, says: str) -> None:
    endpoint = made.endpoint()
    known: dict[str, Any] = {"params": {}, "total": 3, "created_by": "system", "created_at": NOW, "updated_at": NOW}
    Job.objects.create(endpoint=endpoint, state=state, **known)

    watched = visitor().get(_page(endpoint, "recoveries/"))

    assert says in text_of(watched)
    assert "data-poll" not in watched.content.decode()


def test_count_that_ended_early_says_so_and_sends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "MAX_COUNTED", 1)
    endpoint = made.endpoint()
    _missed(endpoint)

    page = text_of(visitor().get(_page(endpoint), SINCE))

    assert "At least: 1 event would be sent again" in page
    assert "There may be more: only the first 1 events of this time were looked at." in page
    assert "Send all of them" in page


@pytest.mark.parametrize(("rate", "says"), [(1, "one per second."), (25, "25 per second.")])
def test_pages_say_how_fast_it_goes(settings: Any, rate: int, says: str) -> None:
    settings.WEBHOOK_REPLAYS_PER_SECOND = rate
    endpoint = made.endpoint(state="paused", state_reason="paused")
    made.delivery(endpoint, made.event(), status="held")
    client = visitor()

    assert f"They are sent after new events, {says}" in text_of(client.get(_page(endpoint)))
    assert f"Sent after new events, {says}" in text_of(client.get(_page(endpoint, "")))


def test_nothing_that_was_missed_is_nothing_to_send() -> None:
    endpoint = made.endpoint()
    client = visitor()

    counted = client.get(_page(endpoint), SINCE)
    started = client.post(_page(endpoint), SINCE, follow=True)

    assert "0 events would be sent again" in text_of(counted)
    assert "There is nothing to send again." in text_of(started)


def test_endpoint_that_is_not_active_is_to_be_resumed_first() -> None:
    endpoint = made.endpoint(state="paused", state_reason="paused")
    _missed(endpoint)
    client = visitor()

    counted = client.get(_page(endpoint), SINCE)
    started = client.post(_page(endpoint), SINCE)

    assert "Resume it first." in text_of(counted)
    assert (started.status_code, "Resume the endpoint first." in text_of(started)) == (422, True)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("asked", "name", "says"),
    [
        ({"since": "2026-10-01T09:00"}, "since", "Events since must be within the last 30 days."),
        ({"until": "2026-11-01T09:00"}, "until", "Until must be after events since."),
        ({"since": "yesterday"}, "since", "Enter a valid date/time."),
        ({"statuses": []}, "statuses", "This field is required."),
    ],
)
def test_span_that_is_none_is_refused_by_its_field(asked: dict[str, Any], name: str, says: str) -> None:
    response = visitor().get(_page(made.endpoint()), SINCE | asked)

    assert response.status_code == 422
    assert response.context["form"].errors[name] == [says]
