"""Manage endpoints: register, change, test, pause, resume and remove them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient
from apps.accounts.services import alerts
from apps.audit.services import audit
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.rules.event_types import TEST
from apps.webhooks.rules.schedule import MAX_AGE
from apps.webhooks.services import endpoint_states, endpoint_validation, outbox, recovery, secrets
from apps.webhooks.services.endpoint_validation import EndpointParams
from lib.access import Principal
from lib.errors import Code, DomainError, NotFound
from lib.messages import lowered

MAX_ENDPOINTS: Final = 100  # of one client
_subscription: Final = attrgetter("event_types", "facility_ids", "provider_ids")


class TooManyEndpoints(DomainError):
    """The client has MAX_ENDPOINTS endpoints already."""

    code = Code.RULE_VIOLATION
    template = _("A client can have at most %(maximum)s endpoints.")


class NotVerified(DomainError):
    """The endpoint, or its new address, has not answered a test yet."""

    code = Code.RULE_VIOLATION
    template = _("The endpoint has not answered a test yet. Send one.")


class EndpointAlreadyInState(DomainError):
    """The endpoint is in that state already."""

    code = Code.INVALID_TRANSITION
    template = _("The endpoint is %(state)s.")


@dataclass(frozen=True, slots=True)
class RegisteredEndpoint:
    """A new endpoint and its secret, which is shown only once."""

    endpoint: Endpoint
    secret: str = field(repr=False)


def register(
    *, params: EndpointParams, client_id: UUID | None = None, secret: str | None = None, by: Principal, at: datetime
) -> RegisteredEndpoint:
    """Register an endpoint and send it a test: it becomes active when it answers the test with 2xx.

    A token registers for its own client; staff for any client, or for the operator (None).  Without `secret`, one is
    generated.  Looks up the host name before it opens a transaction.

    Raises:
        InvalidInput: a setting or the secret is invalid, or a facility or provider does not exist.
        EndpointUrlBlocked: webhooks may not be sent there.
        PhiNotGranted: whole rides may not be sent there.
        WiderThanCaller: the data scope is wider than the caller's.
        TooManyEndpoints: the client has MAX_ENDPOINTS.
        NotFound: there is no such client.
    """
    params = endpoint_validation.limit_to_caller(params, by)
    endpoint_validation.check(params)
    endpoint_validation.check_url(params.url)
    with transaction.atomic():
        owner = by.client_id if by.kind == "token" else client_id
        _check_owner(owner)
        endpoint_validation.check_phi(params, owner, by, at)
        endpoint = Endpoint(
            client_id=owner,
            api_version=by.api_version or settings.API_VERSIONS[-1],
            state_changed_at=at,
            created_by=by.actor,
            created_at=at,
            updated_at=at,
        )
        _apply(endpoint, params, by, at)
        endpoint.save(force_insert=True)
        EndpointHealth.objects.create(endpoint=endpoint)
        text = secrets.first(endpoint, secret, by=by, at=at)
        if endpoint.asymmetric:
            secrets.ensure_signing_key(at=at)
        _audit("webhooks.register", endpoint, by)
        _send_test(endpoint, by=by, at=at)
    return RegisteredEndpoint(endpoint, text)


def change(
    *, endpoint_id: UUID, changes: Mapping[str, Any], expected_version: int | None, by: Principal, at: datetime
) -> Endpoint:
    """Change settings; the keys of `changes` are fields of `EndpointParams`.

    A new URL is tested first: until it answers, deliveries are held; then they are sent, unless people had paused the
    endpoint.  Waiting deliveries that the endpoint does not subscribe to anymore are cancelled.  Looks up the host name
    before it opens a transaction.

    Raises:
        NotFound: there is no such endpoint.
        StaleVersion: it is not at `expected_version`.
        InvalidInput, EndpointUrlBlocked, PhiNotGranted, WiderThanCaller: as in `register`.
    """
    if "url" in changes:
        endpoint_validation.check_url(changes["url"])
    with transaction.atomic():
        endpoint = endpoint_states.lock_for_change(endpoint_id, by, expected_version=expected_version)
        before = endpoint_validation.params_of(endpoint)
        params = replace(before, **changes)
        if params == before:
            return endpoint
        params = endpoint_validation.limit_to_caller(params, by)
        endpoint_validation.check(params)
        endpoint_validation.check_phi(params, endpoint.client_id, by, at)
        _apply(endpoint, params, by, at)
        if params.url != before.url:
            _await_answer(endpoint, at)
        endpoint.version += 1
        endpoint.updated_at = at
        endpoint.save()
        if _subscription(params) != _subscription(before):
            outbox.cancel_unmatched(endpoint.pk, at=at)
        if endpoint.asymmetric:
            secrets.ensure_signing_key(at=at)
        names = [field.name for field in fields(EndpointParams)]
        changed = [name for name in names if getattr(params, name) != getattr(before, name)]
        _audit("webhooks.change", endpoint, by, changed=changed)
        if params.url != before.url:
            _send_test(endpoint, by=by, at=at)
    return endpoint


@transaction.atomic
def pause(*, endpoint_id: UUID, by: Principal, at: datetime) -> Endpoint:
    """Pause an endpoint: its deliveries are held; those in flight are finished.

    Raises:
        NotFound: there is no such endpoint.
        AlreadyInState: it is not active.
    """
    endpoint = endpoint_states.lock_for_change(endpoint_id, by)
    if endpoint.state != Endpoint.State.ACTIVE:
        raise EndpointAlreadyInState(state=lowered(Endpoint.State(endpoint.state).label))
    endpoint_states.change(endpoint, Endpoint.State.PAUSED, endpoint_states.BY_PEOPLE, at)
    endpoint_states.hold_pending(endpoint)
    _audit("webhooks.pause", endpoint, by)
    return endpoint


@transaction.atomic
def resume(*, endpoint_id: UUID, deliver_held: bool = True, by: Principal, at: datetime) -> Endpoint:
    """Resume an endpoint with a closed circuit; held deliveries are sent as a recovery, unless `deliver_held` is false.

    Raises:
        NotFound: there is no such endpoint.
        AlreadyInState: it is active.
        NotVerified: it, or its new address, has not answered a test.
    """
    endpoint = endpoint_states.lock_for_change(endpoint_id, by)
    if endpoint.state == Endpoint.State.ACTIVE:
        raise EndpointAlreadyInState(state=lowered(Endpoint.State.ACTIVE.label))
    if endpoint.state == Endpoint.State.PENDING or endpoint.state_reason in (
        endpoint_states.UNVERIFIED,
        endpoint_states.PAUSED_UNVERIFIED,
    ):
        raise NotVerified
    endpoint_states.activate(endpoint, _("Webhook endpoint “%(endpoint)s” was resumed"), by=by, at=at)
    while not deliver_held and endpoint_states.hold_pending(endpoint):
        pass  # pending rows that exceeded a batch at the pause would be sent
    if deliver_held:
        recovery.release_held(endpoint, by=by, at=at)
    _audit("webhooks.resume", endpoint, by)
    return endpoint


@transaction.atomic
def remove(*, endpoint_id: UUID, expected_version: int | None = None, by: Principal, at: datetime) -> None:
    """Remove an endpoint and cancel what waits for it; its deliveries stay in the log until their retention ends.

    Raises:
        NotFound: there is no such endpoint.
        StaleVersion: it is not at `expected_version`.
    """
    endpoint = endpoint_states.lock_for_change(endpoint_id, by, expected_version=expected_version)
    endpoint_states.change(endpoint, Endpoint.State.DISABLED, "removed", at)
    endpoint.deleted_at = at
    endpoint.headers_text = ""  # may hold a password of the receiver
    endpoint.save(update_fields=["deleted_at", "headers_encrypted"])
    endpoint_states.cancel_waiting(endpoint, at=at)
    endpoint.secrets.all().delete()
    alerts.resolve_about(endpoint.pk, at=at)
    _audit("webhooks.remove", endpoint, by)


@transaction.atomic
def test(*, endpoint_id: UUID, by: Principal, at: datetime) -> Delivery:
    """Send `webhook.test` to an endpoint in any state.  Success activates an endpoint that waits for verification.

    Raises:
        NotFound: there is no such endpoint.
    """
    endpoint = endpoint_states.lock_for_change(endpoint_id, by)
    _audit("webhooks.test", endpoint, by)
    return _send_test(endpoint, by=by, at=at)


def _check_owner(client_id: UUID | None) -> None:
    if client_id is None:
        return
    if not ApiClient.objects.filter(pk=client_id, active=True).exists():
        raise NotFound(_("client"))
    if Endpoint.objects.filter(client_id=client_id, deleted_at__isnull=True).count() >= MAX_ENDPOINTS:
        raise TooManyEndpoints(maximum=MAX_ENDPOINTS)


def _apply(endpoint: Endpoint, params: EndpointParams, by: Principal, at: datetime) -> None:
    for name in ("name", "url", "description", "ordering", "asymmetric", "max_in_flight", "payload_level"):
        setattr(endpoint, name, getattr(params, name))
    endpoint.event_types = list(dict.fromkeys(params.event_types))
    endpoint.facility_ids = None if params.facility_ids is None else sorted(params.facility_ids)
    endpoint.provider_ids = None if params.provider_ids is None else sorted(params.provider_ids)
    endpoint.headers_text = json.dumps(dict(params.headers), sort_keys=True) if params.headers else ""
    full = params.payload_level == PayloadLevel.FULL_RESOURCE
    if full and endpoint.phi_agreed_at is None:
        endpoint.phi_agreed_at, endpoint.phi_agreed_by = at, by.actor
    elif not full:
        endpoint.phi_agreed_at, endpoint.phi_agreed_by = None, ""


def _await_answer(endpoint: Endpoint, at: datetime) -> None:
    """Pause an endpoint until its new URL has answered a test; the caller saves it."""
    if endpoint.state == Endpoint.State.PENDING:
        return
    was_paused = endpoint.state_reason in (endpoint_states.BY_PEOPLE, endpoint_states.PAUSED_UNVERIFIED)
    endpoint.state = Endpoint.State.PAUSED
    endpoint.state_reason = endpoint_states.PAUSED_UNVERIFIED if was_paused else endpoint_states.UNVERIFIED
    endpoint.state_changed_at = at
    endpoint_states.hold_pending(endpoint)


def _send_test(endpoint: Endpoint, *, by: Principal, at: datetime) -> Delivery:
    event_id = endpoint_states.record(endpoint, TEST, {}, by=by, at=at)
    return Delivery.objects.create(
        endpoint=endpoint,
        event_id=event_id,
        event_type=TEST,
        subject_id=endpoint.pk,
        subject_sequence=endpoint.sequence,
        trigger=Delivery.Trigger.TEST,
        due_at=at,
        expires_at=at + MAX_AGE,
        created_at=at,
    )


def _audit(action: str, endpoint: Endpoint, by: Principal, **details: Any) -> None:
    audit.record(by=by, action=action, subject_type="endpoint", subject_id=endpoint.pk, details=details)
