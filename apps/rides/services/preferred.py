"""The first step of the ladder: whom a rider prefers is asked before anybody else.

An offer goes to drivers who may say no.  An employee is not asked but told, and that is for a dispatcher to do.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from apps.fleet.models import Activation, Driver, Employment
from apps.rides.models import Assignment, Ride
from apps.rides.queries.assignment_facts import gather
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.eligibility import violations
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment
from apps.rides.services.status import locked
from lib.access import Principal
from lib.errors import DomainError

_METHOD: Final = Assignment.Method.PREFERRED_DRIVER


def wished_for(ride_ids: Collection[UUID]) -> list[UUID]:
    """Keep the rides whose rider, or order, prefers some drivers.  One query, none for no rides."""
    if not ride_ids:
        return []
    wished = ~Q(preferred_driver_ids=[]) | ~Q(rider__preferred_driver_ids=[])
    return list(Ride.objects.filter(wished, pk__in=ride_ids).order_by("pk").values_list("pk", flat=True))


def offer(ride_id: UUID, *, since: datetime, by: Principal, at: datetime) -> int:
    """Offer a ride to every preferred driver against whom nothing stands; answer how many were asked.

    Who has been asked since `since` is not asked again.  Each offer is a transaction of its own, as each locks a driver
    and a vehicle.
    """
    ride = Ride.objects.select_related("rider").get(pk=ride_id)
    needs = needs_of(ride, at=at)
    wanted = Driver.objects.filter(pk__in=needs.preferred_driver_ids, activation=Activation.ACTIVE)
    drivers = list(wanted.filter(provider__active=True).exclude(employment=Employment.EMPLOYEE).order_by("pk"))
    facts = gather(needs, drivers=drivers, at=at)
    asked = 0
    for driver in drivers:
        vehicle_id = facts.vehicle_of.get(driver.pk)
        vehicle = None if vehicle_id is None else facts.vehicles[vehicle_id]
        if vehicle_id is not None and not violations(needs, facts.drivers[driver.pk], vehicle):
            asked += _ask(ride_id, driver.pk, vehicle_id, since=since, by=by, at=at)
    return asked


def _ask(ride_id: UUID, driver_id: UUID, vehicle_id: UUID, *, since: datetime, by: Principal, at: datetime) -> bool:
    try:
        with transaction.atomic():
            ride = locked(ride_id, by)
            before = Assignment.objects.filter(ride=ride, driver_id=driver_id, method=_METHOD, offered_at__gte=since)
            if ride.status != RideStatus.SCHEDULED or before.exists():
                return False
            crew: dict[str, Any] = {"driver_id": driver_id, "vehicle_id": vehicle_id}
            assignment.assign(ride_id=ride_id, **crew, method=_METHOD, offer=True, by=by, at=at)
    except DomainError:  # somebody has given them another ride in between, or changed this one: others are asked still
        return False
    return True
