"""Endpoints: lists for people, and which of them may receive rider data."""

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from apps.accounts.models import ApiToken
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.models.endpoint import EndpointQuerySet, PayloadLevel
from lib.access import Principal
from lib.ids import moment_of

FAILING: Final = "failing"  # a filter value beside the states: active, and without a success for some time


def find(*, by: Principal, state: str = "", text: str = "") -> EndpointQuerySet:
    """Find endpoints by state or FAILING, and by a part of their own or their client's name; "" matches all."""
    rows = Endpoint.objects.visible_to(by).select_related("client")
    if state == FAILING:
        rows = failing(rows)
    elif state:
        rows = rows.filter(state=state)
    if text:
        rows = rows.filter(Q(name__icontains=text) | Q(client__name__icontains=text))
    return rows


def failing(rows: EndpointQuerySet) -> EndpointQuerySet:
    """Select active endpoints that have had no success since their first failure."""
    return rows.filter(state=Endpoint.State.ACTIVE, health__failing_since__isnull=False)


def clients_with_phi(client_ids: Collection[UUID], *, at: datetime) -> set[UUID]:
    """Return the clients that hold a valid token of PHI level full."""
    return set(_phi_tokens(at).filter(client__in=client_ids).values_list("client", flat=True))


def without_phi_grant(*, at: datetime) -> QuerySet[Endpoint]:
    """Find endpoints that receive whole rides although their client holds no valid token of PHI level full."""
    with_whole_rides = Endpoint.objects.filter(payload_level=PayloadLevel.FULL_RESOURCE, deleted_at__isnull=True)
    return with_whole_rides.filter(client__isnull=False).exclude(client__in=_phi_tokens(at).values("client"))


def _phi_tokens(at: datetime) -> QuerySet[ApiToken]:
    return ApiToken.objects.live(at).filter(phi_level=ApiToken.PhiLevel.FULL)


def holding_since() -> dict[UUID, datetime]:
    """Return, for endpoints that are not sent to and hold deliveries, when the oldest of these was created."""
    held = Delivery.objects.filter(endpoint=OuterRef("pk"), status=Delivery.Status.HELD).order_by("pk")
    resting = Endpoint.objects.filter(deleted_at__isnull=True).exclude(pk__in=Endpoint.objects.sent_to())
    oldest = resting.values_list("pk", Subquery(held.values("pk")[:1])).order_by("pk")
    return {endpoint_id: moment_of(key) for endpoint_id, key in oldest if key is not None}
