"""One data set per test module, in a transaction that is rolled back; each test runs in a savepoint of it."""

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.db import transaction
from django.test import override_settings

from tests import factories
from tests.access.world import World, build

PLENTY = {"read": (10**7, 10**6), "write": (10**7, 10**6)}


@pytest.fixture(scope="module")
def built(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    with django_db_blocker.unblock(), override_settings(API_RATES=PLENTY), transaction.atomic():
        with time_machine.travel(factories.NOW, tick=False):
            made = build()
        yield made
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve every host name to a public address, without DNS queries."""
    monkeypatch.setattr("lib.outbound.addresses_of", lambda host, port: ["1.1.1.1"])


@pytest.fixture
def db(built: World) -> Iterator[None]:
    """Replace pytest-django's fixture, which would close the connection and end the module's transaction."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def world(built: World, db: None) -> World:
    return built
