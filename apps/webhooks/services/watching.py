"""What only the passing of time brings about: leases that ran out, endpoints that fail for long, what grew too old."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert
from apps.accounts.services import alerts, housekeeping
from apps.events.services import oldest_unpublished
from apps.webhooks.models import Delivery, Endpoint, Job, LaneRow
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.queries import grants, health
from apps.webhooks.rules import lane as lanes
from apps.webhooks.services import holding, lane_rows, publishing, recovering, states, urgency
from apps.webhooks.services.claiming import LEASE, MOST_CLAIMS
from lib.access import system
from lib.messages import Message
from lib.scopes import Scope

log = logging.getLogger(__name__)

ROWS_AT_ONCE: Final = 5_000
_AT_REST: Final = (Endpoint.State.PAUSED, Endpoint.State.DISABLED)
BATCHES: Final = 50  # of one endpoint; the next minute goes on
OVERDUE: Final = timedelta(minutes=10)  # a delivery that waits for longer is not merely next in line
TOLD_EVERY: Final = timedelta(hours=1)  # of deliveries that were given up
UNPUBLISHED_FOR: Final = timedelta(seconds=30)  # publishing takes a second or two after the commit
_UNPUBLISHED_KEY: Final = "events.unpublished"

# What a lost worker held was perhaps sent, perhaps not: it is sent again, and that is no fault of the endpoint's.  It
# keeps its due time and so its place in front of the backlog.  After a restart of the database workers may renew first.
_SWEEP: Final = """
    WITH lost AS (
        UPDATE webhooks_delivery d
        SET status = CASE WHEN d.claims >= %(most)s THEN 'quarantined' ELSE 'pending' END,
            ended_at = CASE WHEN d.claims >= %(most)s THEN %(at)s END,
            lease_until = NULL, claim_id = NULL, last_code = NULL, last_error = %(error)s
        WHERE d.id IN (SELECT s.id FROM webhooks_delivery s
            WHERE s.status = 'in_flight' AND s.lease_until <= %(at)s
                AND pg_postmaster_start_time() <= clock_timestamp() - %(lease)s::interval
            ORDER BY s.lease_until LIMIT %(rows)s FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING d.id, d.endpoint_id, d.status
    ), told AS (
        INSERT INTO webhooks_attempt (delivery_id, endpoint_id, number, started_at, duration_ms, error,
            response_headers, response_snippet, worker)
        SELECT id, endpoint_id, 0, %(at)s, 0, %(error)s, '{}', '', '' FROM lost
    )
    SELECT id, endpoint_id, status FROM lost
"""


@transaction.atomic
def sweep(*, at: datetime) -> int:
    """Give back what workers hold whose lease is over; put aside what too many died over.  Says how many it found.

    What their endpoints were narrowed for meanwhile is cancelled.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _SWEEP,
            {
                "at": at,
                "rows": ROWS_AT_ONCE,
                "most": MOST_CLAIMS,
                "error": ErrorClass.LOST_WORKER.value,
                "lease": f"{LEASE.total_seconds()} seconds",
            },
        )
        lost = cursor.fetchall()
    if any(status == Delivery.Status.QUARANTINED for *_, status in lost):
        states.quarantined(at=at)
    if lost:
        lane_rows.locked({endpoint_id for _, endpoint_id, _ in lost})
        publishing.withdraw_these([key for key, *_ in lost], at=at)
    return len(lost)


def watch(*, at: datetime) -> None:
    """Alert about unpublished events, urgent deliveries that are late and failing endpoints; disable dead ones.

    Each endpoint in its own transaction: one that cannot be judged is in the way of no other.
    """
    steps = {
        "unpublished_events": lambda: _alert_unpublished(at),
        "urgent_deliveries": lambda: urgency.tell(urgency.overdue(at=at), at=at),
        "failing_endpoints": lambda: _judge_all(at),
    }
    housekeeping.run("webhooks.watch", steps, scope=Scope.WEBHOOKS_MANAGE, at=at)


def _alert_unpublished(at: datetime) -> None:
    """Alert while an event that is committed has not been published for UNPUBLISHED_FOR: no endpoint hears of it."""
    since = oldest_unpublished()
    if since is None or at - since < UNPUBLISHED_FOR:
        alerts.resolve(_UNPUBLISHED_KEY, at=at)
        return
    alerts.raise_alert(
        kind="events.unpublished",
        severity=Alert.Severity.CRITICAL,
        scope=Scope.WEBHOOKS_MANAGE,
        key=_UNPUBLISHED_KEY,
        title=_("Webhooks are not published: events have waited for more than 30 seconds"),
        path="/console/developers/deliveries/",
        at=at,
    )


def _judge_all(at: datetime) -> None:
    lacking = LaneRow.objects.filter(failing_since__lte=at - lanes.TOLD_AFTER[0], endpoint__state=Endpoint.State.ACTIVE)
    for endpoint_id in lacking.order_by("pk").values_list("pk", flat=True):
        try:
            _judge(endpoint_id, at)
        except Exception:  # whatever it is, it is this endpoint's alone
            log.exception("webhook endpoint not judged", extra={"subscription_id": str(endpoint_id)})


@transaction.atomic
def _judge(endpoint_id: UUID, at: datetime) -> None:
    for key, lane in lane_rows.locked([endpoint_id]):
        if lanes.is_dead(lane, at):
            states.disable(key, lane, last_error=health.last_error(key), at=at)
        elif (step := lanes.to_tell(lane, at)) > lane.told:
            lane_rows.store({key: lane._replace(told=step)})
            states.failing(key, lane, step, last_error=health.last_error(key), at=at)


def tend(*, at: datetime) -> None:
    """End what grew too old, tell of what was given up or soon will be, and hold what cannot be sent now.

    Endpoints whose client was given rider data once, and is not any more, get no whole rides from now on.
    """
    steps = {
        "phi_grants": lambda: _end_grants(at),
        "expiry": lambda: _age(at),
        "leftovers": lambda: _put_strays_away(at),
        "release": lambda: _release_what_nobody_holds(at),
        "expiry_warnings": lambda: holding.tell(at=at),
        "urgent_alerts": lambda: urgency.close(at=at),
        "exhausted_alerts": lambda: _tell_of_all_exhausted(at),
    }
    housekeeping.run("webhooks.tend", steps, scope=Scope.WEBHOOKS_MANAGE, at=at)


def _end_grants(at: datetime) -> None:
    for endpoint_id in grants.lapsed(at=at).order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            states.send_ids_alone(endpoint_id, at=at)


def _tell_of_all_exhausted(at: datetime) -> None:
    given_up = Delivery.objects.filter(status=Delivery.Status.EXHAUSTED, endpoint__deleted_at__isnull=True)
    given_up = given_up.exclude(trigger=Delivery.Trigger.TEST)
    told_at = F("endpoint__lane__exhausted_told_at")
    untold = Q(endpoint__lane__exhausted_told_at__isnull=True) | Q(ended_at__gt=told_at)
    due = Q(endpoint__lane__exhausted_told_at__isnull=True) | Q(endpoint__lane__exhausted_told_at__lte=at - TOLD_EVERY)
    found = given_up.filter(untold, due).values_list("endpoint").annotate(count=Count("pk")).order_by("endpoint")
    for endpoint_id, count in found:
        _tell_of_exhausted(endpoint_id, count, at)


@transaction.atomic
def _age(at: datetime) -> None:
    overdue = Delivery.objects.filter(
        status=Delivery.Status.PENDING,
        due_at__lte=at - OVERDUE,
        expires_at__lte=at,
        endpoint__state="active",
        endpoint__lane__failing_since__isnull=False,  # workers that were away are no fault of a receiver's
    )
    rows = overdue.order_by("pk").select_for_update(of=("self",), skip_locked=True).values("pk")[:ROWS_AT_ONCE]
    Delivery.objects.filter(pk__in=rows).update(status=Delivery.Status.EXHAUSTED, ended_at=at)


def _put_strays_away(at: datetime) -> None:
    """Hold what was too much to be held when its endpoint was paused, or came back since; end it where that is gone."""
    pending = Delivery.objects.filter(endpoint=OuterRef("pk"), status=Delivery.Status.PENDING)
    held = Delivery.objects.filter(endpoint=OuterRef("pk"), status=Delivery.Status.HELD)
    for endpoint in Endpoint.objects.filter(Exists(pending) | Exists(held), deleted_at__isnull=False).order_by("pk"):
        _in_batches(partial(_cancel_some, endpoint, at))
    at_rest = Endpoint.objects.filter(deleted_at__isnull=True, state__in=_AT_REST)
    strays = at_rest.filter(Exists(pending.exclude(trigger=Delivery.Trigger.TEST)))
    for endpoint_id in strays.order_by("pk").values_list("pk", flat=True):
        _in_batches(partial(_hold_some, endpoint_id))


@transaction.atomic
def _cancel_some(endpoint: Endpoint, at: datetime) -> int:
    return states.cancel_all(endpoint, at=at)


@transaction.atomic
def _hold_some(endpoint_id: UUID) -> int:
    lane_rows.locked([endpoint_id])  # before the endpoint, as everywhere
    endpoint = states.locked(endpoint_id)
    # Not what somebody resumes just now: what is held after that lies there until people recover it.
    return states.hold(endpoint) if endpoint.state in _AT_REST else 0


def _in_batches(move: Callable[[], int]) -> None:
    for _batch in range(BATCHES):
        if move() < states.MOST_MOVED:
            return


def _release_what_nobody_holds(at: datetime) -> None:
    """Send what was collected of an active endpoint while its client was switched off.

    What is older than the endpoint's state was held by people, who resumed it without: theirs to recover.
    """
    held = Delivery.objects.filter(
        endpoint=OuterRef("pk"), status=Delivery.Status.HELD, created_at__gte=OuterRef("state_changed_at")
    )
    running = Job.objects.filter(endpoint=OuterRef("pk"), state=Job.State.RUNNING)
    left = Endpoint.objects.sent_to().filter(Exists(held), ~Exists(running))
    for endpoint_id in left.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            lane_rows.locked([endpoint_id])
            endpoint = states.locked(endpoint_id)
            if endpoint.state == Endpoint.State.ACTIVE:
                recovering.release(endpoint, since=endpoint.state_changed_at, by=system("webhooks"), at=at)


@transaction.atomic
def _tell_of_exhausted(endpoint_id: UUID, count: int, at: datetime) -> None:
    LaneRow.objects.filter(pk=endpoint_id).update(exhausted_told_at=at)
    endpoint = states.locked(endpoint_id)
    states.record(endpoint, "webhook.delivery.exhausted", {"count": count}, by=system("webhooks"), at=at)
    alerts.raise_alert(
        kind="webhook.delivery.exhausted",
        severity=Alert.Severity.CRITICAL,
        scope=Scope.WEBHOOKS_MANAGE,
        key=f"webhook.exhausted:{endpoint_id}:{endpoint.sequence}",
        title=Message(
            _("Deliveries to “%(endpoint)s” were given up: %(count)s"), {"endpoint": endpoint.name, "count": count}
        ),
        path=f"/console/developers/deliveries/?endpoint={endpoint_id}&status=exhausted",
        at=at,
    )
