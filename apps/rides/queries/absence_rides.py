"""Rides that an absence of their driver affects."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q

from apps.rides.models import Assignment, Ride, RideQuerySet
from apps.rides.queries.ride_needs import slot_of
from apps.rides.rules.facts import Span
from apps.rides.rules.lifecycle import WITH_DRIVER, RideStatus
from lib.access import Principal

# Rides with an earlier pickup time were never closed; nobody waits for them.
_PAST: Final = timedelta(hours=24)


def assigned_to(driver_id: UUID, *, since: datetime) -> RideQuerySet:
    """Select the driver's rides on which they have not departed; which of them an absence meets says `meets`."""
    return Ride.objects.filter(driver_id=driver_id, status=RideStatus.ASSIGNED, pickup_at__gt=since - _PAST)


def offered_to(driver_id: UUID, *, since: datetime) -> RideQuerySet:
    """Select the rides with an open offer to the driver; which of them an absence meets says `meets`."""
    offers = Assignment.objects.filter(driver_id=driver_id, status=Assignment.Status.OFFERED)
    return Ride.objects.filter(pk__in=offers.values("ride_id"), pickup_at__gt=since - _PAST)


def meets(ride: Ride, away: Span, at: datetime) -> bool:
    """Return whether the ride needs its driver during the absence; an overdue ride needs its driver from now."""
    span = slot_of(ride, at=at).span
    return span.starts_at < away.ends_at and max(span.ends_at, at) >= away.starts_at


def freed_by(driver_id: UUID, away: Span, *, by: Principal, at: datetime) -> list[Ride]:
    """Return the rides in the data scope that an absence would free, soonest first.  One query."""
    return _affected(Q(driver_id=driver_id), {RideStatus.ASSIGNED}, away, by, at)


def needing_handover(driver_id: UUID, away: Span, *, by: Principal, at: datetime) -> list[Ride]:
    """Return the rides with the driver or attendant under way or at the rider, soonest first.  One query."""
    crew = Q(driver_id=driver_id) | Q(attendant_ids__contains=[driver_id])
    return _affected(crew, WITH_DRIVER - {RideStatus.ASSIGNED}, away, by, at)


def attended_by(driver_id: UUID, away: Span, *, by: Principal, at: datetime) -> list[Ride]:
    """Return the rides ahead that the driver was to attend, soonest first.  One query."""
    return _affected(Q(attendant_ids__contains=[driver_id]), {RideStatus.ASSIGNED}, away, by, at)


def soonest_first(rides: Collection[Ride] | RideQuerySet) -> list[Ride]:
    return sorted(rides, key=lambda ride: (ride.pickup_at, ride.pk))


def _affected(whose: Q, statuses: Collection[RideStatus], away: Span, by: Principal, at: datetime) -> list[Ride]:
    rows = Ride.objects.visible_to(by).filter(
        whose, status__in=sorted(statuses), pickup_at__gt=min(at, away.starts_at) - _PAST
    )
    return [ride for ride in soonest_first(rows.select_related("rider")) if meets(ride, away, at)]
