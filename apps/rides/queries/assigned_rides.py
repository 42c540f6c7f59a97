"""Rides that are given to a driver or a vehicle and are not over: what it touches that one of them drops out."""

from uuid import UUID

from django.db.models import Q

from apps.rides.models import Ride, RideQuerySet
from apps.rides.rules.lifecycle import WITH_DRIVER
from lib.access import Principal


def for_driver(driver_id: UUID, *, by: Principal) -> RideQuerySet:
    """Find what a driver drives or attends, or is to, within the caller's reach; soonest first."""
    return _given(Q(driver_id=driver_id) | Q(attendant_ids__contains=[driver_id]), by)


def to_vehicle(vehicle_id: UUID, *, by: Principal) -> RideQuerySet:
    """Find what a vehicle drives, or is to, within the caller's reach; soonest first."""
    return _given(Q(vehicle_id=vehicle_id), by)


def _given(whose: Q, by: Principal) -> RideQuerySet:
    rows = Ride.objects.visible_to(by).filter(whose, status__in=sorted(WITH_DRIVER))
    return rows.order_by("pickup_at", "pk")
