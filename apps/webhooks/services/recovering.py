"""Sending again: one delivery, or what an endpoint missed in a span of time.

A recovery goes through the events of its span, a few thousand in a step, and remembers how far it is: a restart goes
on where it was.  What it makes is due one after the other (`pacing`), behind everything live: a receiver that is just
back is not knocked over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Max

from apps.audit.services import audit
from apps.webhooks.models import Delivery, Endpoint, Job
from apps.webhooks.models.delivery import NEW_ID
from apps.webhooks.rules.event_types import unknown_among
from apps.webhooks.rules.schedule import MOST_AGE
from apps.webhooks.services import access, pacing, publishing
from apps.webhooks.services.publishing import MATCHES
from lib.access import Principal
from lib.api.fields import instant_text
from lib.constraints import constraint_of
from lib.errors import Code, Detail, DomainError, InvalidInput
from lib.ids import moment_of, oldest_of

MOST_SPAN: Final = timedelta(days=30)
EVENTS_AT_ONCE: Final = 5_000
MOST_COUNTED: Final = 100_000  # events: half a second; a recovery goes through all, however many there are
NEVER_SENT: Final = "never_sent"  # the endpoint has no delivery of the event: it is newer, or heard of less then
RECOVERABLE: Final = ("exhausted", "held", "cancelled", "quarantined", "delivered", NEVER_SENT)
DEFAULT: Final = ("exhausted", "held")

# The events of the span that the endpoint hears of, each with its latest delivery there.
_FOUND: Final = f"""
    found AS (
        SELECT ev.id, ev.type, ev.subject_id, ev.sequence, e.ordering = 'subject' AS ordered, last.delivery_id,
            last.status, coalesce(last.round, -1) AS round
        FROM span ev
        JOIN webhooks_endpoint e ON e.id = %(endpoint)s AND {MATCHES}
        LEFT JOIN LATERAL (
            SELECT d.id AS delivery_id, d.status, d.round FROM webhooks_delivery d
            WHERE d.event_id = ev.id AND d.endpoint_id = e.id ORDER BY d.round DESC LIMIT 1) last ON true
        WHERE coalesce(last.status, '{NEVER_SENT}') = ANY(%(statuses)s)
            AND (%(types)s::varchar[] IS NULL
                OR ARRAY[ev.type, split_part(ev.type, '.', 1) || '.*', '*']::varchar[] && %(types)s::varchar[])
    )
"""  # noqa: S608  # constant names, values are parameters
_COUNT: Final = f"""
    WITH span AS (SELECT * FROM events_event WHERE id >= %(since)s AND id < %(until)s), {_FOUND}
    SELECT coalesce(status, '{NEVER_SENT}'), count(*) FROM found GROUP BY 1 ORDER BY 1
"""  # noqa: S608  # constant names, values are parameters
# Where a count ends that would take too long.
_END_OF_COUNT: Final = """
    SELECT id FROM events_event WHERE id >= %(since)s AND id < %(until)s ORDER BY id OFFSET %(most)s LIMIT 1
"""
_STEP: Final = f"""
    WITH span AS MATERIALIZED (
        SELECT * FROM events_event WHERE id > %(cursor)s AND id < %(until)s ORDER BY id LIMIT %(most)s
    ), {_FOUND}, wanted AS MATERIALIZED (
        SELECT *, %(after)s + row_number() OVER (ORDER BY id) * %(gap)s::interval AS due FROM found
    ), released AS (
        UPDATE webhooks_delivery d
        SET status = 'pending', priority = 2, due_at = wanted.due, expires_at = wanted.due + %(age)s::interval
        FROM wanted WHERE d.id = wanted.delivery_id AND d.status = 'held'
    ), made AS (
        INSERT INTO webhooks_delivery (id, endpoint_id, event_id, event_type, subject_id, subject_sequence, status,
            priority, trigger, round, ordered, attempts, claims, last_error, body_level, due_at, created_at, expires_at)
        SELECT {NEW_ID}, %(endpoint)s, id, type, subject_id, sequence, 'pending', 2, 'replay', round + 1,
            ordered, 0, 0, '', '', due, %(at)s, due + %(age)s::interval
        FROM wanted WHERE status IS DISTINCT FROM 'held'
        ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
    )
    SELECT (SELECT max(id::text)::uuid FROM span), (SELECT count(*) FROM wanted)
"""  # noqa: S608  # constant names, values are parameters


class StillOnItsWay(DomainError):
    """A worker is sending the delivery at this moment."""

    code = Code.RESOURCE_BUSY


class NotConfirmed(DomainError):
    """The delivery arrived before; sending it again has to be meant."""

    code = Code.RULE_VIOLATION


class EndpointNotActive(DomainError):
    """Nothing is sent to an endpoint that is paused, disabled or not verified."""

    code = Code.RULE_VIOLATION


class NoLongerHeard(DomainError):
    """The endpoint was narrowed since: it is not told of such events any more."""

    code = Code.RULE_VIOLATION


class AlreadyEnded(DomainError):
    """There is nothing left to cancel."""

    code = Code.INVALID_TRANSITION


@dataclass(frozen=True, slots=True)
class Span:
    """What to recover: events recorded from `since` up to but not including `until`, by what became of them."""

    since: datetime
    until: datetime
    statuses: tuple[str, ...] = DEFAULT
    types: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a recovery finds: how many events by what became of them, and the job that sends them, if any is sent.

    `is_capped`: there may be more; no more than the first 100,000 events of the span were looked at.
    """

    found: Mapping[str, int]
    job: Job | None
    is_capped: bool = False


def recover(*, endpoint_id: UUID, span: Span, dry_run: bool, by: Principal, at: datetime) -> Recovery:
    """Deliver again what an endpoint missed; with `dry_run`, say what that would be.

    Counts before it locks anything, and locks nothing in a dry run: a count may take a second, and nothing of the
    endpoint's has to wait for it.  The first step is taken at once, the others by workers.

    Raises:
        NotFound: there is no such endpoint.
        InvalidInput: the span is empty, longer than 30 days or begins before that, or a type is none.
        EndpointNotActive: nothing is sent there now.
    """
    _check(span, at)
    endpoint = access.found(endpoint_id, by)
    if not dry_run:
        _check_active(endpoint)
    params = {
        "since": instant_text(span.since),
        "until": instant_text(span.until),
        "statuses": list(span.statuses),
        "types": None if span.types is None else list(span.types),
    }
    found, is_capped = _count(endpoint, params)
    if dry_run or not (found or is_capped):
        return Recovery(found, None, is_capped)
    with transaction.atomic():
        endpoint = access.locked(endpoint_id, by)
        _check_active(endpoint)
        job = _start(endpoint, params, total=sum(found.values()), by=by, at=at)
        details = {"total": job.total}
        audit.record(by=by, action="webhooks.recover", subject_type="endpoint", subject_id=endpoint.pk, details=details)
    return Recovery(found, job, is_capped)


def release(endpoint: Endpoint, *, since: datetime | None = None, by: Principal, at: datetime) -> Job | None:
    """Send what a locked endpoint collected while nothing was sent there, from `since` on; None: there is nothing."""
    # By the ids of their events, whatever the clocks of those who recorded them said; a replay that was held is newer
    # than its event by days.
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

    What still waits for its next attempt is brought forward; what has ended gets a new delivery of the same event, and
    stays as it is.

    Raises:
        NotFound: there is no such delivery.
        StillOnItsWay: it is being sent.
        EndpointNotActive: nothing is sent there now.
        NoLongerHeard: the endpoint does not hear of such events any more.
        NotConfirmed: it arrived before, and `confirmed` is not said.
    """
    delivery = access.locked_delivery(delivery_id, by)
    if delivery.status == Delivery.Status.IN_FLIGHT:
        raise StillOnItsWay("The delivery is being sent.")
    if delivery.trigger != Delivery.Trigger.TEST:
        _check_active(delivery.endpoint)
        if not publishing.hears(delivery.endpoint_id, delivery.event_id):
            raise NoLongerHeard("The endpoint does not hear of such events any more.")
    if delivery.status == Delivery.Status.DELIVERED and not confirmed:
        raise NotConfirmed(
            "The delivery has arrived; confirm that it is to be sent again.",
            details=[Detail(field="confirm", code="required", message="Send confirm: true.")],
        )
    audit.record(by=by, action="webhooks.resend", subject_type="delivery", subject_id=delivery.pk)
    if delivery.status in (Delivery.Status.PENDING, Delivery.Status.HELD):
        delivery.status, delivery.priority = Delivery.Status.PENDING, Delivery.Priority.LIVE
        delivery.due_at, delivery.expires_at = at, at + MOST_AGE
        delivery.save(update_fields=["status", "priority", "due_at", "expires_at"])
        return delivery
    again = Delivery(
        endpoint_id=delivery.endpoint_id,
        event_id=delivery.event_id,
        event_type=delivery.event_type,
        subject_id=delivery.subject_id,
        subject_sequence=delivery.subject_sequence,
        trigger=Delivery.Trigger.RESEND if delivery.trigger != Delivery.Trigger.TEST else Delivery.Trigger.TEST,
        due_at=at,
        expires_at=at + MOST_AGE,
        created_at=at,
    )
    while True:
        again.round = _next_round(delivery)
        try:
            with transaction.atomic():
                again.save(force_insert=True)
        except IntegrityError as refusal:
            if constraint_of(refusal) != "delivery_once_per_round":  # another resend of the same event took the round
                raise
        else:
            return again


def _next_round(delivery: Delivery) -> int:
    rounds = Delivery.objects.filter(event=delivery.event_id, endpoint=delivery.endpoint_id)
    return int(rounds.aggregate(last=Max("round"))["last"]) + 1


@transaction.atomic
def cancel(*, delivery_id: UUID, by: Principal, at: datetime) -> Delivery:
    """Stop trying a delivery.

    Raises:
        NotFound: there is no such delivery.
        StillOnItsWay: it is being sent.
        AlreadyEnded: it has arrived, was given up or was cancelled.
    """
    delivery = access.locked_delivery(delivery_id, by)
    if delivery.status == Delivery.Status.IN_FLIGHT:
        raise StillOnItsWay("The delivery is being sent.")
    if delivery.status not in (Delivery.Status.PENDING, Delivery.Status.HELD):
        raise AlreadyEnded(f"The delivery is {delivery.status}.")
    delivery.status, delivery.ended_at = Delivery.Status.CANCELLED, at
    delivery.save(update_fields=["status", "ended_at"])
    audit.record(by=by, action="webhooks.cancel", subject_type="delivery", subject_id=delivery.pk)
    return delivery


def advance(*, at: datetime, steps: int = 20) -> int:
    """Take running recoveries further, oldest first; say how many steps were taken.  Each is its own transaction."""
    for taken in range(steps):
        with transaction.atomic():
            running = Job.objects.filter(state=Job.State.RUNNING).select_for_update(of=("self",), skip_locked=True)
            job = running.select_related("endpoint").order_by("created_at").first()
            if job is None:
                return taken
            _step(job, at)
    return steps


def _check(span: Span, at: datetime) -> None:
    if span.since >= at:
        raise InvalidInput("since", "since must lie in the past.", detail_code="not_past")
    if span.since >= span.until:
        raise InvalidInput("until", "until must lie after since.")
    if span.until - span.since > MOST_SPAN or at - span.since > MOST_SPAN:
        raise InvalidInput("since", "since must lie within the last 30 days.", detail_code="window_too_long")
    if unknown_among(list(span.types or ())):
        message = "types must be types of GET /webhooks/event-types."
        raise InvalidInput("types", message, detail_code="unknown_event_type")


def _check_active(endpoint: Endpoint) -> None:
    if endpoint.state != Endpoint.State.ACTIVE:
        raise EndpointNotActive("Resume the endpoint first.")


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
    """Count events by what became of them, and say whether there were too many to look at all of them."""
    values = {**_bounds(params), "endpoint": endpoint.pk, "most": MOST_COUNTED}
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
        # Ids made at the very instant of `since` belong to the span: begin below them.
        "cursor": job.cursor or UUID(int=bounds["since"].int - 1),
        "endpoint": job.endpoint_id,
        "most": EVENTS_AT_ONCE,
        "after": pacing.end_of_queue(job.endpoint_id, at=at),
        "gap": pacing.gap(),
        "age": MOST_AGE,
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STEP, values)
        last, made = cursor.fetchone()
    job.done += made
    job.total = max(job.total, job.done)  # it was counted up to a limit, or more was missed since
    job.cursor = last or job.cursor
    job.state = Job.State.RUNNING if last is not None else Job.State.DONE
    job.updated_at = at
    job.save(update_fields=["done", "total", "cursor", "state", "updated_at"])
