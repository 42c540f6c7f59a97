"""What becomes of an endpoint by itself: answered for the first time, failing, recovered, disabled, gone.

Each change is an event for other endpoints, an alert for people, or both.
"""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.audit.services import audit
from apps.events import services as events
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.rules import lane as lanes
from apps.webhooks.rules.lane import Lane
from apps.webhooks.services import lane_rows, recovering
from lib.access import Principal, system
from lib.api.fields import instant_text
from lib.messages import Message, Text
from lib.messages import gettext_lazy as _
from lib.scopes import Scope

MOST_MOVED: Final = 5_000  # rows of one statement: a hundred thousand take seconds, with the endpoint locked
GONE = "gone"  # it answered 410
DEAD = "no_success_for_days"
BY_PEOPLE = "paused"
UNVERIFIED = "unverified"  # paused until the new address has answered
UNTRIED = "paused_unverified"  # paused by people, and the new address has not answered yet
KEY_OF_EXPIRING: Final = "webhook.expiring:"


def record(endpoint: Endpoint, type: str, data: dict[str, Any], *, by: Principal, at: datetime) -> UUID:
    """Record an event of a locked endpoint; return its id."""
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


def locked(endpoint_id: UUID) -> Endpoint:
    """Lock and read an endpoint that is known to be there."""
    return Endpoint.objects.select_for_update(of=("self",), no_key=True).get(pk=endpoint_id)


def answered(endpoint_id: UUID, *, version: int, at: datetime) -> None:
    """Make an endpoint active that waited for this: a test got through to it, or to its new address.

    A test that was sent when the endpoint had another `version` says nothing: it may have had another address.
    """
    lane_rows.locked([endpoint_id])  # before the endpoint, as everywhere
    endpoint = locked(endpoint_id)
    if endpoint.version != version:
        return
    if endpoint.state_reason == UNTRIED:
        change(endpoint, Endpoint.State.PAUSED, BY_PEOPLE, at)
    elif endpoint.state == Endpoint.State.PENDING or endpoint.state_reason == UNVERIFIED:
        by = system("webhooks")
        start_over(endpoint, _("answers again"), by=by, at=at)
        recovering.release(endpoint, by=by, at=at)


def start_over(endpoint: Endpoint, happened: Text, *, by: Principal, at: datetime) -> None:
    """Make a locked endpoint active and its lane, locked before it, as good as new.

    Alerts about its trouble are closed, so that the next trouble is told of again.  Whoever was told of it
    hears that this is over, in the words of `happened`.
    """
    ((_, was),) = lane_rows.locked([endpoint.pk])
    told = was.told > 0 or endpoint.state == Endpoint.State.DISABLED or endpoint.state_reason == GONE
    change(endpoint, Endpoint.State.ACTIVE, "", at)
    new = lanes.new(endpoint.max_in_flight)
    new = new._replace(last_success_at=was.last_success_at, last_failure_at=was.last_failure_at)
    lane_rows.store({endpoint.pk: new})
    of_rest = [_key(endpoint.pk, "gone"), _key(endpoint.pk, "disabled"), *keys_of_expiring(endpoint.pk)]
    alerts.resolve(*_of_failing(endpoint.pk), *of_rest, at=at)
    if told:
        _tell_of_recovery(endpoint, was, happened, by=by, at=at)


def gone(endpoint_id: UUID, *, version: int, at: datetime) -> None:
    """Pause an endpoint that wants nothing more, keep what it has not got, and tell people and other endpoints.

    What was sent when the endpoint had another `version` says nothing: it may have had another address.
    """
    endpoint = locked(endpoint_id)
    if endpoint.state != Endpoint.State.ACTIVE or endpoint.version != version:
        return
    change(endpoint, Endpoint.State.PAUSED, GONE, at)
    hold(endpoint)
    record(endpoint, "webhook.endpoint.paused", {}, by=system("webhooks"), at=at)
    _tell(endpoint, "gone", _("answered 410 Gone and was paused"), Alert.Severity.CRITICAL, at)


def failing(endpoint_id: UUID, lane: Lane, step: int, *, last_error: str, at: datetime) -> None:
    """Tell people and other endpoints that there has been no success for a while; `step` counts how often by now."""
    endpoint = locked(endpoint_id)
    record(endpoint, "webhook.endpoint.failing", _of(lane, last_error), by=system("webhooks"), at=at)
    severity = Alert.Severity.WARNING if step == 1 else Alert.Severity.CRITICAL
    since = instant_text(lane.failing_since) if lane.failing_since else ""
    alerts.resolve(_key(endpoint_id, "failing", step - 1), at=at)
    happened = Message(_("has had no success since %(since)s"), {"since": since})
    _tell(endpoint, "failing", happened, severity, at, step=step)


def recovered(endpoint_id: UUID, was: Lane, *, at: datetime) -> None:
    """Tell that it answers again, to whoever was told that it did not."""
    alerts.resolve(*_of_failing(endpoint_id), at=at)
    _tell_of_recovery(locked(endpoint_id), was, _("answers again"), by=system("webhooks"), at=at)


def _tell_of_recovery(endpoint: Endpoint, was: Lane, happened: Text, *, by: Principal, at: datetime) -> None:
    record(endpoint, "webhook.endpoint.recovered", _of(was, ""), by=by, at=at)
    _tell(endpoint, "recovered", happened, Alert.Severity.INFO, at, step=endpoint.sequence)


def disable(endpoint_id: UUID, lane: Lane, *, last_error: str, at: datetime) -> None:
    """Switch an endpoint off that nobody answers at any more; its events are held from now on."""
    endpoint = locked(endpoint_id)
    change(endpoint, Endpoint.State.DISABLED, DEAD, at)
    hold(endpoint)
    record(endpoint, "webhook.endpoint.disabled", _of(lane, last_error), by=system("webhooks"), at=at)
    alerts.resolve(*_of_failing(endpoint_id), at=at)
    happened = _("was switched off: nobody answered for five days")
    _tell(endpoint, "disabled", happened, Alert.Severity.CRITICAL, at)


def expiring(endpoint_id: UUID, step: int, *, count: int, expires_at: datetime, at: datetime) -> None:
    """Tell that an endpoint's held deliveries, `count`, will be forgotten, the oldest at `expires_at`."""
    endpoint = locked(endpoint_id)
    facts = {"count": count, "expiresAt": instant_text(expires_at)}
    record(endpoint, "webhook.delivery.expiring", facts, by=system("webhooks"), at=at)
    severity = Alert.Severity.WARNING if step == 1 else Alert.Severity.CRITICAL
    alerts.resolve(_key(endpoint_id, "expiring", step - 1), at=at)
    happened = Message(_("holds deliveries that are forgotten from %(day)s on"), {"day": expires_at.date()})
    _tell(endpoint, "expiring", happened, severity, at, step=step)


def keys_of_expiring(endpoint_id: UUID, step: int = 1) -> list[str]:
    """Name the alerts of `expiring` from a step on."""
    return [_key(endpoint_id, "expiring", one) for one in range(step, len(lanes.TOLD_AHEAD) + 1)]


def send_ids_alone(endpoint_id: UUID, *, at: datetime) -> None:
    """Send no whole rides any more where the client may not see rider data, and tell people."""
    endpoint = locked(endpoint_id)
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
    happened = _("gets ids alone: no token of its client sees rider data any more")
    _tell(endpoint, "ids_only", happened, Alert.Severity.CRITICAL, at, step=endpoint.version)


def quarantined(*, at: datetime) -> None:
    """Tell that a delivery was put aside: it takes a person to find out why."""
    alerts.raise_alert(
        kind="webhook.delivery.quarantined",
        severity=Alert.Severity.CRITICAL,
        scope=Scope.WEBHOOKS_MANAGE,
        key="webhook.quarantined",
        title=_("A webhook delivery was put aside: workers ended over it, or its body cannot be made"),
        path="/console/developers/deliveries/?status=quarantined",
        at=at,
    )


def hold(endpoint: Endpoint) -> int:
    """Keep what an endpoint has not got for later, MOST_MOVED of it, and say how many; `watching.tend` keeps the rest.

    Rows that somebody has in hand are left to it, too.  What is on its way comes to its end.
    Nothing is claimed for an endpoint that is not active: the state alone stops what still says that it waits.
    """
    waiting = Delivery.objects.filter(endpoint=endpoint).exclude(trigger=Delivery.Trigger.TEST)
    return _move(waiting, [Delivery.Status.PENDING], status=Delivery.Status.HELD)


def cancel_all(endpoint: Endpoint, *, at: datetime) -> int:
    """End what waits for a removed endpoint, as `hold` does."""
    waiting = Delivery.objects.filter(endpoint=endpoint)
    stopped = [Delivery.Status.PENDING, Delivery.Status.HELD]
    return _move(waiting, stopped, status=Delivery.Status.CANCELLED, ended_at=at)


def _move(rows: QuerySet[Delivery], those_of: list[Delivery.Status], **columns: Any) -> int:
    # Waits for no row: whoever settles it waits, row in hand, for the lane that is held here.
    found = rows.filter(status__in=those_of).select_for_update(of=("self",), no_key=True, skip_locked=True)
    return Delivery.objects.filter(pk__in=list(found.values_list("pk", flat=True)[:MOST_MOVED])).update(**columns)


def change(endpoint: Endpoint, state: str, reason: str, at: datetime) -> None:
    """Write another state to a locked endpoint."""
    endpoint.state, endpoint.state_reason = state, reason
    endpoint.state_changed_at = endpoint.updated_at = at
    endpoint.version += 1
    endpoint.save(update_fields=["state", "state_reason", "state_changed_at", "updated_at", "version"])


def _of(lane: Lane, last_error: str) -> dict[str, Any]:
    since = {"failingSince": instant_text(lane.failing_since)} if lane.failing_since else {}
    return {**since, "failures": lane.failures_since_success, "lastError": last_error}


def _key(endpoint_id: UUID, what: str, step: int = 0) -> str:
    return f"webhook.{what}:{endpoint_id}:{step}"


def _of_failing(endpoint_id: UUID) -> list[str]:
    return [_key(endpoint_id, "failing", step) for step in range(1, len(lanes.TOLD_AFTER) + 1)]


def _tell(endpoint: Endpoint, what: str, happened: Text, severity: str, at: datetime, *, step: int = 0) -> None:
    alerts.raise_alert(
        kind=f"webhook.endpoint.{what}",
        severity=severity,
        scope=Scope.WEBHOOKS_MANAGE,
        key=_key(endpoint.pk, what, step),
        title=Message(_("Webhook endpoint “%(name)s” %(what)s"), {"name": endpoint.name, "what": happened}),
        path=f"/console/developers/endpoints/{endpoint.pk}/",
        at=at,
    )
