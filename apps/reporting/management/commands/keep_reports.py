"""Bring rollups of reports up to now, for whoever has just loaded data."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.reporting.services import folding
from lib.access import system


class Command(BaseCommand):
    """Do once what the task does all the time, to its end."""

    help = "Bring the rollups of reports up to now, and fill in what is not there yet."

    def handle(self, *args: Any, **options: Any) -> None:
        folding.keep_up(by=system("keep_reports"), at=timezone.now(), seconds=3600)
        self.stdout.write("The reports are up to date.")
