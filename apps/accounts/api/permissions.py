"""Scopes at the door."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.services import audit
from apps.accounts.services.authentication import NotAuthenticated
from lib.access import ANY_TOKEN, PUBLIC, Principal
from lib.errors import Code, Detail, DomainError


class InsufficientScope(DomainError):
    """The token is valid, but not for this."""

    code = Code.INSUFFICIENT_SCOPE

    def __init__(self, scope: str) -> None:
        detail = Detail(code="scope", message=f"The operation needs the scope {scope}.", also={"requiredScope": scope})
        super().__init__(detail.message, details=[detail])


class ScopePermission(BasePermission):
    """Deny by default: an action passes when `view.scopes` names it and the token holds that scope."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not view.action:
            return True  # no such method: DRF answers 405 next
        scope = view.scopes.get(view.action)
        if scope == PUBLIC:
            return True
        principal = request.auth
        if not isinstance(principal, Principal):
            raise NotAuthenticated
        if scope == ANY_TOKEN:
            return True
        if scope is None or not principal.may(scope):
            audit.record_denial(by=principal, reason=f"scope {scope}")
            raise InsufficientScope(str(scope))
        return True
