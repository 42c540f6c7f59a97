"""Create a downtime pack now, or decrypt one; decrypting works without the database and the service."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.dispatch.services import downtime
from apps.dispatch.services.downtime import PackResult
from lib import private_files, sealed_zip
from lib.access import system


class Command(BaseCommand):
    help = "Make a downtime pack, or open one with the passphrase of the settings (7-Zip opens it as well)."
    requires_system_checks: list[str] = []  # a pack must open while the service is down

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("make", help="make one now, whenever the last one was")
        opening = verbs.add_parser("open", help="write what is in a pack into a folder, decrypted")
        opening.add_argument("pack", type=Path)
        opening.add_argument("folder", type=Path, help="is made; must not exist")

    def handle(self, *args: Any, **options: Any) -> None:
        if not downtime.is_on():
            raise CommandError("Set DOWNTIME_PASSPHRASE: there are no downtime packs without one.")
        if options["verb"] == "make":
            self._make()
        else:
            self._open(options["pack"], options["folder"])

    def _make(self) -> None:
        at = timezone.now()
        while (outcome := downtime.make(by=system("downtime_pack"), at=at, due=False)) is PackResult.MORE:
            self.stdout.write("Laying out run sheets ...")
        if outcome is PackResult.NOT_YET:
            raise CommandError("A worker is at work on one; try again in two minutes.")
        if outcome is PackResult.FAILED:
            raise CommandError(f"Cannot write to {settings.DOWNTIME_DIR}.")
        self.stdout.write(f"Made the downtime pack in {settings.DOWNTIME_DIR}.")

    def _open(self, pack: Path, folder: Path) -> None:
        try:
            files = sealed_zip.read(pack.read_bytes(), settings.DOWNTIME_PASSPHRASE)
        except FileNotFoundError:
            raise CommandError(f"There is no {pack}.") from None
        except sealed_zip.NotOpened:
            raise CommandError("It was made with another passphrase, has been altered, or is no pack.") from None
        try:
            folder.mkdir(mode=0o700)
        except OSError:
            raise CommandError(f"{folder} is there already, or cannot be made.") from None
        for name, content in files.items():
            target = folder / name
            # File names inside the ZIP are not encrypted or authenticated: someone may have changed them.
            if ".." in target.parts or not target.is_relative_to(folder):
                raise CommandError("A file in it wants to lie outside of the folder: it has been altered.")
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            private_files.write(target, content)
        self.stdout.write(f"{len(files)} files are in {folder}. They name riders: delete them when they were printed.")
