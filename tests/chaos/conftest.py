"""Committed rows and a receiver, as the tests of webhooks have them."""

from tests.webhooks.conftest import receiver, transactional_db

__all__ = ["receiver", "transactional_db"]
