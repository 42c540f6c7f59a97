"""The `webhooks` of the OpenAPI document: all event types of the catalogue."""

from typing import Any, Final

from django.conf import settings

from apps.webhooks.api import examples
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.rules.event_types import CATALOGUE, EventType, body_schema

_HEADERS: Final = {
    "webhook-id": "Id of the event: the same for every attempt, resend and replay.",
    "webhook-timestamp": "Time of this attempt in Unix seconds.",
    "webhook-signature": "Signatures of `id.timestamp.body`, one for each valid secret, separated by spaces.",
    "webhook-attempt": "Number of the attempt; not signed.",
}
_ANSWER: Final = "Any 2xx within 15 seconds is a success; every other response is retried with growing delays."


def add_webhooks(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the webhooks to the complete document."""
    headers = {
        name: {"name": name, "in": "header", "required": True, "description": about, "schema": {"type": "string"}}
        for name, about in _HEADERS.items()
    }
    components = result["components"] | {"parameters": headers}
    webhooks = {event_type.name: {"post": _operation(event_type)} for event_type in CATALOGUE.values()}
    return result | {"components": components, "webhooks": webhooks}


def _operation(event_type: EventType) -> dict[str, Any]:
    examples_by_level = {
        level.value: {"value": examples.example(event_type, level, api_version=settings.API_VERSIONS[-1])}
        for level in PayloadLevel
    }
    return {
        "operationId": f"webhook_{event_type.name}".replace(".", "_"),
        "summary": str(event_type.description),
        "tags": ["webhooks"],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in _HEADERS],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _schema(event_type), "examples": examples_by_level}},
        },
        "responses": {"2XX": {"description": _ANSWER}},
        "security": [{}],
    }


def _schema(event_type: EventType) -> dict[str, Any]:
    """Return one schema for all payload levels: each level contains the one below it."""
    schema = body_schema(event_type, PayloadLevel.SUMMARY)
    del schema["$schema"], schema["title"]
    if event_type.subject == "ride":
        ride = {"anyOf": [{"$ref": "#/components/schemas/RideOut"}, {"type": "null"}]}
        about = "At full-resource: the ride as in GET /rides/{id}; null if it was deleted."
        schema["properties"]["data"]["properties"]["ride"] = ride | {"description": about}
    return schema
