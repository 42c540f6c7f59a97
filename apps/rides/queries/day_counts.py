"""Counts of rides and exceptions of a day, for the home page."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count

from apps.rides.models import Ride, RideException
from apps.rides.queries.exception_causes import one_per_cause
from apps.rides.rules.exception_types import ExceptionSeverity
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal


@dataclass(frozen=True, slots=True)
class RideCounts:
    """Rides with a pickup in `[starts_at, ends_at)` by status in the sequence of the lifecycle; without zero counts."""

    starts_at: datetime
    ends_at: datetime
    by_status: list[tuple[RideStatus, int]]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.by_status)


def day(*, by: Principal, at: datetime) -> RideCounts:
    """Count the principal's rides of the local day that `at` lies in (its zone says which).  One query, by index."""
    starts_at = at.replace(hour=0, minute=0, second=0, microsecond=0)
    ends_at = (starts_at + timedelta(days=1)).replace(hour=0)
    rides = Ride.objects.visible_to(by).filter(pickup_at__gte=starts_at, pickup_at__lt=ends_at)
    counts = dict(rides.order_by().values_list("status").annotate(Count("pk")))
    return RideCounts(starts_at, ends_at, [(status, counts[status]) for status in RideStatus if status in counts])


def unsettled_exceptions(*, by: Principal) -> list[tuple[ExceptionSeverity, int]]:
    """Count the principal's open exceptions by severity, one for each cause, highest first.  One query."""
    exceptions = one_per_cause(RideException.objects.visible_to(by).unsettled())
    counts = dict(exceptions.order_by().values_list("severity").annotate(Count("pk")))
    return [(severity, counts[severity]) for severity in reversed(ExceptionSeverity) if severity in counts]
