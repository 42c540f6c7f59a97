"""What is held for endpoints that are not sent to."""

from datetime import datetime
from uuid import UUID

from django.db.models import OuterRef, Subquery

from apps.webhooks.models import Delivery, Endpoint
from lib.ids import moment_of


def since() -> dict[UUID, datetime]:
    """Say of each endpoint that is not sent to, and holds something, when the oldest of that was made.  One query."""
    held = Delivery.objects.filter(endpoint=OuterRef("pk"), status=Delivery.Status.HELD).order_by("pk")
    resting = Endpoint.objects.filter(deleted_at__isnull=True).exclude(pk__in=Endpoint.objects.sent_to())
    oldest = resting.values_list("pk", Subquery(held.values("pk")[:1])).order_by("pk")
    return {endpoint_id: moment_of(key) for endpoint_id, key in oldest if key is not None}
