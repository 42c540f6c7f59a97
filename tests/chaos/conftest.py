"""The receiver of the webhook tests."""

from tests.webhooks.conftest import receiver

__all__ = ["receiver"]
