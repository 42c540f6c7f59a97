"""Measurements of webhooks: deliveries per second, a claim in a large table, the time to a first attempt."""

import json
import os
import pickle
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.utils import timezone

from apps.events.models import Event
from apps.events.services import record
from apps.webhooks.models import Endpoint, EndpointHealth, EndpointSecret
from apps.webhooks.rules import payloads
from apps.webhooks.services import delivery
from apps.webhooks.services.delivery import BATCH_SIZE
from lib.access import system
from lib.standard_webhooks import headers, hmac_of, new_secret
from tests.bench import ROOT
from tests.bench.load import ROUNDS
from tests.bench.servers import free_port, on_other_core, on_server_core
from tests.bench.table import Figure

ENDPOINTS: Final = 100
EVENTS: Final = 100  # per round: each for every endpoint
HANGING_ROWS: Final = 5_000
CONNECTIONS: Final = (64, 128, 256, 512)
ENDED_ROWS: Final = 1_000_000
FIRST_ATTEMPTS: Final = 100
_HOUR: Final = "now() - interval '1 hour'"
_DATA: Final = {"status": "completed", "previousStatus": "in_progress", "pickupTime": "2026-11-20T14:00:00Z"}


class NotDelivered(Exception):
    """Some deliveries did not arrive, so that the measurement is invalid."""


def throughput() -> list[Figure]:
    """Deliver to 100 endpoints from one worker, and post the same bytes from a bare loop."""
    with _receiver() as port, _contestant("ours") as ours:
        _endpoints(port)
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder, "plan.pickle")
            plan.write_bytes(pickle.dumps(_plan()))
            with _contestant("bare", str(plan)) as bare:
                rates = {count: _rate_of(bare(str(count))) for count in CONNECTIONS}
                best = max(rates, key=lambda count: rates[count])
                _round(ours)  # warm-up
                pairs = [(_round(ours), _rate_of(bare(str(best)))) for _ in range(ROUNDS)]
    mine, other = (statistics.median(one) for one in zip(*pairs, strict=True))
    made_of = f"{mine:.0f}/s beside {other:.0f}/s through {best} connections"
    return [Figure("deliveries_vs_bare", mine / other, made_of), Figure("deliveries_per_second", mine, made_of)]


def with_hanging() -> list[Figure]:
    """Deliver with and without a further endpoint, which has 5,000 older rows and never answers."""
    with _receiver() as port, _contestant("ours") as ours:
        _endpoints(port)
        hanging = _endpoint(f"http://127.0.0.1:{port}/hang", ["vehicle.updated"])
        _record(HANGING_ROWS, type="vehicle.updated", subject_type="vehicle")
        _round(ours)
        pairs = [(_round(ours, hanging=hanging), _round(ours)) for _ in range(ROUNDS // 2)]
    beside, alone = (statistics.median(one) for one in zip(*pairs, strict=True))
    return [Figure("deliveries_with_hanging", beside / alone, f"{beside:.0f}/s beside {alone:.0f}/s without it")]


def claim() -> list[Figure]:
    """Claim in a table with a million delivered rows, and in one without, alternating."""
    _clean()
    _endpoints(0)
    _record(EVENTS)
    _run(
        "INSERT INTO webhooks_delivery (id, endpoint_id, event_id, event_type, subject_id, subject_sequence, status,"  # noqa: S608  # constant names, values are parameters
        " priority, trigger, round, ordered, attempts, claims, last_error, body_level, due_at, created_at, expires_at)"
        " SELECT gen_random_uuid(), e.id, ev.id, ev.type, ev.subject_id, ev.sequence, 'pending', 0, 'event', 0, false,"
        f" 0, 0, '', '', {_HOUR}, {_HOUR}, now() + interval '3 days'"
        " FROM webhooks_endpoint e CROSS JOIN events_outboxentry u JOIN events_event ev ON ev.id = u.event_id"
    )
    _run("CREATE SCHEMA large", "CREATE TABLE large.webhooks_delivery (LIKE public.webhooks_delivery INCLUDING ALL)")
    try:
        columns = (
            "endpoint_id, event_id, event_type, subject_id, subject_sequence, priority, trigger, ordered, attempts,"
        )
        columns += " claims, last_error, body_level, due_at, created_at, expires_at"
        _run(
            "ALTER TABLE large.webhooks_delivery SET (fillfactor = 70)",
            "INSERT INTO large.webhooks_delivery SELECT * FROM public.webhooks_delivery",
            f"INSERT INTO large.webhooks_delivery (id, status, round, ended_at, {columns}) SELECT gen_random_uuid(),"  # noqa: S608  # constant names, values are parameters
            f" 'delivered', n, {_HOUR}, {columns} FROM public.webhooks_delivery"
            f" CROSS JOIN generate_series(1, {ENDED_ROWS // (ENDPOINTS * EVENTS)}) AS n",
            "VACUUM ANALYZE",
        )
        turns = [(_claim_in("large, public"), _claim_in("public")) for _ in range(10 * ROUNDS)]
    finally:
        _run("SET search_path TO public", "DROP SCHEMA large CASCADE")
    large, empty = (statistics.median(one) * 1000 for one in zip(*turns, strict=True))
    return [Figure("claim", large / empty, f"{large:.1f} ms beside {empty:.1f} ms for {BATCH_SIZE} rows")]


def first_attempt() -> list[Figure]:
    """Time from the commit of an event on an idle system, with beat and worker as in `make run`, to its request."""
    waits = []
    with tempfile.TemporaryDirectory() as folder, _receiver(str(Path(folder, "notes"))) as port, _celery(Path(folder)):
        _clean()
        _endpoint(f"http://127.0.0.1:{port}/first", ["*"])
        for number in range(FIRST_ATTEMPTS + 5):
            (event_id,) = _record(1)
            began = time.time()
            waits.append(_arrival(Path(folder, "notes"), event_id) - began)
            time.sleep(0.3 + number % 10 / 10)  # at varying offsets from the tick
    waits = sorted(waits[5:])  # the first ones include loading
    p50, p99 = statistics.median(waits), waits[len(waits) * 99 // 100]
    made_of = f"p50 {p50:.2f} s, p99 {p99:.2f} s, of {len(waits)}"
    return [Figure("first_attempt_p50", p50, made_of), Figure("first_attempt_p99", p99, made_of)]


def _round(ours: Callable[[str], dict[str, Any]], *, hanging: Endpoint | None = None) -> float:
    """Deliver one batch; return deliveries per second, from the committed events to the last settled attempt.

    The run itself continues while an endpoint hangs: the rows show when the others were finished.
    """
    _run("TRUNCATE webhooks_delivery, webhooks_attempt, events_outboxentry")
    EndpointHealth.objects.update(open_count=0, failures=0, open_until=None, sample_since=None)
    if hanging is not None:
        _run(
            "INSERT INTO webhooks_delivery (id, endpoint_id, event_id, event_type, subject_id, subject_sequence,"  # noqa: S608  # constant names, values are parameters
            " status, priority, trigger, round, ordered, attempts, claims, last_error, body_level, due_at, created_at,"
            f" expires_at) SELECT gen_random_uuid(), '{hanging.pk}', id, type, subject_id, sequence, 'pending', 0,"
            f" 'event', 0, false, 0, 0, '', '', {_HOUR}, {_HOUR}, now() + interval '3 days' FROM events_event"
            " WHERE type = 'vehicle.updated'"
        )
    _record(EVENTS)
    _run("ANALYZE webhooks_delivery")
    began = _ask("SELECT clock_timestamp()")
    ours("")
    count, ended = _row("SELECT count(*), max(ended_at) FROM webhooks_delivery WHERE status = 'delivered'")
    if count != ENDPOINTS * EVENTS:
        raise NotDelivered(f"{count} of {ENDPOINTS * EVENTS} were delivered.")
    return float(count / (ended - began).total_seconds())


def _rate_of(measured: dict[str, Any]) -> float:
    return float(measured["delivered"] / measured["seconds"])


def _plan() -> list[tuple[str, bytes, dict[str, str]]]:
    """Write the posts of one round beforehand: bodies, headers and signatures as the worker makes them."""
    events = [
        Event(
            type="ride.completed",
            subject_type="ride",
            subject_id=uuid4(),
            sequence=1,
            occurred_at=timezone.now(),
            data=_DATA,
        )
        for _ in range(EVENTS)
    ]
    posts = []
    for endpoint in Endpoint.objects.order_by("pk"):
        signer = hmac_of(endpoint.secrets.get().text)
        for one in events:
            written = payloads.render(one, level=endpoint.payload_level, api_version=endpoint.api_version)
            signed = headers(str(one.id), timestamp=int(time.time()), body=written, signers=[signer])
            posts.append((endpoint.url, written, {"content-type": "application/json", **signed}))
    return sorted(posts, key=lambda post: post[2]["webhook-id"])  # endpoints alternate


def _endpoints(port: int) -> None:
    _clean()
    with transaction.atomic():
        for number in range(ENDPOINTS):
            _endpoint(f"http://127.0.0.1:{port}/{number}", ["ride.*"])


def _endpoint(url: str, types: list[str]) -> Endpoint:
    at = timezone.now()
    made = Endpoint(name="Benchmark", url=url, state="active", event_types=types, created_by="system")
    made.state_changed_at = made.created_at = made.updated_at = at
    made.api_version = "2026-11-20"
    made.save(force_insert=True)
    EndpointHealth.objects.create(endpoint=made)
    secret = EndpointSecret(endpoint=made, created_at=at, created_by="system")
    secret.text = new_secret()
    secret.save(force_insert=True)
    return made


@transaction.atomic
def _record(count: int, *, type: str = "ride.completed", subject_type: str = "ride") -> list[UUID]:
    return [
        record(
            type=type,
            subject_type=subject_type,
            subject_id=uuid4(),
            sequence=1,
            occurred_at=timezone.now(),
            by=system("bench"),
            data=_DATA if subject_type == "ride" else {},
        ).pk
        for _ in range(count)
    ]


def _clean() -> None:
    _run("TRUNCATE webhooks_endpoint, webhooks_delivery, events_outboxentry CASCADE")


def _claim_in(path: str) -> float:
    """Claim once, and roll back; return the seconds that it took."""
    _run(f"SET search_path TO {path}")
    with transaction.atomic():
        began = time.perf_counter()
        found = delivery.claim(at=timezone.now(), limit=BATCH_SIZE)
        seconds = time.perf_counter() - began
        transaction.set_rollback(True)
    if len(found) != BATCH_SIZE:
        raise NotDelivered(f"{len(found)} of {BATCH_SIZE} were claimed.")
    return seconds


def _run(*statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        for statement in statements:
            cursor.execute(statement)


def _row(statement: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        found: tuple[Any, ...] = cursor.fetchone()
        return found


def _ask(statement: str) -> Any:
    return _row(statement)[0]


@contextmanager
def _receiver(*notes: str) -> Iterator[int]:
    port = free_port()
    command = [*on_other_core(), sys.executable, "tests/bench/receiver.py", str(port), *notes]
    with _process(command):
        give_up = time.monotonic() + 30
        with socket.socket() as probe:
            while probe.connect_ex(("127.0.0.1", port)) and time.monotonic() < give_up:
                time.sleep(0.05)
        yield port


@contextmanager
def _contestant(*arguments: str) -> Iterator[Callable[[str], dict[str, Any]]]:
    command = [*on_server_core(), sys.executable, "-m", "tests.bench.posting", *arguments]
    with _process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(line: str) -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            measured: dict[str, Any] = json.loads(process.stdout.readline())
            return measured

        yield ask


@contextmanager
def _celery(folder: Path) -> Iterator[None]:
    (folder / "broker" / "queue").mkdir(parents=True)
    (folder / "broker" / "control").mkdir()
    command = [sys.executable, "-m", "celery", "--quiet", "--app", "config.celery", "worker", "--beat"]
    command += ["--schedule", str(folder / "schedule"), "--pool", "threads", "--concurrency", "4"]
    command += ["--queues", "carelane,webhooks", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    with _process(command, env=os.environ | {"VAR_DIR": str(folder), "LOG_LEVEL": "ERROR"}):
        time.sleep(8)
        yield


@contextmanager
def _process(command: list[str], **given: Any) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(command, cwd=ROOT, **given)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _arrival(notes: Path, event_id: UUID) -> float:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        if notes.exists():
            for line in notes.read_text().splitlines():
                at, _, found = line.partition(" ")
                if found == str(event_id):
                    return float(at)
        time.sleep(0.01)
    raise NotDelivered("A first attempt did not come within a minute.")
