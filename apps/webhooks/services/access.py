"""Endpoints and deliveries that a caller may change, locked."""

from uuid import UUID

from apps.webhooks.models import Delivery, Endpoint, LaneRow
from lib.access import Principal
from lib.errors import NotFound, StaleVersion


def found(endpoint_id: UUID, by: Principal) -> Endpoint:
    """Read an endpoint of the caller's.

    Raises:
        NotFound: there is none.
    """
    endpoint = Endpoint.objects.visible_to(by).filter(pk=endpoint_id).first()
    if endpoint is None:
        raise NotFound("webhook endpoint")
    return endpoint


def locked(endpoint_id: UUID, by: Principal, *, expected_version: int | None = None) -> Endpoint:
    """Lock an endpoint of the caller's, its lane first: results of deliveries come in that order too.

    New deliveries may refer to it meanwhile.

    Raises:
        NotFound: there is none.
        StaleVersion: the caller read an older version.
    """
    LaneRow.objects.select_for_update(no_key=True).filter(pk=endpoint_id).first()
    rows = Endpoint.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    endpoint = rows.filter(pk=endpoint_id).first()
    if endpoint is None:
        raise NotFound("webhook endpoint")
    if expected_version is not None and expected_version != endpoint.version:
        raise StaleVersion(endpoint.version)
    return endpoint


def locked_delivery(delivery_id: UUID, by: Principal) -> Delivery:
    """Lock a delivery of the caller's.

    Raises:
        NotFound: there is none.
    """
    deliveries = Delivery.objects.visible_to(by).select_related("endpoint").select_for_update(of=("self",))
    delivery = deliveries.filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound("webhook delivery")
    return delivery
