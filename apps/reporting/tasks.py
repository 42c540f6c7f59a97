"""Periodic work of the rollups.  Any number of workers may run it at once."""

from celery import shared_task
from django.utils import timezone

from apps.reporting.services import rollups
from lib.access import system


@shared_task(name="reporting.refresh_rollups")
def refresh_rollups() -> None:
    """Bring the rollups up to date."""
    rollups.refresh(by=system("reporting"), at=timezone.now())
