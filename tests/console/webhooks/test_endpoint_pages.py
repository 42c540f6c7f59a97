"""List of endpoints and page of an endpoint: health and actions."""

import datetime as dt
from typing import Any

import pytest
import time_machine

from apps.console.webhooks import labels
from apps.console.webhooks.views import sparkline
from apps.webhooks.models import Attempt, Delivery, Endpoint
from apps.webhooks.queries.health import HourlyAttempts
from lib.pagination import newest_first
from tests import factories
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

LIST = "/console/developers/endpoints/"


def _page(endpoint: Endpoint, more: str = "") -> str:
    return f"{LIST}{endpoint.pk}/{more}"


def _tried(delivery: Delivery, *, minutes: int, code: int | None = 204, **columns: Any) -> Attempt:
    known = {
        "number": 1,
        "duration_ms": 40,
        "response_headers": {},
        "worker": "w",
        "started_at": NOW - dt.timedelta(minutes=minutes),
    }
    return Attempt.objects.create(delivery=delivery, endpoint_id=delivery.endpoint_id, code=code, **(known | columns))


def test_list_tells_how_each_endpoint_does() -> None:
    client = factories.ApiClientFactory.create(name="Record system")
    made.endpoint(name="Well", client=client, health={"last_success_at": NOW - dt.timedelta(minutes=2)})
    failing = made.endpoint(name="Ailing", health={"failing_since": NOW - dt.timedelta(hours=2)})
    _tried(made.delivery(failing, made.event(), status="held"), minutes=30)
    _tried(made.delivery(failing, made.event()), minutes=30, code=500, duration_ms=140)

    page = text_of(visitor().get(LIST))

    assert page.index("Ailing") < page.index("Well"), "what fails is first"
    assert "Failing Failing since Fri, Nov 20, 07:00 , 2 h ago" in page
    assert "1 1 90 / 135" in page
    assert "Record system Active Fri, Nov 20, 08:58 , 2 min ago 0 0 \N{EN DASH}" in page


@pytest.mark.parametrize("count", [1, 3])
def test_list_asks_the_same_however_many_endpoints(django_assert_num_queries: Any, count: int) -> None:
    for _ in range(count):
        made.endpoint()
    client = visitor()

    with django_assert_num_queries(
        8
    ):  # session, user, endpoints, failing, circuit_breaker, waiting, hours, open alerts
        client.get(LIST)


def _listed(**asked: str) -> list[str]:
    response = visitor().get(LIST, asked)
    return [row["health"].endpoint.name for row in response.context["rows"]]


def test_what_fails_comes_first_on_the_first_page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_first, "__kwdefaults__", {"size": 1})
    made.endpoint(name="ailing", health={"failing_since": NOW})
    made.endpoint(name="switched off", state="disabled", health={"failing_since": NOW})
    made.endpoint(name="ailing too", health={"failing_since": NOW})
    newest = made.endpoint(name="well")

    assert _listed() == ["ailing too", "ailing", "well"]
    assert _listed(before=str(newest.pk)) == ["switched off"]


def test_endpoints_filter_by_state_own_name_and_client_name() -> None:
    client = factories.ApiClientFactory.create(name="Record system")
    made.endpoint(name="Engine north", client=client)
    made.endpoint(name="Engine south", state="paused", state_reason="paused")
    made.endpoint(name="Billing", health={"failing_since": NOW})

    assert _listed(sought="engine") == ["Engine south", "Engine north"]
    assert _listed(sought="RECORD") == ["Engine north"]
    assert _listed(state="paused") == ["Engine south"]
    assert _listed(state="active") == ["Billing", "Engine north"]
    assert _listed(state="failing") == ["Billing"]
    assert _listed(state="failing", sought="engine") == []


def test_filter_that_finds_nothing_and_one_that_is_none_say_so() -> None:
    made.endpoint()
    client = visitor()

    nothing, wrong = client.get(LIST, {"sought": "nowhere"}), client.get(LIST, {"state": "asleep"})

    assert "No endpoints match this filter. Clear the filter" in text_of(nothing)
    assert "Correct the filter above." in text_of(wrong)
    assert "Select a valid choice. asleep is not one of the available choices." in text_of(wrong)


def test_list_without_endpoints_says_what_one_is() -> None:
    assert "No webhook endpoints yet." in text_of(visitor().get(LIST))


def test_list_goes_on_with_what_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_first, "__kwdefaults__", {"size": 1})
    older, newer = made.endpoint(name="First made"), made.endpoint(name="Last made")
    client = visitor()

    first = client.get(LIST)
    second = client.get(f"{LIST}?before={newer.pk}")

    assert (first.context["older"], second.context["older"]) == (newer.pk.hex, "")
    assert "Last made" in text_of(first)
    assert older.name not in text_of(first)
    assert "First made" in text_of(second)
    assert f"?before={newer.pk.hex}" in first.content.decode()


def test_page_shows_what_an_endpoint_is() -> None:
    facility, provider = factories.FacilityFactory.create(), factories.TransportProviderFactory.create()
    person = factories.UserFactory.create(name="Ines Roth")
    endpoint = made.endpoint(
        facility_ids=[facility.pk],
        provider_ids=[provider.pk],
        payload_level="full-resource",
        phi_agreed_by=f"user:{person.pk}",
        phi_agreed_at=NOW,
        event_types=["ride.*"],
        health={"open_count": 1, "open_until": NOW + dt.timedelta(minutes=1)},
    )
    endpoint.headers_text = '{"X-Site": "north"}'
    endpoint.save()
    _tried(made.delivery(endpoint, made.event()), minutes=3, code=None, error="timeout")

    page = text_of(visitor().get(_page(endpoint)))

    assert facility.name in page
    assert provider.name in page
    assert "Full resource Agreed by Ines Roth Fri, Nov 20, 09:00" in page
    assert "X-Site" in page
    assert "north" not in page
    assert "8 (1 now)" in page
    assert "The last attempt failed: no answer within 15 seconds. On hold until Fri, Nov 20, 09:01:00 ." in page


@pytest.mark.parametrize(
    ("state", "reason", "health", "says"),
    [
        ("pending", "", {}, "Not verified"),
        ("active", "", {}, "Active"),
        ("active", "", {"failing_since": NOW}, "Failing"),
        ("paused", "paused", {}, "Paused by a user. Events are collected."),
        ("paused", "gone", {}, "It answered 410 Gone."),
        ("paused", "unverified", {}, "The new address has not answered a test yet."),
        ("disabled", "no_success_for_days", {}, "No answer for five days."),
        ("disabled", "something else", {}, "Switched off"),
    ],
)
def test_page_says_how_an_endpoint_stands_and_why(state: str, reason: str, health: Any, says: str) -> None:
    endpoint = made.endpoint(state=state, state_reason=reason, health=health)

    assert says in text_of(visitor().get(_page(endpoint)))


def test_test_is_sent_and_its_result_shown_as_it_comes() -> None:
    endpoint = made.endpoint()
    client = visitor()
    before = client.get(_page(endpoint, "last-test/"))

    asked = client.post(_page(endpoint, "test/"))
    waiting = client.get(_page(endpoint, "last-test/"))
    test = Delivery.objects.get()
    _tried(test, minutes=0, code=None, error="connect")
    failing = client.get(_page(endpoint, "last-test/"))
    _tried(test, minutes=0, code=500, error="http_5xx", response_snippet="<b>no</b>")
    Delivery.objects.update(status="exhausted", ended_at=NOW)
    ended = client.get(_page(endpoint, "last-test/"))

    assert "No test has been sent" in text_of(before)
    assert asked["Location"] == _page(endpoint)
    assert "data-poll" in waiting.content.decode()
    assert "Sending…" in text_of(waiting)
    assert "No connection. Next attempt: Fri, Nov 20, 09:00:00" in text_of(failing)
    assert "data-poll" not in ended.content.decode()
    assert "The receiver answered 500 after 40 ms." in text_of(ended)
    assert "&lt;b&gt;no&lt;/b&gt;" in ended.content.decode()


def test_resume_offers_held_events_only_if_there_are_any() -> None:
    endpoint, client = made.endpoint(state="paused", state_reason="paused"), visitor()

    nothing = client.get(_page(endpoint))
    made.delivery(endpoint, made.event(), status="held")
    something = client.get(_page(endpoint))

    assert "No events were collected in the meantime." in text_of(nothing)
    assert '<input type="hidden" name="deliver_held" value="on">' in nothing.content.decode()
    assert "Send the 1 event that was collected" in text_of(something)
    assert "hidden" not in something.content.decode().partition('name="deliver_held"')[0].rpartition("<input")[2]


def test_endpoint_is_paused_resumed_and_removed() -> None:
    endpoint = made.endpoint()
    client = visitor()

    paused = client.post(_page(endpoint, "pause/"), follow=True)
    again = client.post(_page(endpoint, "pause/"), follow=True)
    held = made.delivery(endpoint, made.event(), status="held")
    resumed = client.post(_page(endpoint, "resume/"), follow=True)
    held.refresh_from_db()
    kept = held.status
    client.post(_page(endpoint, "pause/"))
    client.post(_page(endpoint, "resume/"), {"deliver_held": "on"})
    held.refresh_from_db()
    removed = client.post(_page(endpoint, "remove/"), follow=True)

    assert "The endpoint is paused; its events are collected." in text_of(paused)
    assert "The endpoint is paused." in text_of(again)
    assert "The endpoint is active." in text_of(resumed)
    assert (kept, held.status) == ("held", "pending")
    assert "The endpoint is removed." in text_of(removed)
    assert Endpoint.objects.get().deleted_at == NOW


def test_recent_deliveries_stand_on_the_page() -> None:
    endpoint = made.endpoint()
    made.delivery(endpoint, made.event("ride.started"), status="cancelled", ended_at=NOW)

    page = text_of(visitor().get(_page(endpoint)))

    assert "ride.started Fri, Nov 20, 09:00 , just now Canceled" in page


def test_spark_is_drawn_in_the_proportions_of_the_hours() -> None:
    hours = [HourlyAttempts(NOW, 0, 0), HourlyAttempts(NOW, 60, 0), HourlyAttempts(NOW + dt.timedelta(hours=1), 29, 1)]

    with time_machine.travel(NOW, tick=False):
        drawn = sparkline(hours)

    assert (
        'aria-label="Attempts of the last 24 hours: 89 delivered, 1 failed; most failures in the hour from 16:00"'
        in drawn
    )
    assert '<rect class="good" x="10" y="2" width="8" height="30">' in drawn
    assert '<rect class="good" x="20" y="18" width="8" height="14">' in drawn
    assert '<rect class="failed" x="20" y="16" width="8" height="2">' in drawn
    assert drawn.count("<rect") == 6
    assert "style" not in drawn


def test_spark_of_a_quiet_and_of_a_good_day_says_so() -> None:
    assert 'aria-label="No attempts in the last 24 hours"' in sparkline([HourlyAttempts(NOW, 0, 0)])
    assert 'aria-label="Attempts of the last 24 hours: 3 delivered, 0 failed"' in sparkline([HourlyAttempts(NOW, 3, 0)])


@pytest.mark.parametrize(
    ("code", "error", "says"), [(204, "", "204"), (None, "dns", "The name was not found"), (None, "", "")]
)
def test_result_is_the_status_or_why_there_is_none(code: int | None, error: str, says: str) -> None:
    assert labels.result_of(code, error) == says


def test_every_status_and_trigger_has_its_words() -> None:
    assert set(labels.STATUSES) == set(labels.MEANINGS) == set(Delivery.Status)
    assert set(labels.TRIGGERS) == set(Delivery.Trigger)
