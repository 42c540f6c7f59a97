"""Replacements for the driver of several rides at once."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping
from uuid import UUID

from apps.dispatch.queries.suggestions import preview
from apps.dispatch.rules.axis import Axis, service_day
from apps.dispatch.rules.suggesting import Suggestion
from apps.rides.models import Ride
from lib.access import Principal


def best_replacements(ride_ids: Collection[UUID], *, by: Principal, at: dt.datetime) -> Mapping[UUID, Suggestion]:
    """Suggest a driver for each of these unassigned rides, all together: nobody gets two at the same time.

    Rides without a driver who violates no rule are left out.  The queries of `preview` for each service day.
    """
    days: dict[Axis, set[UUID]] = defaultdict(set)
    rides = Ride.objects.visible_to(by).filter(pk__in=ride_ids)
    for ride_id, pickup_at, zone in rides.values_list("pk", "pickup_at", "timezone"):
        days[Axis(service_day(pickup_at, zone), zone)].add(ride_id)
    return {
        suggestion.ride_id: suggestion
        for axis, day_ids in days.items()
        for suggestion in preview(axis, ride_ids=day_ids, by=by, at=at).plan.suggestions
    }
