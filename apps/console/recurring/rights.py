"""Scope checks of the pages of recurring rides, and lookup of their records."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from apps.accounts.sessions import principal_of
from apps.console.kit.rights import RightMissing, View, require_scope
from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder
from lib.access import Principal
from lib.scopes import Scope


def opens(scope: str) -> Callable[[View], View]:
    """Require a scope, and refuse users bound to providers: they see rides, but no standing orders."""

    def wrap(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, **ids: Any) -> HttpResponse:
            if principal_of(request).provider_ids is not None:
                raise RightMissing(frozenset({Scope.SCHEDULES_WRITE}))
            return view(request, **ids)

        return require_scope(scope)(answer)

    return wrap


def get_order(order_id: UUID, by: Principal) -> StandingOrder:
    """Give an order in reach with its rider and facility, or answer 404."""
    rows = StandingOrder.objects.visible_to(by).select_related("rider", "facility", "payer")
    return get_object_or_404(rows, pk=order_id)


def get_facility(facility_id: UUID, by: Principal) -> Facility:
    """Give a facility in reach, or answer 404."""
    return get_object_or_404(Facility.objects.visible_to(by), pk=facility_id)
