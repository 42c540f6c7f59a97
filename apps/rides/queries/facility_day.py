"""A facility's day as its planners watch it: the rides, what stands against them, and when estimates were told."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, cast
from uuid import UUID

from django.db.models import Q

from apps.events.models import Event
from apps.organizations import opening_hours
from apps.organizations.models import Facility
from apps.rides import timing
from apps.rides.lifecycle import OPEN
from apps.rides.models import Ride, RideException
from apps.rides.queries.forecasts import foreseen_arrivals
from lib.access import Principal

CARRIED_OVER: Final = dt.timedelta(hours=24)  # rides of the day before that are not over are today's business


@dataclass(frozen=True, slots=True)
class FacilityDay:
    """A local day of the facility's zone, `[starts_at, ends_at)`, and its rides in the order of time.

    `exceptions` are the unsettled ones by ride, `told_at` when the estimate that a ride has was told, and `foreseen`
    when the driver of a ride without one gets there, by all that the driver has to drive.
    """

    facility: Facility
    day: dt.date
    today: dt.date
    rides: list[Ride]
    exceptions: dict[UUID, list[RideException]]
    told_at: dict[UUID, dt.datetime]
    foreseen: dict[UUID, dt.datetime]


def facilities(by: Principal) -> list[tuple[UUID, str]]:
    """List the facilities in reach, by name.  One query."""
    return list(Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))


def facility_day(facility_id: UUID, day: dt.date | None, *, by: Principal, at: dt.datetime) -> FacilityDay:
    """Read a day of a facility in reach; None: today.  At most five queries, for any number of rides.

    Raises:
        Facility.DoesNotExist: it is out of reach.
    """
    facility = Facility.objects.visible_to(by).get(pk=facility_id)
    today = timing.local_day(at, facility.timezone)
    shown = day or today
    rides = _rides(facility, shown, with_carried_over=shown == today, by=by)
    untold = [ride for ride in rides if ride.eta_pickup_at is None]
    return FacilityDay(
        facility, shown, today, rides, _exceptions(rides, by), _told_at(rides), foreseen_arrivals(untold, at=at)
    )


def _rides(facility: Facility, day: dt.date, *, with_carried_over: bool, by: Principal) -> list[Ride]:
    starts_at, ends_at = (
        opening_hours.local_instant(one, dt.time(), zone=facility.timezone) for one in (day, day + dt.timedelta(days=1))
    )
    wanted = Q(pickup_at__gte=starts_at)
    if with_carried_over:
        wanted |= Q(pickup_at__gte=starts_at - CARRIED_OVER, status__in=sorted(OPEN))
    rows = Ride.objects.visible_to(by).filter(wanted, facility=facility, pickup_at__lt=ends_at)
    return list(rows.select_related("rider", "driver", "vehicle").order_by("pickup_at", "pk"))


def _exceptions(rides: Collection[Ride], by: Principal) -> dict[UUID, list[RideException]]:
    rows = RideException.objects.visible_to(by).unsettled().filter(ride__in=[ride.pk for ride in rides])
    found: dict[UUID, list[RideException]] = defaultdict(list)
    for row in rows.order_by("opened_at", "pk"):
        found[cast(UUID, row.ride_id)].append(row)
    return found


def _told_at(rides: Collection[Ride]) -> dict[UUID, dt.datetime]:
    """Say when each estimate was told: within five minutes of it nothing new is recorded, so it may be surer by now."""
    expected = [ride.pk for ride in rides if ride.eta_pickup_at is not None]
    rows = Event.objects.filter(subject_type="ride", subject_id__in=expected, type="ride.eta_changed")
    latest = rows.order_by("subject_id", "-sequence").distinct("subject_id")
    return dict(latest.values_list("subject_id", "occurred_at"))
