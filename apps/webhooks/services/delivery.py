"""Deliver webhooks: claim what is due, send it, record the attempts.  At least once, in parallel by endpoint.

Beat starts a delivery run every second (`deliver`); a process has one at a time, and any number of processes work side
by side.  A run publishes the outbox, claims deliveries that are due, sends each as an asyncio task through one aiohttp
session, and records the attempts in batches.  Publishing, claiming, recording and renewing leases use threads with
database connections of their own, so that none waits for another, and no transaction is open while a request is in
flight.  After RUN_FOR seconds a run only finishes what is in flight, and the next one starts beside it.

A claim is a lease: `lease_until` and a `claim_id`.  The run renews its leases every RENEW_EVERY seconds; results are
written only where the delivery still has the same `claim_id`.  If a worker dies, `release_expired_leases` makes its
deliveries pending again with their old due time, so that they are sent before the backlog.  A request may then arrive
twice, which receivers recognize by `webhook-id`.

Fairness: an endpoint has at most `max_in_flight` deliveries in flight (fewer after failures, `rules.circuit_breaker`),
across all workers: claims count them under an advisory lock.  Claims take equal shares for all endpoints with due
deliveries, in random order.  Once half of the slots of a run are taken, it claims only for endpoints that answer, so
that any number of hanging receivers leaves room for the others.

A delivery that was claimed SUSPECT_CLAIMS times without a result may be what kills workers.  It is sent while nothing
else is in flight in its process, and quarantined after MAX_CLAIMS.
"""

import asyncio
import functools
import gc
import logging
import math
import os
import random
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import orjson
import uvloop
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q, QuerySet, prefetch_related_objects

from apps.webhooks.models import Attempt, Delivery, Endpoint
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.rules.schedule import ATTEMPTS, IN_ORDER_FOR, MAX_AGE, TEST_ATTEMPTS, delay_after
from apps.webhooks.services import circuit_breaker, endpoint_states, outbox, rendering, sending
from apps.webhooks.services.circuit_breaker import Result
from apps.webhooks.services.rendering import PreparedDelivery
from apps.webhooks.services.sending import ReceiverAnswer
from lib.db import leases
from lib.outbound import Rules

log = logging.getLogger(__name__)

T = TypeVar("T")

LEASE: Final = timedelta(seconds=12)
RENEW_EVERY: Final = 3.0  # seconds: two renewals may be late or fail before a lease expires
SUSPECT_CLAIMS: Final = 3
MAX_CLAIMS: Final = 10
RELEASE_BATCH: Final = 5_000  # rows
CLAIM_LOCK: Final = 0x77686B02  # advisory lock

SLOTS: Final = 1024  # deliveries in flight in one process
BATCH_SIZE: Final = 384  # deliveries in one claim
RUN_FOR: Final = 12.0  # seconds
RECORD_WITHIN: Final = 20.0  # seconds after the end of a run, if the database is away; then the leases expire
SUSPECTS_FOR: Final = 5.0  # seconds of a run: all other deliveries wait meanwhile
RENDER_RETRY: Final = timedelta(seconds=10)  # until a body that could not be rendered is tried again
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5  # seconds between two claims
_DATABASE_AWAY: Final = (OperationalError, InterfaceError)

_run_lock: Final = threading.Lock()  # one run claims in a process
_is_shutting_down: Final = threading.Event()

# The share of an endpoint is what is left of its `max_in_flight`, at most an equal part of the batch.  Endpoints with
# nothing in flight come first.  Each LATERAL join reads the first rows of an index on one endpoint: while one
# holds thousands of rows, PostgreSQL would otherwise assume the same of all, and read the whole table.
# A delivery of an ordered endpoint waits for earlier ones of its ride, but not longer than IN_ORDER_FOR.
_DUE: Final = """
    WITH share AS MATERIALIZED (
        SELECT e.id, least(CASE WHEN h.open_count > 0 THEN 1 ELSE e.max_in_flight END - f.count,
            ceil(%(limit)s::numeric / count(*) OVER ())) AS size
        FROM webhooks_endpointhealth h
        JOIN webhooks_endpoint e ON e.id = h.endpoint_id
        LEFT JOIN accounts_apiclient c ON c.id = e.client_id
        CROSS JOIN LATERAL (SELECT count(*) FROM webhooks_delivery f
            WHERE f.endpoint_id = e.id AND f.status = 'in_flight') f
        WHERE e.state = 'active' AND e.deleted_at IS NULL AND coalesce(c.active, true)
            AND (h.open_until IS NULL OR h.open_until <= %(at)s)
            AND (NOT %(healthy_only)s OR f.count = 0 AND h.failures = 0)
            AND EXISTS (SELECT FROM (VALUES (0), (1), (2)) AS p(n)
                CROSS JOIN LATERAL (SELECT d.due_at FROM webhooks_delivery d
                    WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.priority = p.n
                    ORDER BY d.due_at, d.id LIMIT 1) first
                WHERE first.due_at <= %(at)s)
        ORDER BY f.count > 0, random()
    )
    SELECT due.id FROM share
    CROSS JOIN LATERAL (
        SELECT d.id FROM (VALUES (0), (1), (2)) AS p(n)
        CROSS JOIN LATERAL (
            SELECT d.id FROM webhooks_delivery d
            WHERE d.endpoint_id = share.id AND d.status = 'pending' AND d.priority = p.n AND d.due_at <= %(at)s
                AND d.claims < %(suspect)s
                AND (NOT d.ordered OR d.expires_at <= %(out_of_order)s OR NOT EXISTS (
                    SELECT FROM webhooks_delivery b
                    WHERE b.ordered AND b.endpoint_id = d.endpoint_id AND b.subject_id = d.subject_id
                        AND b.subject_sequence < d.subject_sequence AND b.status IN ('pending', 'in_flight')))
            ORDER BY d.due_at, d.id
            LIMIT greatest(share.size, 0)) d
        ORDER BY p.n
        LIMIT greatest(share.size, 0)) due
    LIMIT %(limit)s
"""
# Where another worker has claimed the delivery meanwhile, nothing changes.  `number` is 0 if nothing was sent.
_RECORD: Final = """
    UPDATE webhooks_delivery d
    SET status = new.status, attempts = d.attempts + least(new.number, 1), due_at = new.due_at,
        ended_at = CASE WHEN new.status <> 'pending' THEN %(at)s END,
        claims = CASE WHEN new.number = 0 THEN d.claims ELSE 0 END, priority = greatest(d.priority, 1),
        lease_until = NULL, claim_id = NULL, last_code = new.code, last_error = new.error
    FROM json_to_recordset(%(rows)s::json) AS new(id uuid, claim_id uuid, status varchar, due_at timestamptz,
        number smallint, code smallint, error varchar)
    WHERE d.id = new.id AND d.claim_id = new.claim_id AND d.id = ANY(%(ids)s)
    RETURNING d.id
"""


class AttemptResult(NamedTuple):
    """An attempt that has ended."""

    prepared: PreparedDelivery
    started_at: datetime
    seconds: float
    answer: ReceiverAnswer

    @property
    def delivery(self) -> Delivery:
        return self.prepared.delivery

    @property
    def was_sent(self) -> bool:
        """False if the body could not be rendered, which is not a failure of the receiver."""
        return self.answer.error != ErrorClass.RENDER

    @property
    def number(self) -> int:
        return self.delivery.attempts + 1 if self.was_sent else 0

    @property
    def succeeded(self) -> bool:
        """Whether the receiver answered 2xx; redirects are not followed."""
        return self.answer.code is not None and 200 <= self.answer.code < 300


@dataclass(slots=True)
class RunSummary:
    published: int = 0  # events
    attempted: int = 0
    delivered: int = 0


class DatabaseClock:
    """The clock of the database, read once and continued by the monotonic clock, so that all workers agree."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            self._base: datetime = cursor.fetchone()[0]
        self._since = time.monotonic()

    def __call__(self) -> datetime:
        return self._base + timedelta(seconds=time.monotonic() - self._since)


def deliver(*, rules: Rules, for_seconds: float = RUN_FOR, slots: int = SLOTS) -> RunSummary | None:
    """Deliver until nothing is due or the time is over.  None if a run of this process claims already.

    Runs an event loop of its own.
    """
    if _is_shutting_down.is_set() or not _run_lock.acquire(blocking=False):
        return None
    _freeze_loaded_objects()
    run = _DeliveryRun(rules, for_seconds, slots)
    try:
        if _close_connection_after(run.claim_first):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(run.run())
        return run.summary
    finally:
        run.stop_claiming()


@functools.cache
def _freeze_loaded_objects() -> None:
    """Exclude the modules that are loaded from garbage collection, once per process.

    Deliveries by the thousand trigger full collections, which would visit every object of the service each time:
    beside six busy loops on two cores, deliveries then waited 8 to 14 s in place of 1 to 2 s.
    """
    gc.freeze()


def shut_down() -> None:
    """Claim nothing more in this process; what is in flight is finished."""
    _is_shutting_down.set()


class _DeliveryRun:
    def __init__(self, rules: Rules, for_seconds: float, slots: int) -> None:
        self.summary = RunSummary()
        self._rules = rules
        self._slots = slots
        self._until = time.monotonic() + for_seconds
        self._is_claiming = True
        self._clock: Callable[[], datetime] = DatabaseClock()
        self._worker = f"{socket.gethostname()}:{os.getpid()}"[:80]
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="deliveries")  # publish, claim, record, renew
        self._targets = rendering.Targets()
        self._suspects: list[PreparedDelivery] = []
        self._first: list[PreparedDelivery] = []
        self._in_flight: set[asyncio.Task[None]] = set()
        self._claims: dict[UUID, UUID | None] = {}  # claim ids by delivery, until the results are recorded
        self._results: list[AttemptResult] = []
        self._answered = asyncio.Event()  # there are results to record
        self._wake_up = asyncio.Event()  # there may be more to claim

    def stop_claiming(self) -> None:
        """Let the next run of this process start."""
        if self._is_claiming:
            self._is_claiming = False
            _run_lock.release()

    def claim_first(self) -> bool:
        """Claim before there is an event loop and a session, and return whether a run is needed.

        Mostly nothing is due, or another worker has just claimed it.
        """
        limit = min(self._slots, BATCH_SIZE)
        try:
            self._suspects = self._prepare(claim_suspect(at=self._clock()))
            if self._suspects:
                return True
            self._first = self._prepare(claim(at=self._clock(), limit=limit))
            if not self._first:
                self.summary.published = outbox.publish(at=self._clock())
                if self.summary.published:
                    self._first = self._prepare(claim(at=self._clock(), limit=limit))
        except _DATABASE_AWAY as failure:
            _log_away(failure)
            return True  # the run tries again
        return bool(self.summary.published or self._first)

    async def run(self) -> None:
        try:
            async with sending.open_session(self._rules) as self._session:
                renewing = asyncio.create_task(self._renew_leases())
                try:
                    await self._send_suspects()
                    self._send(self._first)
                    await self._send_due()
                finally:
                    renewing.cancel()
                    with suppress(asyncio.CancelledError):
                        await renewing
        finally:
            self._threads.shutdown()

    async def _send_suspects(self) -> None:
        """Send suspects one after the other; nothing else of this process is in flight."""
        until = time.monotonic() + SUSPECTS_FOR
        suspects = self._suspects
        while suspects:
            self._send(suspects)
            await asyncio.wait(self._in_flight)
            await self._record(self._take_results())
            if time.monotonic() > until:
                return
            suspects = await self._in_thread(lambda: self._prepare(claim_suspect(at=self._clock())))

    async def _send_due(self) -> None:
        publishing = asyncio.create_task(self._publish())
        recording = asyncio.create_task(self._record_results())
        pause = _SHORTEST_PAUSE
        while not recording.done():  # it ends only by an error
            if time.monotonic() >= self._until or _is_shutting_down.is_set():
                self.stop_claiming()
            self._wake_up.clear()
            claimed = await self._claim()
            self._send(claimed or ())
            published = publishing.result() if publishing.done() else None
            if claimed or published or self._wake_up.is_set():
                pause = _SHORTEST_PAUSE
            elif not self._claims and ((published == 0 and claimed == []) or not self._is_claiming):
                break
            else:
                pause = min(2 * pause, _LONGEST_PAUSE)
            if publishing.done() and self._is_claiming:
                publishing = asyncio.create_task(self._publish())
            if len(claimed or ()) < BATCH_SIZE:
                await self._wait(pause)
        self.stop_claiming()
        await publishing
        recording.cancel()
        with suppress(asyncio.CancelledError):
            await recording

    async def _record_results(self) -> None:
        """Record results as they arrive.  Never waits for a claim: results of a worker that dies are sent again."""
        while True:
            await self._answered.wait()
            await asyncio.sleep(_SHORTEST_PAUSE)  # for answers that arrive together
            self._answered.clear()
            await self._record(self._take_results())
            self._wake_up.set()  # there is room for more claims

    async def _wait(self, seconds: float) -> None:
        """Wait until there may be more to claim."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake_up.wait()

    async def _publish(self) -> int | None:
        published = await self._if_available(lambda: outbox.publish(at=self._clock()))
        if published:
            self.summary.published += published
            self._wake_up.set()
        return published

    async def _claim(self) -> list[PreparedDelivery] | None:
        """Claim deliveries; None if there are no free slots, the run is over or the database is away."""
        free = self._slots - len(self._in_flight)
        if free <= 0 or not self._is_claiming:
            return None
        limit, healthy_only = min(free, BATCH_SIZE), free <= self._slots // 2
        return await self._if_available(
            lambda: self._prepare(claim(at=self._clock(), limit=limit, healthy_only=healthy_only))
        )

    def _prepare(self, deliveries: Sequence[Delivery]) -> list[PreparedDelivery]:
        return rendering.prepare(deliveries, self._targets, at=self._clock()) if deliveries else []

    def _send(self, prepared: Iterable[PreparedDelivery]) -> None:
        for item in prepared:
            self._claims[item.delivery.pk] = item.delivery.claim_id
            task = asyncio.create_task(self._attempt(item))
            self._in_flight.add(task)
            task.add_done_callback(self._in_flight.discard)

    async def _attempt(self, prepared: PreparedDelivery) -> None:
        started_at, began = self._clock(), time.monotonic()
        answer = await self._post(prepared, started_at)
        self._results.append(AttemptResult(prepared, started_at, time.monotonic() - began, answer))
        self._answered.set()

    async def _post(self, prepared: PreparedDelivery, at: datetime) -> ReceiverAnswer:
        if prepared.target is None:
            return ReceiverAnswer(error=prepared.error)
        delivery, event_id = prepared.delivery, str(prepared.delivery.event_id)
        try:
            return await sending.post(
                self._session, prepared.target, prepared.body, event_id=event_id, attempt=delivery.attempts + 1, at=at
            )
        except Exception:  # a defect of this service: without a result the delivery would be sent again and again
            log.exception("webhook not sent", extra={"delivery_id": str(delivery.pk), "event_id": event_id})
            return ReceiverAnswer(error=ErrorClass.PROTOCOL)

    def _take_results(self) -> list[AttemptResult]:
        results, self._results = self._results, []
        return results

    async def _record(self, results: Sequence[AttemptResult]) -> None:
        """Record results; retries while the database is away, until RECORD_WITHIN after the end of the run."""
        while results:
            try:
                delivered = await self._in_thread(
                    lambda: record_attempts(results, at=self._clock(), worker=self._worker)
                )
            except _DATABASE_AWAY as failure:
                if time.monotonic() > self._until + RECORD_WITHIN:
                    raise
                log.warning("results of webhooks not written yet: %s", type(failure).__name__)
                await asyncio.sleep(_LONGEST_PAUSE)
            else:
                for result in results:
                    if self._claims.get(result.delivery.pk) == result.delivery.claim_id:
                        del self._claims[result.delivery.pk]
                self.summary.attempted += len(results)
                self.summary.delivered += delivered
                return

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY)
            claims = dict(self._claims)
            await self._if_available(lambda: renew_leases(claims, at=self._clock()))  # noqa: B023  # awaited at once

    async def _if_available(self, query: Callable[[], T]) -> T | None:
        """Run a query; None if the database is away."""
        try:
            return await self._in_thread(query)
        except _DATABASE_AWAY as failure:
            _log_away(failure)
            return None

    async def _in_thread(self, query: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, _close_connection_after, query)


def _log_away(failure: Exception) -> None:
    log.warning("webhooks not taken: %s", type(failure).__name__)


def _close_connection_after(query: Callable[[], T]) -> T:
    """Give the connection of the thread back to the pool."""
    try:
        return query()
    finally:
        connection.close()


def claim(*, at: datetime, limit: int, healthy_only: bool = False) -> list[Delivery]:
    """Claim up to `limit` deliveries that are due, tests first, no suspects.

    With `healthy_only`, only of endpoints that have nothing in flight and whose last attempt succeeded.  Claims wait
    for one another: two at once would count the same room.
    """
    values: dict[str, Any] = {
        "at": at,
        "healthy_only": healthy_only,
        "suspect": SUSPECT_CLAIMS,
        "out_of_order": at + MAX_AGE - IN_ORDER_FOR,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [CLAIM_LOCK])
        # Tests are sent to endpoints in any state, whatever their circuit: a person waits for the result.
        tests = _pending(at).filter(trigger=Delivery.Trigger.TEST, claims__lt=SUSPECT_CLAIMS)
        claimed = _take(tests.order_by("due_at"), at, limit)
        if len(claimed) < limit:
            cursor.execute(_DUE, values | {"limit": limit - len(claimed)})
            due = _pending(at).filter(pk__in=[row[0] for row in cursor.fetchall()])
            claimed += _take(due.order_by("priority", "due_at", "pk"), at, limit)
    prefetch_related_objects(claimed, "event")  # once for all endpoints that receive it
    return claimed


def claim_suspect(*, at: datetime) -> list[Delivery]:
    """Claim one delivery that was claimed SUSPECT_CLAIMS times without a result, if one is due."""
    sent_to = Q(endpoint__state=Endpoint.State.ACTIVE) & (
        Q(endpoint__health__open_until__isnull=True) | Q(endpoint__health__open_until__lte=at)
    )
    suspects = _pending(at).filter(Q(trigger=Delivery.Trigger.TEST) | sent_to, claims__gte=SUSPECT_CLAIMS)
    return _take(suspects.order_by("due_at"), at, 1)


def _pending(at: datetime) -> QuerySet[Delivery]:
    return Delivery.objects.filter(status=Delivery.Status.PENDING, due_at__lte=at, endpoint__deleted_at__isnull=True)


def _take(rows: QuerySet[Delivery], at: datetime, limit: int) -> list[Delivery]:
    in_flight = Delivery.Status.IN_FLIGHT
    claimed = leases.claim(rows, at=at, lease=LEASE, limit=limit, status=in_flight, claims=F("claims") + 1)
    for delivery in claimed.rows:
        delivery.claims += 1  # as the claim wrote it
    return claimed.rows


def renew_leases(claims: Mapping[UUID, UUID | None], *, at: datetime) -> None:
    """Extend leases, given as claim ids by delivery; those that another worker has taken over stay with it."""
    own_deliveries = Delivery.objects.filter(
        pk__in=list(claims), claim_id__in=set(claims.values()), lease_until__lt=at + LEASE
    )
    own_deliveries.update(lease_until=at + LEASE)


@transaction.atomic
def release_expired_leases(*, at: datetime) -> int:
    """Make deliveries of dead workers pending again, or quarantine them after MAX_CLAIMS; return their number.

    Whether the request was sent is unknown: it does not count as an attempt.  No-op for LEASE after a restart of the
    database, which workers get to renew their leases.
    """
    with connection.cursor() as cursor:
        lease = f"{LEASE.total_seconds()} seconds"
        cursor.execute("SELECT pg_postmaster_start_time() <= clock_timestamp() - %s::interval", [lease])
        if not cursor.fetchone()[0]:
            return 0
    expired = Delivery.objects.filter(status=Delivery.Status.IN_FLIGHT, lease_until__lte=at).order_by("lease_until")
    expired_leases = list(expired.select_for_update(no_key=True, skip_locked=True)[:RELEASE_BATCH])
    if not expired_leases:
        return 0
    poisonous = [delivery.pk for delivery in expired_leases if delivery.claims >= MAX_CLAIMS]
    retried = [delivery.pk for delivery in expired_leases if delivery.claims < MAX_CLAIMS]
    ended: dict[str, Any] = {"lease_until": None, "claim_id": None, "last_code": None}
    ended["last_error"] = ErrorClass.LOST_WORKER
    Delivery.objects.filter(pk__in=retried).update(status=Delivery.Status.PENDING, **ended)
    Delivery.objects.filter(pk__in=poisonous).update(status=Delivery.Status.QUARANTINED, ended_at=at, **ended)
    Attempt.objects.bulk_create(
        Attempt(
            delivery=delivery,
            endpoint_id=delivery.endpoint_id,
            number=0,
            started_at=at,
            duration_ms=0,
            error=ErrorClass.LOST_WORKER,
        )
        for delivery in expired_leases
    )
    if poisonous:
        endpoint_states.report_quarantine(at=at)
    endpoint_states.lock_health({delivery.endpoint_id for delivery in expired_leases})
    outbox.cancel_unmatched_of(retried, at=at)
    return len(expired_leases)


@transaction.atomic
def record_attempts(results: Sequence[AttemptResult], *, at: datetime, worker: str) -> int:
    """Record attempts, update their deliveries and endpoints, and return the number of deliveries that arrived."""
    next_steps = [_next_step(result, at) for result in results]
    recorded = _update_deliveries(results, next_steps, at)
    Attempt.objects.bulk_create(_attempt_row(result, worker) for result in results)
    successes: dict[UUID, list[bool]] = defaultdict(list)
    for result in results:
        if result.delivery.trigger != Delivery.Trigger.TEST:  # tests say nothing about other deliveries
            successes[result.delivery.endpoint_id] += [result.succeeded] if result.was_sent else []
    changes = circuit_breaker.update(successes, at=at)
    statuses = {
        result.delivery.pk: status
        for result, (status, _) in zip(results, next_steps, strict=True)
        if result.delivery.pk in recorded
    }
    waiting = [key for key, status in statuses.items() if status == Delivery.Status.PENDING]
    statuses |= dict.fromkeys(outbox.cancel_unmatched_of(waiting, at=at), Delivery.Status.CANCELLED)
    applied = [
        Result(result.delivery, result.prepared.endpoint_version, result.answer.code, statuses.get(result.delivery.pk))
        for result in results
    ]
    circuit_breaker.apply_results(applied, changes, at=at)
    return sum(status == Delivery.Status.DELIVERED for status in statuses.values())


def _next_step(result: AttemptResult, at: datetime) -> tuple[Delivery.Status, datetime]:
    """Return the status of the delivery after an attempt, and when it is due."""
    if not result.was_sent:
        quarantined = result.delivery.claims >= MAX_CLAIMS
        return (Delivery.Status.QUARANTINED if quarantined else Delivery.Status.PENDING), at + RENDER_RETRY
    if result.succeeded:
        return Delivery.Status.DELIVERED, at
    limit = TEST_ATTEMPTS if result.delivery.trigger == Delivery.Trigger.TEST else ATTEMPTS
    roll = random.random()  # noqa: S311  # jitter
    wait = delay_after(result.number, of=limit, roll=roll, retry_after=result.answer.retry_after)
    return (Delivery.Status.EXHAUSTED, at) if wait is None else (Delivery.Status.PENDING, at + wait)


def _update_deliveries(
    results: Sequence[AttemptResult], next_steps: Collection[tuple[Delivery.Status, datetime]], at: datetime
) -> set[UUID]:
    """Write the results of deliveries that are still claimed as they were, and return their ids."""
    rows = [
        {
            "id": result.delivery.pk,
            "claim_id": result.delivery.claim_id,
            "status": status.value,
            "due_at": due_at,
            "number": result.number,
            "code": result.answer.code,
            "error": result.answer.error,
        }
        for result, (status, due_at) in zip(results, next_steps, strict=True)
    ]
    ids = [result.delivery.pk for result in results]
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, {"rows": orjson.dumps(rows).decode(), "ids": ids, "at": at})
        return {row[0] for row in cursor.fetchall()}


def _attempt_row(result: AttemptResult, worker: str) -> Attempt:
    answer = result.answer
    return Attempt(
        delivery_id=result.delivery.pk,
        endpoint_id=result.delivery.endpoint_id,
        number=result.number,
        started_at=result.started_at,
        duration_ms=math.ceil(result.seconds * 1000),
        code=answer.code,
        error=answer.error,
        response_headers=dict(answer.headers),
        response_snippet=answer.snippet,
        remote_ip=answer.remote_ip,
        worker=worker,
    )
