"""A receiver, as the tests of webhooks have it."""

from tests.webhooks.conftest import receiver

__all__ = ["receiver"]
