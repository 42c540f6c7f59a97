"""Telling people of dates on which an order's rides could not be made or moved, and closing that when they can."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Final
from uuid import UUID

from apps.recurring.models import StandingOrder
from apps.recurring.services.reconcile_rides import ReconcileResult
from apps.rides.models import RideException
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.services import exceptions
from apps.rides.services.recurring_booking import Refused
from lib.access import Principal

_TYPE: Final = ExceptionType.STANDING_ORDER_CONFLICT
MOST_DATES: Final = 20  # named in one exception; what hinders one date mostly hinders the next ones too


def report(
    orders: Iterable[StandingOrder], results: Mapping[UUID, ReconcileResult], *, by: Principal, at: datetime
) -> None:
    """Open, bring up to date or settle `standing_order_conflict` of orders whose rides were just made to follow.

    One query, none for no order, and those of each exception that has to change.
    """
    if not results:
        return
    told = set(
        RideException.objects.unsettled()
        .filter(standing_order_id__in=list(results), type=_TYPE)
        .values_list("standing_order_id", flat=True)
    )
    for order in orders:
        refused = results[order.pk].refused
        if refused:
            _open(order, refused, by=by, at=at)
        elif order.pk in told:
            exceptions.settle_on_order(order.pk, _TYPE, by=by, at=at, code=ResolutionCode.RECOVERED_ON_TIME)


def _open(order: StandingOrder, refused: Mapping[date, Refused], *, by: Principal, at: datetime) -> None:
    dates = [
        {"date": day.isoformat(), "code": refusal.code.name, **_existing(refusal.existing_id)}
        for day, refusal in sorted(refused.items())[:MOST_DATES]
    ]
    exceptions.open_on_order(
        order.pk,
        _TYPE,
        rider_id=order.rider_id,
        facility_id=order.facility_id,
        by=by,
        at=at,
        detected_by="recurring",
        details={"dates": dates, "count": len(refused)},
    )


def _existing(existing_id: UUID | None) -> Mapping[str, str]:
    return {"rideId": str(existing_id)} if existing_id else {}
