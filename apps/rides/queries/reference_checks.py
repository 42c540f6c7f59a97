"""Drivers and riders that a caller may refer to: the functions of lib/reference_checks.py."""

from collections.abc import Collection
from uuid import UUID

from apps.fleet.models import Driver
from apps.riders.models import Rider
from apps.rides.models import Ride
from lib.access import Principal


def drivers(ids: Collection[UUID], by: Principal) -> set[UUID]:
    return set(Driver.objects.visible_to(by).filter(pk__in=ids).values_list("pk", flat=True))


def riders(ids: Collection[UUID], by: Principal) -> set[UUID]:
    """List riders; a caller bound to providers sees those of its rides."""
    rows = Rider.objects.visible_to(by)
    if by.provider_ids is not None:
        rows = Rider.objects.filter(pk__in=Ride.objects.visible_to(by).values("rider_id"))
    return set(rows.filter(pk__in=ids).values_list("pk", flat=True))
