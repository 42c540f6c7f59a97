"""Reports as integrators read them."""

from datetime import datetime
from typing import Any, ClassVar, Final
from uuid import UUID

from apps.reporting.api.drill_down_urls import DrillDownUrls, RowUrls
from apps.reporting.kpi_labels import EXCLUSION_TEXTS, KPI_TEXTS
from apps.reporting.queries.breakdowns import CategoryCount
from apps.reporting.queries.daily import Summary
from apps.reporting.queries.drill_down import Count, DrillDownRide
from apps.reporting.queries.figures import Figure, as_json
from apps.reporting.queries.freshness import Progress
from apps.reporting.queries.reports import FacilityReport, FacilityRow, Figures, Point, Trend
from apps.reporting.queries.restatements import Restated
from apps.reporting.queries.utilization import WorkerUtilization
from apps.reporting.rules.kpis import Kpi
from lib.api import fields
from lib.api.fields import instant_text
from lib.api.serializers import OutShape
from lib.api.unpaginated import WholePageOut

AS_OF: Final = "Everything recorded before this time is included; null if the database replica does not report it."
_EXCLUDED: Final = {"not_booked": 12, "cancelled": 31, "no_show": 9, "not_ended": 0}


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else instant_text(moment)


def _id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


class FigureOut(OutShape):
    """The value of a KPI, and the counts it is computed from."""

    key = fields.Text(help_text="The key of the KPI.")
    value = fields.Number(allow_null=True, help_text="Null if there is nothing to count, or the value is suppressed.")
    numerator = fields.Integer(allow_null=True, help_text="Null for medians and percentiles.")
    denominator = fields.Integer(allow_null=True, help_text="For medians and percentiles, the number of values.")
    excluded = fields.Anything(help_text="Numbers of excluded rides, by reason.")
    parts = fields.Anything(
        help_text="Values of the same kind for some of the rides, by name, each with a link to its rides."
    )
    suppressed = fields.Boolean(
        help_text="True if it is based on fewer than five rides and the caller has no PHI level."
    )
    rides = fields.Text(
        allow_null=True,
        help_text="URL of the rides in the denominator; add counted=numerator, or counted=excluded and a reason, for "
        "others. Null if suppressed, for more than 92 days, and for rides without a facility or provider.",
    )
    definition_version = fields.Text()
    as_of = fields.Instant(allow_null=True, help_text="Everything recorded before this time is included.")

    example: ClassVar[dict[str, Any]] = {
        "key": "fulfillmentRate",
        "value": 0.9652,
        "numerator": 832,
        "denominator": 862,
        "excluded": _EXCLUDED,
        "parts": {},
        "suppressed": False,
        "rides": "/api/reports/rides?kpi=fulfillmentRate&from=2026-11-01&to=2026-11-30",
        "definitionVersion": "kpi-1",
    }


def figure_json(figure: Figure, progress: Progress, urls: RowUrls) -> dict[str, Any]:
    """Return the JSON of a figure, the same in every answer."""
    values = as_json(figure)
    parts = {name: {**part, "rides": urls.of_part(figure, name)} for name, part in values["parts"].items()}
    return {
        "key": figure.kpi.key,
        **values,
        "parts": parts,
        "rides": urls.of(figure),
        "definitionVersion": figure.kpi.version,
        "asOf": _instant(progress.as_of),
    }


def _figures(figures: Figures, progress: Progress, urls: RowUrls) -> list[dict[str, Any]]:
    return [figure_json(figure, progress, urls) for figure in figures.values()]


class ChangeOut(OutShape):
    """A measure of a closed day: the value when it was closed, and the value now."""

    measure = fields.Text()
    closed = fields.Integer(allow_null=True)
    current = fields.Integer(allow_null=True)


class RestatementOut(OutShape):
    """A facility day whose figures have changed since it was closed, and the causes."""

    service_date = fields.LocalDate()
    facility_id = fields.Uuid(allow_null=True)
    changes = ChangeOut(many=True)
    at = fields.Instant(allow_null=True, help_text="Time of the last change.")
    event_ids = fields.List(child=fields.Uuid())
    ride_ids = fields.List(child=fields.Uuid())


def _restated(restatements: list[Restated]) -> list[dict[str, Any]]:
    return [
        {
            "serviceDate": restated.service_date.isoformat(),
            "facilityId": _id(restated.facility_id),
            "changes": [
                {"measure": change.measure, "closed": change.closed, "current": change.current}
                for change in restated.changes
            ],
            "at": _instant(restated.at),
            "eventIds": [str(event) for event in restated.event_ids],
            "rideIds": [str(ride) for ride in restated.ride_ids],
        }
        for restated in restatements
    ]


class ProgressOut(OutShape):
    """How far the figures are up to date."""

    as_of = fields.Instant(allow_null=True, help_text="Null while older rides are still being backfilled.")
    backfilled_from = fields.LocalDate(
        allow_null=True, help_text="Earlier days are not backfilled yet; null if all days are."
    )
    closed_through = fields.LocalDate(allow_null=True, help_text="This day and all earlier days are closed.")


def _progress(progress: Progress) -> dict[str, Any]:
    days = {"backfilledFrom": progress.backfilled_from, "closedThrough": progress.closed_through}
    return {
        "asOf": _instant(progress.as_of),
        **{name: None if day is None else day.isoformat() for name, day in days.items()},
    }


class CategoryCountOut(OutShape):
    """The number of ended rides, or of exceptions, of one category."""

    category = fields.Text(help_text="Final status of the rides, or severity of the exceptions.")
    code = fields.Text(help_text="Reason, fault, or type of the exceptions.")
    amount = fields.Integer(allow_null=True)
    rides = fields.Text(allow_null=True, help_text="URL of these rides, or of the rides of these exceptions.")


def counted_json(dimension: str, counts: list[CategoryCount], urls: RowUrls) -> list[dict[str, Any]]:
    return [
        {
            "category": count.category,
            "code": count.code,
            "amount": count.amount,
            "rides": urls.of_count(Count(dimension, count.category, count.code), count.amount),
        }
        for count in counts
    ]


class NowOut(OutShape):
    """Open work at this moment."""

    open_exceptions = fields.Anything(help_text="By severity.")
    unassigned_next_24_hours = fields.Integer(allow_null=True)
    will_calls_waiting = fields.Integer(allow_null=True, help_text="Marked ready, and no vehicle has arrived yet.")
    as_of = fields.Instant(allow_null=True, help_text=AS_OF)


class SummaryOut(OutShape):
    """Summary of one day."""

    statuses = fields.Anything(help_text="Rides by status.")
    status_rides = fields.Anything(
        help_text="URLs of these rides, by status; null if there are none, or too few to show."
    )
    figures = FigureOut(many=True)
    top_reasons = CategoryCountOut(many=True)
    now = NowOut()
    restatements = RestatementOut(many=True)
    progress = ProgressOut()

    def to_representation(self, summary: Summary) -> dict[str, Any]:
        urls: RowUrls = self.context["drill_down_urls"].for_selection()
        return {
            "statuses": dict(summary.statuses),
            "statusRides": {
                status: urls.of_count(Count("status", status), amount) for status, amount in summary.statuses.items()
            },
            "figures": _figures(summary.figures, summary.progress, urls),
            "topReasons": counted_json("reason", summary.top_reasons, urls),
            "now": {
                "openExceptions": dict(summary.now.open_exceptions),
                "unassignedNext24Hours": summary.now.unassigned_next_24_hours,
                "willCallsWaiting": summary.now.will_calls_waiting,
                "asOf": _instant(summary.now.as_of),
            },
            "restatements": _restated(summary.restatements),
            "progress": _progress(summary.progress),
        }


class FacilityFiguresOut(OutShape):
    """The figures of one facility."""

    facility_id = fields.Uuid(allow_null=True, help_text="Null: rides without a facility.")
    facility_name = fields.Text()
    figures = FigureOut(many=True)
    before = FigureOut(many=True, help_text="Of the preceding period of the same length.")


class FacilityKpisOut(OutShape):
    """The figures of each facility, and of all of them together."""

    data = FacilityFiguresOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    total = FigureOut(many=True)
    total_before = FigureOut(many=True)
    restatements = RestatementOut(many=True)
    progress = ProgressOut()

    def to_representation(self, report: FacilityReport) -> dict[str, Any]:
        links: DrillDownUrls = self.context["drill_down_urls"]
        return {
            "data": [self._row(row, report.progress, links) for row in report.rows],
            "total": _figures(report.total, report.progress, links.for_selection()),
            "totalBefore": _figures(report.total_before, report.progress, links.before()),
            "restatements": _restated(report.restatements),
            "progress": _progress(report.progress),
        }

    @staticmethod
    def _row(row: FacilityRow, progress: Progress, links: DrillDownUrls) -> dict[str, Any]:
        return {
            "facilityId": _id(row.facility_id),
            "facilityName": row.name,
            "figures": _figures(row.figures, progress, links.facility(row.facility_id)),
            "before": _figures(row.before, progress, links.facility(row.facility_id, before=True)),
        }


class PointOut(OutShape):
    """The figures of one bucket."""

    key = fields.List(
        child=fields.Text(),
        help_text="The day, or first day of the week or month; or weekday (Monday 1) and hour, pattern, shift, or id.",
    )
    name = fields.Text(allow_null=True, help_text="Name of the facility or provider if the key is its id.")
    figures = FigureOut(many=True)


class LineOut(OutShape):
    """The figures of one facility, in the buckets in which it has rides."""

    facility_id = fields.Uuid()
    facility_name = fields.Text()
    points = PointOut(many=True)


class TrendOut(OutShape):
    """Figures over time, or by hour of the week, dialysis days, facility, provider, or service type."""

    by = fields.Text()
    data = PointOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    lines = LineOut(many=True, help_text="With each=facility.")
    restatements = RestatementOut(many=True)
    progress = ProgressOut()

    def to_representation(self, trend: Trend) -> dict[str, Any]:
        return {
            "by": trend.by,
            "data": [self._point(point, trend, None) for point in trend.points],
            "lines": [
                {
                    "facilityId": str(line.facility_id),
                    "facilityName": line.name,
                    "points": [self._point(point, trend, line.facility_id) for point in line.points],
                }
                for line in trend.lines
            ],
            "restatements": _restated(trend.restatements),
            "progress": _progress(trend.progress),
        }

    def _point(self, point: Point, trend: Trend, facility_id: UUID | None) -> dict[str, Any]:
        urls = self.context["drill_down_urls"].bucket(trend.by, point.key, facility_id)
        key = [None if part is None else str(part) for part in point.key]
        name = trend.names.get(point.key[0])
        return {"key": key, "name": name, "figures": _figures(point.figures, trend.progress, urls)}


class BreakdownOut(OutShape):
    """Counts by category, highest first."""

    dimension = fields.Text()
    data = CategoryCountOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    progress = ProgressOut()

    def to_representation(self, answer: tuple[str, list[CategoryCount], Progress]) -> dict[str, Any]:
        dimension, counts, progress = answer
        urls = self.context["drill_down_urls"].for_selection()
        return {
            "dimension": dimension,
            "data": counted_json(dimension, counts, urls),
            "progress": _progress(progress),
        }


class DefinitionOut(OutShape):
    """A KPI definition: its question, and the rides that it counts."""

    key = fields.Text()
    version = fields.Text()
    title = fields.Text()
    question = fields.Text()
    unit = fields.Text()
    population = fields.Text(help_text="What the denominator counts.")
    counted = fields.Text(help_text="What the numerator counts, or the value measures.")
    quantile = fields.Number(allow_null=True, help_text="0.5 for a median; null for rates and means.")
    numerator = fields.List(child=fields.Text(), help_text="Measures that are added up.")
    denominator = fields.List(child=fields.Text())
    excluded = fields.Anything(help_text="Descriptions of the exclusions, by key.")
    parts = fields.Anything(help_text="Titles of the parts, by name.")
    higher_is_better = fields.Boolean(allow_null=True)

    def to_representation(self, kpi: Kpi) -> dict[str, Any]:
        text = KPI_TEXTS[kpi.key]
        return {
            "key": kpi.key,
            "version": kpi.version,
            "title": str(text.title),
            "question": str(text.question),
            "unit": kpi.unit.value,
            "population": str(text.population),
            "counted": str(text.counted),
            "quantile": None if kpi.denominator else kpi.quantile,
            "numerator": list(kpi.numerator),
            "denominator": list(kpi.denominator),
            "excluded": {reason: str(EXCLUSION_TEXTS[reason]) for reason in kpi.excluded},
            "parts": {name: str(title) for name, title in text.parts.items()},
            "higherIsBetter": kpi.higher_is_better,
        }


class DefinitionsOut(OutShape):
    """All KPI definitions."""

    data = DefinitionOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    page = WholePageOut()


class DrillDownRideOut(OutShape):
    """A ride behind a figure or a count."""

    ride_id = fields.Uuid()
    service_date = fields.LocalDate()
    facility_id = fields.Uuid(allow_null=True)
    pickup_time = fields.Instant()
    status = fields.Text()
    measures = fields.List(
        child=fields.Text(), help_text="Measures that count the ride, including those of the numerator."
    )
    minutes = fields.List(child=fields.Integer(), help_text="Minutes of the ride, for figures computed from minutes.")

    def to_representation(self, ride: DrillDownRide) -> dict[str, Any]:
        return {
            "rideId": str(ride.ride_id),
            "serviceDate": ride.service_date.isoformat(),
            "facilityId": None if ride.facility_id is None else str(ride.facility_id),
            "pickupTime": instant_text(ride.pickup_at),
            "status": ride.status,
            "measures": ride.measures,
            "minutes": ride.minutes,
        }


class UtilizationRowOut(OutShape):
    """The work of one driver or vehicle.  Numbers are null if `suppressed`."""

    id = fields.Uuid()
    rides = fields.Integer(allow_null=True, help_text="Completed rides.")
    minutes_busy = fields.Integer(allow_null=True, help_text="From departure to handoff; overlapping rides count once.")
    minutes_on_board = fields.Integer(allow_null=True, help_text="Minutes with a rider on board, added up over riders.")
    minutes_on_shift = fields.Integer(
        allow_null=True,
        help_text="Minutes of planned shifts in the period; null if facilities or service types limit the rides.",
    )
    miles = fields.Number(allow_null=True, help_text="Miles with a rider on board.")
    share_busy = fields.Number(allow_null=True, help_text="Share of the time on shift; null if that is null or 0.")
    last_date = fields.LocalDate(allow_null=True, help_text="The last day with a completed ride.")
    suppressed = fields.Boolean(
        help_text="True if it is based on fewer than five rides and the caller has no PHI level."
    )

    def to_representation(self, row: WorkerUtilization) -> dict[str, Any]:
        work = row.work
        return {
            "id": str(row.id),
            "rides": work and work.rides,
            "minutesBusy": work and work.minutes_busy,
            "minutesOnBoard": work and work.minutes_on_board,
            "minutesOnShift": work and work.minutes_on_shift,
            "miles": work and work.miles,
            "shareBusy": work and work.share_busy,
            "lastDate": row.last_date.isoformat() if work else None,
            "suppressed": work is None,
        }


class UtilizationOut(OutShape):
    """Utilization of drivers or vehicles, busiest first."""

    of = fields.Text()
    data = UtilizationRowOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    as_of = fields.Instant(allow_null=True, help_text=AS_OF)
