"""The log of deliveries: what was sent where, what came of it, and what of it a caller may see."""

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
# By their ids, which grow: no other column has an index that a list of all of them could be read by.
ORDERS: Final[Mapping[str, Order]] = both_ways("created")


@dataclass(frozen=True, slots=True)
class DeliveryCriteria:
    """Which deliveries; None asks for no such thing.  `types` as a subscription says them, `created_to` exclusive."""

    endpoint_id: UUID | None = None
    status: Sequence[str] | None = None
    type: Sequence[str] | None = None
    ride_id: UUID | None = None
    event_id: UUID | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A delivery as its caller may see it; `rider_ids` are those whose data it shows.

    `body` is None where it may not be seen, has not been made yet, or cannot be made.
    """

    delivery: Delivery
    redacted: bool
    sensitive: bool
    body: str | None
    attempts: list[dict[str, Any]]
    rider_ids: list[UUID]


def found(criteria: DeliveryCriteria, *, by: Principal) -> DeliveryQuerySet:
    """Find deliveries with their events, but without bodies, which may be long."""
    rows = Delivery.objects.visible_to(by).select_related("event").defer("body_encrypted", "event__data")
    asked: dict[str, Any] = {
        "endpoint_id": criteria.endpoint_id,
        "status__in": criteria.status,
        "event_id": criteria.event_id,
        "event__subject_id": criteria.ride_id,  # by the index of events: deliveries have none by their subject
        "event__subject_type": None if criteria.ride_id is None else "ride",
        "created_at__gte": criteria.created_from,
        "created_at__lt": criteria.created_to,
    }
    rows = rows.filter(**{name: value for name, value in asked.items() if value is not None})
    return rows if criteria.type is None else rows.filter(_of_types(criteria.type))


def _of_types(types: Sequence[str]) -> Q:
    if EVERYTHING in types:
        return Q()
    condition = Q(event_type__in=types)
    for family in (one for one in types if one.endswith(".*")):
        condition |= Q(event_type__startswith=family.removesuffix("*"))
    return condition


def one(delivery_id: UUID, *, by: Principal) -> Delivery | None:
    """Read one delivery with its event, its endpoint and how that does."""
    rows = Delivery.objects.visible_to(by).select_related("event", "endpoint__health")
    return rows.filter(pk=delivery_id).first()


def show(delivery: Delivery, *, by: Principal) -> Shown:
    """Show a delivery with its attempts.  One query, and one more where riders are shown.

    Bodies of whole rides, and what receivers answered to them, are for those who may see everything of a rider.  Of a
    body that holds the booker's own reference the rest is shown to those who may not see that; receivers may repeat it,
    so that their answers are kept back too.
    """
    sensitive = PayloadLevel.FULL_RESOURCE in (delivery.endpoint.payload_level, delivery.body_level)
    redacted = sensitive and by.phi < Phi.FULL
    text, curtailed = (None, True) if redacted else _seen(_body(delivery), by)
    own = dict.fromkeys(delivery.endpoint.header_names, HIDDEN)
    return Shown(
        delivery=delivery,
        redacted=redacted,
        sensitive=sensitive,
        body=text,
        attempts=[
            _attempt(one, str(delivery.event_id), own, silent=curtailed)
            for one in Attempt.objects.filter(delivery=delivery).order_by("pk")
        ],
        rider_ids=[] if redacted or not sensitive else _riders(delivery),
    )


def _seen(text: str | None, by: Principal) -> tuple[str | None, bool]:
    """Leave the booker's own reference out for those who do not see it of a ride: people write names into it.

    Says whether there was one.
    """
    if text is None or by.phi >= FIELDS["clientReference"]:
        return text, False
    shown = orjson.loads(text)
    if shown["data"].pop("clientReference", None) is None:
        return text, False
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode(), True


def _body(delivery: Delivery) -> str | None:
    """Give the bytes that were kept, or those that are made anew for each attempt, and always the same."""
    if delivery.body_encrypted is not None:
        return str(delivery.body_text)
    if delivery.endpoint.payload_level == PayloadLevel.FULL_RESOURCE:
        return None
    try:
        level, version = delivery.endpoint.payload_level, delivery.endpoint.api_version
        return payloads.render(delivery.event, level=level, api_version=version).decode()
    except (KeyError, payloads.TooLarge):
        return None


def _attempt(one: Attempt, event_id: str, own: dict[str, str], *, silent: bool) -> dict[str, Any]:
    """Show an attempt; `silent`: without what the receiver may repeat of a body in words or in an address."""
    request = unsigned_headers(event_id, attempt=one.number, at=one.started_at, custom=own)
    answered = {name: HIDDEN if silent and name == "location" else text for name, text in one.response_headers.items()}
    return {
        "number": one.number,
        "started_at": one.started_at,
        "duration_ms": one.duration_ms,
        "code": one.code,
        "error": one.error,
        "request_headers": request if one.number else None,
        "response_headers": answered,
        "response_snippet": None if silent else one.response_snippet,
        "remote_ip": one.remote_ip,
    }


def _riders(delivery: Delivery) -> list[UUID]:
    if delivery.event.subject_type != "ride":
        return []
    return list(Ride.objects.filter(pk=delivery.subject_id).values_list("rider_id", flat=True))
