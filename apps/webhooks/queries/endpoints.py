"""Endpoints as people look through them."""

from typing import Final

from django.db.models import Q

from apps.webhooks.models import Endpoint
from apps.webhooks.models.endpoint import EndpointQuerySet
from lib.access import Principal

FAILING: Final = "failing"  # active, and without success for some time: what people look for first


def found(*, by: Principal, state: str = "", sought: str = "") -> EndpointQuerySet:
    """Find endpoints with their clients: in a state or failing, with a text in a name of theirs; "" asks for all."""
    rows = Endpoint.objects.visible_to(by).select_related("client")
    if state == FAILING:
        rows = failing(rows)
    elif state:
        rows = rows.filter(state=state)
    if sought:
        rows = rows.filter(Q(name__icontains=sought) | Q(client__name__icontains=sought))
    return rows


def failing(rows: EndpointQuerySet) -> EndpointQuerySet:
    """Keep those that nothing gets through to, though it is tried."""
    return rows.filter(state=Endpoint.State.ACTIVE, lane__failing_since__isnull=False)
