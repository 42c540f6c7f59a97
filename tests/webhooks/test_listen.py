"""`manage.py webhook_listen`, as a separate process on committed rows."""

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import override_settings

from apps.webhooks.management.commands import webhook_listen
from apps.webhooks.models import Delivery, Endpoint
from tests.serving import PATIENCE, ROOT, environment
from tests.webhooks import made

SIGNED_BADLY = {"webhook-id": "evt", "webhook-timestamp": "1", "webhook-signature": "v1,?"}

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock]


class Listener:
    """The running command; `until` waits for text in its output."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        self._output = folder / "output.txt"
        command = [sys.executable, "manage.py", "webhook_listen", *arguments]
        with self._output.open("wb") as file:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment(8000, PYTHONUNBUFFERED="1", **variables), stdout=file, stderr=file
            )

    @property
    def said(self) -> str:
        return self._output.read_text()

    def until(self, words: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while words not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < give_up, self.said
            time.sleep(0.02)

    def stop(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    found = Listener(tmp_path, "--types", "ride.*, webhook.endpoint.failing")
    yield found
    if found.process.poll() is None:
        found.stop(signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_listener_prints_events_and_removes_its_endpoint(listener: Listener, number: int) -> None:
    listener.until("Ctrl-C ends it.")
    made.work()
    event = made.event("ride.completed", sequence=7)

    made.work()
    listener.until("ride.completed")
    code = listener.stop(number)

    endpoint = Endpoint.objects.get()
    assert code == 0
    assert listener.said.splitlines() == [
        f"Listening on {endpoint.url} for ride.*, webhook.endpoint.failing; Ctrl-C ends it.",
        f"{_instant(endpoint)}  webhook.test  endpoint {endpoint.pk} sequence 1  attempt 1",
        f"2026-11-20T15:00:00Z  ride.completed  ride {event.subject_id} sequence 7  attempt 1",
        "Removed the endpoint.",
    ]
    assert (endpoint.state, endpoint.deleted_at is None) == ("disabled", False)
    assert [row.status for row in Delivery.objects.all()] == ["delivered", "delivered"]


def test_listener_refuses_what_nobody_signed_for_it(listener: Listener) -> None:
    listener.until("Ctrl-C ends it.")

    for signature in ({}, SIGNED_BADLY, SIGNED_BADLY | {"webhook-signature": "v1"}):
        request = urllib.request.Request(Endpoint.objects.get().url, b'{"type":"ride.completed"}', signature)  # noqa: S310  # on loopback
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request)  # noqa: S310  # on loopback

        refusal.value.close()
        assert refusal.value.code == 401
        listener.until("Refused a request without a valid signature.")


def test_listener_ends_well_where_its_endpoint_was_taken_away(listener: Listener) -> None:
    listener.until("Ctrl-C ends it.")
    Endpoint.objects.update(deleted_at=made.due_now())

    assert listener.stop(signal.SIGINT) == 0


def test_listener_says_what_is_missing_where_nothing_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    command = webhook_listen.Command()
    monkeypatch.setattr(command.stdout, "write", said.append)
    monkeypatch.setattr(webhook_listen, "HINT_AFTER", -1.0)

    with webhook_listen._Receiver(0, command) as receiver:
        receiver.service_actions()
        receiver.service_actions()

    assert said == ["Nothing has arrived yet. Is a worker running? `make run` has one."]


@override_settings(WEBHOOK_PLAIN_HTTP=False)
def test_listener_refuses_in_one_line_where_settings_forbid_it() -> None:
    with pytest.raises(CommandError) as refusal:
        call_command("webhook_listen")

    assert str(refusal.value) == webhook_listen.FORBIDDEN
    assert not Endpoint.objects.exists()


def test_listener_refuses_types_that_are_none() -> None:
    with pytest.raises(CommandError) as refusal:
        call_command("webhook_listen", types="ride.*,nothing")

    assert str(refusal.value) == "--types: eventTypes must be types of GET /webhooks/event-types."
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("port", [1 << 20, -1])
def test_listener_refuses_a_port_that_is_none(port: int) -> None:
    with pytest.raises(CommandError) as refusal:
        call_command("webhook_listen", port=port)

    assert str(refusal.value) == f"Port {port} cannot be listened on; choose another one with --port."


def _instant(endpoint: Endpoint) -> str:
    at = Delivery.objects.get(event_type="webhook.test").event.occurred_at
    return at.isoformat().replace("+00:00", "Z")
