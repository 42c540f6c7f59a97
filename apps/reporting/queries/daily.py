"""The summary of one day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Q, QuerySet

from apps.reporting.queries import freshness
from apps.reporting.queries.breakdowns import CategoryCount, breakdown
from apps.reporting.queries.figures import Figure, figures_of, total, visible_counts, visible_to_caller
from apps.reporting.queries.freshness import Progress
from apps.reporting.queries.reports import measures_of
from apps.reporting.queries.restatements import Restated, restatements
from apps.reporting.queries.selection import Selection
from apps.reporting.queries.sums import sums
from apps.reporting.rules.facts import OPEN
from apps.reporting.rules.kpis import CANCELLED, KPI_BY_KEY, NO_SHOW, UNFULFILLED
from apps.rides.models import Ride, RideException
from lib.access import Principal
from lib.replica import alias

_AHEAD: Final = timedelta(hours=24)
TOP_REASONS: Final = 5
KPI_KEYS: Final = (
    "fulfillmentRate",
    "completionRate",
    "pickupOnTimeRate",
    "appointmentOnTimeRate",
    "willCallResponse",
    "dischargeReadyToDepart",
)
# The measures that add up to each status.
STATUSES: Final[Mapping[str, tuple[str, ...]]] = {
    **{status: (status,) for status in OPEN},
    "completed": ("completed",),
    "cancelled": ("not_booked", *CANCELLED),
    "no_show": NO_SHOW,
    "unfulfilled": UNFULFILLED,
}


@dataclass(frozen=True, slots=True)
class Now:
    """Open work at this moment, for any day of the summary; None: too few for the caller to see.

    `as_of` is the time up to which the database that was read has all rides; None: unknown.
    """

    open_exceptions: Mapping[str, int | None]  # by severity
    unassigned_next_24_hours: int | None
    will_calls_waiting: int | None
    as_of: datetime | None


@dataclass(frozen=True, slots=True)
class Summary:
    """One day: rides by status, KPIs, the most frequent reasons, and open work now."""

    statuses: Mapping[str, int | None]
    figures: Mapping[str, Figure]
    top_reasons: list[CategoryCount]
    now: Now
    restatements: list[Restated]
    progress: Progress


def daily_summary(*, by: Principal, selection: Selection, at: datetime) -> Summary:
    """Summarize the days of the selection, usually one.

    Three queries of rollups, and four of open rides, exceptions and freshness.
    """
    progress = freshness.progress()
    kpis = [KPI_BY_KEY[key] for key in KPI_KEYS]
    names = measures_of(kpis) | {name for measures in STATUSES.values() for name in measures}
    measures = sums(selection, names)[()]
    statuses = {status: total(names, measures) for status, names in STATUSES.items()}
    return Summary(
        statuses=visible_counts(by, statuses),
        figures={key: visible_to_caller(by, figure) for key, figure in figures_of(kpis, measures).items()},
        top_reasons=breakdown(by=by, selection=selection, dimension="reason", limit=TOP_REASONS),
        now=_open_work(by, selection, at),
        restatements=restatements(by=by, selection=selection),
        progress=progress,
    )


def _open_work(by: Principal, selection: Selection, at: datetime) -> Now:
    # Read before the counts, so that they include at least everything up to `as_of`.
    as_of = freshness.rides_known_until()
    rides = _of(Ride.objects.using(alias()).visible_to(by), selection, "")
    unsettled = RideException.objects.using(alias()).visible_to(by).unsettled().filter(ride__isnull=False)
    severities = _of(unsettled, selection, "ride__").values_list("severity").annotate(amount=Count("pk"))
    exceptions = {"info": 0, "warning": 0, "critical": 0} | dict(severities)
    # Uses the index of open rides; without this condition the two counts would read all rides.
    waiting = rides.filter(status__in=["scheduled", "assigned", "en_route"]).aggregate(
        unassigned=Count("pk", filter=Q(status="scheduled", pickup_at__gte=at, pickup_at__lt=at + _AHEAD)),
        will_calls=Count(
            "pk",
            filter=Q(will_call=True, ready_at__isnull=False),
        ),
    )
    counts = visible_counts(by, waiting)
    return Now(visible_counts(by, exceptions), counts["unassigned"], counts["will_calls"], as_of)


def _of(rows: QuerySet[Any], selection: Selection, ride: str) -> QuerySet[Any]:
    """Filter rows by the selection, except for its days."""
    if selection.facility_ids is not None:
        rows = rows.filter(**{f"{ride}facility_id__in": selection.facility_ids})
    if selection.provider_ids is not None:
        rows = rows.filter(**{f"{ride}provider_id__in": selection.provider_ids})
    if selection.service_types:
        rows = rows.filter(**{f"{ride}service_type__in": selection.service_types})
    return rows
