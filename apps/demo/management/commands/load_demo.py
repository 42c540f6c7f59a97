"""Fill the embedded database with the demo, once, and play the hours since it last ran."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from apps.demo import loading, simulator, standing_orders
from lib.access import system
from lib.embedded_postgres import is_embedded


class Command(BaseCommand):
    help = "Load demo data and demo accounts into the embedded PostgreSQL; does nothing when they are there."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--facts", type=Path, help="file that gets token and sign-ins as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if not is_embedded(connection):
            raise CommandError("Demo accounts exist only on the embedded database; this is another one.")
        if not loading.is_loaded():
            self.stdout.write("Loading the demo data: riders, drivers and four weeks of rides ...")
        facts = loading.ensure(by=system("load_demo"), at=timezone.now(), also=standing_orders.load)
        self.stdout.write("The demo data of a made-up metro area is there.")
        if simulator.is_behind(at=timezone.now()):
            # Before the exception monitor runs, which would report every ride of these hours as late.
            self.stdout.write("Playing the hours since the demo last ran ...")
            simulator.play(at=timezone.now())
        if options["facts"]:
            options["facts"].write_text(json.dumps(facts))
