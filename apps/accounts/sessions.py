"""The principal of a signed-in request, the time zone of its pages, and the lifetime of its session."""

import copy
import time
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import models
from django.http import HttpRequest

from apps.accounts.models import User
from lib.access import Phi, Principal
from lib.client_address import address_of
from lib.request_context import id_of

# Session keys; values are seconds since the epoch.
SIGNED_IN_AT: Final = "carelane_signed_in_at"
LAST_ACTIVE_AT: Final = "carelane_last_active_at"

_KEPT_ON_REQUEST = "_carelane_reach"


@dataclass(frozen=True, slots=True)
class Reach:
    """A principal, and the time zone in which their pages show times."""

    principal: Principal
    zone: ZoneInfo


def principal_of(request: HttpRequest) -> Principal:
    """Return the caller of a page with the scopes of their role, their memberships and PHI level.

    One query per request for roles that are bound to facilities or providers, none for others.  Cached only on the
    request, so that a change of role or membership applies from the next request on.
    """
    return _reach_of(request).principal


def zone_of(request: HttpRequest) -> ZoneInfo:
    """Return the time zone of this request's pages: of the person's facility or provider, else the operator's."""
    return _reach_of(request).zone


def seconds_left(request: HttpRequest) -> float:
    """Return the seconds until the session ends without activity, by idle time or by age.

    Negative if it has ended, or if its start is unknown.
    """
    now, session = time.time(), request.session
    signed_in_at = session.get(SIGNED_IN_AT, 0)
    idle_since = session.get(LAST_ACTIVE_AT, signed_in_at)
    return float(min(signed_in_at + settings.SESSION_COOKIE_AGE, idle_since + settings.SESSION_IDLE_SECONDS) - now)


def stranger(request: HttpRequest) -> Principal:
    """Return a principal without rights for a caller who is not signed in, for audit entries of sign-ins."""
    return Principal(
        kind="user",
        id=None,
        role="",
        scopes=frozenset(),
        facility_ids=frozenset(),
        provider_ids=frozenset(),
        request_id=id_of(request),
        ip=address_of(request),
    )


def principal_of_user(user: User, request: HttpRequest) -> Principal:
    """Return the principal of a person for this request, signed in or about to be."""
    return _reach(user, request).principal


def principal_of_absent(user: User, *, request_id: str = "", ip: str | None = None) -> Principal:
    """Return the principal of a person with their current rights, for work in their name while they are not signed in.

    One query for roles that are bound to facilities or providers, none for others.
    """
    return _reach_from(user, request_id, ip).principal


def forget(request: HttpRequest) -> None:
    """Drop the principal cached on the request, after its user has changed."""
    vars(request).pop(_KEPT_ON_REQUEST, None)


def is_current(request: HttpRequest) -> bool:
    """Return whether the rights of an earlier request are still the same, with new queries; for long-lived connections.

    False if its session has ended or was idle for too long, or if the person's password, status, role or memberships
    have changed.  Two queries; three for roles that are bound to facilities or providers.
    """
    fresh_request = copy.copy(request)
    forget(fresh_request)
    fresh_request.session = SessionStore(request.session.session_key)
    fresh_request.user = get_user(fresh_request)
    return (
        fresh_request.user.is_authenticated
        and seconds_left(fresh_request) >= 0
        and principal_of(fresh_request) == principal_of(request)
    )


def _reach_of(request: HttpRequest) -> Reach:
    cached: Reach | None = getattr(request, _KEPT_ON_REQUEST, None)
    if cached is None:
        cached = _reach(cast(User, request.user), request)  # only pages that require sign-in call this
        setattr(request, _KEPT_ON_REQUEST, cached)
    return cached


def _reach(user: User, request: HttpRequest) -> Reach:
    return _reach_from(user, id_of(request), address_of(request))


def _reach_from(user: User, request_id: str, ip: str | None) -> Reach:
    operator_zone = ZoneInfo(settings.OPERATOR_TIME_ZONE)
    facilities = _members_of(user.facilities) if user.is_bound_to_facilities else None
    providers = _members_of(user.providers) if user.is_bound_to_providers else None
    zones = [zone for _, zone in [*(facilities or []), *(providers or [])]]
    principal = Principal(
        kind="user",
        id=user.pk,
        role=user.role,
        scopes=user.scopes,
        facility_ids=None if facilities is None else frozenset(pk for pk, _ in facilities),
        provider_ids=None if providers is None else frozenset(pk for pk, _ in providers),
        phi=user.phi if user.is_active else Phi.NONE,
        request_id=request_id,
        ip=ip,
    )
    return Reach(principal, ZoneInfo(zones[0]) if zones else operator_zone)


def _members_of(places: models.Manager[Any]) -> list[tuple[UUID, str]]:
    """List ids and time zones of the person's facilities or providers, by name."""
    return list(places.order_by("name").values_list("pk", "timezone"))
