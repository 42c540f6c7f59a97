"""Operations on reports."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.reporting.api.drill_down_urls import DrillDownUrls
from apps.reporting.api.query_parameters import (
    BreakdownQuery,
    DailyQuery,
    FacilityQuery,
    RidesQuery,
    TrendQuery,
    UtilizationQuery,
)
from apps.reporting.api.serializers import (
    BreakdownOut,
    DefinitionsOut,
    DrillDownRideOut,
    FacilityKpisOut,
    SummaryOut,
    TrendOut,
    UtilizationOut,
)
from apps.reporting.models import Basis
from apps.reporting.queries import drill_down, freshness, utilization
from apps.reporting.queries.breakdowns import breakdown
from apps.reporting.queries.daily import daily_summary
from apps.reporting.queries.reports import facility_kpis, trends
from apps.reporting.queries.selection import MAX_DAYS, Selection, select
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY, Names
from lib.api.fields import instant_text
from lib.api.unpaginated import unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code, InvalidInput
from lib.pagination import MAX_LIMIT, digest_of, open_cursor, reach, seal_cursor
from lib.scopes import Scope


class ReportViewSet(ApiViewSet):
    """KPIs, counts and utilization, with links to the rides behind each value."""

    scopes = dict.fromkeys(
        ("daily_summary", "facility_kpis", "trends", "breakdown", "utilization", "definitions", "rides"),
        Scope.REPORTS_READ,
    )
    queries = {
        "daily_summary": DailyQuery,
        "facility_kpis": FacilityQuery,
        "trends": TrendQuery,
        "breakdown": BreakdownQuery,
        "utilization": UtilizationQuery,
        "rides": RidesQuery,
    }
    answers = {
        "daily_summary": SummaryOut,
        "facility_kpis": FacilityKpisOut,
        "trends": TrendOut,
        "breakdown": BreakdownOut,
        "utilization": UtilizationOut,
        "definitions": DefinitionsOut,
        "rides": DrillDownRideOut,
    }
    refusals = {"rides": (Code.INVALID_CURSOR,)}

    def get_serializer_context(self) -> dict[str, Any]:
        """Add the links from figures to the rides behind them, for answers that contain figures."""
        has_links = self.action in ("daily_summary", "facility_kpis", "trends", "breakdown")
        return {
            **super().get_serializer_context(),
            **({"drill_down_urls": DrillDownUrls(self.query)} if has_links else {}),
        }

    def daily_summary(self, request: Request) -> Response:
        """Summarize one day.

        Figures and counts come from rollups, which are up to date as of `progress.asOf`. `now` describes the current
        moment, whatever the requested day.
        """
        day = self.query["date"]
        return self.answer(daily_summary(by=self.principal, selection=self._selection(day, day), at=self.at))

    def facility_kpis(self, request: Request) -> Response:
        """Read the figures of each facility, of all facilities together, and of the previous period.

        Closed days show the values from when they were closed. Later changes are listed in `restatements`;
        `basis=live` includes them in the values.
        """
        keys = self.query.get("kpi")
        report = facility_kpis(
            by=self.principal,
            selection=self._period(),
            kpis=[KPI_BY_KEY[key] for key in keys] if keys else ALL_KPIS,
            compared=self.query["compare"],
        )
        return self.answer(report)

    def trends(self, request: Request) -> Response:
        """Read figures over time, or by hour of the week, dialysis days, facility, provider, or service type."""
        definitions = [KPI_BY_KEY[key] for key in self.query["kpi"]]
        trend = trends(
            by=self.principal,
            selection=self._period(),
            kpis=definitions,
            bucket_by=self.query["by"],
            each="each" in self.query,
        )
        return self.answer(trend)

    def breakdown(self, request: Request) -> Response:
        """Count ended rides by reason or fault, or exceptions by type."""
        dimension, progress = self.query["dimension"], freshness.progress()
        counts = breakdown(by=self.principal, selection=self._period(), dimension=dimension)
        return self.answer((dimension, counts, progress))

    def utilization(self, request: Request) -> Response:
        """Add up the work of drivers or vehicles in up to 92 days.

        Time on shift is null if facilities or service types limit the rides: a shift covers all rides of its driver.
        """
        of = self.query["of"]
        selection = self._period(max_days=utilization.MAX_DAYS)
        as_of = freshness.rides_known_until()
        rows = utilization.by_worker(by=self.principal, selection=selection, of=of)
        return self.answer({"of": of, "data": rows, "as_of": as_of})

    def definitions(self, request: Request) -> Response:
        """List the KPI definitions: the question, the rides that count, and the exclusions."""
        return self.answer(unpaginated(ALL_KPIS))

    def rides(self, request: Request) -> Response:
        """List the rides behind a figure (`kpi`) or a count (`dimension`), as they are now, by pickup time.

        `Data-As-Of` is the time up to which the list is complete. Callers without a PHI level get no rides if one to
        four rides are in the list, in its numerator, or in the rest of the list.
        """
        limit = min(self.query["limit"], MAX_LIMIT)
        parameters = {name: value for name, value in self.query.items() if name not in ("limit", "cursor")}
        bound = digest_of(["reports/rides", parameters, reach(self.principal)])
        cursor = self.query.get("cursor")
        measures, numerator, count = self._drill_down_target()
        as_of = freshness.rides_known_until()
        result = drill_down.rides_behind(
            by=self.principal,
            selection=self._period(max_days=drill_down.MAX_DAYS),
            measures=measures,
            numerator=numerator,
            count=count,
            after=tuple(open_cursor(cursor, bound=bound, parts=2)) if cursor else None,
            limit=limit,
            bucket={name: self.query[name] for name in drill_down.BUCKET_FILTERS if name in self.query},
        )
        last = result.rows[-1] if result.has_more else None
        following = seal_cursor([last.pickup_at, last.ride_id], bound=bound) if last else None
        page = {"limit": limit, "hasMore": result.has_more, "nextCursor": following, "suppressed": result.suppressed}
        rows = DrillDownRideOut(result.rows, many=True, context=self.get_serializer_context()).data
        headers = {"Data-As-Of": instant_text(as_of)} if as_of else {}
        return Response({"data": rows, "page": page}, headers=headers)

    def _drill_down_target(self) -> tuple[Names, Names, drill_down.Count | None]:
        """Return the measures of the requested rides, those of the KPI's numerator, and the count, if it is one.

        Raises:
            InvalidInput: the query names neither a KPI nor a count, or both, or an unknown one.
        """
        query = self.query
        if "dimension" not in query:
            if "kpi" not in query:
                raise InvalidInput("kpi", _("kpi or dimension is required."), detail_code="required")
            for name in ("category", "code"):
                if name in query:
                    raise InvalidInput(name, _("%(field)s requires dimension."))
            kpi, part = KPI_BY_KEY[query["kpi"]], query.get("part")
            names = drill_down.measures_behind(kpi, query["counted"], query.get("reason"), part)
            return names, drill_down.numerator_of(kpi, part), None
        for name in ("kpi", "reason", "part"):
            if name in query:
                raise InvalidInput(name, _("%(field)s cannot be combined with dimension."))
        return (), (), drill_down.count_of(query["dimension"], query.get("category"), query.get("code"))

    def _period(self, *, max_days: int = MAX_DAYS) -> Selection:
        return self._selection(self.query["first"], self.query["last"], max_days=max_days)

    def _selection(self, first: Any, last: Any, *, max_days: int = MAX_DAYS) -> Selection:
        return select(
            by=self.principal,
            first=first,
            last=last,
            facility_ids=self.query.get("facility_id", ()),
            provider_ids=self.query.get("provider_id", ()),
            service_types=self.query.get("type", ()),
            basis=Basis(self.query.get("basis", Basis.CLOSED)),
            max_days=max_days,
        )
