"""Cleanup of webhooks: what has expired, what was left behind, and what people are alerted about beforehand.

Beat runs `clean_up` every minute and `purge` every hour.  The steps of `clean_up` are independent: one that fails is
logged and alerted, and the others run.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert
from apps.accounts.services import alerts, housekeeping
from apps.events import services as events
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth, EndpointSecret, Job
from apps.webhooks.queries import endpoints
from apps.webhooks.rules.circuit_breaker import ALERT_BEFORE_EXPIRY
from apps.webhooks.services import endpoint_monitor, endpoint_states, recovery
from lib.access import system
from lib.ids import oldest_of
from lib.messages import Message
from lib.scopes import Scope

BATCH_SIZE: Final = 5_000  # rows in one transaction
MAX_BATCHES: Final = 50  # of one endpoint in one run
MAX_PURGE_BATCHES: Final = 200
OVERDUE: Final = timedelta(minutes=10)  # a delivery that has waited for less is only next in line
EXHAUSTED_ALERT_INTERVAL: Final = timedelta(hours=1)
_RESTING: Final = (Endpoint.State.PAUSED, Endpoint.State.DISABLED)


def clean_up(*, at: datetime) -> None:
    steps = {
        "phi_grants": lambda: _end_phi_grants(at),
        "expiry": lambda: _expire(at),
        "leftovers": lambda: _move_leftovers(at),
        "release": lambda: _release_held(at),
        "expiry_warnings": lambda: alert_expiring(at=at),
        "urgent_alerts": lambda: endpoint_monitor.resolve_urgent(at=at),
        "exhausted_alerts": lambda: _alert_exhausted(at),
    }
    housekeeping.run("webhooks.cleanup", steps, scope=Scope.WEBHOOKS_MANAGE, at=at)


def _end_phi_grants(at: datetime) -> None:
    for endpoint_id in endpoints.without_phi_grant(at=at).order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            endpoint_states.reduce_to_ids(endpoint_id, at=at)


@transaction.atomic
def _expire(at: datetime) -> None:
    """Give up deliveries to failing endpoints that could not be tried before they expired."""
    overdue = Delivery.objects.filter(
        status=Delivery.Status.PENDING,
        due_at__lte=at - OVERDUE,
        expires_at__lte=at,
        endpoint__state=Endpoint.State.ACTIVE,
        endpoint__health__failing_since__isnull=False,  # while no worker ran, the receiver did not fail
    )
    rows = overdue.order_by("pk").select_for_update(of=("self",), skip_locked=True).values("pk")[:BATCH_SIZE]
    Delivery.objects.filter(pk__in=rows).update(status=Delivery.Status.EXHAUSTED, ended_at=at)


def _move_leftovers(at: datetime) -> None:
    """Cancel deliveries of removed endpoints and hold those of resting ones that exceeded a batch or were locked."""
    pending = Delivery.objects.filter(endpoint=OuterRef("pk"), status=Delivery.Status.PENDING)
    held = Delivery.objects.filter(endpoint=OuterRef("pk"), status=Delivery.Status.HELD)
    for endpoint in Endpoint.objects.filter(Exists(pending) | Exists(held), deleted_at__isnull=False).order_by("pk"):
        _in_batches(partial(_cancel_waiting, endpoint, at), endpoint_states.BATCH_SIZE, MAX_BATCHES)
    resting = Endpoint.objects.filter(deleted_at__isnull=True, state__in=_RESTING)
    resting = resting.filter(Exists(pending.exclude(trigger=Delivery.Trigger.TEST)))
    for endpoint_id in resting.order_by("pk").values_list("pk", flat=True):
        _in_batches(partial(_hold_pending, endpoint_id), endpoint_states.BATCH_SIZE, MAX_BATCHES)


@transaction.atomic
def _cancel_waiting(endpoint: Endpoint, at: datetime) -> int:
    return endpoint_states.cancel_waiting(endpoint, at=at)


@transaction.atomic
def _hold_pending(endpoint_id: UUID) -> int:
    endpoint_states.lock_health([endpoint_id])
    endpoint = endpoint_states.lock(endpoint_id)
    # The endpoint may have been resumed meanwhile: what is held after that is not released anymore.
    return endpoint_states.hold_pending(endpoint) if endpoint.state in _RESTING else 0


def _in_batches(step: Callable[[], int], size: int, limit: int) -> int:
    """Repeat a step until it processes fewer rows than a batch; return the sum."""
    total = 0
    for _batch in range(limit):
        count = step()
        total += count
        if count < size:
            break
    return total


def _release_held(at: datetime) -> None:
    """Send what was held for an active endpoint while its client was switched off.

    Deliveries from before the last change of the state were left held by people, who recover them or not.
    """
    held = Delivery.objects.filter(
        endpoint=OuterRef("pk"), status=Delivery.Status.HELD, created_at__gte=OuterRef("state_changed_at")
    )
    running = Job.objects.filter(endpoint=OuterRef("pk"), state=Job.State.RUNNING)
    waiting = Endpoint.objects.sent_to().filter(Exists(held), ~Exists(running))
    for endpoint_id in waiting.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            endpoint_states.lock_health([endpoint_id])
            endpoint = endpoint_states.lock(endpoint_id)
            if endpoint.state == Endpoint.State.ACTIVE:
                recovery.release_held(endpoint, since=endpoint.state_changed_at, by=system("webhooks"), at=at)


def _alert_exhausted(at: datetime) -> None:
    """Alert people about deliveries that were given up, once an hour per endpoint."""
    exhausted = Delivery.objects.filter(status=Delivery.Status.EXHAUSTED, endpoint__deleted_at__isnull=True)
    exhausted = exhausted.exclude(trigger=Delivery.Trigger.TEST)
    never_alerted = Q(endpoint__health__exhausted_alerted_at__isnull=True)
    new = never_alerted | Q(ended_at__gt=F("endpoint__health__exhausted_alerted_at"))
    due = never_alerted | Q(endpoint__health__exhausted_alerted_at__lte=at - EXHAUSTED_ALERT_INTERVAL)
    counts = exhausted.filter(new, due).values_list("endpoint").annotate(count=Count("pk")).order_by("endpoint")
    for endpoint_id, count in counts:
        _alert_exhausted_of(endpoint_id, count, at)


@transaction.atomic
def _alert_exhausted_of(endpoint_id: UUID, count: int, at: datetime) -> None:
    EndpointHealth.objects.filter(pk=endpoint_id).update(exhausted_alerted_at=at)
    endpoint = endpoint_states.lock(endpoint_id)
    endpoint_states.record(endpoint, "webhook.delivery.exhausted", {"count": count}, by=system("webhooks"), at=at)
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


def alert_expiring(*, at: datetime) -> None:
    """Alert twice per endpoint: before held deliveries expire and shortly before or after they have expired.

    Resolves the alerts of endpoints that are sent to again.
    """
    _resolve_expiring(at)
    for endpoint_id, since in endpoints.holding_since().items():
        if _expiry_step(since, at):
            _alert_expiring(endpoint_id, at)


@transaction.atomic
def _alert_expiring(endpoint_id: UUID, at: datetime) -> None:
    endpoint = endpoint_states.lock(endpoint_id)
    since = endpoints.holding_since().get(endpoint_id)
    if since is None:  # resumed or removed meanwhile
        return
    step = _expiry_step(since, at)
    keys = endpoint_states.expiry_keys(endpoint_id, step)
    if not Alert.objects.filter(key__in=keys, resolved_at__isnull=True).exists():
        count = endpoint.deliveries.filter(status=Delivery.Status.HELD).count()
        endpoint_states.report_expiring(endpoint_id, step, count=count, expires_at=since + _retention(), at=at)


def _resolve_expiring(at: datetime) -> None:
    open_alerts = Alert.objects.filter(key__startswith=endpoint_states.EXPIRY_KEY, resolved_at__isnull=True)
    endpoint_ids = [UUID(key.split(":")[1]) for key in open_alerts.values_list("key", flat=True)]
    for endpoint_id in Endpoint.objects.sent_to().filter(pk__in=endpoint_ids).values_list("pk", flat=True):
        alerts.resolve(*endpoint_states.expiry_keys(endpoint_id), at=at)


def _expiry_step(since: datetime, at: datetime) -> int:
    # With a retention of a few days, a week's notice would alert about every pause: at most a quarter of it.
    return sum(since + _retention() - at <= min(ahead, _retention() / 4) for ahead in ALERT_BEFORE_EXPIRY)


def _retention() -> timedelta:
    return timedelta(days=settings.DELIVERY_RETENTION_DAYS)


def purge(*, at: datetime) -> int:
    """Delete deliveries, attempts and events after their retention, and expired secrets; return the number of rows.

    Each batch is a transaction.  Waiting deliveries, their events and the history of rides stay.
    """
    EndpointSecret.objects.filter(expires_at__lte=at).delete()
    # Ids contain the time: the primary key finds the oldest rows, and no other index is needed.
    before = oldest_of(at - _retention())
    deleted = _in_batches(lambda: _delete_deliveries(before), BATCH_SIZE, MAX_PURGE_BATCHES)
    needed = Exists(Delivery.objects.filter(event=OuterRef("pk")))
    old = at - timedelta(days=settings.EVENT_RETENTION_DAYS)
    forget = partial(events.forget, before=old, unless=needed, most=BATCH_SIZE)
    return deleted + _in_batches(forget, BATCH_SIZE, MAX_PURGE_BATCHES)


@transaction.atomic
def _delete_deliveries(before: UUID) -> int:
    waiting = (Delivery.Status.PENDING, Delivery.Status.IN_FLIGHT)
    ended = Delivery.objects.filter(pk__lt=before).exclude(status__in=waiting).order_by("pk")
    batch = Delivery.objects.filter(pk__in=list(ended.values_list("pk", flat=True)[:BATCH_SIZE])).only("pk")
    return batch.delete()[1].get(Delivery._meta.label, 0)  # with their attempts
