"""What the clock does to the fleet."""

from celery import shared_task
from django.utils import timezone

from apps.fleet.services import reminding


@shared_task(name="fleet.remind")
def remind() -> None:
    """Tell of papers that lapse soon; any number of workers may run it at once."""
    reminding.remind(at=timezone.now())
