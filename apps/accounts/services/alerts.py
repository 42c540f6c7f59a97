"""Raising and resolving alerts, which go to the inbox of the console and by mail.

An alert is inserted in the transaction of the change that causes it.  Mail is sent later from the row, so a mail server
that is down delays it but loses nothing.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from apps.accounts.models import Alert, User
from apps.audit.services import audit
from lib.access import Principal
from lib.db import leases
from lib.errors import NotFound
from lib.messages import Message, Text
from lib.scopes import Scope

log = logging.getLogger(__name__)

# Scopes that alerts can be addressed to; people with at least one of them have an inbox.
AUDIENCES: Final = frozenset(
    {
        Scope.WEBHOOKS_MANAGE.value,
        Scope.TOKENS_MANAGE.value,
        Scope.SCHEDULES_WRITE.value,
        Scope.DRIVERS_WRITE.value,
        Scope.RIDES_WRITE.value,
        Scope.RIDES_CORRECT.value,
        Scope.USERS_MANAGE.value,
    }
)

_MAIL_LEASE: Final = timedelta(minutes=2)  # longer than sending a mail takes
_MAILS_AT_ONCE: Final = 20
_TRY_FOR: Final = timedelta(days=1)


def raise_alert(
    *,
    kind: str,
    severity: str,
    scope: str,
    key: str,
    title: Text,
    text: Sequence[Text] = (),
    path: str = "",
    facility_id: UUID | None = None,
    provider_id: UUID | None = None,
    at: datetime,
) -> bool:
    """Alert the people who have the scope, unless an alert with this key is open already.

    Return whether an alert was created.  Alerts about one facility or one provider go to people whose data scope
    includes it.  `title`, the lines of `text` and `path` must not contain personal data.  Two queries.

    Raises:
        ValueError: no inbox has this scope; add it to AUDIENCES.
    """
    if scope not in AUDIENCES:
        raise ValueError(scope)
    alert = Alert(
        kind=kind,
        severity=severity,
        scope=scope,
        facility_id=facility_id,
        provider_id=provider_id,
        key=key,
        title_message=_stored(title),
        text_messages=[_stored(line) for line in text],
        path=path,
        created_at=at,
    )
    Alert.objects.bulk_create([alert], ignore_conflicts=True)
    return Alert.objects.filter(pk=alert.pk).exists()


def _stored(text: Text) -> dict[str, Any]:
    return (text if isinstance(text, Message) else Message(text)).as_json()


def resolve(*keys: str, at: datetime) -> None:
    """Close the open alerts with these keys, because their conditions have ended."""
    Alert.objects.filter(key__in=keys, resolved_at__isnull=True).update(resolved_at=at)


def resolve_about(record_id: UUID, *, at: datetime) -> None:
    """Close the open alerts whose keys contain the id of a deleted record, because the pages they link to are gone."""
    Alert.objects.filter(key__contains=str(record_id), resolved_at__isnull=True).update(resolved_at=at)


@transaction.atomic
def acknowledge(*, alert_id: UUID, by: Principal, at: datetime) -> Alert:
    """Acknowledge an alert for all its readers.  No-op if it is acknowledged already.

    Raises:
        NotFound: it does not exist, or is not visible to the caller.
    """
    alert = Alert.objects.visible_to(by).select_for_update().filter(pk=alert_id).first()
    if alert is None:
        raise NotFound(_("alert"))
    if alert.acknowledged_at is None:
        alert.acknowledged_at, alert.acknowledged_by = at, by.actor
        alert.save(update_fields=["acknowledged_at", "acknowledged_by"])
        audit.record(by=by, action="alerts.acknowledge", subject_type="alert", subject_id=alert.pk)
    return alert


def send_mails(*, at: datetime) -> int:
    """Send the mails of alerts that are not mailed yet, at least once each; return how many alerts were mailed.

    A mail that cannot be sent is retried every two minutes, for a day.
    """
    sent = 0
    due = Alert.objects.filter(emailed_at__isnull=True, created_at__gt=at - _TRY_FOR).order_by("created_at")
    claim = leases.claim(due, at=at, lease=_MAIL_LEASE, limit=_MAILS_AT_ONCE)
    for alert in claim.rows:
        recipients = _recipients(alert)
        if recipients and not _send(alert, recipients):
            continue  # retried when the lease ends
        claim.settle(alert, emailed_at=at)
        sent += bool(recipients)
    return sent


def _recipients(alert: Alert) -> dict[str, str]:
    """Return the recipients of an alert: language by mail address."""
    active = User.objects.filter(is_active=True).order_by("email")
    people = {
        person.email: person.language for person in active if alert.scope in person.scopes and _reaches(person, alert)
    }
    return dict.fromkeys(settings.ALERT_EMAILS, "") | people


def _reaches(person: User, alert: Alert) -> bool:
    if person.is_bound_to_providers:
        own = alert.provider_id is None or person.providers.filter(pk=alert.provider_id).exists()
        return own and alert.facility_id is None
    if person.is_bound_to_facilities:
        own = alert.facility_id is None or person.facilities.filter(pk=alert.facility_id).exists()
        return own and alert.provider_id is None
    return True


def _send(alert: Alert, recipients: dict[str, str]) -> bool:
    # One mail per recipient: it hides the addresses of the others, and a bad address does not stop the others.
    delivered = False
    for recipient, language in recipients.items():
        with override(language or settings.LANGUAGE_CODE):
            message = _mail(alert, recipient)
        try:
            message.send()
        # refused by the server, or by Django: an invalid address, a bad header
        except (OSError, ValueError) as failure:
            log.warning("alert %s not mailed: %s", alert.pk, type(failure).__name__)
        else:
            delivered = True
    return delivered


def _mail(alert: Alert, recipient: str) -> EmailMessage:
    link = f"\n\n{settings.BASE_URL}{alert.path}" if alert.path else ""
    subject = " ".join(f"[Carelane] {alert.title}".split())  # a line break in the subject would make the mail invalid
    return EmailMessage(subject, f"{alert.text or alert.title}{link}\n", to=[recipient])
