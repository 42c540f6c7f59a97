"""A facility's day for its planners: rides, exceptions, and the times of estimates."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final, cast
from uuid import UUID

from django.db.models import Q

from apps.events.models import Event
from apps.organizations.models import Facility
from apps.organizations.rules import opening_hours
from apps.rides.models import Ride, RideException
from apps.rides.queries.forecasts import foreseen_arrivals
from apps.rides.rules import timing
from apps.rides.rules.lifecycle import OPEN
from lib.access import Principal

CARRIED_OVER: Final = dt.timedelta(hours=24)  # open rides of the previous day are shown today


@dataclass(frozen=True, slots=True)
class FacilityDay:
    """A local day of the facility's zone, `[starts_at, ends_at)`, and its rides by time.

    `exceptions` are the unsettled ones by ride, `told_at` when the estimate that a ride has was told, and `foreseen`
    when the driver of a ride without one gets there, by all that the driver has to drive.  Rides of other facilities
    that were read with it may be in them.
    """

    facility: Facility
    day: dt.date
    today: dt.date
    rides: list[Ride]
    exceptions: dict[UUID, list[RideException]]
    told_at: dict[UUID, dt.datetime]
    foreseen: dict[UUID, dt.datetime]


def facilities(by: Principal) -> list[tuple[UUID, str]]:
    """List the facilities inside the data scope, by name.  One query."""
    return list(Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))


def facility_days(
    facility_ids: Collection[UUID], day: dt.date | None, *, by: Principal, at: dt.datetime
) -> list[FacilityDay]:
    """Read a day of facilities inside the data scope, by name; None: today in the zone of each.

    At most five queries, for any number of facilities and rides.  Facilities out of reach are left out.
    """
    found = list(Facility.objects.visible_to(by).filter(pk__in=facility_ids).order_by("name", "pk"))
    todays = {one.pk: timing.local_day(at, one.timezone) for one in found}
    rides = _rides([(one, day or todays[one.pk], todays[one.pk]) for one in found], by=by)
    exceptions, told_at = _exceptions(rides, by), _told_at(rides)
    foreseen = foreseen_arrivals([ride for ride in rides if ride.eta_pickup_at is None], at=at)
    of_each: dict[UUID | None, list[Ride]] = defaultdict(list)
    for ride in rides:
        of_each[ride.facility_id].append(ride)
    return [
        FacilityDay(one, day or todays[one.pk], todays[one.pk], of_each[one.pk], exceptions, told_at, foreseen)
        for one in found
    ]


def _rides(wanted: Sequence[tuple[Facility, dt.date, dt.date]], *, by: Principal) -> list[Ride]:
    """Return the rides of each facility's day; open rides of the previous day belong to today."""
    if not wanted:
        return []
    of_days = [_of_day(facility, day, with_carried_over=day == today) for facility, day, today in wanted]
    rows = Ride.objects.visible_to(by).filter(reduce(or_, of_days))
    return list(rows.select_related("rider", "driver", "vehicle").order_by("pickup_at", "pk"))


def _of_day(facility: Facility, day: dt.date, *, with_carried_over: bool) -> Q:
    starts_at, ends_at = (
        opening_hours.local_instant(one, dt.time(), zone=facility.timezone) for one in (day, day + dt.timedelta(days=1))
    )
    wanted = Q(pickup_at__gte=starts_at)
    if with_carried_over:
        wanted |= Q(pickup_at__gte=starts_at - CARRIED_OVER, status__in=sorted(OPEN))
    return wanted & Q(facility=facility, pickup_at__lt=ends_at)


def _exceptions(rides: Collection[Ride], by: Principal) -> dict[UUID, list[RideException]]:
    rows = RideException.objects.visible_to(by).unsettled().filter(ride__in=[ride.pk for ride in rides])
    found: dict[UUID, list[RideException]] = defaultdict(list)
    for row in rows.order_by("opened_at", "pk"):
        found[cast(UUID, row.ride_id)].append(row)
    return found


def _told_at(rides: Collection[Ride]) -> dict[UUID, dt.datetime]:
    """Return when each estimate was recorded; later changes below five minutes are not recorded."""
    expected = [ride.pk for ride in rides if ride.eta_pickup_at is not None]
    rows = Event.objects.filter(subject_type="ride", subject_id__in=expected, type="ride.eta_changed")
    latest = rows.order_by("subject_id", "-sequence").distinct("subject_id")
    return dict(latest.values_list("subject_id", "occurred_at"))
