"""Ranks drivers for a ride: eligible ones, best first, then ineligible ones with the reasons."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Activation, Driver
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import gather
from apps.rides.queries.conflicts import hide_delays, hide_rides, unseen_rides
from apps.rides.queries.driver_timelines import drivers_on_duty, earliest
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.driver_timeline import UNKNOWN_LOCATION, Delay, DriverNow, Location, insert
from apps.rides.rules.eligibility import Violation, ViolationCode, violations
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.ranking import Prospect, Reason, order, place_label, reasons
from lib.access import Principal
from lib.errors import NotFound

# Drivers checked for one ride; larger operators filter by provider.
MOST_DRIVERS: Final = 500
# Rides so long after this one can still be delayed by it.
DELAYS_WITHIN: Final = timedelta(hours=12)
# Where drivers are now says nothing about a ride that has taken place.
_ELSEWHERE: Final = DriverNow(UNKNOWN_LOCATION)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A driver for a ride.  `refused`: there is a hard violation; soft ones need an override.

    A needed attendant is assigned along with the driver: `attendant_required` is not a violation here.  Predicted times
    are never before now; all are None if the driver's location is not known.  `free_minutes`: from then until the
    pickup time, negative if the driver is busy at that time.
    """

    driver_id: UUID
    driver_name: str
    provider_id: UUID
    vehicle_id: UUID | None
    vehicle_unit: str
    available_at: datetime | None
    available_from: Location | None
    predicted_pickup_at: datetime | None
    late_minutes: int | None
    added_drive_minutes: float | None
    free_minutes: int | None
    miles: float | None
    delays: tuple[Delay, ...]
    shared_rides: int
    preferred: bool
    reasons: tuple[Reason, ...]
    attendant_required: bool
    refused: bool
    violations: tuple[Violation, ...]


def candidates(
    *, ride_id: UUID, by: Principal, at: datetime, provider_id: UUID | None = None, limit: int | None = None
) -> list[Candidate]:
    """Check and rank every driver inside the data scope, except former drivers; return the first `limit`.

    Nothing is predicted for a ride that is recorded after the fact.  Thirteen queries, for any number of drivers; one
    more if the caller does not see every ride.

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
    facts = gather(needs, drivers=drivers, at=at, since=earliest(at))
    present = drivers_on_duty(drivers, at=at, until=needs.slot.span.ends_at + DELAYS_WITHIN, rides=facts.rides)
    shared = dict(
        Ride.objects.visible_to(by)
        .filter(rider_id=ride.rider_id, status=RideStatus.COMPLETED, driver__in=drivers)
        .values_list("driver_id")
        .annotate(rides=Count("pk"))
    )
    ranked: list[tuple[tuple[object, ...], Candidate]] = []
    for driver in drivers:
        vehicle_id = facts.vehicle_of.get(driver.pk)
        vehicle = None if vehicle_id is None else facts.vehicles[vehicle_id]
        all_violations = violations(needs, facts.drivers[driver.pk], vehicle)
        relevant = [violation for violation in all_violations if violation.code is not ViolationCode.ATTENDANT_REQUIRED]
        prospect = Prospect(
            insertion=insert(
                needs.slot, _ELSEWHERE if ride.after_the_fact else _without(present[driver.pk], ride.pk), at=at
            ),
            vehicle=vehicle,
            shared_rides=shared.get(driver.pk, 0),
            preferred=driver.pk in needs.preferred_driver_ids,
            violations=relevant,
        )
        insertion = prospect.insertion
        is_predicted = insertion.pickup_at is not None and insertion.approach is not None
        candidate = Candidate(
            driver_id=driver.pk,
            driver_name=f"{driver.first_name} {driver.last_name}",
            provider_id=driver.provider_id,
            vehicle_id=vehicle_id,
            vehicle_unit=facts.units.get(vehicle_id, "") if vehicle_id is not None else "",
            available_at=insertion.available_at if is_predicted else None,
            available_from=_labeled(insertion.available_from) if is_predicted else None,
            predicted_pickup_at=insertion.pickup_at if is_predicted else None,
            late_minutes=insertion.late_minutes if is_predicted else None,
            added_drive_minutes=insertion.added_drive_minutes if is_predicted else None,
            free_minutes=_minutes(needs.slot.span.starts_at - insertion.available_at) if is_predicted else None,
            miles=None if insertion.approach is None else round(insertion.approach.miles, 1),
            delays=insertion.delays,
            shared_rides=prospect.shared_rides,
            preferred=prospect.preferred,
            reasons=tuple(reasons(prospect, needs, zone=ride.timezone, at=at)),
            attendant_required=len(relevant) < len(all_violations),
            refused=prospect.refused,
            violations=tuple(relevant),
        )
        ranked.append(((*order(prospect, needs), str(driver.pk)), candidate))
    ranked.sort(key=_key)
    return _visible([candidate for _key_, candidate in ranked[:limit]], by)


def _key(row: tuple[tuple[object, ...], Candidate]) -> tuple[object, ...]:
    return row[0]


def _labeled(location: Location) -> Location:
    return replace(location, label=place_label(location))


def _minutes(length: timedelta) -> int:
    return int(length.total_seconds() // 60)


def _without(driver: DriverNow, ride_id: UUID) -> DriverNow:
    """Leave the ride itself out, which its present driver has already."""
    return replace(driver, rides=tuple(ride for ride in driver.rides if ride.slot.ride_id != ride_id))


def _visible(ranked: Iterable[Candidate], by: Principal) -> list[Candidate]:
    """Hide the rides of others that the caller cannot see: those in conflict, and those that are delayed."""
    rows = list(ranked)
    subjects = {violation.subject_id for row in rows for violation in row.violations}
    subjects |= {delay.ride_id for row in rows for delay in row.delays if delay.ride_id is not None}
    hidden_ids = unseen_rides(subjects, by)
    if not hidden_ids:
        return rows
    return [
        replace(
            row,
            violations=tuple(hide_rides(row.violations, hidden_ids, driver_id=row.driver_id)),
            delays=tuple(hide_delays(row.delays, hidden_ids)),
        )
        for row in rows
    ]
