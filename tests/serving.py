"""The service as a separate process, on the rows that a test has committed."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 180  # seconds; a loaded machine starts and stops a server slowly


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(port: int, **more: str) -> dict[str, str]:
    """Return the environment of a service process that uses the test database."""
    database = connection.settings_dict
    host = database["HOST"]
    place = f"/{quote(host)}" if host.startswith("/") else f"{host}:{database['PORT']}"  # socket folder, or TCP
    return os.environ | {
        "DATABASE_URL": f"postgres://{database['USER']}:{database['PASSWORD']}@{place}/{database['NAME']}",
        "BASE_URL": f"http://127.0.0.1:{port}",
        "STATIC_MANIFEST": "false",
        "MAP_TILES": str(ROOT / "apps" / "demo" / "city.pmtiles"),
        **more,
    }


@contextlib.contextmanager
def serving(*, host: str = "", port: str = "", **more: str) -> Iterator[str]:
    """Run the service on the test database; yields its address.

    `port` is chosen unless given; `more` are environment variables; `host` is the host name of requests if it differs,
    as behind a proxy.
    """
    number = int(port or free_port())
    variables = environment(number, **more)
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(number), "--lifespan", "off"]
    command += ["--timeout-graceful-shutdown", "1"]  # streams do not end by themselves
    process = subprocess.Popen(  # our own interpreter, no input
        [*command, "--log-level", "error"], cwd=ROOT, env=variables
    )
    url = f"http://127.0.0.1:{number}"
    try:
        await_answer(url, process, host)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def await_answer(url: str, process: "subprocess.Popen[Any]", host: str = "") -> None:
    """Return when the service answers; fail if the process ends before."""
    asked = urllib.request.Request(f"{url}/accounts/login/")  # noqa: S310  # our own address
    if host:
        asked.add_header("Host", host)
        asked.add_header("X-Forwarded-Proto", "https")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "the service did not start"
        with contextlib.suppress(OSError):
            urllib.request.urlopen(asked, timeout=5).close()  # noqa: S310  # our own address
            return
        time.sleep(0.1)
    pytest.fail(f"the service did not answer within {PATIENCE} s")
