"""Requests and responses of the webhook API.

A secret is only in the response that created it; of custom headers, responses contain only the names.
"""

from datetime import timedelta
from typing import Any, ClassVar, Final

from rest_framework.exceptions import ErrorDetail, ValidationError

from apps.webhooks.models import Delivery, Endpoint, Job
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries.deliveries import DeliveryView
from apps.webhooks.rules.event_types import unknown_among
from apps.webhooks.services.endpoints import RegisteredEndpoint
from apps.webhooks.services.recovery import DEFAULT, RECOVERABLE
from apps.webhooks.services.secrets import DEFAULT_OVERLAP, MAX_OVERLAP
from lib.api import fields
from lib.api.query import PageQuery, Query
from lib.api.serializers import In, Out, OutShape
from lib.api.unpaginated import WholePageOut

_HEADERS_HELP: Final = (
    "At most ten custom headers, replaced as a whole. Names are tokens, except those that deliveries set themselves;"
    " values are visible ASCII up to 500 characters. Responses contain only `headerNames`."
)
TYPES_HELP: Final = "Types of GET /webhooks/event-types, families such as `ride.*`, or `*` for all."
_SECRET_HELP: Final = "Your own secret, `whsec_` and the base64 of 24 to 64 bytes; generated if omitted."  # noqa: S105  # a text


class EndpointQuery(PageQuery):
    state = fields.List(child=fields.Choice(choices=Endpoint.State.choices), required=False)


class EndpointChangesIn(In):
    name = fields.Text(max_length=100)
    url = fields.Text(max_length=2000, help_text="https, with a host name that resolves to public addresses.")
    event_types = fields.List(child=fields.Text(max_length=40), allow_empty=False, max_length=100)
    description = fields.Text(max_length=500, default="", allow_blank=True)
    facility_ids = fields.List(
        child=fields.Uuid(),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=500,
        help_text="Only events of these facilities; null for all that your token has access to.",
    )
    provider_ids = fields.List(child=fields.Uuid(), required=False, allow_null=True, allow_empty=False, max_length=500)
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
    statuses = fields.List(
        child=fields.Choice(choices=RECOVERABLE),
        default=list(DEFAULT),
        allow_empty=False,
        max_length=len(RECOVERABLE),
        help_text="Statuses of the last delivery; `never_sent`: there is none.",
    )
    types = fields.List(
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

    event_types = fields.List(child=fields.Text(), help_text=TYPES_HELP)
    facility_ids = fields.List(child=fields.Uuid(), allow_null=True)
    provider_ids = fields.List(child=fields.Uuid(), allow_null=True)
    state = fields.Choice(choices=Endpoint.State.choices, help_text="`pending` until it has answered a test with 2xx.")
    payload_level = fields.Choice(choices=PayloadLevel.choices)
    phi_agreed_at = fields.Instant(allow_null=True)
    ordering = fields.Choice(choices=Endpoint.Ordering.choices)
    asymmetric_signature = fields.Boolean(source="asymmetric")
    header_names = fields.List(child=fields.Text())

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

    def to_representation(self, registered: RegisteredEndpoint) -> dict[str, Any]:
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
    statuses = fields.List(child=fields.Text(), source="params.statuses")
    types = fields.List(child=fields.Text(), source="params.types", allow_null=True)
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


class DeliveryQuery(PageQuery):
    endpoint_id = fields.Uuid(required=False)
    status = fields.List(child=fields.Choice(choices=Delivery.Status.choices), required=False)
    type = fields.List(child=fields.Text(max_length=40), required=False, max_length=50, help_text=TYPES_HELP)
    ride_id = fields.Uuid(required=False)
    event_id = fields.Uuid(required=False)
    created_from = fields.Instant(required=False)
    created_to = fields.Instant(required=False, help_text="Exclusive.")

    def validate_type(self, types: list[str]) -> list[str]:
        if unknown_among(types):
            raise ValidationError([ErrorDetail("must be types of GET /webhooks/event-types.", "unknown_event_type")])
        return types


class DeliverySubjectOut(OutShape):
    """The record that the event is about."""

    type = fields.Text(source="event.subject_type")
    id = fields.Uuid(source="subject_id")
    sequence = fields.Integer(source="subject_sequence")


class DeliveryOut(Out):
    """A delivery of an event to an endpoint. An event may have several: the first, resends and replays."""

    endpoint_id = fields.Uuid()
    event_id = fields.Uuid(help_text="Sent as `webhook-id`.")
    subject = DeliverySubjectOut(source="*")
    status = fields.Choice(choices=Delivery.Status.choices)
    trigger = fields.Choice(choices=Delivery.Trigger.choices)
    attempt_count = fields.Integer(source="attempts")
    next_attempt_at = fields.Instant(allow_null=True, help_text="Set while it is `pending`.")
    last_code = fields.Integer(allow_null=True)

    example: ClassVar[dict[str, Any]] = {
        "eventType": "ride.completed",
        "subject": {"type": "ride", "id": "01937b2e-0c11-7d42-8a57-31f0c2b4d6e8", "sequence": 7},
        "status": "delivered",
        "attemptCount": 1,
        "nextAttemptAt": None,
        "lastCode": 204,
        "lastError": "",
    }

    class Meta:
        model = Delivery
        fields = (
            "id",
            "endpoint_id",
            "event_id",
            "event_type",
            "subject",
            "status",
            "trigger",
            "attempt_count",
            "next_attempt_at",
            "last_code",
            "last_error",
            "created_at",
            "expires_at",
            "ended_at",
        )


class AttemptOut(OutShape):
    """An attempt. The response is untrusted text of the receiver."""

    number = fields.Integer(help_text="Sent as `webhook-attempt`; 0 if nothing was sent, or if that is unknown.")
    started_at = fields.Instant()
    duration_ms = fields.Integer()
    code = fields.Integer(allow_null=True)
    error = fields.Text(help_text="Empty if it succeeded.")
    request_headers = fields.Anything(allow_null=True, help_text="Without signatures and the values of custom headers.")
    response_headers = fields.Anything()
    response_snippet = fields.Text(
        allow_null=True, help_text="The first 4 KiB; null if it may contain data that you may not see."
    )
    remote_ip = fields.Text(allow_null=True)

    example: ClassVar[dict[str, Any]] = {
        "code": 204,
        "error": "",
        "requestHeaders": {"webhook-id": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f", "webhook-attempt": "1"},
        "responseHeaders": {"server": "nginx"},
        "responseSnippet": "",
        "remoteIp": "192.0.2.7",
    }


class DeliveryDetailOut(DeliveryOut):
    """A delivery with its body and attempts."""

    redacted = fields.Boolean(help_text="Whether body and responses are hidden: whole rides require PHI level full.")
    body = fields.Text(allow_null=True, help_text="The text that is signed; null if it is hidden or not rendered yet.")
    attempts = AttemptOut(many=True, source="shown_attempts")

    example: ClassVar[dict[str, Any]] = {
        **DeliveryOut.example,
        "redacted": False,
        "body": '{"id":"01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f","type":"ride.completed"}',
        "attempts": [{"number": 1, "startedAt": "2026-11-20T14:00:00Z", "durationMs": 41} | AttemptOut.example],
    }

    class Meta:
        model = Delivery
        fields = (*DeliveryOut.Meta.fields, "redacted", "body", "attempts")

    def to_representation(self, delivery: DeliveryView) -> dict[str, Any]:
        row: Any = delivery.delivery
        row.redacted, row.body, row.shown_attempts = delivery.redacted, delivery.body, delivery.attempts
        return dict(super().to_representation(row))


class SchemaQuery(Query):
    level = fields.Choice(choices=PayloadLevel.choices, default=PayloadLevel.ID_ONLY.value)


class PayloadOut(OutShape):
    """The body at one payload level."""

    level = fields.Choice(choices=PayloadLevel.choices)
    schema = fields.Anything(help_text="JSON Schema, draft 2020-12.")
    example = fields.Anything()


class EventTypeOut(OutShape):
    """An event type."""

    name = fields.Text()
    description = fields.Text()
    operational = fields.Boolean(help_text="About the service itself, not about a record.")
    payloads = PayloadOut(many=True)

    example: ClassVar[dict[str, Any]] = {
        "name": "ride.completed",
        "description": "The rider was dropped off.",
        "operational": False,
    }


class EventTypeListOut(OutShape):
    """All event types, on one page."""

    data = EventTypeOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    page = WholePageOut()


class SchemaOut(OutShape):
    """A JSON Schema, draft 2020-12."""

    title = fields.Text()

    def to_representation(self, schema: dict[str, Any]) -> dict[str, Any]:
        return schema


class SigningKeyOut(OutShape):
    """One public key (RFC 8037)."""

    kty = fields.Text()
    crv = fields.Text()
    use = fields.Text()
    alg = fields.Text()
    kid = fields.Text()
    x = fields.Text(help_text="The 32 bytes of the key in base64url.")
    whpk = fields.Text(help_text="The key in the format of Standard Webhooks libraries.")

    example: ClassVar[dict[str, Any]] = {
        "kty": "OKP",
        "crv": "Ed25519",
        "use": "sig",
        "alg": "EdDSA",
        "kid": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "whpk": "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    }


class SigningKeysOut(OutShape):
    """A JSON Web Key Set (RFC 7517)."""

    keys = SigningKeyOut(many=True)
