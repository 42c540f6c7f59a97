"""Validation of endpoints: the address, the subscription, custom headers, and how much of a ride may be sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Facility, TransportProvider
from apps.webhooks.models import Endpoint
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries.endpoints import clients_with_phi
from apps.webhooks.rules import request_headers
from apps.webhooks.rules.event_types import unknown_among
from lib import outbound
from lib.access import Phi, Principal
from lib.control_characters import has_control
from lib.errors import Code, Detail, DomainError, InvalidInput
from lib.messages import Template
from lib.outbound import BadUrl, Blocked, NameUnknown, Rules


class EndpointUrlBlocked(DomainError):
    """Webhooks may not be sent to this URL: its scheme, port, host name or IP address is not allowed."""

    code = Code.ENDPOINT_URL_BLOCKED

    def __init__(self, detail_code: str, message: Template) -> None:
        detail = Detail(field="url", code=detail_code, message=message)
        super().__init__(detail.text, details=[detail])


class PhiNotGranted(DomainError):
    """Whole rides are sent only to clients with a token of PHI level full."""

    code = Code.PHI_NOT_PERMITTED
    template = _("Complete rides are sent only to clients with a token of PHI level full.")


class WiderThanCaller(DomainError):
    """An endpoint cannot have a wider data scope than its caller."""

    code = Code.FORBIDDEN
    template = _("The data scope of an endpoint must not exceed your own.")


@dataclass(frozen=True, slots=True)
class EndpointParams:
    """The settings of an endpoint; None as `facility_ids` or `provider_ids` stands for all of them."""

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


def outbound_rules() -> Rules:
    """Return where webhooks of this deployment may be sent."""
    return Rules(networks=settings.WEBHOOK_ALLOWED_NETWORKS, plain_http=settings.WEBHOOK_PLAIN_HTTP)


def params_of(endpoint: Endpoint) -> EndpointParams:
    return EndpointParams(
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


def check_url(url: str) -> None:
    """Check a URL, with a DNS lookup.

    Raises:
        EndpointUrlBlocked: webhooks may not be sent there.
    """
    try:
        outbound.check_url(url, outbound_rules())
    except BadUrl as refusal:
        raise EndpointUrlBlocked("form", refusal.text) from None
    except NameUnknown:
        raise EndpointUrlBlocked("unresolvable", _("%(field)s must have a host name that resolves.")) from None
    except Blocked:
        raise EndpointUrlBlocked(
            "address", _("%(field)s must not resolve to an address that is blocked for webhooks.")
        ) from None


def check(params: EndpointParams) -> None:
    """Check settings for themselves, apart from the URL.

    Raises:
        InvalidInput: the name, an event type or a header is invalid, or a facility or provider does not exist.
    """
    if has_control(params.name):  # it is used in subjects of mails
        raise InvalidInput("name", _("%(field)s must not contain control characters."), detail_code="control")
    if unknown_among(params.event_types):
        raise InvalidInput(
            "eventTypes", _("%(field)s must be types of GET /webhooks/event-types."), detail_code="unknown_event_type"
        )
    for name, ids, records in (
        ("facilityIds", params.facility_ids, Facility.objects),
        ("providerIds", params.provider_ids, TransportProvider.objects),
    ):
        if ids is not None and records.filter(pk__in=ids).count() != len(ids):
            raise InvalidInput(name, _("%(field)s must name records that exist."), detail_code="unknown_id")
    if problem := request_headers.problem_with(params.headers):
        raise InvalidInput("headers", problem, detail_code="bad_header")


def limit_to_caller(params: EndpointParams, by: Principal) -> EndpointParams:
    """Limit the data scope to that of the caller.

    Raises:
        WiderThanCaller: it names facilities or providers outside of the caller's data scope.
    """
    bound: dict[str, frozenset[UUID] | None] = {}
    for name, on_wire, own in (
        ("facility_ids", "facilityIds", by.facility_ids),
        ("provider_ids", "providerIds", by.provider_ids),
    ):
        requested = getattr(params, name)
        if own is not None and requested is not None and not requested <= own:
            message = _("%(field)s must not exceed your own data scope.")
            raise WiderThanCaller(details=[Detail(field=on_wire, code="exceeds_caller", message=message)])
        bound[name] = own if requested is None else requested
    return replace(params, facility_ids=bound["facility_ids"], provider_ids=bound["provider_ids"])


def check_phi(params: EndpointParams, client_id: UUID | None, by: Principal, at: datetime) -> None:
    """Check whether the endpoint may receive whole rides, if it should.

    Raises:
        EndpointUrlBlocked: the URL is not https.
        PhiNotGranted: the client holds no valid token of PHI level full.
        InvalidInput: `phi_agreement` is false.
    """
    if params.payload_level != PayloadLevel.FULL_RESOURCE:
        return
    if not params.url.startswith("https://"):
        raise EndpointUrlBlocked("plain_http", _("%(field)s must be https to receive complete rides."))
    if by.kind == "token":
        granted = by.phi >= Phi.FULL
    else:
        # Staff decide for the operator's own systems; any other client needs the right already.
        granted = client_id is None or client_id in clients_with_phi([client_id], at=at)
    if not granted:
        raise PhiNotGranted
    if not params.phi_agreement:
        raise InvalidInput("phiAgreement", _("%(field)s must be true to receive complete rides."))


def _set(ids: list[UUID] | None) -> frozenset[UUID] | None:
    return None if ids is None else frozenset(ids)
