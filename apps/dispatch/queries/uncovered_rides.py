"""Rides that the change of a shift would leave without a shift of their driver."""

import datetime as dt

from django.db.models import Exists, OuterRef

from apps.fleet.models import Shift
from apps.rides.models import RideQuerySet
from apps.rides.queries import assigned_rides
from lib.access import Principal


def left_without(shift: Shift, *, keeps: tuple[dt.datetime, dt.datetime] | None, by: Principal) -> RideQuerySet:
    """Return the driver's assigned rides during a planned shift that no shift of the driver would cover afterwards.

    `keeps` is the time for which the driver keeps the shift; None: the driver loses it.
    """
    rides = assigned_rides.for_driver(shift.driver_id, by=by)
    rides = rides.filter(pickup_at__gte=shift.starts_at, pickup_at__lt=shift.ends_at)
    if keeps is not None:
        rides = rides.exclude(pickup_at__gte=keeps[0], pickup_at__lt=keeps[1])
    other_shifts = Shift.objects.filter(driver_id=shift.driver_id, status=Shift.Status.PLANNED).exclude(pk=shift.pk)
    return rides.exclude(
        Exists(other_shifts.filter(starts_at__lte=OuterRef("pickup_at"), ends_at__gt=OuterRef("pickup_at")))
    )
