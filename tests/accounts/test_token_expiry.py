"""Event token.expiring, 14, 7 and 1 days before a token expires."""

import datetime as dt

import pytest
from django.utils import timezone

from apps.accounts.models import Alert, ApiClient, ApiToken
from apps.accounts.services import token_expiry, tokens
from apps.accounts.tasks import announce_expiring_tokens, purge_idempotency_records
from apps.events.models import Event
from lib.access import system
from tests.callers import api_with

pytestmark = pytest.mark.django_db
DAY = dt.timedelta(days=1)


@pytest.fixture
def at() -> dt.datetime:
    return timezone.now()


def token(ends: dt.datetime) -> ApiToken:
    return api_with(expires_at=ends).token


def test_token_is_announced_three_times(at: dt.datetime) -> None:
    expiring = token(at + 20 * DAY)

    for day in range(21):
        for _ in range(2):
            token_expiry.announce(at=at + day * DAY)

    events = Event.objects.order_by("sequence")
    assert [(event.occurred_at - at, event.data["daysLeft"]) for event in events] == [
        (6 * DAY, 14),
        (13 * DAY, 7),
        (19 * DAY, 1),
    ]
    assert events[0].data == {
        "tokenId": str(expiring.pk),
        "clientId": str(expiring.client_id),
        "keyId": expiring.key_id,
        "expiresAt": expiring.expires_at.isoformat().replace("+00:00", "Z"),
        "daysLeft": 14,
    }


def test_each_notice_tells_those_who_manage_tokens_once(at: dt.datetime) -> None:
    expiring = token(at + 20 * DAY)

    for day in range(21):
        for _ in range(2):
            token_expiry.announce(at=at + day * DAY)

    name = expiring.client.name
    told = Alert.objects.order_by("created_at")
    assert [(alert.created_at - at, alert.severity, alert.title, alert.resolved_at is None) for alert in told] == [
        (6 * DAY, "warning", f"Token {expiring.key_id} of “{name}” expires within 14 days", False),
        (13 * DAY, "warning", f"Token {expiring.key_id} of “{name}” expires within 7 days", False),
        (19 * DAY, "critical", f"Token {expiring.key_id} of “{name}” expires within a day", True),
    ]
    assert {(alert.kind, alert.scope, alert.path) for alert in told} == {
        ("token.expiring", "tokens:manage", f"/console/developers/tokens/{expiring.pk}/")
    }


@pytest.mark.parametrize("end", ["rotate", "revoke"])
def test_alert_is_over_with_its_cause(at: dt.datetime, end: str) -> None:
    expiring, untouched = token(at + DAY), token(at + DAY)
    token_expiry.announce(at=at)

    if end == "rotate":
        tokens.rotate(token_id=expiring.pk, by=system(), at=at)
    else:
        tokens.revoke(token_id=expiring.pk, reason="lost", by=system(), at=at)

    assert Alert.objects.open().get().path == f"/console/developers/tokens/{untouched.pk}/"


def test_short_life_is_announced_by_the_most_urgent_notice(at: dt.datetime) -> None:
    token(at + 5 * DAY)

    assert token_expiry.announce(at=at) == 1
    assert Event.objects.get().data["daysLeft"] == 7


def test_tokens_that_are_over_or_replaced_are_not_announced(at: dt.datetime) -> None:
    ApiToken.objects.filter(pk=token(at + DAY).pk).update(revoked_at=at, revoked_reason="lost")
    ApiToken.objects.filter(pk=token(at + DAY).pk).update(overlap_until=at + DAY)
    ApiClient.objects.filter(pk=token(at + DAY).client_id).update(active=False)
    token(at)
    token(at + 14 * DAY + dt.timedelta(seconds=1))

    assert token_expiry.announce(at=at) == 0
    assert not Event.objects.exists()


def test_task_reads_the_clock(at: dt.datetime) -> None:
    token(at + 5 * DAY)

    announce_expiring_tokens()
    purge_idempotency_records()

    assert Event.objects.get().type == "token.expiring"
