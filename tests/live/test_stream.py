"""Visibility and lifetime of streams: one process, from PostgreSQL to the bytes of the stream."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection, connections
from django.test import AsyncClient, Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.sessions import LAST_ACTIVE_AT
from apps.events import services
from lib.access import system
from lib.ids import uuid7
from lib.live import hub as hubs
from lib.live import stream as streams
from lib.live.changes import RecordChange
from lib.live.hub import Hub, Inbox, Signal
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.live.test_telling import columns

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real_clock]
LISTENERS = "FROM pg_stat_activity WHERE application_name = 'carelane live' AND datname = current_database()"
SECONDS = 30  # timeout of any step on a loaded machine


@pytest.fixture
def person(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCHER)


class Listening:
    """A browser with an open stream."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self.status = 0
        self._parts: AsyncIterator[bytes] = aiter(_nothing())

    async def open(self) -> None:
        response: Any = await self.client.get("/console/live/")
        self.status, self.headers = response.status_code, response.headers
        if response.streaming:
            self._parts = aiter(response)

    async def next(self) -> tuple[str, Any]:
        """Return the next event; ("", None) at the end of the stream."""
        async with asyncio.timeout(SECONDS):
            async for part in self._parts:
                lines = dict(line.split(": ", 1) for line in part.decode().splitlines() if line)
                if "event" in lines:
                    return lines["event"], json.loads(lines["data"])
        return "", None

    async def close(self) -> None:
        await self._parts.aclose()  # type: ignore[attr-defined]  # missing in the stubs


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield


def listen_as(person: User, act: Callable[[Listening], Awaitable[None]]) -> None:
    """Open a stream as a user, and continue after its first event."""

    async def run() -> None:
        client = AsyncClient()
        await sync_to_async(sign_in)(client, person)
        listening = Listening(client)
        await listening.open()
        event, at = await listening.next()
        assert (event, abs(at / 1000 - time.time()) < SECONDS) == ("ready", True)
        await act(listening)
        await listening.close()

    async_to_sync(run)()


def happen(**more: Any) -> dict[str, Any]:
    event = columns(**more)
    services.record(**event, by=system())
    return {"subject": event["subject_type"], "id": str(event["subject_id"]), "type": event["type"]}


def drop_listeners() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(pg_terminate_backend(pid)) {LISTENERS}")
        return int(cursor.fetchone()[0])


def test_stream_tells_what_is_committed_and_is_kept_nowhere(person: User) -> None:
    async def act(listening: Listening) -> None:
        one = await sync_to_async(happen)()
        first = await listening.next()
        await sync_to_async(services.record_all)([columns() for _ in range(201)], by=system())
        second = await listening.next()

        assert first == ("changes", [one])
        assert second == ("resync", 1)
        assert listening.headers["Content-Type"] == "text/event-stream"
        assert listening.headers["Cache-Control"] == "no-store"
        assert listening.headers["X-Accel-Buffering"] == "no"

    listen_as(person, act)


@pytest.mark.parametrize(
    ("role", "place"), [(UserRole.PLANNER, "facility"), (UserRole.FLEET_ADMIN, "provider")], ids=["planner", "fleet"]
)
def test_people_hear_of_their_own_places_alone(transactional_db: None, role: UserRole, place: str) -> None:
    make: Any = {"facility": factories.FacilityFactory, "provider": factories.TransportProviderFactory}[place]
    own, other = make.create(), make.create()
    person = factories.UserFactory.create(role=role)
    getattr(person, {"facility": "facilities", "provider": "providers"}[place]).add(own)

    async def act(listening: Listening) -> None:
        for elsewhere in ({}, {f"{place}_id": other.pk}):
            await sync_to_async(happen)(**elsewhere)
        mine = await sync_to_async(happen)(**{f"{place}_id": own.pk})

        assert await listening.next() == ("changes", [mine])

    listen_as(person, act)


def test_stream_holds_no_connection(person: User) -> None:
    async def act(listening: Listening) -> None:
        held = await sync_to_async(lambda: [one.connection for one in connections.all(initialized_only=True)])()

        assert held == [None]

    listen_as(person, act)


def _signs_out(person: User, client: AsyncClient) -> None:
    client.session.flush()


def _rests(person: User, client: AsyncClient) -> None:
    session = client.session
    session[LAST_ACTIVE_AT] = time.time() - 3600
    session.save()


def _is_switched_off(person: User, client: AsyncClient) -> None:
    User.objects.filter(pk=person.pk).update(is_active=False)


def _changes_password(person: User, client: AsyncClient) -> None:
    person.set_password("another long passphrase")
    person.save(update_fields=["password"])


def _gets_another_role(person: User, client: AsyncClient) -> None:
    User.objects.filter(pk=person.pk).update(role=UserRole.PLANNER)


@pytest.mark.parametrize("end", [_signs_out, _rests, _is_switched_off, _changes_password, _gets_another_role])
def test_stream_ends_with_the_session_or_its_rights(
    person: User, monkeypatch: pytest.MonkeyPatch, end: Callable[[User, AsyncClient], None]
) -> None:
    monkeypatch.setattr(streams, "ALIVE_SECONDS", (0.01, 0.02))

    async def act(listening: Listening) -> None:
        before = [(await listening.next())[0] for _ in range(2)]
        await sync_to_async(end)(person, listening.client)
        after = {(await listening.next())[0] for _ in range(3)}

        assert before == ["alive", "alive"]
        assert "" in after

    listen_as(person, act)


def test_stream_ends_where_the_database_cannot_be_asked(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "ALIVE_SECONDS", (0.01, 0.02))

    async def act(listening: Listening) -> None:
        monkeypatch.setitem(connection.settings_dict, "NAME", "carelane_nowhere")
        ended = [await listening.next() for _ in range(3)]
        monkeypatch.undo()

        assert ("", None) in ended

    connection.close()
    pool_was = connection.settings_dict["OPTIONS"].pop("pool")  # its connections use the earlier database address
    try:
        listen_as(person, act)
    finally:
        connection.close()  # it is not from the pool
        connection.settings_dict["OPTIONS"]["pool"] = pool_was


def test_streams_end_when_postgresql_is_lost_and_new_ones_work(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "FIRST_PAUSE", 0.01)

    async def act(listening: Listening) -> None:
        dropped = await sync_to_async(drop_listeners)()
        assert (dropped >= 1, await listening.next()) == (True, ("", None))
        await listening.open()
        assert (await listening.next())[0] == "ready"
        one = await sync_to_async(happen)()
        assert await listening.next() == ("changes", [one])

    listen_as(person, act)


def test_stream_ends_at_once_where_nothing_is_heard(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PATIENCE_SECONDS", 0.01)

    async def never() -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(hubs, "_connect", never)

    async def run() -> None:
        client = AsyncClient()
        await sync_to_async(sign_in)(client, person)
        listening = Listening(client)
        await listening.open()

        assert (listening.status, await listening.next()) == (200, ("", None))

    async_to_sync(run)()


def test_reader_who_falls_behind_begins_anew(transactional_db: None) -> None:
    change = RecordChange("ride", str(uuid7()), "ride.scheduled", None, None)

    async def run() -> list[Any]:
        inbox = Inbox(lambda one: True)
        for _ in range(hubs.MOST_WAITING):
            inbox.put([change])
        kept = await inbox.take(seconds=0)
        inbox.put([change])
        inbox.put([change])
        return [kept, await inbox.take(seconds=0), await inbox.take(seconds=0)]

    assert asyncio.run(run()) == [[change], Signal.END, None]


def test_readers_of_a_process_share_one_connection(transactional_db: None) -> None:
    async def run() -> set[int]:
        before = await sync_to_async(_listeners)()  # those of other tests are still closing
        hub = hubs.hub()
        with hub.inbox(lambda one: True), hub.inbox(lambda one: True):
            assert await hub.is_listening(seconds=SECONDS)
        with hub.inbox(lambda one: True):
            assert await hub.is_listening(seconds=SECONDS)
            return await sync_to_async(_listeners)() - before

    assert len(async_to_sync(run)()) == 1


def _listeners() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pid {LISTENERS}")
        return {pid for (pid,) in cursor.fetchall()}


def test_hub_whose_task_has_ended_begins_another(transactional_db: None) -> None:
    async def run() -> bool:
        hub = Hub()
        with hub.inbox(lambda one: True):
            pass
        assert hub._task is not None
        hub._task.cancel()
        await asyncio.gather(hub._task, return_exceptions=True)
        with hub.inbox(lambda one: True):
            return await hub.is_listening(seconds=SECONDS)

    assert asyncio.run(run()) is True


def test_opening_a_stream_keeps_no_session_alive(person: User, client: Client) -> None:
    rested = time.time() - 300
    sign_in(client, person, at=rested)

    for path in ("/console/live/", "/console/live/changes/?age=0"):
        client.get(path)
        assert client.session[LAST_ACTIVE_AT] == rested
    client.get("/console/home/")

    assert client.session[LAST_ACTIVE_AT] > rested


def test_stream_of_nobody_is_refused_and_leads_no_one_to_a_page(client: Client) -> None:
    answer = client.get("/console/live/", headers={"Accept": "text/event-stream"})

    assert (answer.status_code, answer.content) == (401, b"")
    assert client.get("/console/live/").status_code == 302  # opened by a person


def test_threads_are_not_kept_by_streams(person: User, client: Client) -> None:
    sign_in(client, person)

    answer = client.get("/console/live/")  # under WSGI

    assert (answer.status_code, answer.content) == (204, b"")
    assert client.post("/console/live/").status_code == 405
