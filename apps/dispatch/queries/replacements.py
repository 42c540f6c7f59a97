"""Replacements for the driver of several rides at once."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from apps.dispatch.queries.suggestions import Preview, preview
from apps.dispatch.rules.axis import Axis, service_day
from apps.rides.models import Ride
from lib.access import Principal


def replacements(
    ride_ids: Collection[UUID], *, instead_of: UUID | None = None, by: Principal, at: dt.datetime
) -> list[Preview]:
    """Suggest a driver for each of these rides, all together: nobody gets two at the same time.

    The rides are unassigned, or with `instead_of` still assigned to that driver, see `preview`.  A preview for each
    service day with such rides, earliest first, with the queries of `preview` each.
    """
    days: dict[Axis, set[UUID]] = defaultdict(set)
    rides = Ride.objects.visible_to(by).filter(pk__in=ride_ids).order_by("pickup_at")
    for ride_id, pickup_at, zone in rides.values_list("pk", "pickup_at", "timezone"):
        days[Axis(service_day(pickup_at, zone), zone)].add(ride_id)
    return [preview(axis, ride_ids=day_ids, instead_of=instead_of, by=by, at=at) for axis, day_ids in days.items()]
