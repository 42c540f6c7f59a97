"""Prove the two-command promise from outside: clone, `make run`, book a ride with the demo token, stop, start again.

Standard library only; nothing of the checkout is imported.  Exit status 0 means that all of it held.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIRST_START = 180  # seconds with an empty package cache; 60 is the goal with a warm one
SECOND_START = 10
OF_A_DEPLOYMENT = ("DATABASE_URL", "BROKER_URL", "CACHE_URL", "BASE_URL", "DEMO_MODE", "DEBUG", "VAR_DIR", "PYTHONPATH")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="carelane-proof-"))
    try:
        clone = folder / "carelane"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        prove(clone, free_port())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prove(clone: Path, port: int) -> None:
    """Run the whole proof in `clone`; the first thing that does not hold ends it."""
    with running(clone, port, FIRST_START) as seconds:
        told = json.loads((clone / "var" / "demo.json").read_text())
        say(f"The first start took {seconds:.0f} s; the goal with a warm package cache is 60 s.")
        must(told["url"] == f"http://localhost:{port}", "demo.json names the address")
        must(bool(told["signIns"]), "demo.json names sign-ins")
        rides = call(told, "GET", "/api/rides?status=scheduled&limit=25")
        must(len(rides["data"]) == 25, "the demo data hold scheduled rides")
        ride = book(told)
        say(f"Booked ride {ride['id']}, which is {ride['status']}.")
    must_be_gone(clone, port)

    with running(clone, port, 4 * SECOND_START) as seconds:
        say(f"The second start took {seconds:.1f} s; the goal on a quiet machine is {SECOND_START} s.")
        again = call(told, "GET", f"/api/rides/{ride['id']}")
        must(again["id"] == ride["id"], "the data are kept")
    must_be_gone(clone, port)
    say("The embedded path holds.")


def book(told: dict[str, Any]) -> dict[str, Any]:
    """Book a ride between two facilities for the first rider of the list."""
    rider = call(told, "GET", "/api/riders?limit=1")["data"][0]
    start, end = call(told, "GET", "/api/facilities?limit=2")["data"]
    body = {
        "riderId": rider["id"],
        "pickupTime": (datetime.now(UTC) + timedelta(days=3)).isoformat(timespec="seconds"),
        "pickup": {"facilityId": start["id"]},
        "dropoff": {"facilityId": end["id"]},
        "allowDuplicate": True,
    }
    return call(told, "POST", "/api/rides", body)


def call(told: dict[str, Any], method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Make one request with the demo token; any answer but a good one ends the proof."""
    headers = {"Authorization": f"Bearer {told['token']}", "Accept": "application/json"}
    if body is not None:
        headers |= {"Content-Type": "application/json", "Idempotency-Key": os.urandom(16).hex()}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(told["url"] + path, data=data, headers=headers, method=method)  # noqa: S310  # ours
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # ours
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        sys.exit(f"NOT SO: {method} {path} answered {error.code}: {error.read().decode()[:2000]}")


@contextlib.contextmanager
def running(clone: Path, port: int, patience: float) -> Iterator[float]:
    """Keep `make run` running; gives the seconds until it said that it is up, and stops it as Ctrl-C does."""
    environment = {name: value for name, value in os.environ.items() if name not in OF_A_DEPLOYMENT}
    output = clone.parent / "make-run.txt"
    began = time.monotonic()
    with output.open("wb") as file:
        process = subprocess.Popen(
            ["make", "run", f"PORT={port}"],
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        while "Carelane is up" not in output.read_text():
            must(process.poll() is None, f"make run keeps running; it said: {output.read_text()}")
            must(time.monotonic() - began < patience, f"it is up within {patience} s; it said: {output.read_text()}")
            time.sleep(0.05)
        yield time.monotonic() - began
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            say(output.read_text())
            raise


def must_be_gone(clone: Path, port: int) -> None:
    """See that nothing of the run is left: no process that works in the clone or runs out of it, and the port free."""
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(clone) in str((process / "cwd").readlink()) or str(clone) in (process / "cmdline").read_text():
                left.append(f"{process.name} {(process / 'cmdline').read_text()}")
    must(not left, f"no process is left: {left}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    say("It stopped and left nothing behind.")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def must(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"NOT SO: {what}")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
