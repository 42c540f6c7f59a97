"""From claimed rows to what is sent: where to, under which secrets, and the bytes of the body."""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from yarl import URL

from apps.audit.services import audit
from apps.rides.models import Ride
from apps.webhooks import body
from apps.webhooks.models import Delivery, Endpoint, EndpointSecret
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries import full_rides, grants, keys
from apps.webhooks.services.claiming import Claim, Claimed
from apps.webhooks.services.sending import Target
from lib.access import system
from lib.crypto import aad, seal, unseal
from lib.standard_webhooks import Signer, hmac_of

log = logging.getLogger(__name__)

_KEEP: Final = """
    UPDATE webhooks_delivery d SET body_encrypted = came.body, body_level = came.level
    FROM unnest(%s::uuid[], %s::bytea[], %s::varchar[]) AS came(id, body, level) WHERE d.id = came.id
"""


class Ready(NamedTuple):
    """A claimed row with all that sending takes; without a target, `error` says what could not be made."""

    row: Claimed
    claim_id: UUID
    target: Target | None = None
    body: bytes = b""
    error: str = ""


class Targets:
    """Endpoints as sending needs them, for as long as nobody changes them: kept by id and version."""

    def __init__(self) -> None:
        self._known: dict[UUID, tuple[int, Target | None]] = {}

    def of(self, rows: Iterable[Claimed]) -> dict[UUID, Target | None]:
        """Find the targets of rows, None where nothing may leave.

        Three queries when there is one that is not known yet, none otherwise.
        """
        wanted = {row.endpoint_id: row.endpoint_version for row in rows}
        unknown = [key for key, version in wanted.items() if self._known.get(key, (0,))[0] != version]
        if unknown:
            self._known |= _load(unknown)
        return {key: self._known[key][1] for key in wanted}


def _load(endpoint_ids: Collection[UUID]) -> dict[UUID, tuple[int, Target | None]]:
    secrets: dict[UUID, list[EndpointSecret]] = {key: [] for key in endpoint_ids}
    for secret in EndpointSecret.objects.filter(endpoint__in=endpoint_ids).order_by("-created_at", "-pk"):
        secrets[secret.endpoint_id].append(secret)
    public = keys.present_signer()
    return {
        one.pk: (one.version, _target(one, secrets[one.pk], public))
        for one in Endpoint.objects.filter(pk__in=endpoint_ids)
    }


def _target(endpoint: Endpoint, secrets: Sequence[EndpointSecret], public: Signer | None) -> Target | None:
    if not secrets:
        return None  # it was removed meanwhile; nothing leaves unsigned
    try:
        signers = [(hmac_of(secret.text), secret.expires_at) for secret in secrets]
        return Target(
            url=URL(endpoint.url),
            signers=(*signers, *(((public, None),) if endpoint.asymmetric and public else ())),
            headers=endpoint.own_headers,
            level=endpoint.payload_level,
            client_id=endpoint.client_id,
            api_version=endpoint.api_version,
        )
    except Exception:  # a secret that does not open: it is this endpoint's alone
        log.exception("endpoint not usable", extra={"subscription_id": str(endpoint.pk)})
        return None


def prepare(claim: Claim, targets: Targets, *, at: datetime) -> list[Ready]:
    """Make the bodies of a claim.  One that cannot be made does not keep the others from leaving.

    Bodies that hold a whole ride are rendered once and stored sealed before they leave, so that a retry sends the same
    bytes; a few queries for those, none for the rest.
    """
    found = _within_grants(targets.of(claim.rows), at)
    made: dict[tuple[UUID, str], bytes] = {}  # hundreds of endpoints may hear of one event
    rides = _Rides(claim.rows, found, at=at)
    ready = []
    for row in claim.rows:
        target = found[row.endpoint_id]
        if target is None:
            ready.append(Ready(row, claim.id, error=ErrorClass.RENDER))
            continue
        try:
            if row.body_encrypted is not None and row.body_level == target.level:
                bytes_ = unseal(row.body_encrypted, aad=aad(Delivery, "body", row.id)).encode()
            elif target.level == PayloadLevel.ID_ONLY:
                key = (row.event.id, target.api_version)
                bytes_ = made.get(key) or made.setdefault(key, _render(row, target, {}))
            else:
                bytes_ = _render(row, target, rides.more_of(row, target))
        except Exception:  # whatever it is, it is this row's alone
            log.exception("webhook body not made", extra={"delivery_id": str(row.id), "event_id": str(row.event.id)})
            ready.append(Ready(row, claim.id, error=ErrorClass.RENDER))
        else:
            ready.append(Ready(row, claim.id, target, bytes_))
    _keep([(one, one.target.level) for one in ready if one.target and one.row.id in rides.told_more], rides)
    return ready


def _within_grants(targets: dict[UUID, Target | None], at: datetime) -> dict[UUID, Target | None]:
    """Let whole rides go to nobody whose client was given rider data once and is not any more: ids alone go there.

    `watching.tend` sees to it that people are told.
    """
    whole = {key: one for key, one in targets.items() if one is not None and one.level == PayloadLevel.FULL_RESOURCE}
    asked = {one.client_id for one in whole.values() if one.client_id is not None}
    lapsed = asked - grants.granted(asked, at=at) if asked else asked
    cut = {key: replace(one, level=PayloadLevel.ID_ONLY) for key, one in whole.items() if one.client_id in lapsed}
    return {**targets, **cut}


def _render(row: Claimed, target: Target, more: dict[str, Any]) -> bytes:
    return body.render(row.event, level=target.level, api_version=target.api_version, more=more)


class _Rides:
    """What bodies of rides say beyond their event: the receiver's own reference, and the ride itself."""

    def __init__(self, rows: Iterable[Claimed], targets: Mapping[UUID, Target | None], *, at: datetime) -> None:
        wanted = [
            row
            for row in rows
            if row.event.subject_type == "ride"
            and (target := targets[row.endpoint_id]) is not None
            and target.level != PayloadLevel.ID_ONLY
        ]
        self._rides = Ride.objects.in_bulk({row.event.subject_id for row in wanted}) if wanted else {}
        self._at = at
        self.told_more: set[UUID] = set()  # deliveries whose body would come out otherwise tomorrow
        self.shown: dict[UUID, set[UUID]] = defaultdict(set)  # riders, by the endpoint that is told of them

    def more_of(self, row: Claimed, target: Target) -> dict[str, Any]:
        if row.event.subject_type != "ride":
            return {}
        ride = self._rides.get(row.event.subject_id)
        more: dict[str, Any] = {}
        booked_by = None if ride is None else ride.client_id
        if ride is not None and ride.client_reference and booked_by is not None and booked_by == target.client_id:
            more["clientReference"] = ride.client_reference
        if target.level == PayloadLevel.FULL_RESOURCE:
            more["ride"] = None if ride is None else full_rides.show(ride, at=self._at)
            if ride is not None:
                self.shown[row.endpoint_id].add(ride.rider_id)
        if more:
            self.told_more.add(row.id)
        return more


def _keep(ready: Sequence[tuple[Ready, str]], rides: _Rides) -> None:
    """Store bodies for their retries, and record whose data leaves, before it does."""
    if not ready:
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            _KEEP,
            [
                [one.row.id for one, _ in ready],
                [seal(one.body.decode(), aad=aad(Delivery, "body", one.row.id)) for one, _ in ready],
                [level for _, level in ready],
            ],
        )
        for endpoint_id, riders in rides.shown.items():
            audit.record(
                by=system("webhooks"),
                action="webhooks.send",
                subject_type="endpoint",
                subject_id=endpoint_id,
                rider_ids=riders,
                phi="full",
            )
