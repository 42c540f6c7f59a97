"""Replace the deployment's ed25519 key."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.webhooks.services import secrets
from lib.access import system


class Command(BaseCommand):
    """Replace the key; receivers read its public half at /api/webhooks/keys."""

    help = "Sign webhooks with a new ed25519 key from now on."

    def handle(self, *args: Any, **options: Any) -> None:
        key = secrets.rotate_signing_key(by=system("rotate_webhook_key"), at=timezone.now())
        self.stdout.write(
            f"Key {key.pk} signs from now on; earlier ones are listed for {secrets.RETIRED_KEY_LISTED_FOR.days} days."
        )
