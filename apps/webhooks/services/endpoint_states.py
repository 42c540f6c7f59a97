"""States of endpoints: locks, changes of the state, and the events and alerts that tell people and other endpoints.

Locks are taken in one order everywhere: deliveries, then health rows by id, then the endpoint.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrPromise

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.audit.services import audit
from apps.events import services as events
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.rules import circuit_breaker
from apps.webhooks.rules.circuit_breaker import CircuitState
from lib.access import Principal, system
from lib.api.fields import instant_text
from lib.errors import NotFound, StaleVersion
from lib.messages import Message
from lib.scopes import Scope

BATCH_SIZE: Final = 5_000  # rows in one statement: a hundred thousand take seconds, with the endpoint locked
# Values of `state_reason`.
GONE: Final = "gone"  # the receiver answered 410
DEAD: Final = "no_success_for_days"
BY_PEOPLE: Final = "paused"
UNVERIFIED: Final = "unverified"  # paused until the new address has answered a test
PAUSED_UNVERIFIED: Final = "paused_unverified"  # paused by people, and the new address has not answered a test yet
EXPIRY_KEY: Final = "webhook.expiring:"
ANSWERS_AGAIN: Final = _("Webhook endpoint “%(endpoint)s” answers again")


def get_endpoint(endpoint_id: UUID, by: Principal) -> Endpoint:
    """Read an endpoint within the caller's data scope.

    Raises:
        NotFound: there is no such endpoint.
    """
    endpoint = Endpoint.objects.visible_to(by).filter(pk=endpoint_id).first()
    if endpoint is None:
        raise NotFound(_("webhook endpoint"))
    return endpoint


def lock_for_change(endpoint_id: UUID, by: Principal, *, expected_version: int | None = None) -> Endpoint:
    """Lock an endpoint within the caller's data scope, after its health row.

    Raises:
        NotFound: there is no such endpoint.
        StaleVersion: it is not at `expected_version`.
    """
    EndpointHealth.objects.select_for_update(no_key=True).filter(pk=endpoint_id).first()
    rows = Endpoint.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    endpoint = rows.filter(pk=endpoint_id).first()
    if endpoint is None:
        raise NotFound(_("webhook endpoint"))
    if expected_version is not None and expected_version != endpoint.version:
        raise StaleVersion(endpoint.version)
    return endpoint


def lock(endpoint_id: UUID) -> Endpoint:
    """Lock an existing endpoint."""
    return Endpoint.objects.select_for_update(of=("self",), no_key=True).get(pk=endpoint_id)


def lock_health(endpoint_ids: Iterable[UUID]) -> dict[UUID, CircuitState]:
    """Lock health rows in the order of their ids and return their states."""
    rows = EndpointHealth.objects.select_for_update(of=("self",)).filter(pk__in=list(endpoint_ids)).order_by("pk")
    return {
        endpoint_id: CircuitState(*values) for endpoint_id, *values in rows.values_list("pk", *CircuitState._fields)
    }


def store_health(states: Mapping[UUID, CircuitState]) -> None:
    """Write the states of locked health rows, in one statement."""
    EndpointHealth.objects.bulk_create(
        [EndpointHealth(endpoint_id=endpoint_id, **state._asdict()) for endpoint_id, state in states.items()],
        update_conflicts=True,
        update_fields=CircuitState._fields,
        unique_fields=["endpoint"],
    )


def record(endpoint: Endpoint, type: str, data: dict[str, Any], *, by: Principal, at: datetime) -> UUID:
    """Record an event of a locked endpoint and return its id."""
    endpoint.sequence += 1
    endpoint.save(update_fields=["sequence"])
    return events.record(
        type=type,
        subject_type="endpoint",
        subject_id=endpoint.pk,
        sequence=endpoint.sequence,
        occurred_at=at,
        by=by,
        data={"clientId": str(endpoint.client_id), "state": endpoint.state, **data},
    ).pk


def change(endpoint: Endpoint, state: str, reason: str, at: datetime) -> None:
    """Write another state to a locked endpoint."""
    endpoint.state, endpoint.state_reason = state, reason
    endpoint.state_changed_at = endpoint.updated_at = at
    endpoint.version += 1
    endpoint.save(update_fields=["state", "state_reason", "state_changed_at", "updated_at", "version"])


def activate(endpoint: Endpoint, title: StrPromise, *, by: Principal, at: datetime) -> None:
    """Make a locked endpoint active and close its circuit; its health row was locked before it.

    Resolves the alerts about it, so that the next failure is alerted again.  Whoever was alerted about the failure is
    notified of the recovery, with `title`.
    """
    before = lock_health([endpoint.pk])[endpoint.pk]
    was_alerted = before.alert_level > 0 or endpoint.state == Endpoint.State.DISABLED or endpoint.state_reason == GONE
    change(endpoint, Endpoint.State.ACTIVE, "", at)
    store_health({endpoint.pk: circuit_breaker.closed(before)})
    other_keys = [_key(endpoint.pk, "gone"), _key(endpoint.pk, "disabled"), *expiry_keys(endpoint.pk)]
    alerts.resolve(*_failing_keys(endpoint.pk), *other_keys, at=at)
    if was_alerted:
        _report_recovery(endpoint, before, title, by=by, at=at)


def report_recovery(endpoint_id: UUID, before: CircuitState, *, at: datetime) -> None:
    """Resolve the alerts about a failing endpoint and notify the people who were alerted."""
    alerts.resolve(*_failing_keys(endpoint_id), at=at)
    _report_recovery(lock(endpoint_id), before, ANSWERS_AGAIN, by=system("webhooks"), at=at)


def _report_recovery(
    endpoint: Endpoint, before: CircuitState, title: StrPromise, *, by: Principal, at: datetime
) -> None:
    record(endpoint, "webhook.endpoint.recovered", _failure_data(before, ""), by=by, at=at)
    _alert(endpoint, "recovered", title, Alert.Severity.INFO, at, step=endpoint.sequence)


def pause_gone(endpoint_id: UUID, *, version: int, at: datetime) -> None:
    """Pause an endpoint that answered 410 Gone, hold its deliveries, and alert people and other endpoints.

    No-op if the endpoint is not at `version`: the request may have gone to an earlier address.
    """
    endpoint = lock(endpoint_id)
    if endpoint.state != Endpoint.State.ACTIVE or endpoint.version != version:
        return
    change(endpoint, Endpoint.State.PAUSED, GONE, at)
    hold_pending(endpoint)
    record(endpoint, "webhook.endpoint.paused", {}, by=system("webhooks"), at=at)
    title = _("Webhook endpoint “%(endpoint)s” answered 410 Gone and was paused")
    _alert(endpoint, "gone", title, Alert.Severity.CRITICAL, at)


def report_failing(endpoint_id: UUID, state: CircuitState, step: int, *, last_error: str, at: datetime) -> None:
    """Alert people and other endpoints that an endpoint has had no success; `step` counts the alerts."""
    endpoint = lock(endpoint_id)
    record(endpoint, "webhook.endpoint.failing", _failure_data(state, last_error), by=system("webhooks"), at=at)
    severity = Alert.Severity.WARNING if step == 1 else Alert.Severity.CRITICAL
    since = instant_text(state.failing_since) if state.failing_since else ""
    alerts.resolve(_key(endpoint_id, "failing", step - 1), at=at)
    title = _("Webhook endpoint “%(endpoint)s” has had no success since %(since)s")
    _alert(endpoint, "failing", title, severity, at, step=step, since=since)


def disable(endpoint_id: UUID, state: CircuitState, *, last_error: str, at: datetime) -> None:
    """Disable an endpoint that has not answered for days; its deliveries are held from now on."""
    endpoint = lock(endpoint_id)
    change(endpoint, Endpoint.State.DISABLED, DEAD, at)
    hold_pending(endpoint)
    record(endpoint, "webhook.endpoint.disabled", _failure_data(state, last_error), by=system("webhooks"), at=at)
    alerts.resolve(*_failing_keys(endpoint_id), at=at)
    title = _("Webhook endpoint “%(endpoint)s” was disabled: no answer for five days")
    _alert(endpoint, "disabled", title, Alert.Severity.CRITICAL, at)


def report_expiring(endpoint_id: UUID, step: int, *, count: int, expires_at: datetime, at: datetime) -> None:
    """Alert people that `count` held deliveries will be deleted, the oldest at `expires_at`."""
    endpoint = lock(endpoint_id)
    data = {"count": count, "expiresAt": instant_text(expires_at)}
    record(endpoint, "webhook.delivery.expiring", data, by=system("webhooks"), at=at)
    severity = Alert.Severity.WARNING if step == 1 else Alert.Severity.CRITICAL
    alerts.resolve(_key(endpoint_id, "expiring", step - 1), at=at)
    title = _("Webhook endpoint “%(endpoint)s” holds deliveries that will be deleted from %(day)s on")
    _alert(endpoint, "expiring", title, severity, at, step=step, day=expires_at.date())


def expiry_keys(endpoint_id: UUID, step: int = 1) -> list[str]:
    """Return the keys of the alerts of `report_expiring` from a step on."""
    return [
        _key(endpoint_id, "expiring", number) for number in range(step, len(circuit_breaker.ALERT_BEFORE_EXPIRY) + 1)
    ]


def reduce_to_ids(endpoint_id: UUID, *, at: datetime) -> None:
    """Send ids only from now on, because the client has no token that may see rider data, and alert people."""
    endpoint = lock(endpoint_id)
    endpoint.payload_level = PayloadLevel.ID_ONLY
    endpoint.phi_agreed_at, endpoint.phi_agreed_by = None, ""
    endpoint.updated_at = at
    endpoint.version += 1
    endpoint.save(update_fields=["payload_level", "phi_agreed_at", "phi_agreed_by", "updated_at", "version"])
    audit.record(
        by=system("webhooks"),
        action="webhooks.change",
        subject_type="endpoint",
        subject_id=endpoint_id,
        details={"changed": ["payload_level", "phi_agreement"]},
    )
    title = _("Webhook endpoint “%(endpoint)s” receives ids only: its client has no token with access to rider data")
    _alert(endpoint, "ids_only", title, Alert.Severity.CRITICAL, at, step=endpoint.version)


def report_quarantine(*, at: datetime) -> None:
    """Alert people that a delivery was quarantined."""
    alerts.raise_alert(
        kind="webhook.delivery.quarantined",
        severity=Alert.Severity.CRITICAL,
        scope=Scope.WEBHOOKS_MANAGE,
        key="webhook.quarantined",
        title=_("A webhook delivery was quarantined: it crashed workers, or its body cannot be rendered"),
        path="/console/developers/deliveries/?status=quarantined",
        at=at,
    )


def hold_pending(endpoint: Endpoint) -> int:
    """Hold up to BATCH_SIZE pending deliveries of an endpoint that is not active; return their number.

    Skips locked rows.  `cleanup` holds the rest; nothing is claimed for an endpoint that is not active.
    """
    rows = Delivery.objects.filter(endpoint=endpoint).exclude(trigger=Delivery.Trigger.TEST)
    return _move(rows, [Delivery.Status.PENDING], status=Delivery.Status.HELD)


def cancel_waiting(endpoint: Endpoint, *, at: datetime) -> int:
    """Cancel up to BATCH_SIZE pending and held deliveries of a removed endpoint; return their number."""
    rows = Delivery.objects.filter(endpoint=endpoint)
    waiting = [Delivery.Status.PENDING, Delivery.Status.HELD]
    return _move(rows, waiting, status=Delivery.Status.CANCELLED, ended_at=at)


def _move(rows: QuerySet[Delivery], statuses: list[Delivery.Status], **columns: Any) -> int:
    # Skips locked rows: a worker that records attempts holds them while it waits for the health row, locked here.
    unlocked = rows.filter(status__in=statuses).select_for_update(of=("self",), no_key=True, skip_locked=True)
    return Delivery.objects.filter(pk__in=list(unlocked.values_list("pk", flat=True)[:BATCH_SIZE])).update(**columns)


def _failure_data(state: CircuitState, last_error: str) -> dict[str, Any]:
    since = {"failingSince": instant_text(state.failing_since)} if state.failing_since else {}
    return {**since, "failures": state.failures_since_success, "lastError": last_error}


def _key(endpoint_id: UUID, subject: str, step: int = 0) -> str:
    return f"webhook.{subject}:{endpoint_id}:{step}"


def _failing_keys(endpoint_id: UUID) -> list[str]:
    return [_key(endpoint_id, "failing", step) for step in range(1, len(circuit_breaker.ALERT_AFTER) + 1)]


def _alert(
    endpoint: Endpoint,
    subject: str,
    title: StrPromise,
    severity: str,
    at: datetime,
    *,
    step: int = 0,
    **parameters: object,
) -> None:
    alerts.raise_alert(
        kind=f"webhook.endpoint.{subject}",
        severity=severity,
        scope=Scope.WEBHOOKS_MANAGE,
        key=_key(endpoint.pk, subject, step),
        title=Message(title, {"endpoint": endpoint.name, **parameters}),
        path=f"/console/developers/endpoints/{endpoint.pk}/",
        at=at,
    )
