"""Notices to integrators and token managers before a token expires."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert, ApiToken
from apps.accounts.services import alerts
from apps.events import services as events
from apps.events.models import Event
from lib.access import system
from lib.api.fields import instant_text
from lib.messages import Message
from lib.scopes import Scope

# Days before expiry, most urgent last; the position in the tuple is the sequence of the event.
NOTICES: Final = (14, 7, 1)


def announce(*, at: datetime) -> int:
    """Record an event and raise an alert for every token within 14, 7 or 1 days of its expiry; return how many.

    A token that passes several thresholds at once, because its lifetime is shorter, gets only the most urgent notice.
    Two concurrent runs send each notice once: the token's row is locked, and sequences of events are unique.
    """
    soon = ApiToken.objects.filter(
        revoked_at__isnull=True,
        overlap_until__isnull=True,  # it has a successor
        client__active=True,
        expires_at__gt=at,
        expires_at__lte=at + timedelta(days=NOTICES[0]),
    )
    return sum(_announce(token_id, at) for token_id in soon.values_list("pk", flat=True))


@transaction.atomic
def _announce(token_id: UUID, at: datetime) -> bool:
    token = ApiToken.objects.select_related("client").select_for_update(of=("self",)).get(pk=token_id)
    remaining = token.expires_at - at
    sequence = max(place for place, days in enumerate(NOTICES, start=1) if remaining <= timedelta(days=days))
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
    _alert(token, days=NOTICES[sequence - 1], at=at)
    return True


def _alert(token: ApiToken, *, days: int, at: datetime) -> None:
    time_left = Message(_("%(count)s days"), {"count": days}) if days > 1 else _("a day")
    alerts.resolve(alert_key(token.pk), at=at)  # the previous notice
    alerts.raise_alert(
        kind="token.expiring",
        severity=Alert.Severity.CRITICAL if days == NOTICES[-1] else Alert.Severity.WARNING,
        scope=Scope.TOKENS_MANAGE,
        key=alert_key(token.pk),
        title=Message(
            _("Token %(key)s of “%(client)s” expires within %(left)s"),
            {"key": token.key_id, "client": token.client.name, "left": time_left},
        ),
        path=f"/console/developers/tokens/{token.pk}/",
        at=at,
    )


def alert_key(token_id: UUID) -> str:
    """Return the key of the expiry alert of a token; the alert is resolved when the token is replaced or revoked."""
    return f"token.expiring:{token_id}"
