"""What the clock does for the dispatch desk."""

from celery import shared_task
from django.utils import timezone

from apps.dispatch.services import downtime
from lib.access import system


@shared_task(name="dispatch.make_downtime_pack")
def make_downtime_pack() -> None:
    """Go on with the next downtime pack; any number of workers may run it at once."""
    downtime.make(by=system(), at=timezone.now())
