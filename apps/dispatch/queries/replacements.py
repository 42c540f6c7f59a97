"""Replacements for the driver of several rides at once."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping
from uuid import UUID

from apps.dispatch.queries.suggestions import Preview, preview
from apps.dispatch.rules.axis import Axis, service_day
from apps.dispatch.rules.suggesting import Suggestion
from apps.rides.models import Ride
from lib.access import Principal


def replacements(ride_ids: Collection[UUID], *, by: Principal, at: dt.datetime) -> list[Preview]:
    """Suggest a driver for each of these unassigned rides, all together: nobody gets two at the same time.

    A preview for each service day with such rides, earliest first, with the queries of `preview` each.
    """
    days: dict[Axis, set[UUID]] = defaultdict(set)
    rides = Ride.objects.visible_to(by).filter(pk__in=ride_ids).order_by("pickup_at")
    for ride_id, pickup_at, zone in rides.values_list("pk", "pickup_at", "timezone"):
        days[Axis(service_day(pickup_at, zone), zone)].add(ride_id)
    return [preview(axis, ride_ids=day_ids, by=by, at=at) for axis, day_ids in days.items()]


def best_replacements(ride_ids: Collection[UUID], *, by: Principal, at: dt.datetime) -> Mapping[UUID, Suggestion]:
    """Return the suggestion of `replacements` by ride; rides whose drivers all violate a rule are left out."""
    previews = replacements(ride_ids, by=by, at=at)
    return {suggestion.ride_id: suggestion for each in previews for suggestion in each.plan.suggestions}
