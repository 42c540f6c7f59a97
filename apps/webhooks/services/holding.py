"""What is held for so long that it will be forgotten: people are told while the endpoint can still be resumed."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.queries import held
from apps.webhooks.rules.lane import TOLD_AHEAD
from apps.webhooks.services import states


def tell(*, at: datetime) -> None:
    """Tell of endpoints whose held deliveries are soon forgotten, or are by now: in two steps, each once.

    A step is told again when the endpoint was sent to meanwhile; alerts about one that is sent to again are closed.
    """
    _close(at)
    for endpoint_id, since in held.since().items():
        if _step(since, at):
            _tell(endpoint_id, at)


@transaction.atomic
def _tell(endpoint_id: UUID, at: datetime) -> None:
    endpoint = states.locked(endpoint_id)
    since = held.since().get(endpoint_id)
    if since is None:  # resumed or removed just now
        return
    step = _step(since, at)
    if not Alert.objects.filter(key__in=states.keys_of_expiring(endpoint_id, step), resolved_at__isnull=True).exists():
        count = endpoint.deliveries.filter(status=Delivery.Status.HELD).count()
        states.expiring(endpoint_id, step, count=count, expires_at=since + _kept(), at=at)


def _close(at: datetime) -> None:
    told = Alert.objects.filter(key__startswith=states.KEY_OF_EXPIRING, resolved_at__isnull=True)
    endpoint_ids = [UUID(key.split(":")[1]) for key in told.values_list("key", flat=True)]
    for endpoint_id in Endpoint.objects.sent_to().filter(pk__in=endpoint_ids).values_list("pk", flat=True):
        alerts.resolve(*states.keys_of_expiring(endpoint_id), at=at)


def _step(since: datetime, at: datetime) -> int:
    # Where deliveries are kept for days alone, a week's notice would tell of every pause.
    return sum(since + _kept() - at <= min(ahead, _kept() / 4) for ahead in TOLD_AHEAD)


def _kept() -> timedelta:
    return timedelta(days=settings.DELIVERY_RETENTION_DAYS)
