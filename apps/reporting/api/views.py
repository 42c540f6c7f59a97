"""Operations on reports."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from apps.reporting.api.opening import Opening
from apps.reporting.api.parameters import (
    BreakdownQuery,
    DailyQuery,
    FacilityQuery,
    RidesQuery,
    TrendQuery,
    UtilisationQuery,
)
from apps.reporting.api.row_serializers import RideBehindOut, UtilisationOut
from apps.reporting.api.serializers import (
    BreakdownOut,
    DefinitionsOut,
    FacilityKpisOut,
    SummaryOut,
    TrendOut,
)
from apps.reporting.models import Basis
from apps.reporting.queries import behind, reading, utilisation
from apps.reporting.queries.breakdowns import breakdown
from apps.reporting.queries.daily import daily_summary
from apps.reporting.queries.reports import facility_kpis, trends
from apps.reporting.queries.selection import MOST_DAYS, Selection, select
from apps.reporting.rules.defining import Names
from apps.reporting.rules.definitions import BY_KEY, DEFINITIONS
from lib.api.fields import instant_text
from lib.api.pagination import MAX_LIMIT, digest_of, open_cursor, reach, seal_cursor
from lib.api.views import ApiViewSet
from lib.api.whole_list import whole
from lib.errors import Code, InvalidInput
from lib.scopes import Scope


class ReportViewSet(ApiViewSet):
    """Figures that open to the rides behind them."""

    scopes = dict.fromkeys(
        ("daily_summary", "facility_kpis", "trends", "breakdown", "utilisation", "definitions", "rides"),
        Scope.REPORTS_READ,
    )
    queries = {
        "daily_summary": DailyQuery,
        "facility_kpis": FacilityQuery,
        "trends": TrendQuery,
        "breakdown": BreakdownQuery,
        "utilisation": UtilisationQuery,
        "rides": RidesQuery,
    }
    answers = {
        "daily_summary": SummaryOut,
        "facility_kpis": FacilityKpisOut,
        "trends": TrendOut,
        "breakdown": BreakdownOut,
        "utilisation": UtilisationOut,
        "definitions": DefinitionsOut,
        "rides": RideBehindOut,
    }
    refusals = {"rides": (Code.INVALID_CURSOR,)}

    def get_serializer_context(self) -> dict[str, Any]:
        """Add what opens figures to the rides behind them, to answers that have any."""
        told = self.action in ("daily_summary", "facility_kpis", "trends", "breakdown")
        return {**super().get_serializer_context(), **({"opening": Opening(self.query)} if told else {})}

    def daily_summary(self, request: Request) -> Response:
        """Summarize one day.

        Figures and counts come from rollups, which are up to date to `progress.asOf`; `now` is of this moment, whatever
        the day.
        """
        day = self.query["date"]
        return self.answer(daily_summary(by=self.principal, selection=self._selection(day, day), at=self.at))

    def facility_kpis(self, request: Request) -> Response:
        """Read the figures of each facility, of all together, and of the period before.

        Closed days show what they showed when they were closed; what has changed since is listed in `restatements`,
        and `basis=current` counts it in.
        """
        keys = self.query.get("kpi")
        report = facility_kpis(
            by=self.principal,
            selection=self._period(),
            definitions=[BY_KEY[key] for key in keys] if keys else DEFINITIONS,
            compared=self.query["compare"],
        )
        return self.answer(report)

    def trends(self, request: Request) -> Response:
        """Follow figures over time, or by hours of the week, dialysis, facility, provider, or service type."""
        definitions = [BY_KEY[key] for key in self.query["kpi"]]
        found = trends(
            by=self.principal,
            selection=self._period(),
            definitions=definitions,
            along=self.query["by"],
            each="each" in self.query,
        )
        return self.answer(found)

    def breakdown(self, request: Request) -> Response:
        """Count why rides ended, whose doing it was, or which exceptions there were."""
        what, progress = self.query["what"], reading.progress()
        found = breakdown(by=self.principal, selection=self._period(), what=what)
        return self.answer((what, found, progress))

    def utilisation(self, request: Request) -> Response:
        """Add up what drivers or vehicles have done in up to 92 days.

        Shifts are told where all rides are asked for and in reach: facilities and types of service are a part of them.
        """
        of = self.query["of"]
        selection = self._period(most_days=utilisation.MOST_DAYS)
        as_of = reading.known_until()
        found = utilisation.utilisation(by=self.principal, selection=selection, of=of)
        return self.answer({"of": of, "data": found, "as_of": as_of})

    def definitions(self, request: Request) -> Response:
        """List the figures: what each one asks, which rides it counts, and what it leaves out."""
        return self.answer(whole(DEFINITIONS))

    def rides(self, request: Request) -> Response:
        """List the rides behind a figure (`kpi`) or a count (`what`), as they are now, by pickup time.

        `Data-As-Of` is the moment up to which the list knows everything. Nothing is listed to callers without any PHI
        level where fewer than five rides are behind it, or would be told apart by it.
        """
        limit = min(self.query["limit"], MAX_LIMIT)
        asked = {name: value for name, value in self.query.items() if name not in ("limit", "cursor")}
        bound = digest_of(["reports/rides", asked, reach(self.principal)])
        cursor = self.query.get("cursor")
        names, told, count = self._sought()
        as_of = reading.known_until()
        found = behind.rides_behind(
            by=self.principal,
            selection=self._period(most_days=behind.MOST_DAYS),
            names=names,
            told=told,
            count=count,
            after=tuple(open_cursor(cursor, bound=bound, parts=2)) if cursor else None,
            most=limit,
            narrowed={name: self.query[name] for name in behind.NARROWED_BY if name in self.query},
        )
        last = found.rows[-1] if found.has_more else None
        following = seal_cursor([last.pickup_at, last.ride_id], bound=bound) if last else None
        page = {"limit": limit, "hasMore": found.has_more, "nextCursor": following, "suppressed": found.suppressed}
        shown = RideBehindOut(found.rows, many=True, context=self.get_serializer_context()).data
        headers = {"Data-As-Of": instant_text(as_of)} if as_of else {}
        return Response({"data": shown, "page": page}, headers=headers)

    def _sought(self) -> tuple[Names, Names, behind.Count | None]:
        """Read which rides are asked for: by which measures, which of a numerator are told besides, or of which count.

        Raises:
            InvalidInput: neither a figure is named nor a count, or both, or one that is none.
        """
        asked = self.query
        if "what" not in asked:
            if "kpi" not in asked:
                raise InvalidInput("kpi", "kpi or what is required.", detail_code="required")
            for name in ("word", "code"):
                if name in asked:
                    raise InvalidInput(name, f"{name} goes with what alone.")
            definition, part = BY_KEY[asked["kpi"]], asked.get("part")
            names = behind.names_of(definition, asked["counted"], asked.get("reason"), part)
            return names, behind.numerator_of(definition, part), None
        for name in ("kpi", "reason", "part"):
            if name in asked:
                raise InvalidInput(name, f"{name} has no place beside what.")
        return (), (), behind.count_of(asked["what"], asked.get("word"), asked.get("code"))

    def _period(self, *, most_days: int = MOST_DAYS) -> Selection:
        return self._selection(self.query["first"], self.query["last"], most_days=most_days)

    def _selection(self, first: Any, last: Any, *, most_days: int = MOST_DAYS) -> Selection:
        return select(
            by=self.principal,
            first=first,
            last=last,
            facility_ids=self.query.get("facility_id", ()),
            provider_ids=self.query.get("provider_id", ()),
            service_types=self.query.get("type", ()),
            basis=Basis(self.query.get("basis", Basis.CLOSED)),
            most_days=most_days,
        )
