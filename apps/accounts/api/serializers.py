"""Serializers of tokens; only the answer to their creation contains the secret."""

from datetime import timedelta
from typing import Any, ClassVar

from apps.accounts.models import ApiToken
from apps.accounts.rules.roles import TokenRole
from apps.accounts.services.tokens import DEFAULT_OVERLAP, MAX_OVERLAP, Issued
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import In, Out
from lib.scopes import Scope


class TokenQuery(PageQuery):
    client_id = fields.Uuid(required=False)
    role = fields.Choice(choices=TokenRole.choices, required=False)


class TokenIn(In):
    client_id = fields.Uuid(required=False, help_text="Whose token; without it and `clientName`, the caller's own.")
    client_name = fields.Text(max_length=100, required=False, help_text="Made if there is no client of this name.")
    name = fields.Text(max_length=100, default="", allow_blank=True)
    role = fields.Choice(choices=TokenRole.choices)
    scopes = fields.List(
        child=fields.Choice(choices=Scope.choices),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=40,
        help_text="Fewer than the role has; null for all of them.",
    )
    facility_ids = fields.List(child=fields.Uuid(), required=False, allow_null=True, max_length=500)
    provider_ids = fields.List(child=fields.Uuid(), required=False, allow_null=True, max_length=500)
    allowed_cidrs = fields.List(child=fields.Text(max_length=43), default=list, max_length=50)
    phi_level = fields.Choice(choices=ApiToken.PhiLevel.choices, default="none")
    not_before = fields.Instant(required=False, allow_null=True)
    expires_at = fields.Instant(required=False, help_text="Without it, 90 days from now or what the client allows.")

    example: ClassVar[dict[str, Any]] = {
        "clientName": "Epic bridge",
        "name": "production",
        "role": "ehr-integrator",
        "expiresAt": "2027-02-18T14:00:00Z",
    }


class RotateIn(In):
    overlap_seconds = fields.Integer(
        default=int(DEFAULT_OVERLAP.total_seconds()),
        min_value=0,
        max_value=int(MAX_OVERLAP.total_seconds()),
        help_text="How long the older token works on; 0 ends it now.",
    )

    def validate_overlapSeconds(self, value: int) -> timedelta:  # noqa: N802  # named after the key
        return timedelta(seconds=value)


class RevokeIn(In):
    reason = fields.Text(max_length=200)


class TokenOut(Out):
    """A token without its secret."""

    client_name = fields.Text(source="client.name")
    phi_level = fields.Choice(choices=ApiToken.PhiLevel.choices)
    role = fields.Choice(choices=TokenRole.choices)
    scopes = fields.List(child=fields.Text(), allow_null=True)
    facility_ids = fields.List(child=fields.Uuid(), allow_null=True)
    provider_ids = fields.List(child=fields.Uuid(), allow_null=True)
    allowed_cidrs = fields.List(child=fields.Text())
    example: ClassVar[dict[str, Any]] = {
        "clientName": "Epic bridge",
        "name": "production",
        "revokedAt": None,
        "revokedReason": "",
        "replacesId": None,
        "overlapUntil": None,
        "notBefore": None,
        "expiresAt": "2027-02-18T14:00:00Z",
    }

    class Meta:
        model = ApiToken
        fields = (
            "id",
            "client_id",
            "client_name",
            "name",
            "key_id",
            "role",
            "scopes",
            "facility_ids",
            "provider_ids",
            "allowed_cidrs",
            "api_version",
            "phi_level",
            "not_before",
            "expires_at",
            "revoked_at",
            "revoked_reason",
            "replaces_id",
            "overlap_until",
            "last_used_at",
            "created_by",
            "created_at",
        )


class IssuedOut(TokenOut):
    """A new token with its text, which is shown only once."""

    token = fields.Text(help_text="Send it as `Authorization: Bearer <token>`. It cannot be shown again.")

    class Meta:
        model = ApiToken
        fields = (*TokenOut.Meta.fields, "token")

    def to_representation(self, issued: Issued) -> dict[str, Any]:
        issued.token.token = issued.text  # type: ignore[attr-defined]  # for the field above
        return dict(super().to_representation(issued.token))
