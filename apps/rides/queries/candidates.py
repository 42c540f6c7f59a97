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
from lib.access import Principal
from lib.errors import NotFound
from lib.messages import Text
from lib.travel.places import Place

# Drivers checked for one ride; larger operators filter by provider.
MOST_DRIVERS: Final = 500
# Older positions are not used to estimate the way to the pickup.
LOCATION_GOOD_FOR: Final = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A driver for a ride.  `refused`: there is a hard violation; soft ones need an override.

    A needed attendant is assigned along with the driver: `attendant_required` is not a violation here.
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

    Six queries, for any number of drivers; one more if the caller does not see every ride.

    Raises:
        NotFound: the ride is outside the caller's data scope.
    """
    ride = Ride.objects.visible_to(by).select_related("rider").filter(pk=ride_id).first()
    if ride is None:
        raise NotFound(_("ride"))
    needs = needs_of(ride, at=at)
    eligible = Driver.objects.visible_to(by).exclude(activation=Activation.INACTIVE).filter(provider__active=True)
    if provider_id is not None:
        eligible = eligible.filter(provider_id=provider_id)
    drivers = list(eligible.select_related("home_base").order_by("created_at", "id")[:MOST_DRIVERS])
    facts = gather(needs, drivers=drivers, at=at)
    shared = dict(
        Ride.objects.visible_to(by)
        .filter(rider_id=ride.rider_id, status=RideStatus.COMPLETED, driver__in=drivers)
        .values_list("driver_id")
        .annotate(rides=Count("pk"))
    )
    ranked: list[Candidate] = []
    for driver in drivers:
        driver_facts = facts.drivers[driver.pk]
        vehicle_id = facts.vehicle_of.get(driver.pk)
        vehicle = None if vehicle_id is None else facts.vehicles[vehicle_id]
        all_violations = violations(needs, driver_facts, vehicle)
        relevant = [violation for violation in all_violations if violation.code is not ViolationCode.ATTENDANT_REQUIRED]
        seen = last_seen(driver, needs.slot.span.starts_at)
        route = approach(needs, driver_facts, last_seen=seen, home_base=home_base(driver))
        shared_count = shared.get(driver.pk, 0)
        ranking = score(needs, driver_facts, vehicle, route, shared_rides=shared_count, violations=relevant)
        ranked.append(
            Candidate(
                driver_id=driver.pk,
                driver_name=f"{driver.first_name} {driver.last_name}",
                provider_id=driver.provider_id,
                vehicle_id=vehicle_id,
                vehicle_unit=facts.units.get(vehicle_id, "") if vehicle_id is not None else "",
                free_minutes=route.free_minutes,
                miles=None if route.drive is None else round(route.drive.miles, 1),
                shared_rides=shared_count,
                preferred=driver.pk in needs.preferred_driver_ids,
                cost_minutes=ranking.cost_minutes,
                reason=ranking.reason,
                attendant_required=len(relevant) < len(all_violations),
                violations=tuple(relevant),
            )
        )
    hidden_ids = rides_out_of_reach((violation for candidate in ranked for violation in candidate.violations), by)
    visible = [
        replace(
            candidate, violations=tuple(hide_rides(candidate.violations, hidden_ids, driver_id=candidate.driver_id))
        )
        for candidate in ranked
    ]
    return sorted(visible, key=lambda candidate: (candidate.refused, candidate.cost_minutes, str(candidate.driver_id)))


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
