"""Deliveries that somebody may be waiting for at a door: people are told when they are late, whatever keeps them."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.rides.models import Ride
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.models.delivery import DeliveryQuerySet
from apps.webhooks.rules.event_types import URGENT
from lib.messages import Message
from lib.scopes import Scope

LATE: Final = timedelta(seconds=160)  # the fourth attempt is due then: 10 s, 30 s and 2 min after the first
LOOKS_BACK: Final = timedelta(hours=1)  # what is older was looked at before, unless nobody was there to look
DISCHARGE: Final = "hospital_discharge"
_KEY: Final = "webhook.urgent:"


def overdue(*, at: datetime) -> DeliveryQuerySet:
    """Find what waits for longer than it may, though its endpoint is sent to: behind a breaker above all."""
    since = at - LATE - LOOKS_BACK
    return Delivery.objects.filter(
        endpoint__in=Endpoint.objects.sent_to(),
        status=Delivery.Status.PENDING,
        priority__in=(Delivery.Priority.LIVE, Delivery.Priority.RETRY),
        due_at__gt=since,  # nothing is due before it is made: so the index of what is pending narrows it down
        created_at__gt=since,
        created_at__lte=at - LATE,
    )


def tell(late: DeliveryQuerySet, *, at: datetime) -> None:
    """Tell people of those that are urgent, once of each event and endpoint.  One query where none is."""
    discharges = Exists(Ride.objects.filter(pk=OuterRef("subject_id"), service_type=DISCHARGE))
    urgent = late.exclude(trigger=Delivery.Trigger.TEST).filter(Q(event_type__in=URGENT) | discharges)
    columns = ("pk", "endpoint_id", "event_id", "event_type", "endpoint__name")
    found = {_key(to, of): (pk, kind, name) for pk, to, of, kind, name in urgent.values_list(*columns)}
    if not found:
        return
    # Whatever became of the alert: one that was put aside does not come again every few seconds.
    told = set(Alert.objects.filter(key__in=found).values_list("key", flat=True))
    with transaction.atomic():
        for key, (pk, kind, name) in found.items():
            if key not in told:
                alerts.raise_alert(
                    kind="webhook.delivery.urgent",
                    severity=Alert.Severity.CRITICAL,
                    scope=Scope.WEBHOOKS_MANAGE,
                    key=key,
                    title=Message(
                        _("“%(endpoint)s” has still not been told of %(event)s"), {"endpoint": name, "event": kind}
                    ),
                    path=f"/console/developers/deliveries/{pk}/",
                    at=at,
                )


def close(*, at: datetime) -> None:
    """Close the alerts about what has arrived since: nobody has to telephone any more.  Two queries, or one."""
    told = Alert.objects.filter(resolved_at=None, key__startswith=_KEY).values_list("key", flat=True)
    about = {key: key.removeprefix(_KEY).split(":") for key in told}
    if not about:
        return
    arrived = Delivery.objects.filter(
        status=Delivery.Status.DELIVERED, event_id__in={event_id for _, event_id in about.values()}
    )
    there = {_key(to, of) for to, of in arrived.values_list("endpoint_id", "event_id")}
    alerts.resolve(*(about.keys() & there), at=at)


def _key(endpoint_id: UUID, event_id: UUID) -> str:
    return f"{_KEY}{endpoint_id}:{event_id}"
