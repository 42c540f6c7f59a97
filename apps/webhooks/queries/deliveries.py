"""The log of deliveries, and how much of a delivery a caller may see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
from django.db.models import Q

from apps.rides.models import Ride
from apps.rides.rules.disclosure import FIELDS
from apps.webhooks.models import Attempt, Delivery
from apps.webhooks.models.delivery import DeliveryQuerySet
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.rules import payloads
from apps.webhooks.rules.event_types import EVERYTHING
from apps.webhooks.rules.request_headers import unsigned_headers
from lib.access import Phi, Principal
from lib.pagination import Order, both_ways

HIDDEN: Final = "(not shown)"
# Sorted by id, which grows with time: no other column has an index for a list of all deliveries.
ORDERS: Final[Mapping[str, Order]] = both_ways("created")


@dataclass(frozen=True, slots=True)
class DeliveryCriteria:
    """A filter of deliveries; None matches all.  `type` as in subscriptions, `created_to` is exclusive."""

    endpoint_id: UUID | None = None
    status: Sequence[str] | None = None
    type: Sequence[str] | None = None
    ride_id: UUID | None = None
    event_id: UUID | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery as a caller may see it; `rider_ids` are the riders whose data it contains.

    `body` is None if it is hidden, not rendered yet, or cannot be rendered.
    """

    delivery: Delivery
    redacted: bool
    sensitive: bool
    body: str | None
    attempts: list[dict[str, Any]]
    rider_ids: list[UUID]


def find(criteria: DeliveryCriteria, *, by: Principal) -> DeliveryQuerySet:
    """Find deliveries with their events, without bodies, which may be long."""
    rows = Delivery.objects.visible_to(by).select_related("event").defer("body_encrypted", "event__data")
    conditions: dict[str, Any] = {
        "endpoint_id": criteria.endpoint_id,
        "status__in": criteria.status,
        "event_id": criteria.event_id,
        "event__subject_id": criteria.ride_id,  # by the index of events: deliveries have none by their subject
        "event__subject_type": None if criteria.ride_id is None else "ride",
        "created_at__gte": criteria.created_from,
        "created_at__lt": criteria.created_to,
    }
    rows = rows.filter(**{name: value for name, value in conditions.items() if value is not None})
    return rows if criteria.type is None else rows.filter(_of_types(criteria.type))


def _of_types(types: Sequence[str]) -> Q:
    if EVERYTHING in types:
        return Q()
    condition = Q(event_type__in=types)
    for name in types:
        if name.endswith(".*"):
            condition |= Q(event_type__startswith=name.removesuffix("*"))
    return condition


def get(delivery_id: UUID, *, by: Principal) -> Delivery | None:
    """Read a delivery with its event, its endpoint and the health of the endpoint."""
    rows = Delivery.objects.visible_to(by).select_related("event", "endpoint__health")
    return rows.filter(pk=delivery_id).first()


def view_of(delivery: Delivery, *, by: Principal) -> DeliveryView:
    """Return a delivery with its attempts as the caller may see it.  One query, one more if riders are shown.

    Bodies with complete rides, and the responses to them, require PHI level full.  From other bodies, the client's own
    reference is removed for callers who may not see it; then responses are hidden too, because receivers may repeat it.
    """
    sensitive = PayloadLevel.FULL_RESOURCE in (delivery.endpoint.payload_level, delivery.body_level)
    redacted = sensitive and by.phi < Phi.FULL
    body, hide_responses = (None, True) if redacted else _visible_body(_body(delivery), by)
    custom = dict.fromkeys(delivery.endpoint.header_names, HIDDEN)
    return DeliveryView(
        delivery=delivery,
        redacted=redacted,
        sensitive=sensitive,
        body=body,
        attempts=[
            _attempt(attempt, str(delivery.event_id), custom, hide_response=hide_responses)
            for attempt in Attempt.objects.filter(delivery=delivery).order_by("pk")
        ],
        rider_ids=[] if redacted or not sensitive else _riders(delivery),
    )


def _visible_body(body: str | None, by: Principal) -> tuple[str | None, bool]:
    """Remove the client's own reference unless the caller may see it, and return whether there was one.

    People write names into it.
    """
    if body is None or by.phi >= FIELDS["clientReference"]:
        return body, False
    content = orjson.loads(body)
    if content["data"].pop("clientReference", None) is None:
        return body, False
    return orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode(), True


def _body(delivery: Delivery) -> str | None:
    """Return the stored body, or render it as each attempt does."""
    if delivery.body_encrypted is not None:
        return str(delivery.body_text)
    if delivery.endpoint.payload_level == PayloadLevel.FULL_RESOURCE:
        return None
    try:
        level, version = delivery.endpoint.payload_level, delivery.endpoint.api_version
        return payloads.render(delivery.event, level=level, api_version=version).decode()
    except (KeyError, payloads.TooLarge):
        return None


def _attempt(attempt: Attempt, event_id: str, custom: dict[str, str], *, hide_response: bool) -> dict[str, Any]:
    request = unsigned_headers(event_id, attempt=attempt.number, at=attempt.started_at, custom=custom)
    return {
        "number": attempt.number,
        "started_at": attempt.started_at,
        "duration_ms": attempt.duration_ms,
        "code": attempt.code,
        "error": attempt.error,
        "request_headers": request if attempt.number else None,
        "response_headers": {
            name: HIDDEN if hide_response and name == "location" else value
            for name, value in attempt.response_headers.items()
        },
        "response_snippet": None if hide_response else attempt.response_snippet,
        "remote_ip": attempt.remote_ip,
    }


def _riders(delivery: Delivery) -> list[UUID]:
    if delivery.event.subject_type != "ride":
        return []
    return list(Ride.objects.filter(pk=delivery.subject_id).values_list("rider_id", flat=True))
