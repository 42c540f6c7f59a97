"""Webhooks, tokens and the inbox in a real browser, with deliveries to a real receiver."""

import datetime as dt
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.sessions.models import Session
from django.db import connections
from django.utils import timezone
from playwright.sync_api import Page, expect
from standardwebhooks.webhooks import Webhook

from apps.accounts.models import Alert, ApiToken, User
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.webhooks.models import Attempt, Delivery, Endpoint
from apps.webhooks.services import recovery
from lib.scopes import Scope
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.callers import api_with
from tests.webhooks import made
from tests.webhooks.receiver import Receiver, receiving

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def desk(inspector_of: InspectorOf) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=UserRole.ADMIN))


def _tell(severity: str, title: str, minutes: int) -> None:
    alerts.raise_alert(
        kind="webhook.endpoint.failing",
        severity=severity,
        scope=Scope.WEBHOOKS_MANAGE,
        key=title,
        title=title,
        path="/console/developers/endpoints/",
        at=timezone.now() - dt.timedelta(minutes=minutes),
    )


def _day_of(endpoint: Endpoint) -> None:
    """Record a day of attempts of an endpoint, most of them successful."""
    now = timezone.now()
    one = made.delivery(endpoint, made.event(), status="delivered", ended_at=now, attempts=1, last_code=204)
    Attempt.objects.bulk_create(
        Attempt(
            delivery=one,
            endpoint_id=endpoint.pk,
            number=1,
            started_at=now - dt.timedelta(minutes=20 * number),
            duration_ms=40 + number % 30 * 9,
            code=503 if number % 17 < 3 else 204,
            error="http_5xx" if number % 17 < 3 else "",
            response_headers={"content-type": "text/html", "server": "nginx"},
            response_snippet="<h1>upstream is away</h1>" if number % 17 < 3 else "",
            remote_ip="127.0.0.1",
            worker="w1",
        )
        for number in range(70)
    )


def _scene() -> dict[str, str]:
    """Fill every page: active, failing, paused and new endpoints, deliveries of every status, tokens, alerts."""
    now = timezone.now()
    client = factories.ApiClientFactory.create(name="St. Brigid record system")
    well = made.endpoint("https://hooks.example.org/carelane/rides", health={"last_success_at": now}, client=client)
    failing = made.endpoint(
        "https://billing.example.net/inbound",
        name="Billing",
        event_types=["ride.completed", "ride.cancelled", "ride.no_show"],
        health={
            "failing_since": now - dt.timedelta(minutes=50),
            "failures": 9,
            "failures_since_success": 9,
            "open_count": 2,
            "open_until": now + dt.timedelta(minutes=3),
            "last_success_at": now - dt.timedelta(hours=1),
        },
    )
    made.endpoint("https://old.example.net/hooks", name="Old engine", state="paused", state_reason="gone")
    made.endpoint("https://new.example.net/hooks", name="Staging", state="pending", payload_level="full-resource")
    for endpoint in (well, failing):
        _day_of(endpoint)
    ended = {"ended_at": now}
    for status, more in (
        (
            "pending",
            {"attempts": 2, "last_code": 503, "last_error": "http_5xx", "due_at": now + dt.timedelta(minutes=4)},
        ),
        ("held", {}),
        ("exhausted", {"attempts": 13, "last_error": "timeout", **ended}),
        ("cancelled", ended),
        ("quarantined", {"last_error": "lost_worker", **ended}),
        ("delivered", {"attempts": 1, "last_code": 204, "trigger": "replay", **ended}),
    ):
        made.delivery(failing, made.event("ride.exception"), status=status, created_at=now, **more)
    api_with(client=client, name="production", last_used_at=now)
    token = api_with(expires_at=now + dt.timedelta(days=5), scopes=["rides:read", "events:read"]).token
    _tell("critical", "Webhook endpoint “Billing” has had no success since 2026-11-20T14:05:00Z", 50)
    _tell("warning", "A delivery was put aside", 5)
    _tell("info", "Webhook endpoint “Interface engine” answers again", 600)
    Alert.objects.filter(severity="info").update(resolved_at=now)
    shown = Delivery.objects.filter(endpoint=failing, attempts=2).get()
    Attempt.objects.filter(pk__in=Attempt.objects.filter(code=503).values("pk")[:2]).update(delivery=shown)
    return {"well": str(well.pk), "failing": str(failing.pk), "delivery": str(shown.pk), "token": str(token.pk)}


def test_pages_of_developers_are_sound(desk: Inspector) -> None:
    ids = _scene()
    developers = "/console/developers"

    found = desk.inspect(f"{developers}/endpoints/", name="endpoints")
    found += desk.inspect(f"{developers}/endpoints/add/", name="endpoint-add")
    found += desk.inspect(f"{developers}/endpoints/{ids['failing']}/", name="endpoint-failing")
    found += desk.inspect(f"{developers}/endpoints/{ids['well']}/", name="endpoint-well")
    found += desk.inspect(f"{developers}/endpoints/{ids['well']}/change/", name="endpoint-change")
    found += desk.inspect(f"{developers}/endpoints/{ids['well']}/recover/", name="recover")
    found += desk.inspect(f"{developers}/deliveries/", name="deliveries")
    found += desk.inspect(f"{developers}/deliveries/?ride=none", name="deliveries-wrong")
    found += desk.inspect(f"{developers}/deliveries/?type=driver.*", name="deliveries-none")
    found += desk.inspect(f"{developers}/deliveries/{ids['delivery']}/", name="delivery")
    found += desk.inspect(f"{developers}/tokens/", name="tokens")
    found += desk.inspect(f"{developers}/tokens/add/", name="token-add")
    found += desk.inspect(f"{developers}/tokens/{ids['token']}/", name="token")
    found += desk.inspect("/console/inbox/", name="inbox")

    assert found == [], "\n".join(found)


def test_pages_without_rows_and_without_rights_are_sound(desk: Inspector, inspector_of: InspectorOf) -> None:
    found = desk.inspect("/console/developers/endpoints/", name="endpoints-empty")
    found += desk.inspect("/console/developers/deliveries/", name="deliveries-empty")
    found += desk.inspect("/console/developers/tokens/", name="tokens-empty")
    found += desk.inspect("/console/inbox/", name="inbox-empty")
    planner = inspector_of(factories.UserFactory.create(role=UserRole.PLANNER))
    found += planner.inspect("/console/developers/endpoints/", name="endpoints-403", status=403)

    assert found == [], "\n".join(found)


def _work() -> None:
    """Deliver what is due, as a worker does."""
    _apart(made.work)


def _apart(call: Callable[[], object]) -> None:
    """Call in a separate thread: the browser's event loop runs in this one."""

    def called() -> None:
        try:
            call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(called).result()


def _shoot(desk: Inspector, page: Page, name: str) -> None:
    desk._photograph(page, name)


def test_endpoint_is_made_tried_and_its_deliveries_sent_again(desk: Inspector, receiver: Receiver) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/developers/endpoints/add/")
        page.get_by_role("textbox", name="Name").fill("Interface engine")
        page.get_by_role("textbox", name="Address").fill(f"{receiver.url}/rides")
        page.get_by_label("Find a kind").fill("dropped off")
        expect(page.get_by_role("checkbox", name="ride.started")).to_be_hidden()
        page.get_by_role("checkbox", name="ride.completed").check()
        page.get_by_role("button", name="Save and send a test").click()

        # The secret is shown once; the address is already that of the endpoint.
        secret = page.locator("#secret-text").inner_text()
        found = faults(page)
        _shoot(desk, page, "secret")
        endpoint = Endpoint.objects.get()
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/=]{44}", secret)
        assert page.url == f"{desk.url}/console/developers/endpoints/{endpoint.pk}/"

        # The test delivery is pending, and the page shows its result without a reload.
        expect(page.locator("#last-test")).to_contain_text("Waiting")
        _work()
        expect(page.locator("#last-test")).to_contain_text("The receiver answered 204")
        page.get_by_role("link", name="I have saved it").click()
        expect(page.locator("h1")).to_contain_text("Active")
        assert secret not in page.content()
        Webhook(secret).verify(receiver.got[0].body, receiver.got[0].headers)

        # An event arrives, and is sent again: another delivery of the same event.
        event = made.event()
        _work()
        page.goto(f"{desk.url}/console/developers/deliveries/?type=ride.*")
        with page.expect_navigation():
            page.locator("tbody th a").click()
        found += faults(page)
        page.get_by_text("Send again…").click()
        expect(page.get_by_text("It arrived before")).to_be_visible()
        found += faults(page)
        asked = time.monotonic()
        page.get_by_role("button", name="Send again", exact=True).click()
        expect(page.locator("#progress")).to_contain_text("Waiting")
        assert time.monotonic() - asked < 1
        stays = page.locator("#progress-status").element_handle()
        _work()
        expect(page.locator("#progress .badge").first).to_have_text("Delivered")
        expect(page.locator("#progress-status[role=status]")).to_have_text("Delivered The receiver answered 2xx.")
        assert stays.evaluate("(region) => region.isConnected")  # a replaced region would not be read out
        assert [one.headers["webhook-id"] for one in receiver.got[1:]] == [str(event.pk)] * 2
        assert page.url != page.get_by_role("link", name=re.compile(r"^\w{3}, \w{3} \d")).get_attribute("href")

        assert found == [], "\n".join(found)


def test_filter_stands_close_and_shows_an_id_in_whole(desk: Inspector) -> None:
    made.endpoint(name="The interface engine of the hospital on the north side of the river")
    asked = f"/console/developers/deliveries/?event={made.event().pk}"

    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + asked)
        beside = (
            page.get_by_role("form", name="Filter", exact=True)
            .locator("> .field")
            .evaluate_all(
                "(fields) => fields.map((one) => one.clientWidth - one.querySelector('input, select').offsetWidth)"
            )
        )
        cut = page.locator("#id_event").evaluate("(id) => id.scrollWidth - id.clientWidth")

    assert len(beside) == 7
    assert max(beside) <= 1
    assert cut <= 0


def test_several_deliveries_are_sent_again_after_a_question(desk: Inspector, receiver: Receiver) -> None:
    endpoint = made.endpoint(f"{receiver.url}/hook", event_types=["ride.*"])
    for _ in range(2):
        made.event()
    _work()

    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/developers/deliveries/?endpoint={endpoint.pk}")
        page.get_by_label("Select all on this page").check()
        page.get_by_role("button", name="Send selected again").click()
        expect(page.locator("h1")).to_have_text("Send 2 deliveries again?")
        found = faults(page)
        _shoot(desk, page, "resend")
        page.get_by_role("button", name="Send them again").click()
        expect(page.locator(".message.success")).to_have_text("2 deliveries are sent again now.")
        _work()

    assert found == [], "\n".join(found)
    assert len(receiver.got) == 4
    assert len({one.headers["webhook-id"] for one in receiver.got}) == 2


def test_secret_is_rotated_and_both_verify_for_a_while(desk: Inspector, receiver: Receiver) -> None:
    endpoint = made.endpoint(f"{receiver.url}/hook")

    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/developers/endpoints/{endpoint.pk}/")
        page.get_by_text("Rotate the secret…").click()
        opened = faults(page)
        _shoot(desk, page, "rotate")
        page.get_by_role("button", name="Rotate", exact=True).click()
        secret = page.locator("#secret-text").inner_text()
        page.reload()
        reloaded = page.content()
        page.go_back()
        gone_back = page.content()
    made.event()
    _work()

    assert opened == []
    assert secret not in reloaded + gone_back
    for one in (secret, made.SECRET):
        Webhook(one).verify(receiver.got[0].body, receiver.got[0].headers)
    assert secret not in str(Session.objects.get().get_decoded())


def test_form_that_is_refused_says_so_and_keeps_what_was_typed(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/developers/endpoints/add/")
        page.get_by_role("textbox", name="Address").fill("ftp://hooks.example.org")
        page.get_by_text("A secret of your own").click()
        page.get_by_label("Your own secret").fill("whsec_no")
        page.keyboard.press("Enter")
        expect(page.locator(".error-summary")).to_be_focused()
        found = faults(page)
        _shoot(desk, page, "endpoint-refused")
        page.locator(".error-summary a").first.click()

        assert found == [], "\n".join(found)
        assert page.get_by_role("textbox", name="Address").input_value() == "ftp://hooks.example.org"
        assert "whsec_no" not in page.content()
        assert page.evaluate("() => location.hash") == "#id_name"


def test_everything_is_done_without_script(desk: Inspector, receiver: Receiver) -> None:
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/developers/endpoints/add/")
        page.get_by_role("textbox", name="Name").fill("Interface engine")
        page.get_by_role("textbox", name="Address").fill(f"{receiver.url}/rides")
        page.get_by_label("Find a kind").fill("rider board")
        page.get_by_role("button", name="Find").click()
        expect(page.get_by_role("checkbox", name="ride.completed")).to_be_hidden()
        page.get_by_role("checkbox", name="ride.started").check()
        page.get_by_role("button", name="Save and send a test").click()
        expect(page.locator("#secret-text")).to_contain_text("whsec_")
        expect(page.get_by_role("button", name="Copy")).to_be_hidden()
        _work()
        page.get_by_role("link", name="Refresh").click()
        expect(page.locator("#last-test")).to_contain_text("The receiver answered 204")
        page.get_by_text("Pause…").click()
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.locator(".message.success")).to_contain_text("paused")
        made.event("ride.started")
        _work()
        page.get_by_role("link", name="Recover…").click()
        page.get_by_role("button", name="Count").click()
        expect(page.locator("#found")).to_contain_text("1 event would be sent again")
        page.go_back()
        page.go_back()
        page.get_by_text("Resume…").click()
        page.get_by_role("button", name="Resume", exact=True).click()
        expect(page.locator(".message.success")).to_contain_text("active")

    assert Endpoint.objects.get().event_types == ["ride.started"]


def test_recovery_counts_first_and_shows_how_far_it_is(desk: Inspector, receiver: Receiver) -> None:
    endpoint = made.endpoint(f"{receiver.url}/hook", health={"failing_since": timezone.now() - dt.timedelta(hours=2)})
    for _ in range(3):
        made.delivery(endpoint, made.event(), status="exhausted", ended_at=timezone.now(), created_at=timezone.now())

    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/developers/endpoints/{endpoint.pk}/recover/")
        page.get_by_role("button", name="Count").click()
        expect(page.locator("#found")).to_have_text("3 events would be sent again")
        found = faults(page)
        _shoot(desk, page, "recover-counted")
        before = Delivery.objects.count()
        page.get_by_role("button", name="Send 3 events").click()
        expect(page.locator("#recoveries")).to_contain_text("3 of 3 events")
        found += faults(page)
        _shoot(desk, page, "recovering")
        stays = page.locator("#recoveries-status").element_handle()
        _apart(lambda: recovery.advance(at=timezone.now()))
        expect(page.locator("#recoveries-status[role=status]")).to_have_text("All are on their way")
        assert stays.evaluate("(region) => region.isConnected")

    assert found == [], "\n".join(found)
    assert (before, Delivery.objects.count()) == (3, 6)


def test_token_is_issued_and_revoked(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/developers/tokens/add/")
        page.get_by_label("Name of a new client").fill("Epic bridge")
        page.get_by_label("EHR integrator").check()
        page.get_by_role("button", name="Issue the token").click()
        text = page.locator("#secret-text").inner_text()
        found = faults(page)
        _shoot(desk, page, "token-issued")
        page.get_by_role("link", name="I have saved it").click()
        page.get_by_text("Revoke…").click()
        page.get_by_label("Reason").fill("Handed on by mistake")
        found += faults(page)
        _shoot(desk, page, "token-revoke")
        page.get_by_role("button", name="Revoke", exact=True).click()
        expect(page.locator("h1")).to_contain_text("Revoked")

        assert text not in page.content()
    assert found == [], "\n".join(found)
    assert re.fullmatch(r"clt_\w{59}", text)
    assert ApiToken.objects.get().revoked_reason == "Handed on by mistake"


def test_alert_is_acknowledged_and_the_count_goes_down(desk: Inspector) -> None:
    _tell("critical", "An endpoint fails", 50)
    _tell("warning", "Another one", 5)

    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/home/")
        before = page.locator(".bell .count").inner_text()
        page.locator(".bell").click()
        page.get_by_role("button", name=re.compile("Mark as handled.*An endpoint fails")).click()
        expect(page.locator(".message.success")).to_be_visible()

        assert (before, page.locator(".bell .count").inner_text()) == ("2", "1")
