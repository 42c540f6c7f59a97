"""Open rides of a driver or a vehicle, which are affected if it becomes unavailable."""

from uuid import UUID

from django.db.models import Q

from apps.rides.models import Ride, RideQuerySet
from apps.rides.rules.lifecycle import WITH_DRIVER
from lib.access import Principal


def for_driver(driver_id: UUID, *, by: Principal) -> RideQuerySet:
    """List open rides with this driver or attendant inside the caller's data scope, soonest first."""
    return _assigned(Q(driver_id=driver_id) | Q(attendant_ids__contains=[driver_id]), by)


def to_vehicle(vehicle_id: UUID, *, by: Principal) -> RideQuerySet:
    """List open rides with this vehicle inside the caller's data scope, soonest first."""
    return _assigned(Q(vehicle_id=vehicle_id), by)


def _assigned(whose: Q, by: Principal) -> RideQuerySet:
    rows = Ride.objects.visible_to(by).filter(whose, status__in=sorted(WITH_DRIVER))
    return rows.order_by("pickup_at", "pk")
