"""Send deliveries again: one delivery, several, or everything that an endpoint missed in a period.

A recovery (`Job`) walks through the events of its period in steps of EVENTS_PER_STEP and stores its position, so that a
restart continues it.  It releases held deliveries, and inserts a new round for deliveries that have ended.

Replays are paced: each is due 1/WEBHOOK_REPLAYS_PER_SECOND after the one before it, at the end of the endpoint's queue
of replays (`_end_of_queue`), with a lower priority than new events, so that a receiver that is back is not flooded.
Replays that fall due while the circuit is open go back to the end of the queue (`postpone_overdue`), so that they are
not sent all at once when it closes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Max
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.webhooks.models import Delivery, Endpoint, Job
from apps.webhooks.models.delivery import NEW_ID
from apps.webhooks.rules.event_types import unknown_among
from apps.webhooks.rules.schedule import MAX_AGE
from apps.webhooks.services import endpoint_states, outbox
from lib.access import Principal
from lib.api.fields import instant_text
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound
from lib.ids import moment_of, oldest_of
from lib.messages import FieldName, lowered

MAX_PERIOD: Final = timedelta(days=30)
EVENTS_PER_STEP: Final = 5_000
MAX_COUNTED: Final = 100_000  # events: counting them takes half a second; a recovery sends all of its period
NEVER_SENT: Final = "never_sent"  # no delivery: the endpoint is newer than the event, or was subscribed to less then
RECOVERABLE: Final = ("exhausted", "held", "cancelled", "quarantined", "delivered", NEVER_SENT)
DEFAULT: Final = ("exhausted", "held")
QUEUE_LOCK: Final = 0x77686B03  # advisory lock, with a hash of the endpoint: protects the end of its queue of replays
MAX_POSTPONED: Final = 5_000  # replays of one endpoint at once: as many fall due in eight minutes

# The events of the period that the endpoint receives, each with its latest delivery there.
_MATCHED: Final = f"""
    matched AS (
        SELECT ev.id, ev.type, ev.subject_id, ev.sequence, e.ordering = 'subject' AS ordered, last.delivery_id,
            last.status, coalesce(last.round, -1) AS round
        FROM period ev
        JOIN webhooks_endpoint e ON e.id = %(endpoint)s AND {outbox.MATCHES}
        LEFT JOIN LATERAL (
            SELECT d.id AS delivery_id, d.status, d.round FROM webhooks_delivery d
            WHERE d.event_id = ev.id AND d.endpoint_id = e.id ORDER BY d.round DESC LIMIT 1) last ON true
        WHERE coalesce(last.status, '{NEVER_SENT}') = ANY(%(statuses)s)
            AND (%(types)s::varchar[] IS NULL
                OR ARRAY[ev.type, split_part(ev.type, '.', 1) || '.*', '*']::varchar[] && %(types)s::varchar[])
    )
"""  # noqa: S608  # constants of this app
_COUNT: Final = f"""
    WITH period AS (SELECT * FROM events_event WHERE id >= %(since)s AND id < %(until)s), {_MATCHED}
    SELECT coalesce(status, '{NEVER_SENT}'), count(*) FROM matched GROUP BY 1 ORDER BY 1
"""  # noqa: S608  # constants of this app
_END_OF_COUNT: Final = """
    SELECT id FROM events_event WHERE id >= %(since)s AND id < %(until)s ORDER BY id OFFSET %(max)s LIMIT 1
"""
_STEP: Final = f"""
    WITH period AS MATERIALIZED (
        SELECT * FROM events_event WHERE id > %(cursor)s AND id < %(until)s ORDER BY id LIMIT %(max)s
    ), {_MATCHED}, queued AS MATERIALIZED (
        SELECT *, %(after)s + row_number() OVER (ORDER BY id) * %(gap)s::interval AS due FROM matched
    ), released AS (
        UPDATE webhooks_delivery d
        SET status = 'pending', priority = 2, due_at = queued.due, expires_at = queued.due + %(age)s::interval
        FROM queued WHERE d.id = queued.delivery_id AND d.status = 'held'
    ), inserted AS (
        INSERT INTO webhooks_delivery (id, endpoint_id, event_id, event_type, subject_id, subject_sequence, status,
            priority, trigger, round, ordered, attempts, claims, last_error, body_level, due_at, created_at, expires_at)
        SELECT {NEW_ID}, %(endpoint)s, id, type, subject_id, sequence, 'pending', 2, 'replay', round + 1,
            ordered, 0, 0, '', '', due, %(at)s, due + %(age)s::interval
        FROM queued WHERE status IS DISTINCT FROM 'held'
        ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
    )
    SELECT (SELECT max(id::text)::uuid FROM period), (SELECT count(*) FROM queued)
"""  # noqa: S608  # constants of this app

# Replays that were tried have due times of their own and are not in the queue.
_QUEUED: Final = "d.status = 'pending' AND d.priority = 2 AND d.attempts = 0"
# Skips queues that another transaction appends to, and locked rows: the next run takes them.  Expired replays keep
# their due time, for `cleanup` to end them.
_POSTPONE: Final = f"""
    WITH interrupted AS MATERIALIZED (
        SELECT h.endpoint_id, greatest(%(at)s, h.open_until) AS until FROM webhooks_endpointhealth h
        WHERE h.open_count > 0
            AND EXISTS (SELECT FROM webhooks_delivery d
                WHERE d.endpoint_id = h.endpoint_id AND {_QUEUED} AND d.due_at <= %(at)s AND d.expires_at > %(at)s)
            AND pg_try_advisory_xact_lock(%(lock)s, hashtext(h.endpoint_id::text))
    ), overdue AS MATERIALIZED (
        SELECT row.id, greatest(i.until, (SELECT d.due_at FROM webhooks_delivery d
                WHERE d.endpoint_id = i.endpoint_id AND {_QUEUED} ORDER BY d.due_at DESC LIMIT 1))
            + row_number() OVER (PARTITION BY i.endpoint_id ORDER BY row.due_at, row.id) * %(gap)s::interval AS due
        FROM interrupted i CROSS JOIN LATERAL (
            SELECT d.id, d.due_at FROM webhooks_delivery d
            WHERE d.endpoint_id = i.endpoint_id AND {_QUEUED} AND d.due_at <= %(at)s AND d.expires_at > %(at)s
            ORDER BY d.due_at, d.id LIMIT %(max)s
            FOR NO KEY UPDATE SKIP LOCKED) row
    )
    UPDATE webhooks_delivery d SET due_at = overdue.due FROM overdue WHERE d.id = overdue.id
"""  # noqa: S608  # constants of this module


class DeliveryInFlight(DomainError):
    """A worker is sending the delivery at this moment."""

    code = Code.RESOURCE_BUSY
    template = _("The delivery is being sent.")


class ConfirmationRequired(DomainError):
    """The delivery has arrived; sending it again takes a confirmation."""

    code = Code.RULE_VIOLATION
    template = _("The delivery has arrived. Confirm that it is to be sent again.")


class EndpointNotActive(DomainError):
    """Nothing is sent to an endpoint that is paused, disabled or not verified."""

    code = Code.RULE_VIOLATION
    template = _("Resume the endpoint first.")


class NotSubscribed(DomainError):
    """The endpoint does not receive the event anymore."""

    code = Code.RULE_VIOLATION
    template = _("The endpoint does not subscribe to this event anymore.")


class DeliveryEnded(DomainError):
    """The delivery has arrived, was given up or was cancelled."""

    code = Code.INVALID_TRANSITION
    template = _("The delivery is %(status)s.")


@dataclass(frozen=True, slots=True)
class Period:
    """Which events to send again: recorded from `since` until before `until`, by the status of their last delivery."""

    since: datetime
    until: datetime
    statuses: tuple[str, ...] = DEFAULT
    types: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recovery:
    """Numbers of events by the status of their last delivery, and the job that sends them; None if nothing is sent.

    `is_capped`: only the first MAX_COUNTED events of the period were counted.
    """

    counts: Mapping[str, int]
    job: Job | None
    is_capped: bool = False


def recover(*, endpoint_id: UUID, period: Period, dry_run: bool, by: Principal, at: datetime) -> Recovery:
    """Send again what an endpoint missed in a period; with `dry_run`, only count it.

    Counts before it locks the endpoint: a count may take a second.  Takes the first step at once; workers take the
    rest.

    Raises:
        NotFound: there is no such endpoint.
        InvalidInput: the period is empty, longer than 30 days or begins before that, or a type is unknown.
        EndpointNotActive: the endpoint is not active.
    """
    _check(period, at)
    endpoint = endpoint_states.get_endpoint(endpoint_id, by)
    if not dry_run:
        _check_active(endpoint)
    params = {
        "since": instant_text(period.since),
        "until": instant_text(period.until),
        "statuses": list(period.statuses),
        "types": None if period.types is None else list(period.types),
    }
    counts, is_capped = _count(endpoint, params)
    if dry_run or not (counts or is_capped):
        return Recovery(counts, None, is_capped)
    with transaction.atomic():
        endpoint = endpoint_states.lock_for_change(endpoint_id, by)
        _check_active(endpoint)
        job = _start(endpoint, params, total=sum(counts.values()), by=by, at=at)
        details = {"total": job.total}
        audit.record(by=by, action="webhooks.recover", subject_type="endpoint", subject_id=endpoint.pk, details=details)
    return Recovery(counts, job, is_capped)


def release_held(endpoint: Endpoint, *, since: datetime | None = None, by: Principal, at: datetime) -> Job | None:
    """Send the held deliveries of a locked endpoint, created from `since` on; None if there are none."""
    # Ordered by the ids of the events: a replay that was held is days newer than its event.
    held = Delivery.objects.filter(endpoint=endpoint, status=Delivery.Status.HELD).order_by("event_id")
    held = held if since is None else held.filter(created_at__gte=since)
    total = held.count()
    if not total:
        return None
    oldest, newest = (rows.values_list("event_id", flat=True)[0] for rows in (held, held.reverse()))
    params = {
        "since": instant_text(moment_of(oldest)),
        "until": instant_text(moment_of(newest) + timedelta(milliseconds=1)),
        "statuses": ["held"],
        "types": None,
    }
    return _start(endpoint, params, total=total, by=by, at=at)


@transaction.atomic
def resend(*, delivery_id: UUID, confirmed: bool = False, by: Principal, at: datetime) -> Delivery:
    """Send one delivery again now.

    A delivery that waits for its next attempt becomes due now; one that has ended stays, and a new delivery of the same
    event is made.

    Raises:
        NotFound: there is no such delivery.
        DeliveryInFlight: it is being sent.
        EndpointNotActive: the endpoint is not active.
        NotSubscribed: the endpoint does not receive the event anymore.
        ConfirmationRequired: it has arrived, and `confirmed` is false.
    """
    delivery = _lock_delivery(delivery_id, by)
    if delivery.status == Delivery.Status.IN_FLIGHT:
        raise DeliveryInFlight
    if delivery.trigger != Delivery.Trigger.TEST:
        _check_active(delivery.endpoint)
        if not outbox.matches(delivery.endpoint_id, delivery.event_id):
            raise NotSubscribed
    if delivery.status == Delivery.Status.DELIVERED and not confirmed:
        message = _("%(field)s must be true to send a delivery again that has arrived.")
        raise ConfirmationRequired(details=[Detail(field="confirm", code="required", message=message)])
    audit.record(by=by, action="webhooks.resend", subject_type="delivery", subject_id=delivery.pk)
    if delivery.status in (Delivery.Status.PENDING, Delivery.Status.HELD):
        delivery.status, delivery.priority = Delivery.Status.PENDING, Delivery.Priority.LIVE
        delivery.due_at, delivery.expires_at = at, at + MAX_AGE
        delivery.save(update_fields=["status", "priority", "due_at", "expires_at"])
        return delivery
    replay = Delivery(
        endpoint_id=delivery.endpoint_id,
        event_id=delivery.event_id,
        event_type=delivery.event_type,
        subject_id=delivery.subject_id,
        subject_sequence=delivery.subject_sequence,
        trigger=Delivery.Trigger.RESEND if delivery.trigger != Delivery.Trigger.TEST else Delivery.Trigger.TEST,
        due_at=at,
        expires_at=at + MAX_AGE,
        created_at=at,
    )
    while True:
        replay.round = _next_round(delivery)
        try:
            with transaction.atomic():
                replay.save(force_insert=True)
        except IntegrityError:  # another request has just resent another delivery of the same event
            continue
        return replay


@dataclass(frozen=True, slots=True)
class ResendSummary:
    """How many deliveries are sent again, and how many are refused, by the reason."""

    sent: int
    refused: Mapping[str, int]


def resend_each(*, delivery_ids: Iterable[UUID], confirmed: bool, by: Principal, at: datetime) -> ResendSummary:
    """Send deliveries again now, oldest first; a refusal does not stop the others."""
    sent, refused = 0, Counter[str]()
    for delivery_id in sorted(delivery_ids):
        try:
            resend(delivery_id=delivery_id, confirmed=confirmed, by=by, at=at)
        except DomainError as refusal:
            refused[refusal.message] += 1
        else:
            sent += 1
    return ResendSummary(sent, refused)


def _lock_delivery(delivery_id: UUID, by: Principal) -> Delivery:
    deliveries = Delivery.objects.visible_to(by).select_related("endpoint").select_for_update(of=("self",))
    delivery = deliveries.filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound(_("webhook delivery"))
    return delivery


def _next_round(delivery: Delivery) -> int:
    rounds = Delivery.objects.filter(event=delivery.event_id, endpoint=delivery.endpoint_id)
    return int(rounds.aggregate(last=Max("round"))["last"]) + 1


@transaction.atomic
def cancel(*, delivery_id: UUID, by: Principal, at: datetime) -> Delivery:
    """Stop trying a delivery.

    Raises:
        NotFound: there is no such delivery.
        DeliveryInFlight: it is being sent.
        DeliveryEnded: it has arrived, was given up or was cancelled.
    """
    delivery = _lock_delivery(delivery_id, by)
    if delivery.status == Delivery.Status.IN_FLIGHT:
        raise DeliveryInFlight
    if delivery.status not in (Delivery.Status.PENDING, Delivery.Status.HELD):
        raise DeliveryEnded(status=lowered(Delivery.Status(delivery.status).label))
    delivery.status, delivery.ended_at = Delivery.Status.CANCELLED, at
    delivery.save(update_fields=["status", "ended_at"])
    audit.record(by=by, action="webhooks.cancel", subject_type="delivery", subject_id=delivery.pk)
    return delivery


def advance(*, at: datetime, steps: int = 20) -> int:
    """Take steps of running recoveries, oldest first, and return their number.  Each step is a transaction."""
    for steps_taken in range(steps):
        with transaction.atomic():
            running = Job.objects.filter(state=Job.State.RUNNING).select_for_update(of=("self",), skip_locked=True)
            job = running.select_related("endpoint").order_by("created_at").first()
            if job is None:
                return steps_taken
            _step(job, at)
    return steps


def _check(period: Period, at: datetime) -> None:
    if period.since >= at:
        raise InvalidInput("since", _("%(field)s must be in the past."), detail_code="not_past")
    if period.since >= period.until:
        raise InvalidInput("until", _("%(field)s must be after %(other)s."), other=FieldName("since"))
    if period.until - period.since > MAX_PERIOD or at - period.since > MAX_PERIOD:
        template = _("%(field)s must be within the last %(days)s days.")
        raise InvalidInput("since", template, detail_code="window_too_long", days=MAX_PERIOD.days)
    if unknown_among(list(period.types or ())):
        template = _("%(field)s must be types of GET /webhooks/event-types.")
        raise InvalidInput("types", template, detail_code="unknown_event_type")


def _check_active(endpoint: Endpoint) -> None:
    if endpoint.state != Endpoint.State.ACTIVE:
        raise EndpointNotActive


def _start(endpoint: Endpoint, params: dict[str, Any], *, total: int, by: Principal, at: datetime) -> Job:
    job = Job.objects.create(
        endpoint=endpoint, params=params, total=total, created_by=by.actor, created_at=at, updated_at=at
    )
    _step(job, at)
    return job


def _bounds(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "since": oldest_of(datetime.fromisoformat(params["since"])),
        "until": oldest_of(datetime.fromisoformat(params["until"])),
        "statuses": params["statuses"],
        "types": params["types"],
    }


def _count(endpoint: Endpoint, params: Mapping[str, Any]) -> tuple[dict[str, int], bool]:
    """Count the events of a period by the status of their last delivery; also return whether the count was capped."""
    values = {**_bounds(params), "endpoint": endpoint.pk, "max": MAX_COUNTED}
    with connection.cursor() as cursor:
        cursor.execute(_END_OF_COUNT, values)
        end = cursor.fetchone()
        cursor.execute(_COUNT, values if end is None else {**values, "until": end[0]})
        return dict(cursor.fetchall()), end is not None


def _step(job: Job, at: datetime) -> None:
    if job.endpoint.deleted_at is not None:
        job.state, job.updated_at = Job.State.CANCELLED, at
        job.save(update_fields=["state", "updated_at"])
        return
    bounds = _bounds(job.params)
    values = {
        **bounds,
        # Ids of the very instant of `since` belong to the period: begin below them.
        "cursor": job.cursor or UUID(int=bounds["since"].int - 1),
        "endpoint": job.endpoint_id,
        "max": EVENTS_PER_STEP,
        "after": _end_of_queue(job.endpoint_id, at=at),
        "gap": _gap(),
        "age": MAX_AGE,
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STEP, values)
        last, queued = cursor.fetchone()
    job.done += queued
    job.total = max(job.total, job.done)  # the count may have been capped, and more may have been missed since
    job.cursor = last or job.cursor
    job.state = Job.State.RUNNING if last is not None else Job.State.DONE
    job.updated_at = at
    job.save(update_fields=["done", "total", "cursor", "state", "updated_at"])


def _gap() -> timedelta:
    """Return the time between two replays to one endpoint."""
    return timedelta(seconds=1 / settings.WEBHOOK_REPLAYS_PER_SECOND)


def _end_of_queue(endpoint_id: UUID, *, at: datetime) -> datetime:
    """Return when the last replay in the queue of an endpoint is due, at least `at`.

    Locks the end of the queue until the transaction ends; waits for another transaction that appends to it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s::text))", [QUEUE_LOCK, endpoint_id])
    queue = Delivery.objects.filter(endpoint=endpoint_id, status="pending", priority=Delivery.Priority.REPLAY)
    last = queue.filter(attempts=0).order_by("-due_at").values_list("due_at", flat=True).first()
    return at if last is None else max(at, last)


def postpone_overdue(*, at: datetime) -> int:
    """Move replays that fell due while the circuit was open to the end of their queue; return their number."""
    values: dict[str, Any] = {"at": at, "gap": _gap(), "max": MAX_POSTPONED, "lock": QUEUE_LOCK}
    with connection.cursor() as cursor:
        cursor.execute(_POSTPONE, values)
        return int(cursor.rowcount)
