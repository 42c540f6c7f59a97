"""Delivery workers that start in milliseconds, to be killed: a server that has loaded everything forks them.

python -m tests.chaos.forking OPTIONS    each input line forks one worker; the answer is its process id
"""

import ctypes
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psutil

from tests.serving import ROOT, environment


@dataclass(frozen=True, slots=True)
class Options:
    """Differences from production workers, so that minutes become seconds."""

    lease: float = 2.5  # seconds
    deadline: float = 1.5
    poison: str = ""  # event type whose body ends the worker
    ends_by: str = "exit"  # or "segfault"
    settle_first: bool = False  # a deliberate error: acknowledge before sending


class Workers:
    """Workers that are alive now."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.alive: list[int] = []

    def fork(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.alive.append(int(self._process.stdout.readline()))

    def kill(self, pid: int) -> None:
        with suppress(ProcessLookupError):  # it has already exited
            os.kill(pid, signal.SIGKILL)
        self.alive.remove(pid)

    def refill(self, count: int) -> int:
        """Start the missing workers; return how many have died by themselves."""
        dead = [pid for pid in self.alive if not psutil.pid_exists(pid)]
        self.alive = [pid for pid in self.alive if pid not in dead]
        while len(self.alive) < count:
            self.fork()
        return len(dead)


@contextmanager
def workers(options: Options) -> Iterator[Workers]:
    """Run the server; at the end it and its workers are ended."""
    command = [sys.executable, "-m", "tests.chaos.forking", json.dumps(dataclasses.asdict(options))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=ROOT, env=environment(8000), text=True, **pipes)  # type: ignore[call-overload]  # options of Popen as a dict
    found = Workers(process)
    try:
        yield found
    finally:
        for pid in list(found.alive):
            found.kill(pid)
        process.communicate(timeout=30)


def main(options: Options) -> None:
    """Load, and fork for each line; ended children are not reaped."""
    import django  # noqa: PLC0415  # the parent of this process has loaded it already

    django.setup()
    from apps.webhooks.services import sending  # noqa: PLC0415  # after Django's setup

    work = _prepared(options)
    sending._trust()  # read before forking, as in a worker that has run for long
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = os.getpid()
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            while os.getppid() == server:
                work()
                time.sleep(0.03)
            os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _prepared(options: Options) -> Callable[[], Any]:
    from apps.webhooks.rules import payloads  # noqa: PLC0415  # after Django's setup
    from apps.webhooks.services import delivery, sending  # noqa: PLC0415
    from tests.webhooks.made import LOOPBACK  # noqa: PLC0415

    delivery.LEASE = timedelta(seconds=options.lease)  # type: ignore[misc]
    sending.DEADLINE = options.deadline  # type: ignore[misc]
    render = payloads.render

    def dangerous(event: payloads.EventFacts, **given: Any) -> bytes:
        if event.type == options.poison:
            if options.ends_by == "segfault":
                ctypes.string_at(0)
            os._exit(1)
        return render(event, **given)

    if options.poison:
        payloads.render = dangerous
    if options.settle_first:
        _record_first()
    return lambda: delivery.deliver(rules=LOOPBACK, for_seconds=5.0)


def _record_first() -> None:
    """Make the deliberate error: record claimed deliveries as delivered, and send them then."""
    from apps.webhooks.services import delivery  # noqa: PLC0415
    from apps.webhooks.services.sending import ReceiverAnswer  # noqa: PLC0415

    prepare = delivery._DeliveryRun._prepare

    def acknowledged(self: Any, deliveries: Any) -> Any:
        ready, at = prepare(self, deliveries), self._clock()
        tried = [delivery.AttemptResult(one, at, 0.0, ReceiverAnswer(code=200)) for one in ready]
        if tried:
            delivery.record_attempts(tried, at=at, worker="mistaken")
            time.sleep(0.3)  # a window in which a kill can hit
        return ready

    delivery._DeliveryRun._prepare = acknowledged  # type: ignore[method-assign]  # the mistake


if __name__ == "__main__":
    main(Options(**json.loads(sys.argv[1])))
