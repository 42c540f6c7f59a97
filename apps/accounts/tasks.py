"""Periodic tasks of accounts."""

from celery import shared_task
from django.utils import timezone

from apps.accounts.services import alerts, idempotency, people, token_expiry


@shared_task(name="accounts.purge_idempotency_records")
def purge_idempotency_records() -> None:
    idempotency.purge(at=timezone.now())


@shared_task(name="accounts.announce_expiring_tokens")
def announce_expiring_tokens() -> None:
    token_expiry.announce(at=timezone.now())


@shared_task(name="accounts.mail_alerts")
def mail_alerts() -> None:
    alerts.send_mails(at=timezone.now())


@shared_task(name="accounts.clear_sessions")
def clear_sessions() -> None:
    people.clear_sessions(at=timezone.now())
