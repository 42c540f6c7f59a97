"""Example receivers of docs/webhooks.md, as separate processes, with real deliveries."""

import json
import os
import re
import runpy
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from http.client import HTTPConnection
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from apps.webhooks.models import Attempt, Delivery, Endpoint
from apps.webhooks.rules.event_types import CATALOGUE
from apps.webhooks.rules.payloads import MAX_BYTES
from apps.webhooks.rules.schedule import DELAYS
from apps.webhooks.services import delivery, recovery, secrets
from lib.access import system
from lib.standard_webhooks import new_secret
from tests.serving import PATIENCE, ROOT
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock]

PAGE = ROOT / "docs" / "webhooks.md"
EXAMPLES = ROOT / "docs" / "examples"
NODE = shutil.which("node")
LANGUAGES = [
    "py",
    pytest.param("mjs", marks=pytest.mark.skipif(NODE is None, reason="node is not installed")),
]


class Example:
    """A running example of the page."""

    def __init__(self, port: int, folder: Path, said: Path) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        self._folder, self._said = folder, said

    @property
    def said(self) -> list[str]:
        return self._said.read_text().splitlines()

    def stored(self) -> int:
        """Count the events that it has stored, in any way."""
        (inbox,) = self._folder.glob("inbox*")
        if inbox.suffix == ".ndjson":
            return len(inbox.read_text().splitlines())
        return _rows(inbox)


@contextmanager
def example(language: str, folder: Path, secret: str = made.SECRET) -> Iterator[Example]:
    program = {"py": sys.executable, "mjs": str(NODE)}[language]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    said = folder / "said.txt"
    variables = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": secret, "PORT": str(port)}
    with said.open("wb") as file:
        process = subprocess.Popen(
            [program, str(EXAMPLES / f"webhook_receiver.{language}")], cwd=folder, env=variables, stdout=file
        )
    try:
        _await(port, process)
        yield Example(port, folder, said)
    finally:
        process.send_signal(signal.SIGKILL)  # acknowledged events are stored
        process.wait()


def test_page_quotes_the_examples_as_they_stand() -> None:
    blocks = re.findall(r"```(?:python|js)\n(.*?)```", PAGE.read_text(), re.DOTALL)

    files = sorted(path for path in EXAMPLES.iterdir() if path.suffix in {".py", ".mjs"})

    assert len(files) == 4
    assert sorted(blocks) == sorted(path.read_text() for path in files)


def test_page_tells_the_schedule_of_retries() -> None:
    rows = re.findall(r"^\| +(\d+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)

    assert [(int(number), _seconds(wait)) for number, wait, _ in rows] == [
        (number, delay.total_seconds()) for number, delay in enumerate(DELAYS, start=2)
    ]
    # To the minute, which is exact enough for readers.
    assert [int(_seconds(since)) // 60 for _, _, since in rows] == [
        int(total.total_seconds()) // 60 for total in accumulate(DELAYS)
    ]


def test_page_describes_the_five_event_types_as_in_catalogue() -> None:
    rows = dict(re.findall(r"^\| `(ride\.\w+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE))

    five = ("scheduled", "driver_assigned", "started", "completed", "exception")
    assert rows == {f"ride.{name}": CATALOGUE[f"ride.{name}"].description for name in five}


@pytest.mark.parametrize("language", LANGUAGES)
def test_example_processes_event_once_and_accepts_duplicate(language: str, tmp_path: Path) -> None:
    with example(language, tmp_path) as receiver:
        made.endpoint(receiver.url)
        event = made.event(sequence=4)
        made.work()
        first = Delivery.objects.get()
        recovery.resend(delivery_id=first.pk, confirmed=True, by=system(), at=delivery.DatabaseClock()())

        made.work()

        assert [(row.status, row.last_code) for row in Delivery.objects.all()] == [("delivered", 204)] * 2
        assert receiver.said == [f"ride.completed ride {event.subject_id} 4"]
        assert receiver.stored() == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_example_refuses_a_signature_under_another_secret(language: str, tmp_path: Path) -> None:
    with example(language, tmp_path, secret=new_secret()) as receiver:
        made.endpoint(receiver.url)
        made.event()

        made.work()

        assert (Attempt.objects.get().code, receiver.said) == (401, [])


@pytest.mark.parametrize("language", LANGUAGES)
def test_example_refuses_what_was_signed_long_ago(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Past(delivery.DatabaseClock):
        def __call__(self) -> datetime:
            return super().__call__() - timedelta(minutes=6)

    monkeypatch.setattr(delivery, "DatabaseClock", Past)
    with example(language, tmp_path) as receiver:
        made.endpoint(receiver.url)
        made.event()

        made.work()

        assert (Attempt.objects.get().code, receiver.said) == (401, [])


@pytest.mark.parametrize("language", LANGUAGES)
def test_example_refuses_a_body_that_no_webhook_has(language: str, tmp_path: Path) -> None:
    with example(language, tmp_path) as receiver:
        connection = HTTPConnection(urlsplit(receiver.url).netloc, timeout=PATIENCE)
        connection.request("POST", "/", body=b"x" * (MAX_BYTES + 1))
        answer = connection.getresponse()
        connection.close()

        assert (answer.status, receiver.said) == (413, [])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("holds", ["older", "newer"])
def test_example_takes_both_signatures_of_a_rotation(language: str, holds: str, tmp_path: Path) -> None:
    endpoint, newer = made.endpoint(), new_secret()
    now = delivery.DatabaseClock()()
    secrets.rotate(endpoint_id=endpoint.pk, text=newer, by=system(), at=now)

    with example(language, tmp_path, secret={"older": made.SECRET, "newer": newer}[holds]) as receiver:
        Endpoint.objects.update(url=receiver.url)
        made.event()
        made.work()

        assert Attempt.objects.get().code == 204
        assert receiver.stored() == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_example_knows_after_a_restart_what_it_has(language: str, tmp_path: Path) -> None:
    with example(language, tmp_path) as receiver:
        made.endpoint(receiver.url)
        made.event()
        made.work()
    again = Delivery.objects.get()
    recovery.resend(delivery_id=again.pk, confirmed=True, by=system(), at=delivery.DatabaseClock()())

    with example(language, tmp_path) as receiver:
        Endpoint.objects.update(url=receiver.url, version=2)
        made.work()

        assert (Delivery.objects.filter(status="delivered").count(), receiver.stored(), receiver.said) == (2, 1, [])


@pytest.mark.parametrize("language", LANGUAGES)
def test_public_key_verifies_what_is_delivered_and_nothing_else(receiver: Receiver, language: str) -> None:
    secrets.ensure_signing_key(at=made.due_now())
    secrets.rotate_signing_key(by=system(), at=made.due_now(minutes=1))
    made.endpoint(receiver.url, asymmetric=True)
    made.event()
    made.work()
    (got,) = receiver.got
    published = json.loads(json.dumps(secrets.jwks(at=timezone.now())))

    verdicts = [
        _judge(language, got.headers, got.body, published),
        _judge(language, got.headers, got.body + b" ", published),
        _judge(language, got.headers | {"webhook-signature": "v1,AAAA"}, got.body, published),
    ]

    assert verdicts == [True, False, False]


def _seconds(words: str) -> float:
    """Parse `2 min 40 s`."""
    each = {"h": 3600, "min": 60, "s": 1}
    return sum(int(number) * each[unit] for number, unit in re.findall(r"(\d+) (h|min|s)\b", words))


def _judge(language: str, headers: dict[str, str], body: bytes, published: dict[str, Any]) -> bool:
    path = EXAMPLES / f"webhook_public_key.{language}"
    if language == "py":
        return bool(runpy.run_path(str(path))["genuine"](headers, body, published))
    given = ", ".join([json.dumps(headers), f"Buffer.from({json.dumps(body.decode())})", json.dumps(published)])
    script = f"import {{ genuine }} from {json.dumps(path.as_uri())}; console.log(genuine({given}));"
    command = [str(NODE), "--input-type=module", "--eval", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    return bool(json.loads(done.stdout))


def _rows(inbox: Path) -> int:
    with closing(sqlite3.connect(inbox)) as opened:
        return int(opened.execute("SELECT count(*) FROM inbox").fetchone()[0])


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    give_up = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, "the receiver ended"
        assert time.monotonic() < give_up, "the receiver does not answer"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
