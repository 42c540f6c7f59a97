"""What may be asked of an endpoint: where it goes, what it hears of, and how much of a ride it is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings

from apps.organizations.models import Facility, TransportProvider
from apps.webhooks.models import Endpoint
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries import grants
from apps.webhooks.rules import own_headers
from apps.webhooks.rules.event_types import unknown_among
from lib.access import Phi, Principal
from lib.control_characters import has_control
from lib.errors import Code, Detail, DomainError, InvalidInput
from lib.outbound import BadUrl, Blocked, NameUnknown, Rules, check_url


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


def rules() -> Rules:
    """Where this deployment's webhooks may go."""
    return Rules(networks=settings.WEBHOOK_ALLOWED_NETWORKS, plain_http=settings.WEBHOOK_PLAIN_HTTP)


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


def check(wanted: Wanted) -> None:
    """Judge what is asked for by itself.

    Raises:
        InvalidInput: the name, an event type, a header, or a record named in it is none.
    """
    if has_control(wanted.name):  # it stands in the subjects of mails
        raise InvalidInput("name", "name must not contain control characters.", detail_code="control")
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


def within_reach(wanted: Wanted, by: Principal) -> Wanted:
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


def check_phi(wanted: Wanted, client_id: UUID | None, by: Principal, at: datetime) -> None:
    """Judge whether whole rides may go where they are asked for.

    Raises:
        EndpointUrlBlocked: not over http.
        PhiNotGranted: the client holds no token at PHI level full that works.
        InvalidInput: nobody says that it was agreed.
    """
    if wanted.payload_level != PayloadLevel.FULL_RESOURCE:
        return
    if not wanted.url.startswith("https://"):
        raise EndpointUrlBlocked("plain_http", "url must be https where whole rides are sent.")
    if by.kind == "token":
        granted = by.phi >= Phi.FULL
    else:
        # People who run the service decide for the operator's own systems; a client has to hold the right already.
        granted = client_id is None or client_id in grants.granted([client_id], at=at)
    if not granted:
        raise PhiNotGranted("Whole rides go only to systems that were given rider data at level full.")
    if not wanted.phi_agreement:
        raise InvalidInput("phiAgreement", "phiAgreement must be true where whole rides are sent.")


def _set(ids: list[UUID] | None) -> frozenset[UUID] | None:
    return None if ids is None else frozenset(ids)
