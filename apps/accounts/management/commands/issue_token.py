"""Issue the first token, or any other one, from the command line."""

import datetime as dt
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.accounts.models import ApiToken
from apps.accounts.rules.roles import TokenRole
from apps.accounts.services import tokens
from lib.access import system
from lib.errors import DomainError
from lib.scopes import Scope


class Command(BaseCommand):
    """Issue a bearer token and print its text, once."""

    help = "Issue a bearer token for an API client (made if there is none of that name) and print it, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("client", help="name of the outside system")
        parser.add_argument("--role", choices=TokenRole.values, default=TokenRole.EHR_INTEGRATOR)
        parser.add_argument("--scope", action="append", choices=Scope.values, help="narrower than the role; repeat")
        parser.add_argument("--facility", action="append", help="id of a facility it is bound to; repeat")
        parser.add_argument("--provider", action="append", help="id of a transport provider it is bound to; repeat")
        parser.add_argument("--cidr", action="append", default=[], help="network it may be used from; repeat")
        parser.add_argument("--phi", choices=ApiToken.PhiLevel.values, default="none")
        parser.add_argument("--days", type=int, help="how long it lives; 90 unless the client allows less")

    def handle(self, *args: Any, **options: Any) -> None:
        at = timezone.now()
        grant = tokens.Grant(
            role=TokenRole(options["role"]),
            scopes=frozenset(options["scope"]) if options["scope"] else None,
            facility_ids=frozenset(options["facility"]) if options["facility"] else None,
            provider_ids=frozenset(options["provider"]) if options["provider"] else None,
            allowed_cidrs=tuple(options["cidr"]),
            phi_level=options["phi"],
            expires_at=at + dt.timedelta(days=options["days"]) if options["days"] else None,
        )
        try:
            issued = tokens.issue(client_name=options["client"], grant=grant, by=system("issue_token"), at=at)
        except DomainError as refusal:
            raise CommandError(refusal.message) from refusal
        self.stderr.write(f"Token {issued.token.pk} works until {issued.token.expires_at:%Y-%m-%d %H:%M} UTC.")
        self.stdout.write(issued.text)
