"""Tell integrators in time that a token is about to expire."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from apps.accounts.models import ApiToken
from apps.events import services as events
from apps.events.models import Event
from lib.access import system
from lib.api.fields import instant_text

# Days before the end, most urgent last; its place in the list is the sequence of the event (api.md B.8).
NOTICES: Final = (14, 7, 1)


def announce(*, at: datetime) -> int:
    """Record `token.expiring` for every token that has come within 14, 7 or 1 days of its end; answer how many.

    A token that enters several at once (its life is shorter) is announced by the most urgent alone.  Two runs at the
    same time announce once: the token's row is locked, and an event has a sequence of its own.
    """
    soon = ApiToken.objects.filter(
        revoked_at__isnull=True,
        overlap_until__isnull=True,  # it has a successor already
        client__active=True,
        expires_at__gt=at,
        expires_at__lte=at + timedelta(days=NOTICES[0]),
    )
    return sum(_announce(token_id, at) for token_id in soon.values_list("pk", flat=True))


@transaction.atomic
def _announce(token_id: UUID, at: datetime) -> bool:
    token = ApiToken.objects.select_for_update(of=("self",)).get(pk=token_id)
    left = token.expires_at - at
    sequence = max(place for place, days in enumerate(NOTICES, start=1) if left <= timedelta(days=days))
    if Event.objects.filter(subject_type="token", subject_id=token.pk, sequence__gte=sequence).exists():
        return False
    events.record(
        type="token.expiring",
        subject_type="token",
        subject_id=token.pk,
        sequence=sequence,
        occurred_at=at,
        by=system(),
        data={
            "tokenId": str(token.pk),
            "clientId": str(token.client_id),
            "keyId": token.key_id,
            "expiresAt": instant_text(token.expires_at),
            "daysLeft": NOTICES[sequence - 1],
        },
    )
    return True
