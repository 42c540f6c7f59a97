"""A receiver for every test of webhooks that asks for one, and rows that other connections see."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from tests.webhooks.receiver import Receiver, receiving


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Say what host names resolve to, by name; every other one is of a public address.  Nothing is looked up."""
    known: dict[str, list[str]] = {}

    def addresses_of(host: str, port: int) -> list[str]:
        found = known.get(host, ["1.1.1.1"])
        if not found:
            raise OSError("no such name")
        return found

    monkeypatch.setattr("lib.outbound.addresses_of", addresses_of)
    return known


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def transactional_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Let rows be committed, for the workers of a test to see; afterwards they are gone.

    In place of pytest-django's own, which empties every table of the service: that takes a second.
    """
    with django_db_blocker.unblock():
        yield
        with connection.cursor() as cursor:
            cursor.execute(
                "TRUNCATE webhooks_attempt, webhooks_delivery, webhooks_job, webhooks_lane, webhooks_endpointsecret,"
                " webhooks_endpoint, webhooks_signingkey, events_unpublished, events_event, accounts_alert,"
                " accounts_auditseal, accounts_auditentry, accounts_apitoken, accounts_apiclient CASCADE"
            )
        connection.close()
