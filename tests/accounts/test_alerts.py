"""Alerts: raised once, dismissed by a user, mailed at least once."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.core.mail.message import sanitize_address

from apps.accounts.models import Alert
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.accounts.tasks import mail_alerts
from apps.audit.models import AuditEntry
from lib.errors import NotFound
from tests.factories import NOW, FacilityFactory, TransportProviderFactory, UserFactory, principal

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)


def _tell(**columns: Any) -> bool:
    known: dict[str, Any] = {
        "kind": "webhook.endpoint.failing",
        "severity": "warning",
        "scope": "webhooks:manage",
        "key": "webhook.failing:1",
        "title": "Webhook endpoint “EHR” has had no success for a while",
        "path": "/console/developers/endpoints/1",
        "at": NOW,
    }
    return alerts.raise_alert(**(known | columns))


def test_an_open_alert_is_not_told_twice_and_one_that_is_over_is() -> None:
    first, again = _tell(), _tell()
    alerts.resolve("webhook.failing:1", "webhook.failing:2", at=NOW + MINUTE)
    later = _tell(at=NOW + 2 * MINUTE)

    assert (first, again, later) == (True, False, True)
    assert list(Alert.objects.order_by("pk").values_list("resolved_at", flat=True)) == [NOW + MINUTE, None]


def test_an_alert_is_for_those_whose_business_it_is() -> None:
    _tell()

    seen = {role: Alert.objects.visible_to(principal(role)).open().count() for role in UserRole}

    assert {role for role, count in seen.items() if count} == {UserRole.ADMIN}


def test_what_concerns_a_provider_is_for_those_who_reach_it() -> None:
    own, other = TransportProviderFactory.create(), TransportProviderFactory.create()
    people = {name: UserFactory.create(role=role, email=f"{name}@example.org") for name, role in (
        ("own", UserRole.FLEET_ADMIN), ("other", UserRole.FLEET_ADMIN), ("all", UserRole.DISPATCH_SUPERVISOR),
        ("planner", UserRole.PLANNER),
    )}  # fmt: skip
    people["own"].providers.add(own)
    people["other"].providers.add(other)
    facility = FacilityFactory.create()
    people["planner"].facilities.add(facility)
    _tell(key="credentials", scope="drivers:write", provider_id=own.pk, path="")
    _tell(key="rides", scope="rides:write", provider_id=own.pk, path="")
    _tell(key="at home", scope="drivers:write", facility_id=facility.pk, path="")

    reaches: dict[str, dict[str, Any]] = {
        "own": {"provider_ids": frozenset({own.pk})}, "other": {"provider_ids": frozenset({other.pk})}, "all": {},
        "planner": {"facility_ids": frozenset({facility.pk})},
    }  # fmt: skip
    seen = {
        name: sorted(
            Alert.objects.visible_to(principal(UserRole(people[name].role), **reach)).values_list("key", flat=True)
        )
        for name, reach in reaches.items()
    }
    alerts.send_mails(at=NOW)

    assert seen == {"own": ["credentials"], "other": [], "all": ["at home", "credentials", "rides"], "planner": []}
    mailed = [message.to[0].partition("@")[0] for message in mail.outbox]
    assert sorted(name for name in mailed if name in people) == ["all", "all", "all", "own"]


def test_putting_it_aside_is_recorded_once() -> None:
    _tell()
    alert, admin = Alert.objects.get(), principal(UserRole.ADMIN)

    alerts.acknowledge(alert_id=alert.pk, by=admin, at=NOW)
    alerts.acknowledge(alert_id=alert.pk, by=principal(UserRole.ADMIN), at=NOW + MINUTE)

    alert.refresh_from_db()
    assert (alert.acknowledged_at, alert.acknowledged_by) == (NOW, admin.actor)
    assert Alert.objects.open().count() == 0
    assert AuditEntry.objects.filter(action="alerts.acknowledge").count() == 1


def test_nobody_puts_aside_what_is_not_their_business() -> None:
    _tell()

    with pytest.raises(NotFound):
        alerts.acknowledge(alert_id=Alert.objects.get().pk, by=principal(UserRole.DISPATCHER), at=NOW)

    assert Alert.objects.get().acknowledged_at is None


def test_alert_is_mailed_once_to_its_readers(settings: Any) -> None:
    settings.ALERT_EMAILS = ["pager@example.org"]
    UserFactory.create(role=UserRole.ADMIN, email="ada@example.org")
    UserFactory.create(role=UserRole.ADMIN, email="gone@example.org", is_active=False)
    UserFactory.create(role=UserRole.DISPATCHER, email="dana@example.org")
    _tell(text=["Nobody answers there."])

    sent = [alerts.send_mails(at=NOW), alerts.send_mails(at=NOW + 10 * MINUTE)]

    assert sent == [1, 0]
    assert [message.to for message in mail.outbox] == [["pager@example.org"], ["ada@example.org"]]
    assert mail.outbox[0].subject == "[Carelane] Webhook endpoint “EHR” has had no success for a while"
    assert mail.outbox[0].body == (f"Nobody answers there.\n\n{settings.BASE_URL}/console/developers/endpoints/1\n")


def test_alert_without_page_or_readers_sends_no_mail() -> None:
    _tell(path="")

    assert alerts.send_mails(at=NOW) == 0
    assert Alert.objects.get().emailed_at == NOW


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[set[str]], None]:
    """Make the mail server refuse some recipients."""

    def refuse(recipients: set[str]) -> None:
        send = EmailBackend.send_messages

        def sending(self: EmailBackend, messages: Any) -> int:
            if recipients & set(messages[0].to):
                raise ConnectionRefusedError
            return send(self, messages)

        monkeypatch.setattr(EmailBackend, "send_messages", sending)

    return refuse


def test_a_mail_server_that_is_away_is_asked_again_for_a_day(broken: Callable[[set[str]], None]) -> None:
    UserFactory.create(role=UserRole.ADMIN, email="ada@example.org")
    _tell()
    broken({"ada@example.org"})

    sent = [alerts.send_mails(at=NOW), alerts.send_mails(at=NOW + MINUTE), alerts.send_mails(at=NOW + 2 * MINUTE)]

    assert sent == [0, 0, 0]
    alert = Alert.objects.get()
    assert (alert.emailed_at, alert.lease_until) == (None, NOW + 4 * MINUTE)
    alerts.send_mails(at=NOW + dt.timedelta(days=1))
    alert.refresh_from_db()
    assert alert.lease_until == NOW + 4 * MINUTE


def test_one_address_that_is_refused_stops_no_other(broken: Callable[[set[str]], None]) -> None:
    for name in ("ada", "bob"):
        UserFactory.create(role=UserRole.ADMIN, email=f"{name}@example.org")
    _tell(path="")
    broken({"ada@example.org"})

    assert alerts.send_mails(at=NOW) == 1
    assert [message.to for message in mail.outbox] == [["bob@example.org"]]
    assert mail.outbox[0].body == "Webhook endpoint “EHR” has had no success for a while\n"


def test_what_is_no_address_stops_no_other(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like Django's SMTP backend: it parses the addresses before it opens a connection, and raises ValueError."""
    settings.ALERT_EMAILS = ["a@b@example.org <"]
    UserFactory.create(role=UserRole.ADMIN, email="ada@example.org")
    _tell()
    send = EmailBackend.send_messages

    def reading(self: EmailBackend, messages: Any) -> int:
        sanitize_address(messages[0].to[0], "utf-8")
        return send(self, messages)

    monkeypatch.setattr(EmailBackend, "send_messages", reading)

    assert alerts.send_mails(at=NOW) == 1
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


def test_a_title_that_breaks_the_line_is_mailed_in_one() -> None:
    UserFactory.create(role=UserRole.ADMIN, email="ada@example.org")
    _tell(title="Webhook endpoint “EHR\r\nBcc: x@example.org” failed")

    assert alerts.send_mails(at=NOW) == 1
    assert mail.outbox[0].subject == "[Carelane] Webhook endpoint “EHR Bcc: x@example.org” failed"


def test_the_task_mails_what_is_open() -> None:
    UserFactory.create(role=UserRole.ADMIN, email="ada@example.org")
    _tell()

    mail_alerts()

    assert [message.to for message in mail.outbox] == [["ada@example.org"]]
