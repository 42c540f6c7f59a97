"""Standing orders of the demo: the orders behind its dialysis rides, and typical changes to some of them.

The rides are already loaded, each with the id of its order and its pattern date; the orders are derived from them.
Holds, skips and changes go through the services, as for real users.
"""

import datetime as dt
from typing import Final
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Min

from apps.events import services as events
from apps.recurring.models import OrderStatus, StandingOrder, Terms
from apps.recurring.queries import plans
from apps.recurring.rules.recurrence import PRESETS
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order, order_monitor
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.rides.models import Ride
from apps.rides.rules import timing
from lib.access import Principal
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7

ENDS_AFTER: Final = 10  # days, of the order that is about to end
_DAY: Final = dt.timedelta(days=1)
_LEDGER: Final = """
    INSERT INTO recurring_occurrence
        (standing_order_id, pattern_date, leg, decision, ride_id, content, refusal, moved_by_clock_change, decided_at)
    SELECT r.standing_order_id, split_part(r.occurrence_key, ':', 2)::date, r.leg_type, 'generated', r.id,
        content.text, '', false, r.created_at
    FROM rides_ride r JOIN unnest(%s::uuid[], %s::text[]) AS content(order_id, text)
        ON content.order_id = r.standing_order_id
"""


def load(at: dt.datetime, by: Principal) -> None:
    """Create the orders of the rides that refer to one, apply the typical changes, and book their horizon.

    Runs in the transaction that loads the rides.
    """
    orders_and_terms = _orders(at)
    orders = [order for order, _ in orders_and_terms]
    with connection.cursor() as cursor:
        contents = [plans.content_of(order, terms) for order, terms in orders_and_terms]
        cursor.execute(_LEDGER, [[order.pk for order in orders], contents])
    _arrange(orders, by=by, at=at)
    generate_rides.generate(by=by, at=at)
    order_monitor.check_orders(by=by, at=at)
    events.clear_outbox()  # the first endpoint that is registered must not receive the whole history


def _orders(at: dt.datetime) -> list[tuple[StandingOrder, Terms]]:
    """Derive each order from its latest outbound ride, and its start from the first ride."""
    rides = Ride.objects.filter(standing_order_id__isnull=False, leg_type="outbound")
    begun = dict(rides.values_list("standing_order_id").annotate(Min("service_date")))
    latest = rides.order_by("standing_order_id", "-pickup_at").distinct("standing_order_id").select_related("facility")
    orders_and_terms = [_order(ride, begun[ride.standing_order_id], at) for ride in latest]
    for model, rows in (
        (StandingOrder, [order for order, _ in orders_and_terms]),
        (Terms, [terms for _, terms in orders_and_terms]),
    ):
        names = [field.attname for field in model._meta.concrete_fields]
        copy_rows(model, [{name: getattr(row, name) for name in names} for row in rows])
    return orders_and_terms


def _order(ride: Ride, start_date: dt.date, at: dt.datetime) -> tuple[StandingOrder, Terms]:
    assert ride.facility is not None  # noqa: S101 - a ride to a chair has both
    assert ride.appointment_at is not None  # noqa: S101  # for the type checker
    zone = ZoneInfo(ride.timezone)
    chair, pickup = (moment.astimezone(zone).time() for moment in (ride.appointment_at, ride.pickup_at))
    treatment = ride.dialysis or {}
    order = StandingOrder(
        id=ride.standing_order_id,
        rider_id=ride.rider_id,
        facility_id=ride.facility.pk,
        status=OrderStatus.ACTIVE,
        timezone=ride.timezone,
        start_date=start_date,
        payer_id=ride.payer_id,
        authorization_number=ride.authorization_number,
        created_at=at,
        updated_at=at,
    )
    terms = Terms(
        id=uuid7(),
        standing_order_id=order.pk,
        from_date=order.start_date,
        days_of_week=sorted(next(days for days in PRESETS.values() if ride.service_date.weekday() in days)),
        anchor_date=order.start_date,
        chair_time=chair,
        arrive_early_minutes=ride.facility.arrive_early_minutes,
        treatment_minutes=treatment["treatmentMinutes"],
        post_treatment_minutes=treatment["postTreatmentMinutes"],
        lead_minutes=(ride.appointment_at - ride.pickup_at) // dt.timedelta(minutes=1),
        pickup_time=pickup,
        pickup=ride.pickup,
        dropoff=ride.dropoff,
    )
    return order, terms


def _arrange(orders: list[StandingOrder], *, by: Principal, at: dt.datetime) -> None:
    """Apply one change of each kind, each to another rider's order."""
    today = timing.local_day(at, orders[0].timezone)
    _close_a_day(orders, today, by=by, at=at)
    patients = iter(orders)
    on_hold, skipped, moved, changed, ending = (next(patients) for _ in range(5))
    hold_order.hold(order_id=on_hold.pk, from_date=today, until=None, reason="hospital_stay", by=by, at=at)
    day = _dates(skipped, today)[1]
    edit_order.skip(order_id=skipped.pk, pattern_date=day, by=by, at=at)
    day = _dates(moved, today)[1]
    edit_order.change_occurrence(
        order_id=moved.pk, pattern_date=day, edit=OccurrenceEdit(to_date=day + _DAY), by=by, at=at
    )
    day = _dates(changed, today)[2]
    earlier = OccurrenceEdit(chair_time=dt.time(9, 30), pickup_time=dt.time(8, 30))
    edit_order.change_occurrence(order_id=changed.pk, pattern_date=day, edit=earlier, by=by, at=at)
    edit_order.change(order_id=ending.pk, columns={"end_date": today + ENDS_AFTER * _DAY}, by=by, at=at)


def _close_a_day(orders: list[StandingOrder], today: dt.date, *, by: Principal, at: dt.datetime) -> None:
    """Move a day of two centers, three weeks ahead: one shift is applied, the other waits for review."""
    centres = sorted({order.facility_id for order in orders})
    monday = today + (21 - today.weekday()) * _DAY
    for number, centre in enumerate(centres[-2:]):
        draft = ShiftDraft(monday, monday - _DAY, offset_minutes=-30, applies_to="mwf")
        shift = calendar_shifts.enter(facility_id=centre, draft=draft, by=by, at=at)
        if number == 0:
            calendar_shifts.apply(shift_id=shift.pk, by=by, at=at)


def _dates(order: StandingOrder, today: dt.date) -> list[dt.date]:
    """Return the days of an order in the next two weeks."""
    terms = Terms.objects.get(standing_order=order)
    coming = (today + number * _DAY for number in range(1, 15))
    return [day for day in coming if day.weekday() in terms.days_of_week]
