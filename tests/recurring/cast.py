"""Standing orders without conflicts, for tests to vary."""

import datetime as dt
from dataclasses import replace
from typing import Any

from apps.organizations.models import Facility
from apps.recurring.models import Occurrence, StandingOrder
from apps.recurring.rules.draft import OrderDraft, TermsDraft
from apps.recurring.services import create_order
from apps.riders.models import Rider
from apps.rides.models import Ride
from lib.access import Principal, system
from tests import factories
from tests.factories import NOW
from tests.rides.drafts import HOME

MONDAY = dt.date(2026, 11, 23)
MWF = (0, 2, 4)
# The dates of Monday, Wednesday and Friday from MONDAY on, within 28 days of NOW.
DATES = [MONDAY + dt.timedelta(days=7 * week + day) for week in range(4) for day in MWF]


def terms(**changes: Any) -> TermsDraft:
    """Monday, Wednesday and Friday, in the chair at 10:30, back by will-call."""
    asked: dict[str, Any] = {"days_of_week": MWF, "chair_time": dt.time(10, 30), "pickup": HOME}
    return TermsDraft(**(asked | changes))


def draft(facility: Facility, *, of: dict[str, Any] | None = None, **changes: Any) -> OrderDraft:
    """An order from MONDAY on; `of` changes its terms."""
    wanted = OrderDraft(facility_id=facility.pk, start_date=MONDAY, terms=terms(**(of or {})))
    return replace(wanted, **changes)


def dialysis_centre(**columns: Any) -> Facility:
    return factories.FacilityFactory.create(**({"kind": "dialysis", "name": "Lakeview Dialysis"} | columns))


def order(
    facility: Facility | None = None,
    rider: Rider | None = None,
    *,
    by: Principal | None = None,
    at: dt.datetime = NOW,
    of: dict[str, Any] | None = None,
    **changes: Any,
) -> StandingOrder:
    """Create an order with its rides; also a center and a rider unless given."""
    facility = facility or dialysis_centre()
    rider = rider or factories.RiderFactory.create(facility=facility)
    wanted = draft(facility, of=of, **changes)
    return create_order.create(rider_id=rider.pk, draft=wanted, by=by or system(), at=at).order


def rides(order: StandingOrder, **columns: Any) -> list[Ride]:
    """Return an order's rides by pickup, including cancelled ones."""
    return list(Ride.objects.filter(standing_order_id=order.pk, **columns).order_by("pickup_at", "pk"))


def live(order: StandingOrder) -> list[tuple[str, str]]:
    """Return the open rides: their pattern date and leg, in order."""
    keys = Ride.objects.filter(standing_order_id=order.pk).exclude(status="cancelled").values_list("occurrence_key")
    return sorted((key.split(":")[1], key.split(":")[2]) for (key,) in keys)


def both(dates: list[dt.date]) -> list[tuple[str, str]]:
    """Return both legs of these dates, in the form of `live`."""
    return sorted((day.isoformat(), leg) for day in dates for leg in ("outbound", "return"))


def marks(order: StandingOrder) -> dict[str, int]:
    """Count the occurrence rows by their decision."""
    found: dict[str, int] = {}
    for decision in Occurrence.objects.filter(standing_order=order).values_list("decision", flat=True):
        found[decision] = found.get(decision, 0) + 1
    return found
