"""Alerts are not events, but live pages receive them: by the channel, and by the change query."""

import datetime as dt
import json
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import Alert
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.accounts.visibility import change_filter_for
from lib.live.changes import RecordChange
from lib.scopes import Scope
from tests import factories
from tests.console.visits import visitor
from tests.factories import NOW
from tests.live.hearing import Listener, heard
from tests.live.test_changes import CHANGES

TOLD = {"subject": "alert", "id": "", "type": "alert"}


def _tell(key: str = "one", **more: Any) -> Alert:
    known: dict[str, Any] = {
        "kind": "no_driver",
        "severity": "warning",
        "scope": Scope.RIDES_WRITE,
        "title": "No driver",
        "at": NOW,
    }
    alerts.raise_alert(key=key, **(known | more))
    return Alert.objects.get(key=key)


def _of(messages: list[str]) -> list[Any]:
    return [json.loads(message) for message in messages]


@pytest.mark.django_db(transaction=True)
def test_alert_is_announced_when_committed_and_when_resolved(listener: Listener) -> None:
    facility = factories.FacilityFactory.create()
    with transaction.atomic():
        alert = _tell(facility_id=facility.pk)
        before = heard(listener)
    opened = heard(listener)
    Alert.objects.update(lease_until=NOW, emailed_at=NOW)
    mailed = heard(listener)
    alerts.resolve("one", at=NOW)
    closed = heard(listener)
    alerts.resolve("one", at=NOW)
    again = heard(listener)

    told = {"changes": [["alert", str(alert.pk), "alert.rides:write", str(facility.pk), None]]}
    assert (before, _of(opened), mailed, _of(closed), again) == ([], [told], [], [told], [])


@pytest.mark.django_db(transaction=True)
def test_alert_of_a_provider_is_told_with_it(listener: Listener) -> None:
    provider = factories.TransportProviderFactory.create()
    alert = _tell(provider_id=provider.pk)
    alerts.resolve("one", at=NOW)

    told = {"changes": [["alert", str(alert.pk), "alert.rides:write", None, str(provider.pk)]]}
    assert _of(heard(listener)) == [told, told]


@pytest.mark.django_db(transaction=True)
def test_one_that_is_rolled_back_or_known_is_not_told(listener: Listener) -> None:
    with transaction.atomic():
        _tell()
        transaction.set_rollback(True)
    rolled_back = heard(listener)
    _tell()
    first = heard(listener)
    _tell()

    assert (rolled_back, len(first), heard(listener)) == ([], 1, [])


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_everything_is_looked_at_again(listener: Listener) -> None:
    for number in range(41):
        _tell(f"{number}")
    single = heard(listener)
    Alert.objects.update(resolved_at=NOW)

    assert len(single) == 41
    assert _of(heard(listener)) == [{"resync": True}]


@pytest.mark.django_db
@pytest.mark.parametrize("role", [UserRole.ADMIN, UserRole.DISPATCHER, UserRole.ANALYST])
@pytest.mark.parametrize("bound", ["", "facility", "provider"])
def test_streams_tell_of_the_alerts_that_the_inbox_shows(role: UserRole, bound: str) -> None:
    facilities = [factories.FacilityFactory.create() for _ in range(2)]
    provider, other = (factories.TransportProviderFactory.create() for _ in range(2))
    reach: dict[str, Any] = {}
    if bound == "facility":
        reach["facility_ids"] = frozenset({facilities[0].pk})
    if bound == "provider":
        reach["provider_ids"] = frozenset({provider.pk})
    reader = factories.principal(role, **reach)
    for scope in sorted(alerts.AUDIENCES):
        for at in (None, *facilities):
            _tell(f"{scope} {at and at.pk}", scope=scope, facility_id=at and at.pk)
        for whose in (provider, other):
            _tell(f"{scope} {whose.pk}", scope=scope, provider_id=whose.pk)
    with connection.cursor() as cursor:  # as the trigger writes them
        cursor.execute(
            "SELECT 'alert', id::text, 'alert.' || scope, facility_id::text, provider_id::text FROM accounts_alert"
        )
        changes = [RecordChange(*row) for row in cursor.fetchall()]

    streamed = {change.id for change in changes if change_filter_for(reader)(change)}

    assert streamed == {str(alert.pk) for alert in Alert.objects.visible_to(reader)}
    assert bool(streamed) == (role is not UserRole.ANALYST)
    assert change_filter_for(reader)(RecordChange("ride", "1", "ride.scheduled", None, None)) == (bound == ""), (
        "of events as before"
    )
    for one, hears in ((provider.pk, bound != "facility"), (facilities[1].pk, not bound)):  # of a provider, and another
        change = RecordChange("alert", "1", "alert.rides:write", None, str(one))
        assert change_filter_for(reader)(change) == (hears and reader.has_scope(Scope.RIDES_WRITE))


@pytest.mark.django_db
def test_page_that_asks_hears_once_of_an_alert_that_came_or_went() -> None:
    client = visitor(UserRole.DISPATCHER)
    cursor = client.get(f"{CHANGES}?age=0").json()["cursor"]
    found = []
    for act in (lambda: None, _tell, lambda: None, lambda: alerts.resolve("one", at=NOW), lambda: None):
        act()
        answer = client.get(f"{CHANGES}?after={cursor}")
        found.append(answer.json()["changes"] if answer.status_code == 200 else answer.status_code)
        cursor = answer.json()["cursor"] if answer.status_code == 200 else cursor

    assert found == [204, [TOLD], 204, [TOLD], 204]


@pytest.mark.django_db
def test_page_hears_of_an_alert_of_the_time_it_was_on_its_way() -> None:
    client = visitor(UserRole.DISPATCHER)
    told = []
    for ago in (71, 70):
        _tell(f"{ago}", at=NOW - dt.timedelta(seconds=ago))
        told.append(client.get(f"{CHANGES}?age=10").json()["changes"])

    assert told == [[], [TOLD]]


@pytest.mark.django_db
def test_who_has_no_inbox_is_told_of_no_alert() -> None:
    client = visitor(UserRole.ANALYST)
    cursor = client.get(f"{CHANGES}?age=0").json()["cursor"]
    _tell()

    assert client.get(f"{CHANGES}?after={cursor}").status_code == 204
    assert client.get(f"{CHANGES}?age=10").json()["changes"] == []
    assert client.get("/console/inbox/count/").status_code == 403


@pytest.mark.django_db
def test_count_alone_is_fetched_for_the_bell_and_the_contents() -> None:
    client = visitor(UserRole.DISPATCHER)
    empty = client.get("/console/inbox/count/").content.decode()
    _tell()
    counted = client.get("/console/inbox/count/").content.decode()

    assert 'class="count"' not in empty
    assert counted.count('<span class="count">1<') == 2
    for page in (empty, counted):
        assert page.count('data-live-url="/console/inbox/count/"') == 2
