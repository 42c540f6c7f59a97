"""The log of deliveries."""

from typing import Any, ClassVar

from rest_framework.exceptions import ErrorDetail, ValidationError

from apps.webhooks.api.serializers import TYPES_HELP
from apps.webhooks.models import Delivery
from apps.webhooks.queries.deliveries import Shown
from apps.webhooks.rules.event_types import unknown_among
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import Out, OutShape


class DeliveryQuery(PageQuery):
    endpoint_id = fields.Uuid(required=False)
    status = fields.Listed(child=fields.Choice(choices=Delivery.Status.choices), required=False)
    type = fields.Listed(child=fields.Text(max_length=40), required=False, max_length=50, help_text=TYPES_HELP)
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

    def to_representation(self, shown: Shown) -> dict[str, Any]:
        row: Any = shown.delivery
        row.redacted, row.body, row.shown_attempts = shown.redacted, shown.body, shown.attempts
        return dict(super().to_representation(row))
