"""What every test of the API of webhooks takes for granted."""

import pytest

from apps.accounts.models import ApiClient
from tests import factories
from tests.callers import TokenClient, api_with


@pytest.fixture(autouse=True)
def _no_lookups(names: dict[str, list[str]]) -> None:
    """Look no name up outside."""


@pytest.fixture
def client(db: None) -> ApiClient:
    return factories.ApiClientFactory.create()


@pytest.fixture
def api(client: ApiClient) -> TokenClient:
    """A token of `client` that may do everything."""
    return api_with(client=client)
