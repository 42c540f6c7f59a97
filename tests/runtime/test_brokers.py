"""One task through each broker: settings, transport, queue and worker as in production, without mocks."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kombu import Connection, Exchange, Queue

ROOT = Path(__file__).resolve().parent.parent.parent
SEND = "import sys; from tests.runtime.proof_task import prove; prove.apply_async((sys.argv[1],), queue=sys.argv[2])"
PATIENCE = 180  # seconds; a loaded machine starts a worker slowly

Deliver = Callable[[str, Path], None]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


rabbitmq = pytest.mark.skipif(not _answers(5672), reason="RabbitMQ does not answer on 127.0.0.1:5672")
redis = pytest.mark.skipif(not _answers(6379), reason="Redis does not answer on 127.0.0.1:6379")


@pytest.mark.broker
@rabbitmq
def test_task_travels_through_rabbitmq(tmp_path: Path) -> None:
    _prove("amqp://guest:guest@127.0.0.1:5672//", tmp_path)


@pytest.mark.broker
@redis
def test_task_travels_through_redis(tmp_path: Path) -> None:
    _prove("redis://127.0.0.1:6379/15", tmp_path)


@pytest.mark.broker
def test_task_travels_through_files(tmp_path: Path) -> None:
    (tmp_path / "broker" / "queue").mkdir(parents=True)
    (tmp_path / "broker" / "control").mkdir()

    _prove(f"filesystem://{tmp_path}/broker", tmp_path)


def _prove(url: str, folder: Path) -> None:
    """Send a task before the worker listens and one after it has been idle; one worker writes both files."""
    queue = f"carelane-test-{uuid.uuid4().hex}"
    environment = os.environ | {"BROKER_URL": url, "LOG_LEVEL": "INFO"}
    try:
        _send(environment, folder / "early", queue)
        with _worker(environment, queue, folder):
            _wait_for(folder / "early", folder)
            time.sleep(2)  # longer than the read timeout of the connection
            _send(environment, folder / "late", queue)
            _wait_for(folder / "late", folder)
    finally:
        with Connection(url) as connection:
            if not url.startswith("filesystem"):
                Queue(queue, channel=connection.default_channel).delete()
                Exchange(queue, channel=connection.default_channel).delete()

    assert (folder / "early").read_text() == (folder / "late").read_text()


def _send(environment: dict[str, str], path: Path, queue: str) -> None:
    command = [sys.executable, "-c", SEND, str(path), queue]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=PATIENCE)


@contextmanager
def _worker(environment: dict[str, str], queue: str, folder: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "--quiet", "--app", "config.celery", "worker", "--queues", queue]
    command += ["--include", "tests.runtime.proof_task", "--concurrency", "1"]
    command += ["--without-gossip", "--without-mingle", "--hostname", f"{queue}@localhost"]
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                assert process.wait(PATIENCE) == 0
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def _wait_for(path: Path, folder: Path) -> None:
    give_up = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < give_up, (folder / "worker.log").read_text()
        time.sleep(0.05)
