"""Actions on the exceptions desk: claim, snooze, resolve; a refused action changes nothing."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.rides.models import RideException
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.services import exceptions
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.exceptions.test_desk import BASE, opened, planner_of
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

PART = {"X-Carelane-Part": "list"}
ACTIONS = ("acknowledge", "snooze", "close")


@pytest.fixture
def dana(db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")


@pytest.fixture
def desk(dana: User) -> Client:
    client = Client()
    sign_in(client, dana)
    return client


def _send(client: Client, one: RideException, action: str, *, query: str = "", **form: Any) -> Any:
    headers = form.pop("headers", {})
    return client.post(f"{BASE}{one.pk}/{action}/{query}", {"version": one.version} | form, headers=headers)


def _kept(one: RideException) -> dict[str, Any]:
    return dict(RideException.objects.filter(pk=one.pk).values().get())


def test_e2_acknowledge_assigns_owner_and_returns_to_list(desk: Client, dana: User) -> None:
    one = opened()

    done = _send(desk, one, "acknowledge", query="?severity=warning")

    assert (done.status_code, done["Location"]) == (302, f"{BASE}?severity=warning")
    one.refresh_from_db()
    assert (one.status, one.owner, one.acknowledged_at) == ("acknowledged", dana, NOW)
    assert told(desk.get(BASE)) == ["You are now the owner."]
    assert "You" in text_of(desk.get(BASE))


def test_e2_double_claim_answers_409_and_names_the_owner(desk: Client) -> None:
    one = opened()
    _send(desk, one, "acknowledge")
    before = _kept(one)
    other = visitor(UserRole.DISPATCHER)

    for version in (one.version, one.version + 1):
        page = other.post(f"{BASE}{one.pk}/acknowledge/", {"version": version})
        part = other.post(f"{BASE}{one.pk}/acknowledge/", {"version": version}, headers=PART)
        assert (page.status_code, part.status_code) == (409, 409)
        assert "Dana Desk has already claimed it." in text_of(page)
        assert part.context["announcement"] == "Dana Desk has already claimed it."
        assert "<html" not in part.content.decode()
    assert _kept(one) == before


def test_what_changed_meanwhile_is_said(desk: Client) -> None:
    closed, integration, sharpened = opened(), opened(), opened()
    exceptions.resolve(exception_id=closed.pk, code=ResolutionCode.FALSE_ALARM, by=system(), at=NOW)
    exceptions.acknowledge(exception_id=integration.pk, by=system(), at=NOW)
    exceptions.snooze(exception_id=sharpened.pk, until=NOW + dt.timedelta(minutes=5), by=system(), at=NOW)

    for one, said in (
        (closed, "Carelane has already closed it."),
        (integration, "Carelane has already claimed it."),
        (sharpened, "Someone else changed it. Review it again."),
    ):
        refused = _send(desk, one, "acknowledge")
        assert refused.status_code == 409
        assert said in text_of(refused)
    closed.refresh_from_db()
    assert _send(desk, closed, "close", code="false_alarm").status_code == 409


def test_scripts_are_answered_with_the_list(desk: Client) -> None:
    first, second = opened(), opened()

    done = _send(desk, first, "close", query="?rows=50", code="recovered_late", headers=PART)

    assert (done.status_code, done.context["announcement"]) == (200, "The exception is closed.")
    assert [one["row"] for one in done.context["rows"]] == [second]
    assert f'data-live-url="{BASE}list/?rows=50"' in done.content.decode()


@pytest.mark.parametrize(
    ("form", "until"),
    [
        ({"minutes": "15"}, NOW + dt.timedelta(minutes=15)),
        ({"minutes": "60"}, NOW + dt.timedelta(hours=1)),
        ({"until": "13:30"}, dt.datetime(2026, 11, 20, 19, 30, tzinfo=dt.UTC)),
        ({"until": "08:30"}, dt.datetime(2026, 11, 21, 14, 30, tzinfo=dt.UTC)),
    ],
)
def test_exceptions_are_snoozed_until_time_in_page_clock(
    desk: Client, form: dict[str, str], until: dt.datetime
) -> None:
    one = opened()

    assert _send(desk, one, "snooze", **form).status_code == 302

    one.refresh_from_db()
    assert one.snoozed_until == until
    assert _send(desk, one, "snooze", minutes="0").status_code == 302
    one.refresh_from_db()
    assert one.snoozed_until is None


def test_e3_closing_takes_a_code_and_other_takes_a_note(desk: Client) -> None:
    one = opened()
    before = _kept(one)

    for form, field in (({}, "code"), ({"code": "x"}, "code"), ({"code": "other"}, "note")):
        refused = _send(desk, one, "close", **form)
        assert refused.status_code == 422
        assert list(refused.context["close"].errors) == [field], form
    unsaid = _send(desk, one, "snooze")
    assert (unsaid.status_code, list(unsaid.context["snooze"].errors)) == (422, ["until"])
    assert list(_send(desk, one, "snooze", until="25:00").context["snooze"].errors) == ["until"]
    assert _kept(one) == before

    done = _send(desk, one, "close", code="other", note="Came by taxi")
    assert done.status_code == 302
    one.refresh_from_db()
    assert (one.status, one.resolution_note, one.closed_by_hand) == ("resolved", "Came by taxi", True)


def test_note_is_shown_while_the_exception_is_open(desk: Client) -> None:
    one = opened()

    done = _send(desk, one, "note", note="The facility knows.")

    assert (done.status_code, told(desk.get(BASE))) == (302, ["The note is saved."])
    assert "Note: The facility knows." in text_of(desk.get(BASE))
    assert "Note The facility knows." in text_of(desk.get(f"{BASE}{one.pk}/"))
    assert _send(desk, one, "note", note="x").status_code == 409  # the version of the page before
    one.refresh_from_db()
    too_long = _send(desk, one, "note", note="x" * 1001)
    assert (too_long.status_code, list(too_long.context["note_form"].errors)) == (422, ["note"])
    assert _kept(one)["note"] == "The facility knows."


def test_what_needed_nobody_is_dismissed(desk: Client) -> None:
    one = opened()

    _send(desk, one, "close", code="false_alarm", dismiss="on")

    one.refresh_from_db()
    assert (one.status, one.resolution_code) == ("dismissed", "false_alarm")


def test_e4_cleared_cause_resolves_exception_and_shows_history(desk: Client) -> None:
    ride = factories.RideFactory.create()
    opened(ride=ride)
    gone: dict[str, Any] = {"by": system(), "at": NOW, "code": ResolutionCode.RECOVERED_ON_TIME}
    exceptions.settle(locked(ride.pk, system()), [ExceptionType.LATE_PICKUP], **gone)

    assert "No open exceptions." in text_of(desk.get(BASE))
    assert "Recovered, on time Resolved Fri, Nov 20, 09:00 Carelane" in text_of(desk.get(f"{BASE}history/"))


def test_forms_without_right_or_out_of_reach_change_nothing() -> None:
    one = opened()
    before = _kept(one)
    elsewhere = planner_of(factories.FacilityFactory.create())

    for action in ACTIONS:
        form = {"code": "false_alarm", "minutes": "15"}
        assert _send(visitor(UserRole.AUDITOR), one, action, **form).status_code == 403
        assert _send(elsewhere, one, action, **form).status_code == 404
        assert visitor(UserRole.DISPATCHER).get(f"{BASE}{one.pk}/{action}/").status_code == 405
    assert _kept(one) == before
