"""What the next dispatcher has to know: who and what is out, which promises are at risk, what has changed."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Prefetch

from apps.dispatch.models import Handover
from apps.dispatch.queries.board import BoardRide, DriverRow, awaits_release, board
from apps.dispatch.rules.axis import Axis, service_day
from apps.events.models import Event
from apps.fleet.models import Driver, Leave, Vehicle, VehicleOutage, VehicleStatus
from lib.access import Principal
from lib.ids import oldest_of

AT_RISK_WITHIN: Final = dt.timedelta(hours=2)
# Absences that begin later are for the dispatcher after the next.
OUT_WITHIN: Final = dt.timedelta(hours=12)
# Changes are counted since the last sign-off, at most a day; without one, since a shift's length ago.
LAST_SHIFT: Final = dt.timedelta(hours=8)
LONGEST: Final = dt.timedelta(hours=24)
CHANGES: Final = (
    "ride.scheduled",
    "ride.rescheduled",
    "ride.driver_assigned",
    "ride.driver_unassigned",
    "ride.cancelled",
    "ride.no_show",
    "ride.unfulfilled",
    "ride.completed",
)
RECENT: Final = 5  # sign-offs on the page


@dataclass(frozen=True, slots=True)
class RiskyRide:
    """A ride whose promise is at risk, with its driver's row; None: it has no driver."""

    board_ride: BoardRide
    row: DriverRow | None


@dataclass(frozen=True, slots=True)
class HandoverFacts:
    """The state of the desk at an instant; `changes` counts events by type since `since`.

    `vehicles` have their open outages loaded.
    """

    absences: list[Leave]
    vehicles: list[Vehicle]
    at_risk: list[RiskyRide]
    will_calls: list[BoardRide]
    since: dt.datetime
    changes: Mapping[str, int]
    sign_offs: list[Handover]


def handover_facts(zone: str, *, by: Principal, at: dt.datetime) -> HandoverFacts:
    """Read what a handover shows, within the caller's data scope.  The queries of a board and five more."""
    sign_offs = list(Handover.objects.order_by("-signed_at")[:RECENT])
    since = max(sign_offs[0].signed_at, at - LONGEST) if sign_offs else at - LAST_SHIFT
    drivers = Driver.objects.visible_to(by)
    absences = Leave.objects.filter(driver__in=drivers, ends_at__gt=at, starts_at__lt=at + OUT_WITHIN)
    vehicles = Vehicle.objects.visible_to(by).exclude(status__in=[VehicleStatus.IN_SERVICE, VehicleStatus.RETIRED])
    outages = Prefetch("outages", VehicleOutage.objects.filter(ends_at__gt=at).order_by("-reported_at"))
    today = board(Axis(service_day(at, zone), zone), by=by, at=at)
    soon = at + AT_RISK_WITHIN
    waiting = [
        RiskyRide(each, None)
        for each in today.waiting
        if not awaits_release(each.ride) and each.slot.span.starts_at < soon
    ]
    late = [
        RiskyRide(each, row)
        for row in today.rows
        for each in row.rides
        if each.late and each.slot.span.starts_at < soon
    ]
    # Ids rise with the time of recording, so that the primary key narrows the events down.
    events = Event.objects.visible_to(by).filter(id__gte=oldest_of(since), occurred_at__gte=since, type__in=CHANGES)
    return HandoverFacts(
        absences=list(absences.select_related("driver").order_by("starts_at", "id")),
        vehicles=list(vehicles.prefetch_related(outages).order_by("unit_number", "id")),
        at_risk=sorted(
            [*waiting, *late], key=lambda risky: (risky.board_ride.slot.latest_pickup_at, risky.board_ride.ride.pk)
        ),
        will_calls=[each for each in today.waiting if awaits_release(each.ride)],
        since=since,
        changes=dict(events.order_by().values_list("type").annotate(count=Count("pk"))),
        sign_offs=sign_offs,
    )
