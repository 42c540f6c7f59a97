"""Scheduled tasks of dispatch."""

from celery import shared_task
from django.utils import timezone

from apps.dispatch.services import downtime
from lib.access import system


@shared_task(name="dispatch.make_downtime_pack")
def make_downtime_pack() -> None:
    """Continue with the next downtime pack; safe to run in any number of workers at once."""
    downtime.make(by=system(), at=timezone.now())
