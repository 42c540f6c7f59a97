"""Compare rollups of reports with the rides."""

import datetime as dt
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.reporting.services import rollup_check


class Command(BaseCommand):
    """List the days and facilities whose rollups differ from the rides."""

    help = "Compare the rollups of a period with the rides; list the days and facilities that differ, and then fail."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="first", type=dt.date.fromisoformat, required=True, help="first day")
        parser.add_argument("--to", dest="last", type=dt.date.fromisoformat, required=True, help="last day")

    def handle(self, *args: Any, **options: Any) -> None:
        first, last = options["first"], options["last"]
        if last < first:
            raise CommandError("--to has to be no earlier than --from.")
        count = 0
        for day, facility in rollup_check.differing_days(first=first, last=last):
            count += 1
            self.stdout.write(f"differs {day} {facility or '-'}")
        if count:
            raise CommandError(f"The rollups of {count} days and facilities differ from the rides.")
        self.stdout.write(f"{(last - first).days + 1} days checked.")
