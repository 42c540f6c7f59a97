"""The exception of an order for dates on which its rides could not be booked or amended."""

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
MOST_DATES: Final = 20  # in one exception; later dates mostly have the same reason


def report(
    orders: Iterable[StandingOrder], results: Mapping[UUID, ReconcileResult], *, by: Principal, at: datetime
) -> None:
    """Open, update or settle `standing_order_conflict` of reconciled orders.

    One query if there are orders, and those of each exception that changes.
    """
    if not results:
        return
    order_ids = set(
        RideException.objects.unsettled()
        .filter(standing_order_id__in=list(results), type=_TYPE)
        .values_list("standing_order_id", flat=True)
    )
    for order in orders:
        refused = results[order.pk].refused
        if refused:
            _open(order, refused, by=by, at=at)
        elif order.pk in order_ids:
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
