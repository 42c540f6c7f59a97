"""Watch endpoints and deliveries over time: alert about what is late or fails, and disable dead endpoints.

Beat runs `watch` every few seconds.  What the result of an attempt brings about at once is in `circuit_breaker`.
"""

import logging
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert
from apps.accounts.services import alerts, housekeeping
from apps.events.services import oldest_unpublished
from apps.rides.models import Ride
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth
from apps.webhooks.models.delivery import DeliveryQuerySet
from apps.webhooks.queries import health
from apps.webhooks.rules import circuit_breaker
from apps.webhooks.rules.event_types import URGENT
from apps.webhooks.services import endpoint_states
from lib.messages import Message
from lib.scopes import Scope

log = logging.getLogger(__name__)

UNPUBLISHED_FOR: Final = timedelta(seconds=30)  # publishing takes a second or two after the commit
LATE_AFTER: Final = timedelta(seconds=160)  # the fourth attempt is due then: 10 s, 30 s and 2 min after the first
LATE_PERIOD: Final = timedelta(hours=1)  # deliveries that were late before it were alerted about then
DISCHARGE: Final = "hospital_discharge"
_UNPUBLISHED_KEY: Final = "events.unpublished"
_URGENT_KEY: Final = "webhook.urgent:"


def watch(*, at: datetime) -> None:
    """Alert about unpublished events, urgent deliveries that are late and failing endpoints; disable dead endpoints."""
    steps = {
        "unpublished_events": lambda: _alert_unpublished(at),
        "urgent_deliveries": lambda: alert_urgent(_late_deliveries(at), at=at),
        "failing_endpoints": lambda: _check_failing(at),
    }
    housekeeping.run("webhooks.watch", steps, scope=Scope.WEBHOOKS_MANAGE, at=at)


def _alert_unpublished(at: datetime) -> None:
    """Alert while a committed event has not been published for UNPUBLISHED_FOR; then no endpoint receives anything."""
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


def _check_failing(at: datetime) -> None:
    """Check each failing endpoint in a transaction of its own."""
    first_alert = at - circuit_breaker.ALERT_AFTER[0]
    failing = EndpointHealth.objects.filter(failing_since__lte=first_alert, endpoint__state=Endpoint.State.ACTIVE)
    for endpoint_id in failing.order_by("pk").values_list("pk", flat=True):
        try:
            _check(endpoint_id, at)
        except Exception:  # a defect at one endpoint must not stop the checks of the others
            log.exception("webhook endpoint not judged", extra={"subscription_id": str(endpoint_id)})


@transaction.atomic
def _check(endpoint_id: UUID, at: datetime) -> None:
    for state in endpoint_states.lock_health([endpoint_id]).values():
        if circuit_breaker.is_dead(state, at):
            endpoint_states.disable(endpoint_id, state, last_error=health.last_error(endpoint_id), at=at)
        elif (level := circuit_breaker.due_alert_level(state, at)) > state.alert_level:
            endpoint_states.store_health({endpoint_id: state._replace(alert_level=level)})
            endpoint_states.report_failing(endpoint_id, state, level, last_error=health.last_error(endpoint_id), at=at)


def _late_deliveries(at: datetime) -> DeliveryQuerySet:
    """Find deliveries that have waited for LATE_AFTER although their endpoint is active: mostly for an open circuit."""
    since = at - LATE_AFTER - LATE_PERIOD
    return Delivery.objects.filter(
        endpoint__in=Endpoint.objects.sent_to(),
        status=Delivery.Status.PENDING,
        priority__in=(Delivery.Priority.LIVE, Delivery.Priority.RETRY),
        due_at__gt=since,  # never earlier than `created_at`: for the index of pending deliveries
        created_at__gt=since,
        created_at__lte=at - LATE_AFTER,
    )


def alert_urgent(late: DeliveryQuerySet, *, at: datetime) -> None:
    """Alert people about those of the late deliveries that are urgent, once per event and endpoint.

    Urgent are certain event types and all events of hospital discharges: a rider may be waiting.
    """
    discharges = Exists(Ride.objects.filter(pk=OuterRef("subject_id"), service_type=DISCHARGE))
    urgent = late.exclude(trigger=Delivery.Trigger.TEST).filter(Q(event_type__in=URGENT) | discharges)
    columns = ("pk", "endpoint_id", "event_id", "event_type", "endpoint__name")
    by_key = {_urgent_key(to, of): (pk, type_, name) for pk, to, of, type_, name in urgent.values_list(*columns)}
    if not by_key:
        return
    # Open or not: an alert that was acknowledged is not raised again every few seconds.
    alerted = set(Alert.objects.filter(key__in=by_key).values_list("key", flat=True))
    with transaction.atomic():
        for key in by_key.keys() - alerted:
            pk, type_, name = by_key[key]
            alerts.raise_alert(
                kind="webhook.delivery.urgent",
                severity=Alert.Severity.CRITICAL,
                scope=Scope.WEBHOOKS_MANAGE,
                key=key,
                title=Message(
                    _("Endpoint “%(endpoint)s” has not received %(event)s yet"), {"endpoint": name, "event": type_}
                ),
                path=f"/console/developers/deliveries/{pk}/",
                at=at,
            )


def resolve_urgent(*, at: datetime) -> None:
    """Resolve alerts about urgent deliveries that have arrived since."""
    keys = Alert.objects.filter(resolved_at=None, key__startswith=_URGENT_KEY).values_list("key", flat=True)
    event_ids = {key.rpartition(":")[2] for key in keys}
    if not event_ids:
        return
    arrived = Delivery.objects.filter(status=Delivery.Status.DELIVERED, event_id__in=event_ids)
    arrived_keys = {_urgent_key(to, of) for to, of in arrived.values_list("endpoint_id", "event_id")}
    alerts.resolve(*(arrived_keys & set(keys)), at=at)


def _urgent_key(endpoint_id: UUID, event_id: UUID) -> str:
    return f"{_URGENT_KEY}{endpoint_id}:{event_id}"
