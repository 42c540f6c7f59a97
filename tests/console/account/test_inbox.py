"""Inbox: which alerts users see, and until when."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts import queries
from apps.accounts.models import Alert
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.console.visits import text_of, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

INBOX = "/console/inbox/"


def _tell(title: str, *, severity: str = "warning", hours: int = 1, **more: Any) -> Alert:
    at = NOW - dt.timedelta(hours=hours)
    known = {"scope": Scope.WEBHOOKS_MANAGE, "kind": "webhook.endpoint.failing", "key": title, "title": title}
    alerts.raise_alert(severity=severity, at=at, **(known | more))
    return Alert.objects.get(key=title)


@pytest.mark.parametrize("role", list(UserRole))
def test_inbox_is_for_whoever_is_told_anything(role: UserRole) -> None:
    client = visitor(role)
    alert = _tell("An endpoint fails")

    opened = client.get(INBOX).status_code
    put = client.post(f"{INBOX}{alert.pk}/acknowledge/").status_code
    home = client.get("/console/home/").content.decode()

    told_of_others = role not in (UserRole.ADMIN, UserRole.ANALYST, UserRole.AUDITOR)
    # The alert is about a webhook: users who receive other alerts get 404 for it.
    allowed = (200, 302) if role == UserRole.ADMIN else (200, 404) if told_of_others else (403, 403)
    assert (opened, put) == allowed
    assert ('href="/console/inbox/"' in home) == (opened == 200)


def test_the_worst_comes_first_and_then_the_newest() -> None:
    _tell("Told of", severity="info")
    _tell("Early warning", hours=5)
    _tell("Late warning", hours=2)
    _tell("Breaks", severity="critical", hours=9, text=["And how."], path="/console/developers/endpoints/")

    response = visitor().get(INBOX)

    assert [alert.title for alert in response.context["alerts"]] == [
        "Breaks",
        "Late warning",
        "Early warning",
        "Told of",
    ]
    assert "Critical Breaks And how. Fri, Nov 20, 00:00 , 9 h ago Open : Breaks" in text_of(response)
    assert 'href="/console/developers/endpoints/"' in response.content.decode()


@pytest.mark.parametrize(("most", "says"), [(1, True), (2, False)])
def test_inbox_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch, most: int, says: bool) -> None:
    monkeypatch.setattr(queries, "MOST_OPEN", most)
    _tell("Told of", severity="info")
    _tell("Breaks", severity="critical")

    response = visitor().get(INBOX)

    assert [alert.title for alert in response.context["alerts"]] == ["Breaks", "Told of"][:most]
    assert ("There is more: only the worst alert is shown." in text_of(response)) == says


def test_acknowledged_alert_moves_to_the_earlier_ones() -> None:
    alert = _tell("An endpoint fails")
    over = _tell("It is over", path="/console/developers/endpoints/")
    Alert.objects.filter(pk=over.pk).update(resolved_at=NOW)
    _tell("By somebody who is gone")
    Alert.objects.filter(key="By somebody who is gone").update(acknowledged_at=NOW, acknowledged_by="system")
    client = visitor()
    person = factories.UserFactory._meta.model.objects.get()

    answer = client.post(f"{INBOX}{alert.pk}/acknowledge/", follow=True)

    page = text_of(answer)
    assert "The alert is marked as handled. Inbox" in page
    assert "Nothing needs your attention." in page
    assert f"An endpoint fails Handled by {person.name} Fri, Nov 20, 09:00" in page
    assert "It is over Resolved automatically Fri, Nov 20, 09:00" in page
    assert "By somebody who is gone Handled Fri, Nov 20, 09:00" in page


def test_unknown_alert_is_not_found_and_get_changes_nothing() -> None:
    client, alert = visitor(), _tell("An endpoint fails")

    assert client.post(f"{INBOX}{uuid7()}/acknowledge/").status_code == 404
    assert client.get(f"{INBOX}{alert.pk}/acknowledge/").status_code == 405
    assert Alert.objects.get().acknowledged_at is None


def test_every_page_counts_what_is_open() -> None:
    client = visitor()
    before = client.get("/console/home/").content.decode()
    _tell("One")
    _tell("Two", scope=Scope.TOKENS_MANAGE)

    after = client.get("/admin/").content.decode()

    assert 'class="count"' not in before
    assert after.count('<span class="count">2<') == 2, "in the contents, and on the bell"
    assert "<title>Home ·" in before
    assert "<title>(2) " in after


def test_inbox_updates_hold_only_ids_and_severities_in_scope(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    client = visitor()
    rows = [_tell("Old", severity="critical", hours=3), _tell("Newer", severity="info")]
    _tell("Not for admins", scope=Scope.RIDES_WRITE)
    Alert.objects.filter(pk=_tell("Over").pk).update(resolved_at=NOW)
    monkeypatch.setattr(queries, "MOST_OPEN", 2)
    _tell("Newest", hours=0)

    with django_assert_num_queries(4):  # session, user, alerts, their count
        answer = client.get(f"{INBOX}news/").json()

    newest = Alert.objects.get(key="Newest")
    assert answer == {
        "open": 3,
        "alerts": [{"id": str(newest.pk), "severity": "warning"}, {"id": str(rows[1].pk), "severity": "info"}],
    }
    assert visitor(UserRole.AUDITOR).get(f"{INBOX}news/").status_code == 403
    assert client.post(f"{INBOX}news/").status_code == 405


@pytest.mark.parametrize("count", [1, 3])
def test_inbox_asks_the_same_however_many_alerts(django_assert_num_queries: Any, count: int) -> None:
    client = visitor()
    person = factories.UserFactory._meta.model.objects.get()
    for number in range(count):
        _tell(f"Open {number}")
        alert = _tell(f"Over {number}")
        Alert.objects.filter(pk=alert.pk).update(acknowledged_at=NOW, acknowledged_by=f"user:{person.pk}")

    with django_assert_num_queries(6):  # session, user, past, names, open, their count
        client.get(INBOX)


def test_nobody_is_told_by_a_scope_without_an_inbox() -> None:
    with pytest.raises(ValueError, match="rides:read"):
        _tell("Unheard", scope=Scope.RIDES_READ)
