"""The number of vehicles that could take a ride, as an estimate for people who book."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.fleet.models import CapacityConfig, Shift, VehicleStatus
from apps.rides.models import Ride
from apps.rides.queries.bookings import LONGEST_RIDE
from apps.rides.rules import timing


@dataclass(frozen=True, slots=True)
class Availability:
    """Suitable vehicles on shift for the whole ride, and those of them without another ride."""

    on_shift: int
    free: int


def availability(columns: Mapping[str, Any]) -> Availability:
    """Count for a ride by its columns.  Two queries.

    Travel to the pickup, credentials and breaks do not count: the dispatcher considers them when assigning.
    """
    starts_at = columns["pickup_at"]
    ends_at = timing.busy_until(starts_at, columns["estimated_minutes"])
    fitting = CapacityConfig.objects.filter(
        ambulatory__gte=columns["spaces_ambulatory"],
        wheelchair__gte=columns["spaces_wheelchair"],
        stretcher__gte=columns["spaces_stretcher"],
        vehicle__status=VehicleStatus.IN_SERVICE,
        **({"vehicle__bariatric": True} if columns["accommodation"]["bariatric"] else {}),
    )
    shifts = Shift.objects.filter(
        status=Shift.Status.PLANNED,
        starts_at__lte=starts_at,
        ends_at__gte=ends_at,
        vehicle__in=fitting.values("vehicle"),
    )
    on_shift = set(shifts.values_list("vehicle_id", flat=True))
    near = Ride.objects.open().filter(
        vehicle__in=on_shift, pickup_at__gt=starts_at - LONGEST_RIDE, pickup_at__lt=ends_at
    )
    busy = {
        vehicle_id
        for vehicle_id, pickup_at, minutes in near.values_list("vehicle_id", "pickup_at", "estimated_minutes")
        if timing.busy_until(pickup_at, minutes) > starts_at
    }
    return Availability(len(on_shift), len(on_shift - busy))
