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
from apps.rides.queries.driver_timelines import predicted_arrivals_of
from apps.rides.rules import timing
from apps.rides.rules.lifecycle import OPEN
from lib.access import Principal

CARRIED_OVER: Final = dt.timedelta(hours=24)  # open rides of the previous day are shown today


@dataclass(frozen=True, slots=True)
class FacilityDay:
    """A local day of the facility's zone, `[starts_at, ends_at)`, and its rides by time.

    By ride id: `exceptions` are the unsettled exceptions, `eta_reported_at` is the time when the ETA was recorded, and
    `predicted_arrivals` the arrivals at pickups without an ETA, predicted from all rides of the driver.  They may
    also hold rides of other facilities that were read in the same call.
    """

    facility: Facility
    day: dt.date
    today: dt.date
    rides: list[Ride]
    exceptions: dict[UUID, list[RideException]]
    eta_reported_at: dict[UUID, dt.datetime]
    predicted_arrivals: dict[UUID, dt.datetime]


def facilities(by: Principal) -> list[tuple[UUID, str]]:
    """List the facilities inside the data scope, by name.  One query."""
    return list(Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))


def facility_days(
    facility_ids: Collection[UUID], day: dt.date | None, *, by: Principal, at: dt.datetime
) -> list[FacilityDay]:
    """Read a day of facilities inside the data scope, by name; None: today in the zone of each.

    At most nine queries, for any number of facilities and rides.  Facilities out of reach are left out.
    """
    facilities = list(Facility.objects.visible_to(by).filter(pk__in=facility_ids).order_by("name", "pk"))
    todays = {facility.pk: timing.local_day(at, facility.timezone) for facility in facilities}
    rides = _rides([(facility, day or todays[facility.pk], todays[facility.pk]) for facility in facilities], by=by)
    exceptions, eta_reported_at = _exceptions(rides, by), _eta_reported_at(rides)
    predicted_arrivals = predicted_arrivals_of(
        [ride for ride in rides if ride.eta_pickup_at is None or ride.eta_pickup_at < at], at=at
    )
    rides_of: dict[UUID | None, list[Ride]] = defaultdict(list)
    for ride in rides:
        rides_of[ride.facility_id].append(ride)
    return [
        FacilityDay(
            facility,
            day or todays[facility.pk],
            todays[facility.pk],
            rides_of[facility.pk],
            exceptions,
            eta_reported_at,
            predicted_arrivals,
        )
        for facility in facilities
    ]


def _rides(days: Sequence[tuple[Facility, dt.date, dt.date]], *, by: Principal) -> list[Ride]:
    """Return the rides of each facility's day; open rides of the previous day belong to today."""
    if not days:
        return []
    day_filters = [_of_day(facility, day, with_carried_over=day == today) for facility, day, today in days]
    rows = Ride.objects.visible_to(by).filter(reduce(or_, day_filters))
    return list(rows.select_related("rider", "driver", "vehicle").order_by("pickup_at", "pk"))


def _of_day(facility: Facility, day: dt.date, *, with_carried_over: bool) -> Q:
    starts_at, ends_at = (
        opening_hours.local_instant(date, dt.time(), zone=facility.timezone)
        for date in (day, day + dt.timedelta(days=1))
    )
    condition = Q(pickup_at__gte=starts_at)
    if with_carried_over:
        condition |= Q(pickup_at__gte=starts_at - CARRIED_OVER, status__in=sorted(OPEN))
    return condition & Q(facility=facility, pickup_at__lt=ends_at)


def _exceptions(rides: Collection[Ride], by: Principal) -> dict[UUID, list[RideException]]:
    rows = RideException.objects.visible_to(by).unsettled().filter(ride__in=[ride.pk for ride in rides])
    exceptions: dict[UUID, list[RideException]] = defaultdict(list)
    for row in rows.order_by("opened_at", "pk"):
        exceptions[cast(UUID, row.ride_id)].append(row)
    return exceptions


def _eta_reported_at(rides: Collection[Ride]) -> dict[UUID, dt.datetime]:
    """Return when each estimate was recorded; later changes below five minutes are not recorded."""
    expected = [ride.pk for ride in rides if ride.eta_pickup_at is not None]
    rows = Event.objects.filter(subject_type="ride", subject_id__in=expected, type="ride.eta_changed")
    latest = rows.order_by("subject_id", "-sequence").distinct("subject_id")
    return dict(latest.values_list("subject_id", "occurred_at"))
