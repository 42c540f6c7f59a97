"""Hold and resume a standing order."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from apps.recurring.models import Hold, StandingOrder
from apps.recurring.rules import order_validation
from apps.recurring.services import order_state, reconcile_rides
from apps.recurring.services.create_order import OrderResult, raise_if_any
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.services import exceptions
from lib.access import Principal
from lib.scopes import Scope

REVIEW_INTERVAL: Final = timedelta(days=7)  # holds without an end
_ONE_DAY: Final = timedelta(days=1)


@transaction.atomic
def hold(
    *,
    order_id: UUID,
    from_date: date,
    until: date | None,
    reason: str,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> OrderResult:
    """Cancel all rides on service dates from `from_date` through `until`; None: until the order is resumed.

    Days with an earlier hold stay held.  An identical hold changes nothing.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        FieldRefused: the dates are not valid.
    """
    order = order_state.locked(order_id, by, expected_version=expected_version)
    today = reconcile_rides.today_of(order, at)
    raise_if_any(order_validation.of_hold(from_date, until, today=today))
    review_on = None if until else max(from_date, today) + REVIEW_INTERVAL
    duplicates = Hold.objects.filter(standing_order=order, from_date=from_date, until=until, reason=reason)
    if not duplicates.exists():
        Hold.objects.create(
            standing_order=order,
            from_date=from_date,
            until=until,
            reason=reason,
            set_by=by.actor,
            set_at=at,
            review_on=review_on,
        )
        data = {"fromDate": from_date.isoformat(), "until": until.isoformat() if until else None, "reason": reason}
        order_state.record(order, "standing_order.held", data=data, action="standing_orders.hold", by=by, at=at)
        _close_reviews(order, by=by, at=at)
    return OrderResult(order, order_state.reconcile(order, relevant_dates=(), by=by, at=at))


@transaction.atomic
def hold_all(
    *,
    versions: Mapping[UUID, int],
    from_date: date,
    until: date | None,
    reason: str,
    by: Principal,
    at: datetime,
) -> list[OrderResult]:
    """Hold several orders, given with the versions that were shown: all of them or none, in the order of their ids.

    Raises: see `hold`.
    """
    return [
        hold(
            order_id=order_id,
            from_date=from_date,
            until=until,
            reason=reason,
            expected_version=versions[order_id],
            by=by,
            at=at,
        )
        for order_id in sorted(versions)  # locks in the same order as any other request
    ]


@transaction.atomic
def resume(
    *, order_id: UUID, from_date: date, expected_version: int | None = None, by: Principal, at: datetime
) -> OrderResult:
    """End holds from a service date, and book every pattern date within the horizon again.

    Dates that could not be booked are in the result and in an exception.  Without a hold, nothing changes.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        FieldRefused: the date is too far in the past or future.
    """
    order = order_state.locked(order_id, by, expected_version=expected_version)
    raise_if_any(order_validation.of_hold(from_date, None, today=reconcile_rides.today_of(order, at)))
    covering = list(
        Hold.objects.filter(Q(until__isnull=True) | Q(until__gte=from_date), standing_order=order).order_by("from_date")
    )
    for row in covering:
        if row.from_date >= from_date:
            row.delete()
        else:
            row.until, row.review_on = from_date - _ONE_DAY, None
            row.save(update_fields=["until", "review_on"])
    if covering:
        data = {"fromDate": from_date.isoformat()}
        order_state.record(order, "standing_order.resumed", data=data, action="standing_orders.resume", by=by, at=at)
        _close_reviews(order, by=by, at=at)
    return OrderResult(order, order_state.reconcile(order, relevant_dates=(), by=by, at=at))


def _close_reviews(order: StandingOrder, *, by: Principal, at: datetime) -> None:
    """Settle the exceptions that ask for a review of holds: a person has just decided."""
    worker = by.elevated(Scope.EXCEPTIONS_WRITE)
    for type_ in (ExceptionType.STANDING_ORDER_REVIEW, ExceptionType.HOLD_REVIEW):
        exceptions.settle_on_order(order.pk, type_, by=worker, at=at, code=ResolutionCode.HANDLED_ELSEWHERE)
