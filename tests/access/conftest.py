"""One world for a whole module, in one transaction that is rolled back; every test works in a savepoint of it."""

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
    """Let every host name be of a public address: nothing is looked up outside."""
    monkeypatch.setattr("lib.outbound.addresses_of", lambda host, port: ["1.1.1.1"])


@pytest.fixture
def db(built: World) -> Iterator[None]:
    """Stand in for pytest-django's fixture, which closes the connection after every test, and the world with it."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def world(built: World, db: None) -> World:
    return built
