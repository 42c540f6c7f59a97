"""Periodic tasks of the fleet."""

from celery import shared_task
from django.utils import timezone

from apps.fleet.services import credential_reminders


@shared_task(name="fleet.remind")
def remind() -> None:
    """Send reminders of credentials that expire soon.  Safe to run concurrently."""
    credential_reminders.send_expiry_reminders(at=timezone.now())
