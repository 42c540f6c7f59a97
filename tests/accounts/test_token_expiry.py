"""token.expiring, 14, 7 and 1 days before the end."""

import datetime as dt

import pytest
from django.utils import timezone

from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.services import token_expiry
from apps.accounts.tasks import announce_expiring_tokens, purge_idempotency_records
from apps.events.models import Event
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
