"""Ranks drivers for a ride: eligible ones, best first, then ineligible ones with the reasons."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Activation, Driver
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import gather
from apps.rides.queries.conflicts import hide_rides, rides_out_of_reach
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.eligibility import Violation, ViolationCode, ViolationKind, violations
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.ranking import approach, score
from apps.rides.rules.travel import Place
from lib.access import Principal
from lib.errors import NotFound
from lib.messages import Text

# Drivers checked for one ride; larger operators filter by provider.
MOST_DRIVERS: Final = 500
# Older positions are not used to estimate the way to the pickup.
LOCATION_GOOD_FOR: Final = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A driver for a ride.  `refused`: there is a hard violation; soft ones need an override.

    A second person that the ride needs is named with the assignment: `attendant_required` is no violation here.
    """

    driver_id: UUID
    driver_name: str
    provider_id: UUID
    vehicle_id: UUID | None
    vehicle_unit: str
    free_minutes: int | None
    miles: float | None
    shared_rides: int
    preferred: bool
    cost_minutes: float
    reason: Text
    attendant_required: bool
    violations: tuple[Violation, ...]

    @property
    def refused(self) -> bool:
        return any(violation.kind is ViolationKind.HARD for violation in self.violations)


def candidates(*, ride_id: UUID, by: Principal, at: datetime, provider_id: UUID | None = None) -> list[Candidate]:
    """Check and rank every driver inside the data scope, except former drivers.

    Six queries and round trips, however many drivers; one more where the caller does not see every ride.

    Raises:
        NotFound: the ride is not in the caller's reach.
    """
    ride = Ride.objects.visible_to(by).select_related("rider").filter(pk=ride_id).first()
    if ride is None:
        raise NotFound(_("ride"))
    needs = needs_of(ride, at=at)
    reach = Driver.objects.visible_to(by).exclude(activation=Activation.INACTIVE).filter(provider__active=True)
    if provider_id is not None:
        reach = reach.filter(provider_id=provider_id)
    drivers = list(reach.select_related("home_base").order_by("created_at", "id")[:MOST_DRIVERS])
    facts = gather(needs, drivers=drivers, at=at)
    shared = dict(
        Ride.objects.visible_to(by)
        .filter(rider_id=ride.rider_id, status=RideStatus.COMPLETED, driver__in=drivers)
        .values_list("driver_id")
        .annotate(rides=Count("pk"))
    )
    listed: list[Candidate] = []
    for driver in drivers:
        known = facts.drivers[driver.pk]
        vehicle_id = facts.vehicle_of.get(driver.pk)
        vehicle = None if vehicle_id is None else facts.vehicles[vehicle_id]
        everything = violations(needs, known, vehicle)
        found = [one for one in everything if one.code is not ViolationCode.ATTENDANT_REQUIRED]
        seen = last_seen(driver, needs.errand.span.starts_at)
        way = approach(needs, known, last_seen=seen, home_base=home_base(driver))
        times = shared.get(driver.pk, 0)
        weighed = score(needs, known, vehicle, way, shared_rides=times, violations=found)
        listed.append(
            Candidate(
                driver_id=driver.pk,
                driver_name=f"{driver.first_name} {driver.last_name}",
                provider_id=driver.provider_id,
                vehicle_id=vehicle_id,
                vehicle_unit=facts.units.get(vehicle_id, "") if vehicle_id is not None else "",
                free_minutes=way.free_minutes,
                miles=None if way.miles is None else round(way.miles, 1),
                shared_rides=times,
                preferred=driver.pk in needs.preferred_driver_ids,
                cost_minutes=weighed.cost_minutes,
                reason=weighed.reason,
                attendant_required=len(found) < len(everything),
                violations=tuple(found),
            )
        )
    hidden_ids = rides_out_of_reach((violation for one in listed for violation in one.violations), by)
    shown = [
        replace(one, violations=tuple(hide_rides(one.violations, hidden_ids, driver_id=one.driver_id)))
        for one in listed
    ]
    return sorted(shown, key=lambda one: (one.refused, one.cost_minutes, str(one.driver_id)))


def last_seen(driver: Driver, before: datetime) -> Place | None:
    """Return the last position of the driver, if it is recent enough before a pickup."""
    if driver.last_lat is None or driver.last_lng is None or driver.last_located_at is None:
        return None
    if driver.last_located_at < before - LOCATION_GOOD_FOR:
        return None
    return Place(float(driver.last_lat), float(driver.last_lng))


def home_base(driver: Driver) -> Place | None:
    """Return the position of the driver's home base, if it has one; the base is loaded with the driver."""
    base = driver.home_base
    return None if base is None or base.lat is None or base.lng is None else Place(float(base.lat), float(base.lng))
