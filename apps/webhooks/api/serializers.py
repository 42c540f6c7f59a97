"""Endpoints, their health, and recoveries.

A secret is only in the response that created it; of custom headers, responses contain only the names.
"""

from datetime import timedelta
from typing import Any, ClassVar, Final

from apps.webhooks.models import Endpoint, Job
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.services.endpoints import Registered
from apps.webhooks.services.recovery import DEFAULT, RECOVERABLE
from apps.webhooks.services.secrets import DEFAULT_OVERLAP, MAX_OVERLAP
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import In, Out, OutShape

_HEADERS_HELP: Final = (
    "At most ten custom headers, replaced as a whole. Names are tokens, except those that deliveries set themselves;"
    " values are visible ASCII up to 500 characters. Responses contain only `headerNames`."
)
TYPES_HELP: Final = "Types of GET /webhooks/event-types, families such as `ride.*`, or `*` for all."
_SECRET_HELP: Final = "Your own secret, `whsec_` and the base64 of 24 to 64 bytes; generated if omitted."  # noqa: S105  # a text


class EndpointQuery(PageQuery):
    state = fields.Listed(child=fields.Choice(choices=Endpoint.State.choices), required=False)


class EndpointChangesIn(In):
    name = fields.Text(max_length=100)
    url = fields.Text(max_length=2000, help_text="https, with a host name that resolves to public addresses.")
    event_types = fields.Listed(child=fields.Text(max_length=40), allow_empty=False, max_length=100)
    description = fields.Text(max_length=500, default="", allow_blank=True)
    facility_ids = fields.Listed(
        child=fields.Uuid(),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=500,
        help_text="Only events of these facilities; null for all that your token has access to.",
    )
    provider_ids = fields.Listed(
        child=fields.Uuid(), required=False, allow_null=True, allow_empty=False, max_length=500
    )
    payload_level = fields.Choice(choices=PayloadLevel.choices, default=PayloadLevel.ID_ONLY.value)
    phi_agreement = fields.Boolean(
        default=False,
        help_text="Confirms that the receiver may get rider data. Required for `full-resource`.",
    )
    ordering = fields.Choice(
        choices=Endpoint.Ordering.choices,
        default=Endpoint.Ordering.NONE.value,
        help_text="`subject`: events of a ride are sent one at a time.",
    )
    asymmetric_signature = fields.Boolean(
        source="asymmetric",
        default=False,
        help_text="Also sign with ed25519; GET /webhooks/keys lists the keys.",
    )
    max_in_flight = fields.Integer(default=8, min_value=1, max_value=64)
    headers = fields.Texts(default=dict, help_text=_HEADERS_HELP)

    example: ClassVar[dict[str, Any]] = {
        "name": "Interface engine",
        "url": "https://hooks.example.org/rides",
        "eventTypes": ["ride.*"],
        "payloadLevel": "summary",
        "headers": {"X-Site": "north"},
    }


class EndpointIn(EndpointChangesIn):
    secret = fields.Text(max_length=100, required=False, help_text=_SECRET_HELP)


class ResumeIn(In):
    deliver_held = fields.Boolean(default=True, help_text="Send held deliveries, with a lower priority than new ones.")


class RotateSecretIn(In):
    overlap_seconds = fields.Integer(
        default=int(DEFAULT_OVERLAP.total_seconds()),
        min_value=0,
        max_value=int(MAX_OVERLAP.total_seconds()),
        help_text="How long deliveries are also signed with the older secret; with 0, all older secrets expire now.",
    )
    secret = fields.Text(max_length=100, required=False, help_text=_SECRET_HELP)

    def validate_overlapSeconds(self, value: int) -> timedelta:  # noqa: N802  # named after the key
        return timedelta(seconds=value)

    example: ClassVar[dict[str, Any]] = {"overlapSeconds": 86_400}


class RecoverIn(In):
    since = fields.Instant(help_text="At most 30 days ago.")
    until = fields.Instant(required=False, help_text="Exclusive; default now.")
    statuses = fields.Listed(
        child=fields.Choice(choices=RECOVERABLE),
        default=list(DEFAULT),
        allow_empty=False,
        max_length=len(RECOVERABLE),
        help_text="Statuses of the last delivery; `never_sent`: there is none.",
    )
    types = fields.Listed(
        child=fields.Text(max_length=40),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=100,
        help_text=f"Only these types; null for all that the endpoint subscribes to. {TYPES_HELP}",
    )
    dry_run = fields.Boolean(default=True, help_text="Only count what would be sent.")

    example: ClassVar[dict[str, Any]] = {
        "since": "2026-11-19T06:00:00Z",
        "until": "2026-11-20T06:00:00Z",
        "statuses": ["exhausted", "held"],
        "dryRun": False,
    }


class ResendIn(In):
    confirm = fields.Boolean(default=False, help_text="Required to send a delivery again that has arrived.")


class EndpointOut(Out):
    """A webhook endpoint, without its secret and the values of its headers."""

    event_types = fields.Listed(child=fields.Text(), help_text=TYPES_HELP)
    facility_ids = fields.Listed(child=fields.Uuid(), allow_null=True)
    provider_ids = fields.Listed(child=fields.Uuid(), allow_null=True)
    state = fields.Choice(choices=Endpoint.State.choices, help_text="`pending` until it has answered a test with 2xx.")
    payload_level = fields.Choice(choices=PayloadLevel.choices)
    phi_agreed_at = fields.Instant(allow_null=True)
    ordering = fields.Choice(choices=Endpoint.Ordering.choices)
    asymmetric_signature = fields.Boolean(source="asymmetric")
    header_names = fields.Listed(child=fields.Text())

    example: ClassVar[dict[str, Any]] = {
        "name": "Interface engine",
        "url": "https://hooks.example.org/rides",
        "description": "",
        "state": "active",
        "stateReason": "",
        "eventTypes": ["ride.*"],
        "facilityIds": None,
        "providerIds": None,
        "payloadLevel": "summary",
        "phiAgreedAt": None,
        "phiAgreedBy": "",
        "ordering": "none",
        "asymmetricSignature": False,
        "headerNames": ["X-Site"],
        "maxInFlight": 8,
    }

    class Meta:
        model = Endpoint
        fields = (
            "id",
            "client_id",
            "name",
            "url",
            "description",
            "state",
            "state_reason",
            "state_changed_at",
            "event_types",
            "facility_ids",
            "provider_ids",
            "payload_level",
            "phi_agreed_at",
            "phi_agreed_by",
            "api_version",
            "ordering",
            "asymmetric_signature",
            "max_in_flight",
            "header_names",
            "version",
            "created_by",
            "created_at",
            "updated_at",
        )


class EndpointWithSecretOut(EndpointOut):
    """An endpoint with its new secret, which is shown only once."""

    secret = fields.Text(help_text="Use it to verify signatures. It is not shown again.")

    example: ClassVar[dict[str, Any]] = {
        **EndpointOut.example,
        "state": "pending",
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",  # gitleaks:allow  # of the specification
    }

    class Meta:
        model = Endpoint
        fields = (*EndpointOut.Meta.fields, "secret")

    def to_representation(self, registered: Registered) -> dict[str, Any]:
        row: Any = registered.endpoint
        row.secret = registered.secret
        return dict(super().to_representation(row))


class BreakerOut(OutShape):
    """The circuit breaker. While it is open, nothing is sent; then one delivery at a time probes the endpoint."""

    open = fields.Boolean(source="is_open")
    until = fields.Instant(source="circuit.open_until", allow_null=True)


class LatencyOut(OutShape):
    """Milliseconds until the response was read, in the last day."""

    p50 = fields.Integer(source="latency_p50_ms", allow_null=True)
    p95 = fields.Integer(source="latency_p95_ms", allow_null=True)


class HourOut(OutShape):
    """Attempts in one hour."""

    at = fields.Instant(help_text="Start of the hour.")
    delivered = fields.Integer()
    failed = fields.Integer()


class EndpointHealthOut(OutShape):
    """Health of an endpoint. Figures of a day cover 24 clock hours, including the current one."""

    state = fields.Choice(choices=Endpoint.State.choices, source="endpoint.state")
    reason = fields.Text(source="endpoint.state_reason", help_text="Why it is not active; empty if it is.")
    last_success_at = fields.Instant(source="circuit.last_success_at", allow_null=True)
    last_failure_at = fields.Instant(source="circuit.last_failure_at", allow_null=True)
    last_error = fields.Text(help_text="Error of the last attempt; empty if it succeeded.")
    failing_since = fields.Instant(source="circuit.failing_since", allow_null=True)
    consecutive_failures = fields.Integer(source="circuit.failures")
    breaker = BreakerOut(source="*")
    window = fields.Integer(help_text="How many deliveries may be in flight now.")
    pending = fields.Integer(source="waiting.pending")
    held = fields.Integer(source="waiting.held", help_text="Created while nothing was sent to the endpoint.")
    in_flight = fields.Integer(source="waiting.in_flight")
    exhausted = fields.Integer(source="waiting.exhausted", help_text="Given up after the last attempt.")
    quarantined = fields.Integer(source="waiting.quarantined", help_text="Set aside; your operator is alerted.")
    oldest_due_at = fields.Instant(source="waiting.oldest_due_at", allow_null=True)
    latency_ms = LatencyOut(source="*")
    success_rate = fields.Number(allow_null=True, help_text="0 to 1; null without an attempt in the last day.")
    hours = HourOut(many=True)

    example: ClassVar[dict[str, Any]] = {"state": "active", "reason": "", "lastError": "", "successRate": 0.998}


class MatchCountOut(OutShape):
    """Number of events by the status of their last delivery."""

    status = fields.Choice(choices=RECOVERABLE)
    count = fields.Integer()


class JobOut(OutShape):
    """A recovery. Its deliveries have a lower priority than new ones."""

    id = fields.Uuid()
    endpoint_id = fields.Uuid()
    state = fields.Choice(choices=Job.State.choices)
    since = fields.Text(source="params.since")
    until = fields.Text(source="params.until")
    statuses = fields.Listed(child=fields.Text(), source="params.statuses")
    types = fields.Listed(child=fields.Text(), source="params.types", allow_null=True)
    total = fields.Integer(help_text="Matching events so far.")
    done = fields.Integer(help_text="Of these, events whose deliveries are due.")
    created_by = fields.Text()
    created_at = fields.Instant()
    updated_at = fields.Instant()

    example: ClassVar[dict[str, Any]] = {
        "state": "running",
        "since": "2026-11-19T06:00:00Z",
        "until": "2026-11-20T06:00:00Z",
        "statuses": ["exhausted", "held"],
        "types": None,
    }


class RecoveryOut(OutShape):
    """Events that a recovery matches, and the job that sends them; null if nothing is sent."""

    dry_run = fields.Boolean()
    total = fields.Integer()
    total_is_capped = fields.Boolean(help_text="There may be more: only the first 100,000 events were counted.")
    found = MatchCountOut(many=True)
    job = JobOut(allow_null=True)
