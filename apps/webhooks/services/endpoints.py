"""Endpoints as people and integrators keep them: registered, changed, tried, paused, resumed, taken away."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.accounts.models import ApiClient
from apps.accounts.services import alerts
from apps.audit.services import audit
from apps.webhooks.models import Delivery, Endpoint, LaneRow
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.rules.event_types import TEST
from apps.webhooks.rules.schedule import MOST_AGE
from apps.webhooks.services import access, publishing, recovering, secrets, states, wishes
from apps.webhooks.services.wishes import Wanted
from lib.access import Principal
from lib.errors import Code, DomainError, NotFound

MOST_ENDPOINTS: Final = 100  # of one client
_HEARD: Final = attrgetter("event_types", "facility_ids", "provider_ids")


class TooManyEndpoints(DomainError):
    """The client has as many endpoints as one may have."""

    code = Code.RULE_VIOLATION


class NotVerified(DomainError):
    """Nobody has answered a test there yet."""

    code = Code.RULE_VIOLATION


class AlreadyAsSaid(DomainError):
    """The endpoint is in that state."""

    code = Code.INVALID_TRANSITION


@dataclass(frozen=True, slots=True)
class Registered:
    """A new endpoint, and its secret, which no other answer holds."""

    endpoint: Endpoint
    secret: str = field(repr=False)


def register(
    *, wanted: Wanted, client_id: UUID | None = None, secret: str | None = None, by: Principal, at: datetime
) -> Registered:
    """Register an endpoint and send it a test: it becomes active when that is answered with 2xx.

    A token registers for its own client; people for any, or for the operator itself (None).  `secret` is made unless
    one is brought along.  Looks the host name up, before any transaction.

    Raises:
        InvalidInput: the name, an event type, a header, the secret, or a record named in it is none.
        EndpointUrlBlocked: webhooks may not go there.
        PhiNotGranted: whole rides are asked for, and not granted.
        WiderThanCaller: it would hear of more than the caller reaches.
        TooManyEndpoints: the client has 100.
        NotFound: there is no such client.
    """
    wanted = wishes.within_reach(wanted, by)
    wishes.check(wanted)
    wishes.check_address(wanted.url)
    with transaction.atomic():
        owner = by.client_id if by.kind == "token" else client_id
        _check_owner(owner)
        wishes.check_phi(wanted, owner, by, at)
        endpoint = Endpoint(
            client_id=owner,
            api_version=by.api_version or settings.API_VERSIONS[-1],
            state_changed_at=at,
            created_by=by.actor,
            created_at=at,
            updated_at=at,
        )
        _apply(endpoint, wanted, by, at)
        endpoint.save(force_insert=True)
        LaneRow.objects.create(endpoint=endpoint, window=endpoint.max_in_flight)
        text = secrets.first(endpoint, secret, by=by, at=at)
        if endpoint.asymmetric:
            secrets.ensure_signing_key(at=at)
        _audit("webhooks.register", endpoint, by)
        _send_test(endpoint, by=by, at=at)
    return Registered(endpoint, text)


def change(
    *, endpoint_id: UUID, changes: Mapping[str, Any], expected_version: int | None, by: Principal, at: datetime
) -> Endpoint:
    """Change what is named in `changes`, in the fields of `Wanted`.

    A new address is tested first: until it answers, events are held, and are sent when it does; an endpoint that people
    paused stays paused.  What waits and is nothing that the endpoint hears of any more is cancelled.  Looks the host
    name up, before any transaction of its own.

    Raises:
        NotFound: there is no such endpoint.
        StaleVersion: it is not at `expected_version`.
        InvalidInput, EndpointUrlBlocked, PhiNotGranted, WiderThanCaller: as in `register`.
    """
    if "url" in changes:
        wishes.check_address(changes["url"])
    with transaction.atomic():
        endpoint = access.locked(endpoint_id, by, expected_version=expected_version)
        was = wishes.wanted_of(endpoint)
        wanted = Wanted(**{one.name: changes.get(one.name, getattr(was, one.name)) for one in fields(Wanted)})
        if wanted == was:
            return endpoint
        wanted = wishes.within_reach(wanted, by)
        wishes.check(wanted)
        wishes.check_phi(wanted, endpoint.client_id, by, at)
        _apply(endpoint, wanted, by, at)
        if wanted.url != was.url:
            _await_answer(endpoint, at)
        endpoint.version += 1
        endpoint.updated_at = at
        endpoint.save()
        if _HEARD(wanted) != _HEARD(was):
            publishing.withdraw(endpoint.pk, at=at)
        if endpoint.asymmetric:
            secrets.ensure_signing_key(at=at)
        if wanted.max_in_flight != was.max_in_flight:
            LaneRow.objects.filter(pk=endpoint.pk).update(window=endpoint.max_in_flight)
        changed = [one.name for one in fields(Wanted) if getattr(wanted, one.name) != getattr(was, one.name)]
        _audit("webhooks.change", endpoint, by, changed=changed)
        if wanted.url != was.url:
            _send_test(endpoint, by=by, at=at)
    return endpoint


@transaction.atomic
def pause(*, endpoint_id: UUID, by: Principal, at: datetime) -> Endpoint:
    """Send nothing more and keep collecting; what is on its way comes to its end.

    Raises:
        NotFound: there is no such endpoint.
        AlreadyAsSaid: it is not active.
    """
    endpoint = access.locked(endpoint_id, by)
    if endpoint.state != Endpoint.State.ACTIVE:
        raise AlreadyAsSaid(f"The endpoint is {endpoint.state}.")
    states.change(endpoint, Endpoint.State.PAUSED, states.BY_PEOPLE, at)
    states.hold(endpoint)
    _audit("webhooks.pause", endpoint, by)
    return endpoint


@transaction.atomic
def resume(*, endpoint_id: UUID, deliver_held: bool = True, by: Principal, at: datetime) -> Endpoint:
    """Send again, with a clean slate; what was held follows behind what is new, unless told otherwise.

    Raises:
        NotFound: there is no such endpoint.
        AlreadyAsSaid: it is active.
        NotVerified: it, or its new address, has not answered a test.
    """
    endpoint = access.locked(endpoint_id, by)
    if endpoint.state == Endpoint.State.ACTIVE:
        raise AlreadyAsSaid("The endpoint is active.")
    if endpoint.state == Endpoint.State.PENDING or endpoint.state_reason in (states.UNVERIFIED, states.UNTRIED):
        raise NotVerified("The endpoint has not answered a test yet; send one.")
    states.start_over(endpoint, "was resumed", by=by, at=at)
    while not deliver_held and states.hold(endpoint):
        pass  # what has not been moved since the pause would be sent
    if deliver_held:
        recovering.release(endpoint, by=by, at=at)
    _audit("webhooks.resume", endpoint, by)
    return endpoint


@transaction.atomic
def remove(*, endpoint_id: UUID, expected_version: int | None = None, by: Principal, at: datetime) -> None:
    """Take an endpoint away, with all that waits for it; its deliveries stay in the log for as long as others do.

    Raises:
        NotFound: there is no such endpoint.
        StaleVersion: it is not at `expected_version`.
    """
    endpoint = access.locked(endpoint_id, by, expected_version=expected_version)
    states.change(endpoint, Endpoint.State.DISABLED, "removed", at)
    endpoint.deleted_at = at
    endpoint.headers_text = ""  # may hold a password of the receiver's, as the secrets below do
    endpoint.save(update_fields=["deleted_at", "headers_encrypted"])
    states.cancel_all(endpoint, at=at)
    endpoint.secrets.all().delete()
    alerts.resolve_about(endpoint.pk, at=at)
    _audit("webhooks.remove", endpoint, by)


@transaction.atomic
def test(*, endpoint_id: UUID, by: Principal, at: datetime) -> Delivery:
    """Send `webhook.test` to one endpoint, in whatever state it is.  The first success makes a pending one active.

    Raises:
        NotFound: there is no such endpoint.
    """
    endpoint = access.locked(endpoint_id, by)
    _audit("webhooks.test", endpoint, by)
    return _send_test(endpoint, by=by, at=at)


def _check_owner(client_id: UUID | None) -> None:
    if client_id is None:
        return
    if not ApiClient.objects.filter(pk=client_id, active=True).exists():
        raise NotFound("client")
    if Endpoint.objects.filter(client_id=client_id, deleted_at__isnull=True).count() >= MOST_ENDPOINTS:
        raise TooManyEndpoints(f"A client has at most {MOST_ENDPOINTS} endpoints.")


def _apply(endpoint: Endpoint, wanted: Wanted, by: Principal, at: datetime) -> None:
    for name in ("name", "url", "description", "ordering", "asymmetric", "max_in_flight", "payload_level"):
        setattr(endpoint, name, getattr(wanted, name))
    endpoint.event_types = list(dict.fromkeys(wanted.event_types))
    endpoint.facility_ids = None if wanted.facility_ids is None else sorted(wanted.facility_ids)
    endpoint.provider_ids = None if wanted.provider_ids is None else sorted(wanted.provider_ids)
    endpoint.headers_text = json.dumps(dict(wanted.headers), sort_keys=True) if wanted.headers else ""
    full = wanted.payload_level == PayloadLevel.FULL_RESOURCE
    if full and endpoint.phi_agreed_at is None:
        endpoint.phi_agreed_at, endpoint.phi_agreed_by = at, by.actor
    elif not full:
        endpoint.phi_agreed_at, endpoint.phi_agreed_by = None, ""


def _await_answer(endpoint: Endpoint, at: datetime) -> None:
    """Send nothing to a new address before it has answered a test; its caller saves the endpoint."""
    if endpoint.state == Endpoint.State.PENDING:
        return
    by_people = endpoint.state_reason in (states.BY_PEOPLE, states.UNTRIED)
    endpoint.state = Endpoint.State.PAUSED
    endpoint.state_reason = states.UNTRIED if by_people else states.UNVERIFIED
    endpoint.state_changed_at = at
    states.hold(endpoint)


def _send_test(endpoint: Endpoint, *, by: Principal, at: datetime) -> Delivery:
    event_id = states.record(endpoint, TEST, {}, by=by, at=at)
    return Delivery.objects.create(
        endpoint=endpoint,
        event_id=event_id,
        event_type=TEST,
        subject_id=endpoint.pk,
        subject_sequence=endpoint.sequence,
        trigger=Delivery.Trigger.TEST,
        due_at=at,
        expires_at=at + MOST_AGE,
        created_at=at,
    )


def _audit(action: str, endpoint: Endpoint, by: Principal, **details: Any) -> None:
    audit.record(by=by, action=action, subject_type="endpoint", subject_id=endpoint.pk, details=details)
