"""The service in a separate process, streams in this one, and changes that this one commits."""

import asyncio
import time
import urllib.request
from collections.abc import Iterator

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.events import services
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.live.reading import Reader
from tests.live.test_telling import columns
from tests.serving import serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real_clock, pytest.mark.untraced]
STREAMS = 20


@pytest.fixture
def service(transactional_db: None) -> Iterator[str]:
    with serving(DATABASE_POOL_SIZE="2") as url:
        yield url


@pytest.fixture
def cookie(transactional_db: None) -> str:
    client = Client()
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={client.cookies[name].value}"


def _open_home(url: str, cookie: str) -> int:
    asked = urllib.request.Request(url, headers={"Cookie": cookie})  # noqa: S310  # our own address
    with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310  # our own address
        return int(answer.status)


def test_streams_leave_pool_to_pages_and_arrive_within_a_second(service: str, cookie: str) -> None:
    async def run() -> list[float]:
        readers = [Reader(service, cookie) for _ in range(STREAMS)]
        for reader in readers:
            async with asyncio.timeout(30):
                await reader.open()
        assert await asyncio.to_thread(_open_home, service, cookie) == 200
        took = []
        for _ in range(5):
            event = columns()
            began = time.perf_counter()
            await sync_to_async(services.record)(**event, by=system())
            heard = [await reader.next() for reader in readers]
            took.append(time.perf_counter() - began)
            assert {(kind, told[0]["id"]) for kind, told in heard} == {("changes", str(event["subject_id"]))}
        for reader in readers:
            await reader.close()
        return took

    took = async_to_sync(run)()  # in this thread: another one would keep its connection

    assert min(took) < 1
