"""`make run` as a user sees it, in a separate folder; started processes end on the usual signals."""

import datetime as dt
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg import sql

from tests.addresses import conninfo

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 180  # seconds; the demo data of a first start on a loaded machine

COMMAND = (sys.executable, "-m", "lib.local_run.run")

Start = Callable[..., "Service"]


class Service:
    """One run with its output; `until` waits for a line of it."""

    def __init__(self, var: Path, port: int, command: tuple[str, ...] = COMMAND, **settings: str) -> None:
        keep = ("PATH", "HOME", "LANG", "TMPDIR")
        environment = {name: os.environ[name] for name in keep if name in os.environ}
        environment |= {"VAR_DIR": str(var), "PORT": str(port), **settings}
        self.var, self.port = var, port
        self.output = var.parent / f"{var.name}-{time.monotonic_ns()}.txt"
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    def until(self, words: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while words not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < give_up, self.said
            time.sleep(0.05)

    def stop(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def answers(self) -> int:
        try:
            with urllib.request.urlopen(f"http://localhost:{self.port}/api/nowhere", timeout=20) as answer:
                status: int = answer.status
                return status
        except urllib.error.HTTPError as error:
            return error.code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start runs in `tmp_path/var`, each ended with the test."""
    begun: list[Service] = []

    def factory(port: int, command: tuple[str, ...] = COMMAND, **settings: str) -> Service:
        begun.append(Service(tmp_path / "var", port, command, **settings))
        return begun[-1]

    yield factory
    for service in begun:
        if service.process.poll() is None:
            service.stop(signal.SIGINT)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def _started_from(var: Path) -> list[str]:
    """Return the processes of a run: marked, or working below its folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("CARELANE_STARTED_FROM") == str(var) or process.cwd().startswith(str(var)):
                found.append(" ".join(process.cmdline()))
        except (psutil.Error, OSError):
            continue
    return found


@pytest.mark.real_clock
def test_run_serves_delivers_and_leaves_nothing_behind(start: Start, port: int, tmp_path: Path) -> None:
    var = tmp_path / "var"

    first = start(port)
    first.until("Ctrl-C stops everything.")
    assert first.answers() == 404
    assert stat.S_IMODE((var / "secrets.env").stat().st_mode) == 0o600
    secrets = (var / "secrets.env").read_text()
    told = json.loads((var / "demo.json").read_text())
    assert sorted(told) == ["signIns", "token", "url"]
    assert first.said.index("Loading the demo data") < first.said.index(
        "The demo data of a made-up metro area is there."
    )
    assert told["url"] == f"http://localhost:{port}"
    assert f"curl -H 'Authorization: Bearer {told['token']}' '{told['url']}/api/rides?" in first.said
    assert [each["email"] in first.said and each["password"] in first.said for each in told["signIns"]].count(True) >= 3
    assert first.stop(signal.SIGINT) == 0
    assert first.said.endswith("Stopping the embedded PostgreSQL ...\nStopped.\n")
    assert _started_from(var) == []

    second = start(port)
    second.until("Ctrl-C stops everything.")
    assert "Generated" not in second.said
    assert "Loading the demo data" not in second.said
    assert (var / "secrets.env").read_text() == secrets
    assert json.loads((var / "demo.json").read_text()) == told
    second.process.kill()
    second.process.wait()
    assert _started_from(var) != []

    third = start(port)
    third.until("Ctrl-C stops everything.")
    assert third.answers() == 404
    _hear_of_a_ride(start, third, told)
    assert third.stop(signal.SIGTERM) == 0
    assert _started_from(var) == []


def _hear_of_a_ride(start: Start, service: Service, told: dict[str, Any]) -> None:
    """Listen, book a ride, and receive its event within two minutes."""
    began = time.monotonic()
    listener = start(service.port, (*COMMAND, "manage", "webhook_listen"))
    listener.until("webhook.test")
    tomorrow = (dt.datetime.now(dt.UTC) + dt.timedelta(days=1)).isoformat()
    body = {"pickupTime": tomorrow, "rider": {"firstName": "Orla", "lastName": "Brandt"}}
    place = {"city": "Chicago", "state": "IL", "postalCode": "60622"}
    body |= {"pickup": place | {"addressLine1": "1418 N Wood St"}, "dropoff": place | {"addressLine1": "9 W Monroe St"}}
    ride = _post(f"{told['url']}/api/rides", body, told["token"])
    listener.until("ride.scheduled")

    assert time.monotonic() - began < 120
    assert f"  ride.scheduled  ride {ride['id']} sequence 1  attempt 1\n" in listener.said
    assert listener.stop(signal.SIGINT) == 0
    assert listener.said.endswith("Removed the endpoint.\nStopped.\n")


def _post(url: str, body: dict[str, Any], token: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310  # our own address
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310  # our own address
            found: dict[str, Any] = json.loads(answer.read())
            return found
    except urllib.error.HTTPError as error:
        pytest.fail(f"{error.code}: {error.read().decode()}")


def test_run_stops_while_it_prepares(start: Start, port: int, tmp_path: Path) -> None:
    service = start(port)
    service.until("Bringing the tables up to date")

    assert service.stop(signal.SIGTERM) == 0

    assert service.said.splitlines()[-1] == "Stopped."
    assert _started_from(tmp_path / "var") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_run_stops_when_make_alone_is_told_to(start: Start, port: int, tmp_path: Path, number: int) -> None:
    (tmp_path / "Makefile").write_text(f"run:\n\t@exec {' '.join(COMMAND)}\n")
    service = start(port, ("make", "--no-print-directory", "-f", str(tmp_path / "Makefile"), "run"))
    service.until("Bringing the tables up to date")

    service.stop(number)

    give_up = time.monotonic() + PATIENCE
    while _started_from(tmp_path / "var") or "Stopped.\n" not in service.said:
        assert time.monotonic() < give_up, service.said
        time.sleep(0.1)


def test_run_uses_the_servers_it_is_given_and_loads_no_demo_data(start: Start, port: int, tmp_path: Path) -> None:
    name = f"carelane_run_{os.getpid()}"
    with psycopg.connect(conninfo(os.environ["DATABASE_URL"]), autocommit=True) as session:
        session.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            url = os.environ["DATABASE_URL"].rsplit("/", 1)[0] + f"/{name}"
            service = start(port, DATABASE_URL=url, STATIC_MANIFEST="false")  # compressing files takes a minute
            service.until("Ctrl-C stops everything.")
            assert service.answers() == 404
            assert service.stop(signal.SIGINT) == 0
        finally:
            session.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    assert "Using the database that DATABASE_URL names." in service.said
    assert not (tmp_path / "var" / "postgres").exists()
    assert not (tmp_path / "var" / "demo.json").exists()


def test_run_refuses_demo_mode_on_another_database(start: Start, port: int) -> None:
    service = start(port, DATABASE_URL="postgres://nobody@127.0.0.1:1/nothing", DEMO_MODE="true")

    assert service.process.wait(PATIENCE) == 1

    refusal = "DEMO_MODE is for the embedded database alone; unset it, or unset DATABASE_URL."
    assert service.said.splitlines()[-1] == refusal


@pytest.mark.parametrize(
    ("address", "line"),
    [
        (
            "postgres://nobody@127.0.0.1:1/nothing",
            "PostgreSQL does not let us in; check address, role, password and database of DATABASE_URL.",
        ),
        ("mysql://nobody@127.0.0.1/nothing", "DATABASE_URL has to be postgres://user:password@host:port/database."),
    ],
)
def test_run_says_in_words_why_a_database_is_of_no_use(start: Start, port: int, address: str, line: str) -> None:
    service = start(port, DATABASE_URL=address)

    assert service.process.wait(PATIENCE) == 1

    assert "Traceback" not in service.said
    assert service.said.splitlines()[-2:] == [line, "The database is not ready; the lines above say why."]


def test_run_refuses_a_taken_port_in_one_line(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        service = start(number)
        assert service.process.wait(PATIENCE) == 1

    assert service.said == f"Port {number} is taken; choose another one: make run PORT={number + 1}\n"
    assert not (tmp_path / "var" / "postgres").exists()


@pytest.mark.parametrize("value", ["http", "0", "65536", "-1"])
def test_run_refuses_a_port_that_is_none(start: Start, value: str) -> None:
    service = start(0, PORT=value)

    assert service.process.wait(PATIENCE) == 1

    assert service.said == f"PORT has to be a number from 1 to 65535, not {value!r}.\n"


def test_run_refuses_a_folder_it_cannot_write_to_in_one_line(start: Start, port: int, tmp_path: Path) -> None:
    (tmp_path / "var").touch()

    service = start(port)

    assert service.process.wait(PATIENCE) == 1
    assert service.said == f"Cannot write to {tmp_path / 'var' / 'log'}: Not a directory.\n"


def test_run_refuses_a_second_run_in_the_same_folder(start: Start, port: int) -> None:
    first = start(port)
    first.until("Starting the embedded PostgreSQL")

    second = start(port)

    assert second.process.wait(PATIENCE) == 1
    assert second.said == f"Carelane is running from this folder already (process {first.process.pid}).\n"
    assert first.stop(signal.SIGINT) == 0
