"""Bring the rollups of reports up to date at once, for example after loading data."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.reporting.services import rollups
from lib.access import system


class Command(BaseCommand):
    """Run the periodic refresh until all rides are included."""

    help = "Bring the rollups of reports up to date, and fill in days that are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        rollups.refresh(by=system("refresh_reports"), at=timezone.now(), seconds=3600)
        self.stdout.write("The reports are up to date.")
