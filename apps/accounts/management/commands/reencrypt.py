"""Re-encrypt all encrypted values under the newest of ENCRYPTION_KEYS."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.services import reencryption
from lib.access import system


class Command(BaseCommand):
    """Re-encrypt all encrypted columns.  Can be interrupted and run again at any time."""

    help = "Re-encrypt every value under the newest of ENCRYPTION_KEYS, so that earlier ones can be removed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, default=200, help="rows that are read and committed at once")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["batch"] < 1:
            raise CommandError("--batch has to be 1 or more.")
        done = reencryption.reencrypt(by=system("reencrypt"), rows_at_once=options["batch"], report=self._report)
        for column in done:
            self.stdout.write(f"{column.column}: {column.seen} rows, {column.reencrypted} re-encrypted")
        unreadable = [f"{column.column} of {key}" for column in done for key in column.unreadable]
        for line in unreadable:
            self.stderr.write(f"no key opens {line}")
        if unreadable:
            raise CommandError(
                "Some values were encrypted under a key that is not in ENCRYPTION_KEYS, or were altered."
            )

    def _report(self, progress: reencryption.ReencryptionProgress) -> None:
        self.stderr.write(f"\r{progress.column}: {progress.seen}", ending="")
