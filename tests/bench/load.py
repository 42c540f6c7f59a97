"""Load by wrk: one thread, eight connections, short rounds."""

import http.client
import json
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from tests.bench import ROOT
from tests.bench.servers import Server, on_other_core

CONNECTIONS: Final = 8
ROUND_SECONDS: Final = 3
ROUNDS: Final = 6


class RequestsFailed(Exception):
    """Some answers were errors, so that the measurement is invalid."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    body: str = ""
    key: str = ""  # Idempotency-Key


@dataclass(frozen=True, slots=True)
class Round:
    """One round: answers per second, their latency in milliseconds, and Python's milliseconds per answer."""

    requests: int
    per_second: float
    p50: float
    p99: float
    cpu: float


def drive(server: Server, requests: Sequence[Request], *, token: str = "", seconds: int = ROUND_SECONDS) -> Round:
    """Send these requests to a server in turn, repeatedly, for some seconds.

    Raises:
        RequestsFailed: an answer was not a success, or a connection broke.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as listed:
        listed.writelines(f"{one.method}\t{one.path}\t{one.key}\t{one.body}\n" for one in requests)
        listed.flush()
        command = [*on_other_core(), "wrk", "--threads", "1", "--connections", str(CONNECTIONS)]
        command += ["--duration", f"{seconds}s", "--timeout", "10s", "--latency"]
        command += ["--script", str(ROOT / "tests" / "bench" / "wrk.lua"), server.url, "--", listed.name, token]
        before = server.cpu_seconds()
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        spent = server.cpu_seconds() - before
    measured = json.loads(output.strip().splitlines()[-1])
    if measured["failed"]:
        raise RequestsFailed(f"{measured['failed']} of {measured['requests']} requests to {server.name} failed.")
    answered = measured["requests"]
    return Round(
        answered,
        per_second=answered / (measured["microseconds"] / 1e6),
        p50=measured["p50"] / 1000,
        p99=measured["p99"] / 1000,
        cpu=spent / answered * 1000,
    )


@dataclass(frozen=True, slots=True)
class Series:
    """Rounds of one contestant."""

    rounds: tuple[Round, ...]

    def median(self, of: Callable[[Round], float]) -> float:
        return statistics.median(of(one) for one in self.rounds)

    @property
    def best(self) -> float:
        """Highest rate of any round: the round least affected by other load of the machine."""
        return max(one.per_second for one in self.rounds)

    @property
    def summary(self) -> str:
        rate, p50, p99 = self.median(per_second), self.median(lambda one: one.p50), self.median(p99_of)
        cpu = self.median(lambda one: one.cpu)
        return f"{rate:.0f}/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms, CPU {cpu:.2f} ms"


def per_second(one: Round) -> float:
    return one.per_second


def cpu_of(one: Round) -> float:
    return one.cpu


def p99_of(one: Round) -> float:
    return one.p99


def fetch_one(server: Server, request: Request, *, token: str) -> bytes:
    """Send one request and read its answer.

    Raises:
        RequestsFailed: the answer is not a success.
    """
    return _send(_connection(server), request, token)


def at_rate(server: Server, requests: Sequence[Request], *, token: str, per_second: int) -> list[float]:
    """Send requests at a fixed rate, independent of their latency; return the sorted latencies in milliseconds.

    The latency starts when the request is due, and so includes the wait for a free connection.

    Raises:
        RequestsFailed: an answer was not a success.
    """
    local = threading.local()
    began = time.perf_counter() + 0.5

    def send(number: int) -> float:
        due = began + number / per_second
        time.sleep(max(0.0, due - time.perf_counter()))
        if not hasattr(local, "connection"):
            local.connection = _connection(server)
        _send(local.connection, requests[number], token)
        return (time.perf_counter() - due) * 1000

    with ThreadPoolExecutor(16) as senders:
        return sorted(senders.map(send, range(len(requests))))


def _connection(server: Server) -> http.client.HTTPConnection:
    address = urlsplit(server.url)
    return http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)


def _send(connection: http.client.HTTPConnection, request: Request, token: str) -> bytes:
    headers = {"Accept": "application/json", "Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    connection.request(request.method, request.path, request.body, headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status >= 400:
        raise RequestsFailed(body.decode())
    return body


def interleaved(contestants: Sequence[Callable[[], Round]]) -> list[Series]:
    """Alternate the rounds of all contestants, so that other load of the machine affects all of them."""
    rounds: list[list[Round]] = [[] for _ in contestants]
    for _ in range(ROUNDS):
        for contestant, own in zip(contestants, rounds, strict=True):
            own.append(contestant())
    return [Series(tuple(own)) for own in rounds]


def ratios(ours: Series, other: Series) -> tuple[float, str]:
    """Divide our rate by the other contestant's: the medians as value, the best rounds and both series as text."""
    value = ours.median(per_second) / other.median(per_second)
    return value, f"best {ours.best / other.best:.2f}; {ours.summary} beside {other.summary}"
