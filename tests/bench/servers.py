"""Web servers under test: one gunicorn worker with four threads each, alone on the first core.

PostgreSQL and the clients share the second core, so that a request is charged only for its own Python time.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import psutil
import psycopg

from tests.bench import ROOT, RUN, conninfo

THREADS: Final = 4
POOL: Final = 8
_START_SECONDS: Final = 60
# Far above real rates: a rate limit would distort the measurement.
_RATES: Final = {"API_RATE_READ": "100000000", "API_RATE_WRITE": "100000000"}


@dataclass(frozen=True, slots=True)
class Server:
    """One running server."""

    name: str
    url: str
    process: psutil.Process

    @property
    def worker(self) -> psutil.Process:
        """The worker process that answers; gunicorn's main process only supervises it."""
        (worker,) = self.process.children()
        return worker

    def cpu_seconds(self) -> float:
        """Processor seconds that the worker has used so far."""
        times = self.worker.cpu_times()
        return float(times.user + times.system)


@lru_cache(maxsize=1)
def cores() -> list[int]:
    """Return the cores available at the start: the first one for servers, the second one for all other processes."""
    return sorted(os.sched_getaffinity(0))


def on_server_core() -> list[str]:
    """Start a command alone on the server core."""
    return ["taskset", "--cpu-list", str(cores()[0])]


def on_other_core() -> list[str]:
    """Start a command on the core of PostgreSQL."""
    return ["taskset", "--cpu-list", str(cores()[1])]


@contextmanager
def serving(
    name: str = "carelane",
    application: str = "config.wsgi:application",
    *,
    first: str = "/api/rides",
    bare: bool = False,
) -> Iterator[Server]:
    """Serve a WSGI application until the block ends; `bare` ones are loaded without this package and Django.

    Requests `first` before the block starts; that answer may be a refusal.
    """
    port = free_port()
    command = [
        *on_server_core(),
        *(str(Path(sys.executable).with_name("gunicorn")), application),
        *("--bind", f"127.0.0.1:{port}", "--workers", "1", "--worker-class", "gthread", "--threads", str(THREADS)),
        *("--keep-alive", "30", "--log-level", "warning", "--no-control-socket"),
    ]
    if bare:
        command += ["--pythonpath", str(ROOT / "tests" / "bench")]
    variables = {**os.environ, **_RATES, "DATABASE_POOL_SIZE": str(POOL), "BENCH_CONNINFO": conninfo(RUN)}
    process = psutil.Popen(command, cwd=ROOT, env=variables)
    try:
        server = Server(name, f"http://127.0.0.1:{port}", process)
        wait_until_answering(f"{server.url}{first}", process)
        yield server
    finally:
        process.terminate()
        process.wait(10)


def settle_database() -> None:
    """Move the database sessions of this run to PostgreSQL's core, if they run on this machine and it is permitted.

    Servers open sessions on demand: call this after the warm-up.
    """
    with psycopg.connect(conninfo(RUN), autocommit=True) as session:
        found = session.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()").fetchall()
        local = session.info.host.startswith(("/", "127.", "localhost", "::1"))
    for (pid,) in found if local else []:
        with suppress(psutil.Error, OSError):
            psutil.Process(pid).cpu_affinity([cores()[1]])


def fetch(url: str, token: str = "") -> bytes:
    """Return the body of one answer.

    Raises:
        urllib.error.HTTPError: the answer is not a success.
    """
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:  # noqa: S310  # ours
        return bytes(answer.read())


def missing() -> str:
    """Return which programs this machine lacks and how to get them; "" if none."""
    if sys.platform != "linux" or len(cores()) < 2:
        return "make bench needs Linux with two cores or more: it keeps the service and PostgreSQL apart by core."
    packages = {"wrk": "wrk", "taskset": "util-linux"}
    lacking = [program for program in packages if shutil.which(program) is None]
    if lacking:
        install = " ".join(packages[program] for program in lacking)
        return f"make bench needs {' and '.join(lacking)}; on Debian and Ubuntu: apt-get install {install}"
    return ""


def leave_server_core() -> None:
    """Move this process, and processes that it starts without a core, off the server core."""
    psutil.Process().cpu_affinity([cores()[1]])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_answering(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait for the first answer, of any status, which includes loading on demand."""
    give_up = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        try:
            fetch(url)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("The server did not start.")
