"""Endpoints, and what is done with them, as integrators write and read them.

The secret is in no answer but the one that made it; headers of the receiver's own are named, and never shown again.
"""

from datetime import timedelta
from typing import Any, ClassVar, Final

from apps.webhooks.models import Endpoint, Job
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.services.endpoints import Registered
from apps.webhooks.services.recovering import DEFAULT, RECOVERABLE
from apps.webhooks.services.secrets import DEFAULT_OVERLAP, MOST_OVERLAP
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import In, Out, OutShape

_HEADERS_HELP: Final = (
    "At most ten headers of your own, replaced as a whole. Names are tokens, none that deliveries set themselves;"
    " values are visible ASCII up to 500 characters. Answers give only `headerNames`."
)
TYPES_HELP: Final = "Types of GET /webhooks/event-types, `ride.*` for all of a kind, or `*` for everything."
_SECRET_HELP: Final = "Your own, `whsec_` and the base64 of 24 to 64 bytes; without it, one is made."  # noqa: S105  # a text


class EndpointQuery(PageQuery):
    state = fields.Listed(child=fields.Choice(choices=Endpoint.State.choices), required=False)


class EndpointChangesIn(In):
    name = fields.Text(max_length=100)
    url = fields.Text(max_length=2000, help_text="https, of a name that resolves to public addresses.")
    event_types = fields.Listed(child=fields.Text(max_length=40), allow_empty=False, max_length=100)
    description = fields.Text(max_length=500, default="", allow_blank=True)
    facility_ids = fields.Listed(
        child=fields.Uuid(),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=500,
        help_text="Only events of these; null for all that your token reaches.",
    )
    provider_ids = fields.Listed(
        child=fields.Uuid(), required=False, allow_null=True, allow_empty=False, max_length=500
    )
    payload_level = fields.Choice(choices=PayloadLevel.choices, default=PayloadLevel.ID_ONLY.value)
    phi_agreement = fields.Boolean(
        default=False, help_text="That rider data may go there; `full-resource` needs it, and is recorded."
    )
    ordering = fields.Choice(
        choices=Endpoint.Ordering.choices,
        default=Endpoint.Ordering.NONE.value,
        help_text="`subject`: the events of one ride one after the other.",
    )
    asymmetric_signature = fields.Boolean(
        source="asymmetric", default=False, help_text="Also sign with ed25519; the keys are at GET /webhooks/keys."
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
    deliver_held = fields.Boolean(default=True, help_text="Send what was collected meanwhile, behind what is new.")


class RotateSecretIn(In):
    overlap_seconds = fields.Integer(
        default=int(DEFAULT_OVERLAP.total_seconds()),
        min_value=0,
        max_value=int(MOST_OVERLAP.total_seconds()),
        help_text="How long deliveries are signed with the older secret too; 0 ends every older one now.",
    )
    secret = fields.Text(max_length=100, required=False, help_text=_SECRET_HELP)

    def validate_overlapSeconds(self, value: int) -> timedelta:  # noqa: N802  # named after the key
        return timedelta(seconds=value)

    example: ClassVar[dict[str, Any]] = {"overlapSeconds": 86_400}


class RecoverIn(In):
    since = fields.Instant(help_text="At most 30 days ago.")
    until = fields.Instant(required=False, help_text="Exclusive; without it, now.")
    statuses = fields.Listed(
        child=fields.Choice(choices=RECOVERABLE),
        default=list(DEFAULT),
        allow_empty=False,
        max_length=len(RECOVERABLE),
        help_text="By what became of the last delivery; `never_sent`: there is none.",
    )
    types = fields.Listed(
        child=fields.Text(max_length=40),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=100,
        help_text=f"Only these; null for all that the endpoint hears of. {TYPES_HELP}",
    )
    dry_run = fields.Boolean(default=True, help_text="Only count what would be sent again.")

    example: ClassVar[dict[str, Any]] = {
        "since": "2026-11-19T06:00:00Z",
        "until": "2026-11-20T06:00:00Z",
        "statuses": ["exhausted", "held"],
        "dryRun": False,
    }


class ResendIn(In):
    confirm = fields.Boolean(default=False, help_text="Send again what has arrived already.")


class EndpointOut(Out):
    """Where events go. Neither its secret nor the values of its headers are shown."""

    event_types = fields.Listed(child=fields.Text(), help_text=TYPES_HELP)
    facility_ids = fields.Listed(child=fields.Uuid(), allow_null=True)
    provider_ids = fields.Listed(child=fields.Uuid(), allow_null=True)
    state = fields.Choice(
        choices=Endpoint.State.choices, help_text="`pending` until a test was answered with 2xx for the first time."
    )
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
    """An endpoint with its new secret, which is shown this once."""

    secret = fields.Text(help_text="Verify signatures with it. It cannot be shown again.")

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
    """Nothing is sent while the breaker is open; then one delivery at a time tries."""

    open = fields.Boolean(source="is_open")
    until = fields.Instant(source="lane.open_until", allow_null=True)


class LatencyOut(OutShape):
    """Milliseconds until the answer was read, of the last day."""

    p50 = fields.Integer(source="latency_p50_ms", allow_null=True)
    p95 = fields.Integer(source="latency_p95_ms", allow_null=True)


class HourOut(OutShape):
    """Attempts of one hour."""

    at = fields.Instant(help_text="Its beginning.")
    delivered = fields.Integer()
    failed = fields.Integer()


class EndpointHealthOut(OutShape):
    """How an endpoint does. Figures of a day are of the 24 hours, by the clock, up to the one under way."""

    state = fields.Choice(choices=Endpoint.State.choices, source="endpoint.state")
    reason = fields.Text(source="endpoint.state_reason", help_text="Why it is not active; empty where it is.")
    last_success_at = fields.Instant(source="lane.last_success_at", allow_null=True)
    last_failure_at = fields.Instant(source="lane.last_failure_at", allow_null=True)
    last_error = fields.Text(help_text="Of the last attempt; empty where it arrived.")
    failing_since = fields.Instant(source="lane.failing_since", allow_null=True)
    consecutive_failures = fields.Integer(source="lane.failures")
    breaker = BreakerOut(source="*")
    window = fields.Integer(source="lane.window", help_text="How many deliveries may be on their way at once now.")
    pending = fields.Integer(source="waiting.pending")
    held = fields.Integer(source="waiting.held", help_text="Collected while nothing was sent.")
    in_flight = fields.Integer(source="waiting.in_flight")
    exhausted = fields.Integer(source="waiting.exhausted", help_text="Given up after the last attempt.")
    quarantined = fields.Integer(source="waiting.quarantined", help_text="Put aside; your operator knows.")
    oldest_due_at = fields.Instant(source="waiting.oldest_due_at", allow_null=True)
    latency_ms = LatencyOut(source="*")
    success_rate = fields.Number(allow_null=True, help_text="0 to 1; null without an attempt in a day.")
    hours = HourOut(many=True)

    example: ClassVar[dict[str, Any]] = {"state": "active", "reason": "", "lastError": "", "successRate": 0.998}


class FoundOut(OutShape):
    """Events by what became of their last delivery."""

    status = fields.Choice(choices=RECOVERABLE)
    count = fields.Integer()


class JobOut(OutShape):
    """A recovery on its way: what it made due again is sent behind everything new."""

    id = fields.Uuid()
    endpoint_id = fields.Uuid()
    state = fields.Choice(choices=Job.State.choices)
    since = fields.Text(source="params.since")
    until = fields.Text(source="params.until")
    statuses = fields.Listed(child=fields.Text(), source="params.statuses")
    types = fields.Listed(child=fields.Text(), source="params.types", allow_null=True)
    total = fields.Integer(help_text="Events found by now.")
    done = fields.Integer(help_text="Of them, made due again.")
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
    """What a recovery found, and the job that sends it; without one where nothing is sent."""

    dry_run = fields.Boolean()
    total = fields.Integer()
    total_is_capped = fields.Boolean(help_text="There may be more: the first 100,000 events of the span were counted.")
    found = FoundOut(many=True)
    job = JobOut(allow_null=True)
