"""Exceptions with one cause: a driver who runs late puts all of the driver's next rides at risk, and a ride without a
driver is unassigned, late, and a will-call that waits, all at once.

Each exception keeps its own events, counters and data scope.  Lists show one exception for each cause: the most severe
one, of several the one with the earliest pickup.  Computed when it is read, among the exceptions that
the reader sees, so that nothing has to be updated when a ride is reassigned or its exception settled.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from django.db.models import Case, IntegerField, OuterRef, Q, Subquery, Value, When

from apps.fleet.models import Driver
from apps.rides.models import Ride, RideException
from apps.rides.models.exception import RideExceptionQuerySet
from apps.rides.queries.driver_timelines import driver_timelines
from apps.rides.rules.exception_types import SEVERITY_RANK, WITHOUT_DRIVER
from lib.access import Principal

# Highest severity first: smaller numbers sort first.
BY_RANK: Final = Case(
    *(When(severity=severity, then=Value(-rank)) for severity, rank in SEVERITY_RANK.items()),
    output_field=IntegerField(),
)


class Cause(NamedTuple):
    """A driver who puts rides at risk: those that the reader sees, by pickup time, and the predicted lateness."""

    driver_name: str
    ride_ids: list[UUID]
    late_minutes: int


# Exceptions of a ride that has no driver, unless an absent driver is the cause.
_NO_DRIVER: Final = Q(
    cause_driver_id__isnull=True, ride__isnull=False, ride__driver__isnull=True, type__in=sorted(WITHOUT_DRIVER)
)


def one_per_cause(rows: RideExceptionQuerySet) -> RideExceptionQuerySet:
    """Keep one unsettled exception of those that have the same cause among `rows`, and all others."""
    unsettled = rows.unsettled().annotate(cause_rank=BY_RANK).order_by("cause_rank", "ride__pickup_at", "pk")
    of_driver = unsettled.filter(cause_driver_id=OuterRef("cause_driver_id")).values("pk")[:1]
    of_ride = unsettled.filter(_NO_DRIVER, ride_id=OuterRef("ride_id")).values("pk")[:1]
    has_cause = Q(status__in=["open", "acknowledged"]) & (Q(cause_driver_id__isnull=False) | _NO_DRIVER)
    return rows.filter(~has_cause | Q(pk=Subquery(of_driver)) | Q(pk=Subquery(of_ride)))


def same_cause(exception: RideException, by: Principal) -> RideExceptionQuerySet:
    """Return the other unsettled exceptions with the cause of this one, inside the data scope."""
    rows = RideException.objects.visible_to(by).unsettled().exclude(pk=exception.pk)
    if exception.resolved_at is not None:
        return rows.none()
    if exception.cause_driver_id is not None:
        return rows.filter(cause_driver_id=exception.cause_driver_id)
    if exception.ride_id is not None and exception.type in WITHOUT_DRIVER:
        return rows.filter(_NO_DRIVER, ride_id=exception.ride_id)
    return rows.none()


def types_without_driver(exceptions: Iterable[RideException], by: Principal) -> dict[UUID, list[str]]:
    """List the types of unsettled exceptions that rides have because they have no driver, by ride.  One query."""
    alone = [exception for exception in exceptions if exception.type in WITHOUT_DRIVER]
    ride_ids = {exception.ride_id for exception in alone if exception.ride_id is not None}
    rows = RideException.objects.visible_to(by).unsettled().filter(_NO_DRIVER, ride_id__in=ride_ids)
    types: dict[UUID, list[str]] = defaultdict(list)
    for ride_id, type_ in rows.annotate(rank=BY_RANK).order_by("rank", "pk").values_list("ride_id", "type"):
        if ride_id is not None:
            types[ride_id].append(type_)
    return types


def rides_at_risk(exceptions: Iterable[RideException], by: Principal) -> dict[UUID, list[UUID]]:
    """List the rides inside the data scope that each driver puts at risk.  One query, none without causes."""
    driver_ids = {exception.cause_driver_id for exception in exceptions if exception.resolved_at is None}
    rides: dict[UUID, list[UUID]] = defaultdict(list)
    if driver_ids - {None}:
        rows = RideException.objects.visible_to(by).unsettled().filter(cause_driver_id__in=driver_ids - {None})
        for driver_id, ride_id in rows.order_by("ride__pickup_at", "ride_id").values_list("cause_driver_id", "ride_id"):
            if driver_id is not None and ride_id is not None and ride_id not in rides[driver_id]:
                rides[driver_id].append(ride_id)
    return rides


def rides_of(causes: Iterable[Cause], *, by: Principal) -> list[Ride]:
    """Return the rides of causes with their riders, by pickup time.  One query, none without causes."""
    ride_ids = [ride_id for cause in causes for ride_id in cause.ride_ids]
    rides = Ride.objects.visible_to(by).filter(pk__in=ride_ids).select_related("rider")
    return list(rides.order_by("pickup_at", "pk")) if ride_ids else []


def causes_of(exceptions: Collection[RideException], *, by: Principal, at: datetime) -> dict[UUID, Cause]:
    """Describe the drivers who are the causes of unsettled exceptions, by driver.  Seven queries, none without causes.

    A caller who is limited to facilities reads first names only.
    """
    rides = rides_at_risk(exceptions, by)
    drivers = Driver.objects.in_bulk(rides)
    timelines = driver_timelines(list(rides), at=at)
    causes = {}
    for driver_id, ride_ids in rides.items():
        driver, predicted = drivers[driver_id], {ride.ride_id: ride for ride in timelines[driver_id].rides}
        late = [predicted[ride_id].late_minutes for ride_id in ride_ids if ride_id in predicted]
        name = driver.last_name if by.facility_ids is None else driver.first_name
        causes[driver_id] = Cause(name, ride_ids, max(late, default=0))
    return causes
