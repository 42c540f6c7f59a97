"""Periodic work of the rollups.  Any number of workers may run it at once."""

from celery import shared_task
from django.utils import timezone

from apps.reporting.services import folding
from lib.access import system


@shared_task(name="reporting.keep_up")
def keep_up() -> None:
    """Bring the rollups up to now."""
    folding.keep_up(by=system("reporting"), at=timezone.now())
