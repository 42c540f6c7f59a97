"""Check the hash chain of the audit trail."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.audit.services import audit_chain


class Command(BaseCommand):
    """Check the chain and print its head, which belongs outside the database."""

    help = "Check the hash chain over the audit trail; print its head, which belongs outside the database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--head", help="a head printed earlier, NUMBER:DIGEST; shows a trail cut off at its end")

    def handle(self, *args: Any, **options: Any) -> None:
        head, problems = audit_chain.verify(stored_head=_head(options["head"]))
        for line in problems:
            self.stderr.write(line)
        if problems:
            raise CommandError("The audit trail was altered.")
        self.stdout.write(f"{head.number}:{head.digest}")


def _head(text: str | None) -> audit_chain.Head:
    if not text:
        return audit_chain.START
    number, _, digest = text.partition(":")
    if not number.isdecimal() or not digest:
        raise CommandError("--head has to be NUMBER:DIGEST, as it was printed.")
    return audit_chain.Head(int(number), digest)
