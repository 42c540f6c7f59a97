"""Prepare claimed deliveries for sending: the address and secrets of the endpoint, and the bytes of the body.

Bodies at level `id-only` are rendered for each attempt: the same event always gives the same bytes.  Bodies that hold
more than the event (the whole ride, the client's own reference) would differ tomorrow: they are rendered once, stored
encrypted before they leave, and reused by retries.  A body that was stored at another payload level is rendered anew.

A delivery whose body cannot be rendered does not stop the others: it gets an error in place of a target.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction
from yarl import URL

from apps.audit.services import audit
from apps.rides.models import Ride
from apps.rides.queries import rides
from apps.rides.schemas.ride_output import RideOut, context_of
from apps.webhooks.models import Delivery, Endpoint, EndpointSecret
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries.endpoints import clients_with_phi
from apps.webhooks.rules import payloads
from apps.webhooks.services import secrets as secret_store
from apps.webhooks.services.sending import Target
from lib.access import Phi, Principal, system
from lib.api import serializers
from lib.api.json import dumps
from lib.crypto import aad, decrypt
from lib.standard_webhooks import Signer, hmac_of

log = logging.getLogger(__name__)

# A receiver of whole rides sees all data of the rider, but neither dispatchers' notes nor door codes.
_RECEIVER: Final = Principal(kind="system", id=None, role="webhook", scopes=frozenset(), phi=Phi.FULL)


class PreparedDelivery(NamedTuple):
    """A claimed delivery with everything that sending needs; without a target, `error` says why."""

    delivery: Delivery
    endpoint_version: int
    target: Target | None = None
    body: bytes = b""
    error: str = ""


class Targets:
    """A cache of endpoints as sending needs them, by id and version."""

    def __init__(self) -> None:
        self._cache: dict[UUID, tuple[int, Target | None]] = {}

    def load(self, deliveries: Iterable[Delivery]) -> dict[UUID, tuple[int, Target | None]]:
        """Return version and target of the deliveries' endpoints; no target if nothing may be sent.

        One query; three more if an endpoint is new or has changed.
        """
        ids = {delivery.endpoint_id for delivery in deliveries}
        versions = dict(Endpoint.objects.filter(pk__in=ids).values_list("pk", "version"))
        stale = [key for key, version in versions.items() if self._cache.get(key, (0,))[0] != version]
        if stale:
            self._cache |= _load(stale)
        return {key: self._cache[key] for key in versions}


def _load(endpoint_ids: Collection[UUID]) -> dict[UUID, tuple[int, Target | None]]:
    secrets: dict[UUID, list[EndpointSecret]] = {key: [] for key in endpoint_ids}
    for secret in EndpointSecret.objects.filter(endpoint__in=endpoint_ids).order_by("-created_at", "-pk"):
        secrets[secret.endpoint_id].append(secret)
    deployment_key = secret_store.current_signer()
    return {
        endpoint.pk: (endpoint.version, _target(endpoint, secrets[endpoint.pk], deployment_key))
        for endpoint in Endpoint.objects.filter(pk__in=endpoint_ids)
    }


def _target(endpoint: Endpoint, secrets: Sequence[EndpointSecret], deployment_key: Signer | None) -> Target | None:
    if not secrets:
        return None  # the endpoint was removed; nothing is sent unsigned
    try:
        signers = [(hmac_of(secret.text), secret.expires_at) for secret in secrets]
        return Target(
            url=URL(endpoint.url),
            signers=(*signers, *(((deployment_key, None),) if endpoint.asymmetric and deployment_key else ())),
            headers=endpoint.own_headers,
            level=endpoint.payload_level,
            client_id=endpoint.client_id,
            api_version=endpoint.api_version,
        )
    except Exception:  # a secret that cannot be decrypted affects this endpoint only
        log.exception("endpoint not usable", extra={"subscription_id": str(endpoint.pk)})
        return None


def prepare(deliveries: Sequence[Delivery], targets: Targets, *, at: datetime) -> list[PreparedDelivery]:
    """Render the bodies of claimed deliveries and store those that must not change between attempts."""
    endpoints = targets.load(deliveries)
    allowed = _limit_to_phi_grants({key: target for key, (_, target) in endpoints.items()}, at)
    ride_data = _RideData(deliveries, allowed, at=at)
    shared: dict[tuple[UUID, str], bytes] = {}  # hundreds of endpoints may receive the same event
    prepared = []
    for delivery in deliveries:
        version, target = endpoints[delivery.endpoint_id][0], allowed[delivery.endpoint_id]
        if target is None:
            prepared.append(PreparedDelivery(delivery, version, error=ErrorClass.RENDER))
            continue
        try:
            body = _body(delivery, target, ride_data, shared)
        except Exception:  # whatever is wrong with the body affects this delivery only
            ids = {"delivery_id": str(delivery.pk), "event_id": str(delivery.event_id)}
            log.exception("webhook body not made", extra=ids)
            prepared.append(PreparedDelivery(delivery, version, error=ErrorClass.RENDER))
        else:
            prepared.append(PreparedDelivery(delivery, version, target, body))
    _store([item for item in prepared if item.delivery.pk in ride_data.volatile], ride_data)
    return prepared


def _body(delivery: Delivery, target: Target, ride_data: "_RideData", shared: dict[tuple[UUID, str], bytes]) -> bytes:
    if delivery.body_encrypted is not None and delivery.body_level == target.level:
        return decrypt(bytes(delivery.body_encrypted), aad=aad(Delivery, "body", delivery.pk)).encode()
    if target.level != PayloadLevel.ID_ONLY:
        return _render(delivery, target, ride_data.extra_for(delivery, target))
    key = (delivery.event_id, target.api_version)
    if key not in shared:
        shared[key] = _render(delivery, target, {})
    return shared[key]


def _render(delivery: Delivery, target: Target, extra: dict[str, Any]) -> bytes:
    return payloads.render(delivery.event, level=target.level, api_version=target.api_version, extra=extra)


def _limit_to_phi_grants(targets: dict[UUID, Target | None], at: datetime) -> dict[UUID, Target | None]:
    """Reduce endpoints to ids whose client has no token anymore that may see rider data.

    `cleanup` changes the endpoint and alerts people within a minute.
    """
    with_whole_rides = {
        key: target
        for key, target in targets.items()
        if target is not None and target.level == PayloadLevel.FULL_RESOURCE
    }
    clients = {target.client_id for target in with_whole_rides.values() if target.client_id is not None}
    revoked = clients - clients_with_phi(clients, at=at) if clients else clients
    limited = {
        key: replace(target, level=PayloadLevel.ID_ONLY)
        for key, target in with_whole_rides.items()
        if target.client_id in revoked
    }
    return {**targets, **limited}


class _RideData:
    """What bodies of ride events hold beyond their event: the client's own reference, and the ride itself."""

    def __init__(self, deliveries: Iterable[Delivery], targets: Mapping[UUID, Target | None], *, at: datetime) -> None:
        ride_ids = {
            delivery.subject_id
            for delivery in deliveries
            if delivery.event.subject_type == "ride"
            and (target := targets[delivery.endpoint_id]) is not None
            and target.level != PayloadLevel.ID_ONLY
        }
        self._rides = Ride.objects.in_bulk(ride_ids) if ride_ids else {}
        self._at = at
        self.volatile: set[UUID] = set()  # deliveries whose body would be rendered differently tomorrow
        self.riders: dict[UUID, set[UUID]] = defaultdict(set)  # whose data is sent, by endpoint

    def extra_for(self, delivery: Delivery, target: Target) -> dict[str, Any]:
        if delivery.event.subject_type != "ride":
            return {}
        ride = self._rides.get(delivery.subject_id)
        extra: dict[str, Any] = {}
        if ride is not None and ride.client_reference and ride.client_id and ride.client_id == target.client_id:
            extra["clientReference"] = ride.client_reference
        if target.level == PayloadLevel.FULL_RESOURCE:
            extra["ride"] = None if ride is None else whole_ride(ride, at=self._at)
            if ride is not None:
                self.riders[delivery.endpoint_id].add(ride.rider_id)
        if extra:
            self.volatile.add(delivery.pk)
        return extra


def whole_ride(ride: Ride, *, at: datetime) -> orjson.Fragment:
    """Render a ride as GET /rides/{id} does.  Two or three queries, and five if its vehicle is expected soon."""
    context = context_of(rides.related_records(ride), of=ride, by=_RECEIVER, at=at)
    return orjson.Fragment(dumps(serializers.show(RideOut, ride, context=context)))


def _store(prepared: Sequence[PreparedDelivery], ride_data: _RideData) -> None:
    """Store bodies for their retries and record in the audit log whose data is sent, before it is."""
    deliveries = []
    for item in prepared:
        if item.target is not None:
            item.delivery.body_text, item.delivery.body_level = item.body.decode(), item.target.level
            deliveries.append(item.delivery)
    if not deliveries:
        return
    with transaction.atomic():
        Delivery.objects.bulk_update(deliveries, ["body_encrypted", "body_level"])
        for endpoint_id, riders in ride_data.riders.items():
            audit.record(
                by=system("webhooks"),
                action="webhooks.send",
                subject_type="endpoint",
                subject_id=endpoint_id,
                rider_ids=riders,
                phi="full",
            )
