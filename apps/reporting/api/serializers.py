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

AS_OF: Final = "It holds all that was recorded before; null where the copy that was read cannot tell."
_EXCLUDED: Final = {"not_booked": 12, "cancelled": 31, "no_show": 9, "not_ended": 0}


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else instant_text(moment)


def _id(value: UUID | None) -> str | None:
    return None if value is None else str(value)


class FigureOut(OutShape):
    """One figure and what it is made of."""

    key = fields.Text(help_text="Of a kpi.")
    value = fields.Number(allow_null=True, help_text="Null where there is nothing to count, or too little to show.")
    numerator = fields.Integer(allow_null=True, help_text="Null for medians and percentiles.")
    denominator = fields.Integer(allow_null=True, help_text="For medians and percentiles, the number of values.")
    excluded = fields.Anything(help_text="What the figure leaves out, by reason.")
    parts = fields.Anything(help_text="Figures about some of the rides, by name; each opens to its rides, too.")
    suppressed = fields.Boolean(help_text="Fewer than five rides stand behind it, and the caller may see no identity.")
    rides = fields.Text(
        allow_null=True,
        help_text="Where the rides it is about are; counted=numerator, or excluded and a reason, asks for others. "
        "Null where nothing is shown, over more than 92 days, and for rides without a facility or provider.",
    )
    definition_version = fields.Text()
    as_of = fields.Instant(allow_null=True, help_text="The figure holds what was recorded before.")

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
    """Write one figure, alike in every answer."""
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
    """A measure as it was closed, and as it is now."""

    measure = fields.Text()
    closed = fields.Integer(allow_null=True)
    current = fields.Integer(allow_null=True)


class RestatementOut(OutShape):
    """A day of a facility whose figures have changed since it was closed, and what changed them."""

    service_date = fields.LocalDate()
    facility_id = fields.Uuid(allow_null=True)
    changes = ChangeOut(many=True)
    at = fields.Instant(allow_null=True, help_text="When it last changed.")
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
    """How far the figures are."""

    as_of = fields.Instant(allow_null=True, help_text="Null while old rides are still being filled in.")
    backfilled_from = fields.LocalDate(
        allow_null=True, help_text="Earlier days are not backfilled yet; null if all days are."
    )
    closed_through = fields.LocalDate(allow_null=True, help_text="This day and those before are closed.")


def _progress(progress: Progress) -> dict[str, Any]:
    days = {"backfilledFrom": progress.backfilled_from, "closedThrough": progress.closed_through}
    return {
        "asOf": _instant(progress.as_of),
        **{name: None if day is None else day.isoformat() for name, day in days.items()},
    }


class CategoryCountOut(OutShape):
    """How many rides ended so, or exceptions there were."""

    category = fields.Text(help_text="Status of the ending, or severity of the exceptions.")
    code = fields.Text(help_text="Reason, fault, or type of the exceptions.")
    amount = fields.Integer(allow_null=True)
    rides = fields.Text(allow_null=True, help_text="Where these rides, or the rides of these exceptions, are.")


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
    """What waits at this moment."""

    open_exceptions = fields.Anything(help_text="By severity.")
    unassigned_next_24_hours = fields.Integer(allow_null=True)
    will_calls_waiting = fields.Integer(allow_null=True, help_text="Released, and not yet reached.")
    as_of = fields.Instant(allow_null=True, help_text=AS_OF)


class SummaryOut(OutShape):
    """One day."""

    statuses = fields.Anything(help_text="Rides by status.")
    status_rides = fields.Anything(
        help_text="Where they are, by status; null where there are none, or too few to show."
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

    facility_id = fields.Uuid(allow_null=True, help_text="Null: rides of no facility.")
    facility_name = fields.Text()
    figures = FigureOut(many=True)
    before = FigureOut(many=True, help_text="Of the period of the same length before.")


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
    """The figures of one step."""

    key = fields.List(
        child=fields.Text(),
        help_text="The day, or the first day of week or month; weekday (Monday 1) and hour; pattern; shift; id.",
    )
    name = fields.Text(allow_null=True, help_text="Of the facility or provider whose id the key is.")
    figures = FigureOut(many=True)


class LineOut(OutShape):
    """One of several facilities, along the steps in which it has rides."""

    facility_id = fields.Uuid()
    facility_name = fields.Text()
    points = PointOut(many=True)


class TrendOut(OutShape):
    """Figures along time, or along hours of the week, dialysis, facilities, providers, service types."""

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
    """Counts by word, the most first."""

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
    """One figure: what it asks, and which rides it counts."""

    key = fields.Text()
    version = fields.Text()
    title = fields.Text()
    question = fields.Text()
    unit = fields.Text()
    population = fields.Text(help_text="What the denominator counts.")
    counted = fields.Text(help_text="What the numerator counts, or the value measures.")
    quantile = fields.Number(allow_null=True, help_text="0.5 for a median; null for rates and means.")
    numerator = fields.List(child=fields.Text(), help_text="Measures, added up.")
    denominator = fields.List(child=fields.Text())
    excluded = fields.Anything(help_text="What is left out, in words, by the keys of figures.")
    parts = fields.Anything(help_text="What the parts are about, by name.")
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
    """All figures."""

    data = DefinitionOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    page = WholePageOut()


class DrillDownRideOut(OutShape):
    """A ride that a figure, or a count, counts."""

    ride_id = fields.Uuid()
    service_date = fields.LocalDate()
    facility_id = fields.Uuid(allow_null=True)
    pickup_time = fields.Instant()
    status = fields.Text()
    measures = fields.List(child=fields.Text(), help_text="By which measures it counts, the numerator's among them.")
    minutes = fields.List(child=fields.Integer(), help_text="Its values, of figures made of minutes.")

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
    """What one driver or vehicle has done.  Numbers are null where it is `suppressed`."""

    id = fields.Uuid()
    rides = fields.Integer(allow_null=True, help_text="Completed.")
    minutes_busy = fields.Integer(
        allow_null=True, help_text="From setting out to handing over; of rides at the same time once."
    )
    minutes_on_board = fields.Integer(allow_null=True, help_text="With a rider in the vehicle, of each rider.")
    minutes_on_shift = fields.Integer(
        allow_null=True,
        help_text="Of planned shifts, inside the period; null where facilities or types of service narrow the rides.",
    )
    miles = fields.Number(allow_null=True, help_text="With a rider in the vehicle.")
    share_busy = fields.Number(allow_null=True, help_text="Of the time on shift; null where that is null or 0.")
    last_date = fields.LocalDate(allow_null=True, help_text="Their last day with a completed ride.")
    suppressed = fields.Boolean(help_text="Fewer than five rides stand behind it, and the caller may see no identity.")

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
    """Work of drivers or vehicles, the busiest first."""

    of = fields.Text()
    data = UtilizationRowOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    as_of = fields.Instant(allow_null=True, help_text=AS_OF)
