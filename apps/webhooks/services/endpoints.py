"""Endpoints as people and integrators keep them: registered, changed, tried, paused, resumed, taken away."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.services import audit
from apps.organizations.models import Facility, TransportProvider
from apps.webhooks import lane as lanes
from apps.webhooks import own_headers
from apps.webhooks.event_types import TEST, unknown_among
from apps.webhooks.models import Delivery, Endpoint, LaneRow
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.schedule import MOST_AGE
from apps.webhooks.services import access, lane_rows, recovering, secrets, states
from lib.access import Phi, Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound
from lib.outbound import BadUrl, Blocked, NameUnknown, Rules, check_url

MOST_ENDPOINTS: Final = 100  # of one client


class EndpointUrlBlocked(DomainError):
    """No webhook goes there: the scheme, the port, the name or an address of it is not allowed."""

    code = Code.ENDPOINT_URL_BLOCKED

    def __init__(self, detail_code: str, message: str) -> None:
        super().__init__(message, details=[Detail(field="url", code=detail_code, message=message)])


class PhiNotGranted(DomainError):
    """Whole rides go only to systems that were given rider data at level full."""

    code = Code.PHI_NOT_PERMITTED


class WiderThanCaller(DomainError):
    """An endpoint hears of no more facilities and providers than whoever registers it."""

    code = Code.FORBIDDEN


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
class Wanted:
    """What an endpoint is to be; None of `facility_ids` or `provider_ids` is all of them."""

    name: str
    url: str
    event_types: list[str]
    description: str = ""
    facility_ids: frozenset[UUID] | None = None
    provider_ids: frozenset[UUID] | None = None
    payload_level: str = PayloadLevel.ID_ONLY
    phi_agreement: bool = False
    ordering: str = Endpoint.Ordering.NONE
    asymmetric: bool = False
    max_in_flight: int = 8
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Registered:
    """A new endpoint, and its secret, which no other answer holds."""

    endpoint: Endpoint
    secret: str = field(repr=False)


def rules() -> Rules:
    """Where this deployment's webhooks may go."""
    return Rules(networks=settings.WEBHOOK_ALLOWED_NETWORKS, plain_http=settings.WEBHOOK_PLAIN_HTTP)


def register(
    *, wanted: Wanted, client_id: UUID | None = None, secret: str | None = None, by: Principal, at: datetime
) -> Registered:
    """Register an endpoint and send it a test: it becomes active when that is answered with 2xx.

    A token registers for its own client; people for any, or for the operator itself (None).  `secret` is made unless
    one is brought along.  Looks the host name up, before any transaction.

    Raises:
        InvalidInput: an event type, a header, the secret, or a record named in it is none.
        EndpointUrlBlocked: webhooks may not go there.
        PhiNotGranted: whole rides are asked for, and not granted.
        WiderThanCaller: it would hear of more than the caller reaches.
        TooManyEndpoints: the client has 100.
        NotFound: there is no such client.
    """
    wanted = _within_reach(wanted, by)
    _check(wanted)
    check_address(wanted.url)
    with transaction.atomic():
        owner = by.client_id if by.kind == "token" else client_id
        _check_owner(owner)
        _check_phi(wanted, owner, by)
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
    paused stays paused.  Looks the host name up, before any transaction of its own.

    Raises:
        NotFound: there is no such endpoint.
        StaleVersion: it is not at `expected_version`.
        InvalidInput, EndpointUrlBlocked, PhiNotGranted, WiderThanCaller: as in `register`.
    """
    if "url" in changes:
        check_address(changes["url"])
    with transaction.atomic():
        endpoint = access.locked(endpoint_id, by, expected_version=expected_version)
        was = wanted_of(endpoint)
        wanted = Wanted(**{one.name: changes.get(one.name, getattr(was, one.name)) for one in fields(Wanted)})
        if wanted == was:
            return endpoint
        wanted = _within_reach(wanted, by)
        _check(wanted)
        _check_phi(wanted, endpoint.client_id, by)
        _apply(endpoint, wanted, by, at)
        if wanted.url != was.url:
            _await_answer(endpoint, at)
        endpoint.version += 1
        endpoint.updated_at = at
        endpoint.save()
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
    """Send again, with a clean slate; what was held follows behind what is new, ten a second, unless told otherwise.

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
    states.change(endpoint, Endpoint.State.ACTIVE, "", at)
    lane_rows.store({endpoint.pk: lanes.new(endpoint.max_in_flight)})
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
    endpoint.save(update_fields=["deleted_at"])
    waiting = Delivery.objects.filter(endpoint=endpoint, status__in=[Delivery.Status.PENDING, Delivery.Status.HELD])
    waiting.update(status=Delivery.Status.CANCELLED, ended_at=at)
    endpoint.secrets.all().delete()
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


def wanted_of(endpoint: Endpoint) -> Wanted:
    """Say what an endpoint is as one would ask for it."""
    return Wanted(
        name=endpoint.name,
        url=endpoint.url,
        event_types=list(endpoint.event_types),
        description=endpoint.description,
        facility_ids=_set(endpoint.facility_ids),
        provider_ids=_set(endpoint.provider_ids),
        payload_level=endpoint.payload_level,
        phi_agreement=endpoint.phi_agreed_at is not None,
        ordering=endpoint.ordering,
        asymmetric=endpoint.asymmetric,
        max_in_flight=endpoint.max_in_flight,
        headers=endpoint.own_headers,
    )


def check_address(url: str) -> None:
    """Judge an address; looks its name up.

    Raises:
        EndpointUrlBlocked: webhooks may not go there.
    """
    try:
        check_url(url, rules())
    except BadUrl as refusal:
        raise EndpointUrlBlocked("form", f"url {refusal}") from None
    except NameUnknown:
        raise EndpointUrlBlocked("unresolvable", "url must have a host name that resolves.") from None
    except Blocked:
        raise EndpointUrlBlocked("address", "url leads to an address that webhooks may not reach.") from None


def _check(wanted: Wanted) -> None:
    if unknown_among(wanted.event_types):
        raise InvalidInput(
            "eventTypes", "eventTypes must be types of GET /webhooks/event-types.", detail_code="unknown_event_type"
        )
    for name, ids, known in (
        ("facilityIds", wanted.facility_ids, Facility.objects),
        ("providerIds", wanted.provider_ids, TransportProvider.objects),
    ):
        if ids is not None and known.filter(pk__in=ids).count() != len(ids):
            raise InvalidInput(name, f"{name} must name records that exist.", detail_code="unknown_id")
    if fault := own_headers.fault_of(wanted.headers):
        raise InvalidInput("headers", f"headers {fault}", detail_code="bad_header")


def _within_reach(wanted: Wanted, by: Principal) -> Wanted:
    """Bind an endpoint to its caller's own reach where it names none.

    Raises:
        WiderThanCaller: it names what the caller does not reach.
    """
    bound: dict[str, frozenset[UUID] | None] = {}
    for name, on_wire, own in (
        ("facility_ids", "facilityIds", by.facility_ids),
        ("provider_ids", "providerIds", by.provider_ids),
    ):
        asked = getattr(wanted, name)
        if own is not None and asked is not None and not asked <= own:
            message = f"{on_wire} exceeds your own."
            detail = Detail(field=on_wire, code="exceeds_caller", message=message)
            raise WiderThanCaller("An endpoint hears of no more than its caller reaches.", details=[detail])
        bound[name] = own if asked is None else asked
    return replace(wanted, facility_ids=bound["facility_ids"], provider_ids=bound["provider_ids"])


def _check_owner(client_id: UUID | None) -> None:
    if client_id is None:
        return
    if not ApiClient.objects.filter(pk=client_id, active=True).exists():
        raise NotFound("client")
    if Endpoint.objects.filter(client_id=client_id, deleted_at__isnull=True).count() >= MOST_ENDPOINTS:
        raise TooManyEndpoints(f"A client has at most {MOST_ENDPOINTS} endpoints.")


def _check_phi(wanted: Wanted, client_id: UUID | None, by: Principal) -> None:
    if wanted.payload_level != PayloadLevel.FULL_RESOURCE:
        return
    if not wanted.url.startswith("https://"):
        raise EndpointUrlBlocked("plain_http", "url must be https where whole rides are sent.")
    if by.kind == "token":
        granted = by.phi >= Phi.FULL
    else:
        # People who run the service decide for the operator's own systems; a client has to hold the right already.
        live = ApiToken.objects.filter(client_id=client_id, phi_level="full", revoked_at__isnull=True)
        granted = client_id is None or live.exists()
    if not granted:
        raise PhiNotGranted("Whole rides go only to systems that were given rider data at level full.")
    if not wanted.phi_agreement:
        raise InvalidInput("phiAgreement", "phiAgreement must be true where whole rides are sent.")


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


def _set(ids: list[UUID] | None) -> frozenset[UUID] | None:
    return None if ids is None else frozenset(ids)
