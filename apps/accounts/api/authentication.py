"""Authentication by bearer token."""

import datetime as dt
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.accounts.api.throttles import count_failure
from apps.accounts.rules import token_format
from apps.accounts.services import authentication
from lib.access import Principal
from lib.api.fields import instant_text
from lib.client_address import address_of
from lib.errors import Code, DomainError
from lib.request_context import answer_headers, bind_principal, id_of

EXPIRY_IS_ANNOUNCED: Final = dt.timedelta(days=14)
_NAMES_OF_TOKENS: Final = frozenset({"access_token", "token", "api_key", "apikey", "authorization", "bearer"})


class TokenInQuery(DomainError):
    """A token in a URL is refused without a check, because URLs end up in logs and histories."""

    code = Code.TOKEN_IN_QUERY
    template = _("Send the token in the Authorization header; rotate this one, it has been exposed.")


class BearerAuthentication(BaseAuthentication):
    """Turn `Authorization: Bearer <token>` into a Principal in `request.auth`; there is no `request.user`."""

    def authenticate(self, request: Request) -> tuple[None, Principal] | None:
        ip = address_of(request._request)
        _refuse_token_in_query(request, ip)
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        try:
            return self._authenticate(request, scheme, text.strip(), ip)
        except authentication.NotAuthenticated:
            count_failure(ip)
            raise

    def _authenticate(self, request: Request, scheme: str, text: str, ip: str | None) -> tuple[None, Principal]:
        if scheme.lower() != "bearer":
            raise authentication.NotAuthenticated
        at = timezone.now()
        principal, token = authentication.authenticate(text, at=at, request_id=id_of(request._request), ip=ip)
        bind_principal(kind=principal.kind, principal_id=principal.id)
        if token.ends_at - at <= EXPIRY_IS_ANNOUNCED:
            answer_headers(request._request)["X-Token-Expires-At"] = instant_text(token.ends_at)
        return None, principal


def _refuse_token_in_query(request: Request, ip: str | None) -> None:
    for name, values in request.query_params.lists():
        key_id = next(filter(None, map(token_format.key_id_in, values)), None)
        if key_id or name.lower() in _NAMES_OF_TOKENS:
            count_failure(ip)
            if key_id:
                authentication.report_leak(key_id, request_id=id_of(request._request), ip=ip)
            raise TokenInQuery
