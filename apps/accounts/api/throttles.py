"""Rate limits: requests of a token per minute (reads and writes) and at once, and failures of an address."""

from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from lib import concurrency_limit
from lib.access import Principal
from lib.errors import Code, DomainError
from lib.request_context import afterwards, answer_headers
from lib.token_bucket import Balance, Policy, take

# Guessing tokens.
FAILURES: Final = Policy("failures", per_minute=60, burst=30)


class TooManyAtOnce(DomainError):
    """The token has the maximum number of requests in progress."""

    code = Code.RATE_LIMITED
    wait: Final = 1  # seconds; most are answered much earlier
    template = _("The token has %(count)s requests under way, which is all it may.")


class TokenThrottle(BaseThrottle):
    """Limit the requests of a token per minute and at once; every answer contains the remaining number."""

    balance: Balance | None = None
    owner = ""

    def allow_request(self, request: Request, view: Any) -> bool:
        principal = request.auth
        if not isinstance(principal, Principal):
            return True
        name = "read" if request.method in ("GET", "HEAD") else "write"
        self.owner = str(principal.id)
        self.balance = take(Policy(name, *settings.API_RATES[name]), self.owner)
        headers = answer_headers(request._request)
        headers["RateLimit-Policy"] = self.balance.policy.header
        headers["RateLimit"] = self.balance.header
        if self.balance.allowed:
            _take_slot(request, self.owner)
        return self.balance.allowed

    def wait(self) -> float | None:
        return self.balance.wait if self.balance else None

    def give_back(self) -> None:
        """Return the request to the bucket: the answer was a 304, which costs almost nothing."""
        if self.balance:
            take(self.balance.policy, self.owner, -1)


class TokenEndpointThrottle(TokenThrottle):
    """Limit the address too, so that a stolen token cannot create hundreds of tokens in a minute."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if not super().allow_request(request, view):
            return False
        principal = request.auth
        if view.action == "own" or not isinstance(principal, Principal):
            return True
        rate = settings.API_RATE_TOKENS
        self.balance = take(Policy("tokens", per_minute=rate, burst=rate), principal.ip or "unknown")
        return self.balance.allowed


def _take_slot(request: Request, owner: str) -> None:
    """Occupy one of the concurrent requests of the token until this request is answered.

    Raises:
        TooManyAtOnce: all are occupied.
    """
    if not settings.API_RATE_CONCURRENT:
        return
    slot = concurrency_limit.acquire(owner, of=settings.API_RATE_CONCURRENT)
    if slot is None:
        raise TooManyAtOnce(count=settings.API_RATE_CONCURRENT)
    afterwards(request._request).append(slot.release)


def count_failure(ip: str | None) -> None:
    """Count an invalid token of an address; valid tokens from the same address are not limited by it.

    Raises:
        rest_framework.exceptions.Throttled: the address sent too many.
    """
    balance = take(FAILURES, ip or "unknown")
    if not balance.allowed:
        raise Throttled(wait=balance.wait)
