"""Event types and public keys."""

from typing import Any, ClassVar

from apps.webhooks.models.endpoint import PayloadLevel
from lib.api import fields
from lib.api.query import Query
from lib.api.serializers import OutShape
from lib.api.unpaginated import WholePageOut


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
