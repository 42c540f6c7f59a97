"""Receiver fixture of the webhook tests."""

from collections.abc import Iterator

import pytest

from tests.webhooks.receiver import Receiver, receiving


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Addresses of host names, by name; all others are public addresses.  No DNS query is made."""
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
