"""Time-dependent changes of standing orders: holds begin and end, orders end, and exceptions ask for decisions."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import DateField, F, Func, Q, QuerySet, Value
from django.db.models.functions import Cast, Least

from apps.recurring.models import Hold, OrderStatus, StandingOrder
from apps.recurring.services import edit_order, order_state, reconcile_rides
from apps.recurring.services.hold_order import REVIEW_INTERVAL
from apps.riders.rules.rider_status import RiderStatus
from apps.rides.models import RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.services import exceptions
from lib.access import Principal

log = logging.getLogger(__name__)

REMINDER_DAYS: Final = (30, 14, 7)  # before the last day
DECISION_DAYS: Final = 14  # from this reminder on, an exception asks for a decision
UNUSED_TRIPS: Final = 2  # in a row
UNUSED_WITHIN: Final = timedelta(days=21)  # includes two treatments of all but rare patterns
_HOSPITAL: Final = "rider_hospitalized"
# Active orders whose last two outbound rides were no-shows, or whose last one was canceled because the rider is in
# hospital.  Other canceled rides of the future do not count.
_UNUSED: Final = """
    SELECT standing_order_id, array_agg(ride_id ORDER BY pickup_at)
    FROM (
        SELECT o.standing_order_id, r.id AS ride_id, r.pickup_at, r.status, r.reason_code,
            row_number() OVER (PARTITION BY o.standing_order_id ORDER BY r.pickup_at DESC) AS position
        FROM recurring_occurrence o
        JOIN recurring_standingorder s ON s.id = o.standing_order_id AND s.status = 'active'
        JOIN rides_ride r ON r.id = o.ride_id
        WHERE o.leg = 'outbound' AND o.decision = 'generated' AND o.pattern_date >= %(since)s
            AND r.status IN ('completed', 'no_show', 'cancelled', 'unfulfilled')
            AND (r.pickup_at <= %(at)s OR r.reason_code = %(hospital)s)
    ) latest
    WHERE position <= %(unused)s AND (status = 'no_show' OR reason_code = %(hospital)s)
    GROUP BY standing_order_id
    HAVING count(*) = %(unused)s OR bool_or(position = 1 AND reason_code = %(hospital)s)
"""


def check_orders(*, by: Principal, at: datetime) -> None:
    """Update the status of every order, and open exceptions that need a decision.  One transaction per order.

    Needed once a day; additional runs cost a few queries.
    """
    _for_each(_of_deceased_riders(), lambda order: edit_order.end(order_id=order.pk, last_date=None, by=by, at=at))
    _for_each(_with_outdated_status(at), lambda order: _update_status(order, by=by, at=at))
    _for_each(_due_reminders(at), lambda order: _send_reminder(order, by=by, at=at))
    _for_each(_due_reviews(at), lambda order: _review(order, by=by, at=at))
    for order_id, ride_ids in _unused(at):
        _for_each([order_id], lambda order, rides=ride_ids: _suggest_hold(order, rides, by=by, at=at))


def _for_each(order_ids: Iterable[UUID], act: Any) -> None:
    for order_id in order_ids:
        try:
            with transaction.atomic():
                order = StandingOrder.objects.select_for_update(of=("self",), no_key=True).get(pk=order_id)
                if order.status != OrderStatus.ENDED:
                    act(order)
        except Exception:  # any error of one order: the others continue
            log.exception("standing order not watched", extra={"standing_order_id": str(order_id)})


def _of_deceased_riders() -> Sequence[UUID]:
    """List the orders of deceased riders.  One query."""
    deceased = StandingOrder.objects.filter(rider__status=RiderStatus.DECEASED).exclude(status=OrderStatus.ENDED)
    return list(deceased.values_list("pk", flat=True))


def _riding(at: datetime) -> QuerySet[StandingOrder]:
    """List active and held orders, each with `today` in its zone."""
    wall = Func(F("timezone"), Value(at), function="timezone")
    return StandingOrder.objects.riding().annotate(today=Cast(wall, DateField()))


def _with_outdated_status(at: datetime) -> Sequence[UUID]:
    """List the orders whose stored status is not the current one.  Two queries."""
    riding = list(StandingOrder.objects.riding())
    holds: dict[UUID, list[Hold]] = defaultdict(list)
    for hold in Hold.objects.filter(standing_order__in=[order.pk for order in riding]):
        holds[hold.standing_order_id].append(hold)
    today = {order.pk: reconcile_rides.today_of(order, at) for order in riding}
    return [
        order.pk for order in riding if order.status != order_state.status_on(order, today[order.pk], holds[order.pk])
    ]


def _update_status(order: StandingOrder, *, by: Principal, at: datetime) -> None:
    today = reconcile_rides.today_of(order, at)
    if order_state.status_of(order, today) == OrderStatus.ENDED:
        data: dict[str, Any] = {"lastDate": order.end_date.isoformat() if order.end_date else None}
        order_state.record(order, "standing_order.ended", data=data, action="standing_orders.end", by=by, at=at)
        return
    data = {"changed": ["status"], "fromDate": today.isoformat()}
    order_state.record(order, "standing_order.changed", data=data, action="standing_orders.settle", by=by, at=at)


def _due_reminders(at: datetime) -> Sequence[UUID]:
    ends = _riding(at).alias(last=Least("end_date", "authorization_ends_on"))
    is_due = Q()
    for days in REMINDER_DAYS:
        not_sent = Q(end_reminder_days__isnull=True) | Q(end_reminder_days__gt=days)
        is_due |= Q(last__lte=Cast(F("today") + timedelta(days=days), DateField())) & not_sent
    return list(ends.filter(is_due, last__gte=F("today")).values_list("pk", flat=True))


def _send_reminder(order: StandingOrder, *, by: Principal, at: datetime) -> None:
    """Record that the order or its authorization ends soon, once per reminder; the second opens an exception."""
    last = order.last_date
    if last is None:  # removed since the query
        return
    days_left = (last - reconcile_rides.today_of(order, at)).days
    steps = [days for days in REMINDER_DAYS if days_left <= days]
    if not steps or order.end_reminder_days == steps[-1]:
        return
    order.end_reminder_days = steps[-1]
    data = {"lastDate": last.isoformat(), "daysLeft": days_left}
    order_state.record(order, "standing_order.ending", data=data, action="standing_orders.warn", by=by, at=at)
    if days_left <= DECISION_DAYS:
        _open(order, ExceptionType.AUTHORIZATION_ENDING, {"lastDate": last.isoformat()}, by=by, at=at)


def _due_reviews(at: datetime) -> Sequence[UUID]:
    due = Hold.objects.filter(until__isnull=True, standing_order__in=_riding(at).values("pk"))
    wall = Func(F("standing_order__timezone"), Value(at), function="timezone")
    return list(
        due.filter(review_on__lte=Cast(wall, DateField())).values_list("standing_order_id", flat=True).distinct()
    )


def _review(order: StandingOrder, *, by: Principal, at: datetime) -> None:
    """Open an exception that asks whether an open-ended hold still applies, once a week."""
    today = reconcile_rides.today_of(order, at)
    for hold in Hold.objects.filter(standing_order=order, until__isnull=True, review_on__lte=today):
        details = {"holdId": str(hold.pk), "fromDate": hold.from_date.isoformat(), "askedOn": today.isoformat()}
        _open(order, ExceptionType.HOLD_REVIEW, details, by=by, at=at)
        hold.review_on = today + REVIEW_INTERVAL
        hold.save(update_fields=["review_on"])


def _unused(at: datetime) -> list[tuple[UUID, list[UUID]]]:
    values: dict[str, Any] = {
        "since": at.date() - UNUSED_WITHIN,
        "at": at,
        "unused": UNUSED_TRIPS,
        "hospital": _HOSPITAL,
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNUSED, values)
        return [(order_id, ride_ids) for order_id, ride_ids in cursor.fetchall()]


def _suggest_hold(order: StandingOrder, ride_ids: Sequence[UUID], *, by: Principal, at: datetime) -> None:
    """Open an exception that suggests a hold, once for the same rides."""
    details = {"rideIds": [str(ride_id) for ride_id in ride_ids]}
    type_ = ExceptionType.STANDING_ORDER_REVIEW
    if not RideException.objects.filter(standing_order_id=order.pk, type=type_, details=details).exists():
        _open(order, type_, details, by=by, at=at)


def _open(order: StandingOrder, type_: ExceptionType, details: dict[str, Any], *, by: Principal, at: datetime) -> None:
    exceptions.open_on_order(
        order.pk,
        type_,
        rider_id=order.rider_id,
        facility_id=order.facility_id,
        by=by,
        at=at,
        detected_by="recurring",
        details=details,
    )
