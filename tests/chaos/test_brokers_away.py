"""Refused, stopped or wiped broker: the API answers as before, and every event arrives soon."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.callers import api_with
from tests.chaos import longer, tell
from tests.serving import ROOT, environment
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [
    pytest.mark.usefixtures("transactional_db"),
    pytest.mark.real_clock,
    pytest.mark.untraced,
    longer,
]

AFTER_RETURN = 15.0  # seconds
PATIENCE = 90
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"  # Debian's own; the one in the path switches to another user


def _free_port() -> int:
    """Return a port below the system's ephemeral range, so that it stays free while its server is stopped."""
    for port in range(21_000 + os.getpid() % 5_000, 32_000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError


class Broker:
    """A broker of the test in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    url = ""

    def command(self) -> list[str]:
        raise NotImplementedError

    def variables(self) -> dict[str, str]:
        return {}

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        with (self.folder.parent / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                env=os.environ | self.variables(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        give_up = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < give_up, (self.folder.parent / "broker.log").read_text()
            time.sleep(0.1)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """Kill it and all processes that it started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def wipe(self) -> None:
        shutil.rmtree(self.folder)


class Redis(Broker):
    @property
    def url(self) -> str:  # type: ignore[override]  # narrower than the base class
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]


class RabbitMq(Broker):
    @property
    def url(self) -> str:  # type: ignore[override]  # narrower than the base class
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def command(self) -> list[str]:
        return [RABBITMQ]

    def variables(self) -> dict[str, str]:
        settings = self.folder.parent / "rabbitmq.conf"  # in place of the machine's settings
        settings.write_text(f"listeners.tcp.1 = 127.0.0.1:{self.port}\n")
        return {
            "RABBITMQ_CONFIG_FILE": str(settings),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_NODENAME": f"chaos{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(self.port + 1),
            "RABBITMQ_BASE": str(self.folder),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "HOME": str(self.folder),
        }


BROKERS = [
    pytest.param(Redis, marks=pytest.mark.skipif(not shutil.which("redis-server"), reason="no redis-server")),
    pytest.param(RabbitMq, marks=pytest.mark.skipif(not Path(RABBITMQ).exists(), reason="no rabbitmq-server")),
]


@pytest.mark.parametrize("kind", BROKERS)
def test_a_broker_that_goes_takes_nothing_with_it(kind: type[Broker], receiver: Receiver, tmp_path: Path) -> None:
    broker = kind(tmp_path / "broker")
    made.endpoint(f"{receiver.url}/hook", event_types=["ride.*"])
    try:
        before, ride = _booked()  # refused
        broker.start()
        with _celery(broker.url, tmp_path):
            _await(receiver, ride, PATIENCE)
            for harm in ("stopped", "wiped"):
                broker.kill()
                if harm == "wiped":
                    broker.wipe()
                meanwhile, ride = _booked()
                time.sleep(20)  # the longer the outage, the longer the clients' retry delay
                broker.start()
                returned = time.monotonic()
                _await(receiver, ride, PATIENCE)
                seconds = time.monotonic() - returned
                tell(f"R-08/R-09: {kind.__name__} {harm}: everything arrived {seconds:.1f} s after its return")
                assert seconds <= AFTER_RETURN
                assert meanwhile <= before + 0.5
    finally:
        broker.kill()


@pytest.mark.parametrize("kind", BROKERS)
def test_event_messages_instead_of_clock_would_lose_events(
    kind: type[Broker], receiver: Receiver, tmp_path: Path
) -> None:
    broker = kind(tmp_path / "broker")
    made.endpoint(f"{receiver.url}/hook", event_types=["ride.*"])
    try:
        broker.start()
        with _celery(broker.url, tmp_path, beat=False):
            _, ride = _booked()
            _send_message(broker)
            _await(receiver, ride, PATIENCE)  # works so far
            _await_end(tmp_path)  # a running task finds it in the rows; an unacknowledged message is delivered again
            broker.kill()
            _, missed = _booked()
            _send_message(broker)
            broker.start()
            time.sleep(AFTER_RETURN)
            lost = not _has(receiver, missed)
            _send_message(broker)
            _await(receiver, missed, PATIENCE)  # the next tick finds it in the rows
    finally:
        broker.kill()

    assert lost


def _send_message(broker: Broker) -> None:
    """Send a message to a delivery worker, as code that relies on a broker would after each event."""
    command = [sys.executable, "-m", "celery", "--quiet", "--app", "config.celery", "call", "webhooks.deliver"]
    variables = environment(8000, BROKER_URL=broker.url)
    subprocess.run(command, cwd=ROOT, env=variables, check=False, timeout=30, capture_output=True)


def _booked() -> tuple[float, str]:
    """Book a ride over the API, which records an event; return the seconds of the answer, and the ride's id."""
    caller = api_with()
    place = {"city": "Chicago", "state": "IL", "postalCode": "60622"}
    body = {
        "pickupTime": (timezone.now() + timedelta(days=1)).isoformat(),
        "rider": {"firstName": "Orla", "lastName": "Brandt"},
        "pickup": place | {"addressLine1": "1418 N Wood St"},
        "dropoff": place | {"addressLine1": "9 W Monroe St"},
    }
    began = time.monotonic()
    answer = caller.post("/api/rides", body)
    assert answer.status_code == 201, answer.content
    return time.monotonic() - began, str(answer.json()["id"])


@contextmanager
def _celery(url: str, folder: Path, *, beat: bool = True) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "--quiet", "--app", "config.celery", "worker"]
    command += ["--queues", "carelane,webhooks", "--pool", "threads", "--concurrency", "4"]
    command += ["--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    command += ["--beat", "-s", str(folder / "beat")] if beat else []
    with (folder / "celery.log").open("ab") as log:
        variables = environment(8000, BROKER_URL=url, VAR_DIR=str(folder))
        process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=log, stderr=log, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await(receiver: Receiver, ride: str, seconds: float) -> None:
    give_up = time.monotonic() + seconds
    while not _has(receiver, ride):
        assert time.monotonic() < give_up, receiver.got
        time.sleep(0.05)


def _await_end(folder: Path) -> None:
    """Wait until the worker has acknowledged the first message, at the end of its task."""
    give_up = time.monotonic() + PATIENCE
    while " succeeded in " not in (folder / "celery.log").read_text():
        assert time.monotonic() < give_up
        time.sleep(0.1)
    time.sleep(2)  # the acknowledgement follows the log line


def _has(receiver: Receiver, ride: str) -> bool:
    return any(ride in one.body.decode() for one in receiver.got)
