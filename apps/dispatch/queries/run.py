"""Rides of a day with all details for printed run sheets."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import QuerySet

from apps.dispatch.rules.axis import Axis
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import WITH_DRIVER
from lib.access import Principal


def rides_of(driver_id: UUID, axis: Axis, *, by: Principal) -> list[Ride]:
    """Return the driver's remaining rides with their riders, in order of pickup.  One query."""
    rows = _day(axis, by).select_related("rider").filter(driver_id=driver_id)
    return list(rows.filter(status__in=sorted(WITH_DRIVER)).order_by("pickup_at", "pk"))


def rides_of_day(axis: Axis, *, by: Principal) -> list[Ride]:
    """Return all rides of a day with rider, driver and vehicle, in order of pickup.  One query."""
    return list(_day(axis, by).select_related("rider", "driver", "vehicle").order_by("pickup_at", "pk"))


def still_to_drive(rides: Sequence[Ride]) -> Mapping[UUID, list[Ride]]:
    """Group the remaining rides of a day by driver, in the order of `rides`."""
    by_driver: dict[UUID, list[Ride]] = defaultdict(list)
    for ride in rides:
        if ride.driver_id is not None and ride.status in WITH_DRIVER:
            by_driver[ride.driver_id].append(ride)
    return by_driver


def _day(axis: Axis, by: Principal) -> QuerySet[Ride]:
    return Ride.objects.visible_to(by).filter(pickup_at__gte=axis.starts_at, pickup_at__lt=axis.ends_at)
