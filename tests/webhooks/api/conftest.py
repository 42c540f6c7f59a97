"""Fixtures of all tests of the webhook API."""

import pytest

from apps.accounts.models import ApiClient
from tests import factories
from tests.callers import TokenClient, api_with


@pytest.fixture(autouse=True)
def _no_lookups(names: dict[str, list[str]]) -> None:
    """Make no DNS query."""


@pytest.fixture
def client(db: None) -> ApiClient:
    return factories.ApiClientFactory.create()


@pytest.fixture
def api(client: ApiClient) -> TokenClient:
    """A token of `client` with all scopes."""
    return api_with(client=client)
