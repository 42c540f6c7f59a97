"""Checks of scopes."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.services.authentication import NotAuthenticated
from apps.audit.services import audit
from lib.access import ANY_TOKEN, PUBLIC, Principal
from lib.errors import Code, Detail, DomainError
from lib.messages import Message


class InsufficientScope(DomainError):
    """The token is valid, but lacks the scope for the operation."""

    code = Code.INSUFFICIENT_SCOPE

    def __init__(self, scope: str) -> None:
        detail = Detail(
            code="scope",
            message=Message(_("The operation needs the scope %(scope)s."), {"scope": scope}),
            also={"requiredScope": scope},
        )
        super().__init__(detail.text, details=[detail])


def record_denial(view: Any, code: Code, details: list[dict[str, Any]]) -> None:
    """Record a denial to a valid token; `details` are those of the answer."""
    if code is Code.IP_NOT_ALLOWED:
        return  # already recorded during authentication; the request has no principal
    match code:
        case Code.INSUFFICIENT_SCOPE:
            reason = f"scope {details[0]['requiredScope']}"
        case Code.PHI_NOT_PERMITTED:
            reason = f"PHI level: {', '.join(detail['field'] for detail in details)}"
        case _:
            reason = code.name.lower()
    request = view.request
    endpoint = {"method": request.method, "route": request.resolver_match.route}
    audit.record_denial(by=request.auth, reason=reason, details=endpoint)


class ScopePermission(BasePermission):
    """Deny by default: an action is allowed if `view.scopes` contains it and the token has that scope."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not view.action:
            return True  # unknown method: DRF answers 405
        scope = view.scopes.get(view.action)
        if scope == PUBLIC:
            return True
        principal = request.auth
        if not isinstance(principal, Principal):
            raise NotAuthenticated
        if scope == ANY_TOKEN:
            return True
        if scope is None or not principal.has_scope(scope):
            raise InsufficientScope(str(scope))
        return True
