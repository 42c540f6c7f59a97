"""What the clock does to the fleet."""

from celery import shared_task
from django.utils import timezone

from apps.fleet.services import credential_reminders


@shared_task(name="fleet.remind")
def remind() -> None:
    """Tell of credentials that lapse soon; any number of workers may run it at once."""
    credential_reminders.send_expiry_reminders(at=timezone.now())
