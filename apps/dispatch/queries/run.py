"""What a driver drives on one day, with all that stands on paper."""

from uuid import UUID

from apps.dispatch.axis import Axis
from apps.rides.lifecycle import WITH_DRIVER
from apps.rides.models import Ride
from lib.access import Principal


def rides_of(driver_id: UUID, axis: Axis, *, by: Principal) -> list[Ride]:
    """Read the rides that a driver has still to drive, with their riders, in the order of their pickups.  One query."""
    rows = Ride.objects.visible_to(by).select_related("rider")
    day = rows.filter(driver_id=driver_id, pickup_at__gte=axis.starts_at, pickup_at__lt=axis.ends_at)
    return list(day.filter(status__in=sorted(WITH_DRIVER)).order_by("pickup_at", "pk"))
