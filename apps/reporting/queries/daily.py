"""The summary of one day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Q, QuerySet

from apps.reporting.queries import reading
from apps.reporting.queries.breakdowns import Counted, breakdown
from apps.reporting.queries.figures import Figure, figures_of, shown_amounts, shown_to, total
from apps.reporting.queries.reading import Progress
from apps.reporting.queries.reports import measures_of
from apps.reporting.queries.restatements import Restated, restatements
from apps.reporting.queries.selection import Selection
from apps.reporting.queries.sums import sums
from apps.reporting.rules.defining import CANCELLED, NO_SHOW, UNFULFILLED
from apps.reporting.rules.definitions import BY_KEY
from apps.reporting.rules.facts import OPEN
from apps.rides.models import Ride, RideException
from lib.access import Principal
from lib.replica import alias

_AHEAD: Final = timedelta(hours=24)
TOP_REASONS: Final = 5
FIGURES: Final = (
    "fulfillmentRate",
    "completionRate",
    "pickupOnTimeRate",
    "appointmentOnTimeRate",
    "willCallResponse",
    "dischargeReadyToDepart",
)
# Every status, and the measures that add up to it.
_STATUSES: Final[Mapping[str, tuple[str, ...]]] = {
    **{status: (status,) for status in OPEN},
    "completed": ("completed",),
    "cancelled": ("not_booked", *CANCELLED),
    "no_show": NO_SHOW,
    "unfulfilled": UNFULFILLED,
}


@dataclass(frozen=True, slots=True)
class Now:
    """What waits at this moment, whatever the day of the summary; None: too few for the caller to see.

    `as_of` is the moment up to which the database that was read knows everything; None: it cannot tell.
    """

    open_exceptions: Mapping[str, int | None]  # by severity
    unassigned_next_24_hours: int | None
    will_calls_waiting: int | None
    as_of: datetime | None


@dataclass(frozen=True, slots=True)
class Summary:
    """One day: rides by status, figures, the commonest reasons, and what waits now."""

    statuses: Mapping[str, int | None]
    figures: Mapping[str, Figure]
    top_reasons: list[Counted]
    now: Now
    restatements: list[Restated]
    progress: Progress


def daily_summary(*, by: Principal, selection: Selection, at: datetime) -> Summary:
    """Summarize the days of the selection, usually one.  Three queries of rollups, and three of what is open now.

    One more asks how old what is open is.
    """
    progress = reading.progress()
    definitions = [BY_KEY[key] for key in FIGURES]
    names = measures_of(definitions) | {name for measures in _STATUSES.values() for name in measures}
    found = sums(selection, names)[()]
    statuses = {status: total(measures, found) for status, measures in _STATUSES.items()}
    return Summary(
        statuses=shown_amounts(by, statuses),
        figures={key: shown_to(by, figure) for key, figure in figures_of(definitions, found).items()},
        top_reasons=breakdown(by=by, selection=selection, what="reason", most=TOP_REASONS),
        now=_now(by, selection, at),
        restatements=restatements(by=by, selection=selection),
        progress=progress,
    )


def _now(by: Principal, selection: Selection, at: datetime) -> Now:
    as_of = reading.known_until()  # before the counts: they know at least that
    rides = _of(Ride.objects.using(alias()).visible_to(by), selection, "")
    unsettled = RideException.objects.using(alias()).visible_to(by).unsettled().filter(ride__isnull=False)
    severities = _of(unsettled, selection, "ride__").values_list("severity").annotate(amount=Count("pk"))
    exceptions = {"info": 0, "warning": 0, "critical": 0} | dict(severities)
    # Few rides are open; without this the two counts would read all that ever were.
    waiting = rides.filter(status__in=["scheduled", "assigned", "en_route"]).aggregate(
        unassigned=Count("pk", filter=Q(status="scheduled", pickup_at__gte=at, pickup_at__lt=at + _AHEAD)),
        will_calls=Count(
            "pk",
            filter=Q(will_call=True, ready_at__isnull=False),
        ),
    )
    counts = shown_amounts(by, waiting)
    return Now(shown_amounts(by, exceptions), counts["unassigned"], counts["will_calls"], as_of)


def _of(rows: QuerySet[Any], selection: Selection, ride: str) -> QuerySet[Any]:
    """Keep what the selection asks for, but for its days."""
    if selection.facility_ids is not None:
        rows = rows.filter(**{f"{ride}facility_id__in": selection.facility_ids})
    if selection.provider_ids is not None:
        rows = rows.filter(**{f"{ride}provider_id__in": selection.provider_ids})
    if selection.service_types:
        rows = rows.filter(**{f"{ride}service_type__in": selection.service_types})
    return rows
