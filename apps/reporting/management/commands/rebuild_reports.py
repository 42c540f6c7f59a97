"""Recompute rollups of reports from the rides."""

import datetime as dt
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.reporting.services import rollups


class Command(BaseCommand):
    """Recompute the rollups of a period from the rides."""

    help = "Recompute the rollups of a period from the rides; closed days that change become restatements."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="first", type=dt.date.fromisoformat, required=True, help="first day")
        parser.add_argument("--to", dest="last", type=dt.date.fromisoformat, required=True, help="last day")
        parser.add_argument(
            "--discard-closed", action="store_true", help="take the days as they are now for how they were closed"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        first, last = options["first"], options["last"]
        if last < first:
            raise CommandError("--to has to be no earlier than --from.")
        changed = rollups.rebuild(first=first, last=last, discard_closed=options["discard_closed"], at=timezone.now())
        for day, facility in sorted(changed, key=str):
            self.stdout.write(f"restated {day} {facility or '-'}")
        self.stdout.write(f"{(last - first).days + 1} days rebuilt.")
