from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from apps.accounts.services import people
from lib.access import system


class Command(BaseCommand):
    """Create an admin and print the link at which they set their password: there are no default accounts."""

    help = "Make an admin account and print a one-time link, good for 24 hours, at which its owner sets the password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--name", required=True, help="as colleagues know them")

    def handle(self, *args: Any, **options: Any) -> None:
        by = system("create_admin")
        try:
            validate_email(options["email"])
            user = people.create_admin(email=options["email"], name=options["name"], by=by)
        except ValidationError:
            raise CommandError("That is not an e-mail address.") from None
        except people.EmailTaken as refusal:
            raise CommandError(refusal.message) from None
        self.stdout.write(people.one_time_link(user_id=user.pk, by=by))
