"""Operations on tokens: issue, rotate, revoke, and read the caller's own."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.serializers import IssuedOut, RevokeIn, RotateIn, TokenIn, TokenOut, TokenQuery
from apps.accounts.api.throttles import TokenEndpointThrottle
from apps.accounts.models import ApiToken
from apps.accounts.rules.roles import TokenRole
from apps.accounts.services import tokens
from lib.access import ANY_TOKEN
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope


class TokenViewSet(ApiViewSet):
    """Bearer tokens of API clients."""

    scopes = {
        "list": Scope.TOKENS_MANAGE,
        "create": Scope.TOKENS_MANAGE,
        "rotate": Scope.TOKENS_MANAGE,
        "revoke": Scope.TOKENS_MANAGE,
        "own": ANY_TOKEN,
    }
    throttle_classes = [TokenEndpointThrottle]
    queries = {"list": TokenQuery}
    bodies = {"create": TokenIn, "rotate": RotateIn, "revoke": RevokeIn}
    answers = {"list": TokenOut, "create": IssuedOut, "rotate": IssuedOut, "revoke": TokenOut, "own": TokenOut}
    statuses = {"rotate": 201}
    refusals = {
        "create": (Code.NOT_FOUND, Code.FORBIDDEN, Code.RULE_VIOLATION),
        "rotate": (Code.FORBIDDEN, Code.RULE_VIOLATION),
    }

    def list(self, request: Request) -> Response:
        """List tokens, newest first.

        Tokens with a wider data scope than yours are not included. Secrets are never shown.
        """
        rows = ApiToken.objects.visible_to(self.principal).select_related("client")
        filters = {name: self.query[name] for name in ("client_id", "role") if name in self.query}
        return self.answer_page(self.page(rows.filter(**filters), sort="-created_at"))

    def create(self, request: Request) -> Response:
        """Issue a token.

        Its text is only in this answer. A token cannot have more rights than its role, or than the token that issues
        it.
        """
        issued = tokens.issue(**_grant_of(self.body()), by=self.principal, at=self.at)
        return self.answer(issued)

    def rotate(self, request: Request, id: UUID) -> Response:
        """Replace a token by a new one with the same grant.

        The old token keeps working for `overlapSeconds` (by default a day, at most seven).
        """
        issued = tokens.rotate(token_id=id, overlap=self.body()["overlap_seconds"], by=self.principal, at=self.at)
        return self.answer(issued)

    def revoke(self, request: Request, id: UUID) -> Response:
        """Revoke a token permanently."""
        return self.answer(tokens.revoke(token_id=id, **self.body(), by=self.principal, at=self.at))

    def own(self, request: Request) -> Response:
        """Read the rights and the expiry of the token of this request."""
        return self.answer(ApiToken.objects.select_related("client").get(pk=str(self.principal.id)))


def _grant_of(body: dict[str, Any]) -> dict[str, Any]:
    """Split the body into the client and the grant."""
    client: dict[str, Any] = {name: body.pop(name) for name in ("client_id", "client_name") if name in body}
    for name in ("scopes", "facility_ids", "provider_ids"):
        body[name] = None if body.get(name) is None else frozenset(body[name])
    body |= {"role": TokenRole(body["role"]), "allowed_cidrs": tuple(body["allowed_cidrs"])}
    return {**client, "grant": tokens.Grant(**body)}
