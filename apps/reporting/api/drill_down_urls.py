"""Links of the API to the rides behind a value or a count."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from apps.reporting.queries.drill_down import MAX_DAYS, Count
from apps.reporting.queries.figures import Figure
from apps.reporting.rules.trend_buckets import bucket_filter

_RIDES: Final = "/api/reports/rides"
# Parameters of the operation, by the key of the bucket filter.
_PARAMETERS: Final[Mapping[str, str]] = {
    "first": "from",
    "last": "to",
    "facility": "facilityId",
    "provider": "providerId",
    "service_type": "type",
}


class DrillDownUrls:
    """Links for one answer, to a request with the parameters `query`."""

    def __init__(self, query: Mapping[str, Any]) -> None:
        self._first: date = query.get("first") or query["date"]
        self._last: date = query.get("last") or query["date"]
        self._parameters = {
            "facilityId": ",".join(map(str, query.get("facility_id", ()))),
            "providerId": ",".join(map(str, query.get("provider_id", ()))),
            "type": ",".join(query.get("type", ())),
        }

    def for_selection(self) -> "RowUrls":
        """Return the links of values of the whole selection."""
        return self._row({})

    def facility(self, facility_id: object, *, before: bool = False) -> "RowUrls":
        """Return the links of values of one facility; with `before`, in the previous period."""
        return RowUrls(None) if facility_id is None else self._row({"facility": facility_id}, before=before)

    def before(self) -> "RowUrls":
        return self._row({}, before=True)

    def bucket(self, bucket_by: str, key: tuple[Any, ...], facility_id: object = None) -> "RowUrls":
        """Return the links of values of one bucket of a trend, of all facilities or of one."""
        selected = bucket_filter(bucket_by, key, first=self._first, last=self._last)
        if selected is None:
            return RowUrls(None)
        return self._row(selected | ({} if facility_id is None else {"facility": facility_id}))

    def _row(self, selected: Mapping[str, Any], *, before: bool = False) -> "RowUrls":
        """Return links; none for periods that are longer than rides are listed for."""
        days = timedelta(days=(self._last - self._first).days + 1) if before else timedelta(0)
        span = {"first": self._first - days, "last": self._last - days, **selected}
        if (span["last"] - span["first"]).days >= MAX_DAYS:
            return RowUrls(None)
        parameters = {**self._parameters, **{_PARAMETERS.get(name, name): value for name, value in span.items()}}
        return RowUrls(urlencode({name: value for name, value in parameters.items() if value != ""}, safe=","))


class RowUrls:
    """Links to the rides behind the values and counts of one row; without a query there are none."""

    def __init__(self, query: str | None) -> None:
        self._query = query

    def of(self, figure: Figure) -> str | None:
        if self._query is None or figure.suppressed:
            return None
        return f"{_RIDES}?kpi={figure.kpi.key}&{self._query}"

    def of_part(self, figure: Figure, name: str) -> str | None:
        """Return the link of a part of a value."""
        part = figure.parts[name]
        return None if part.suppressed or (url := self.of(figure)) is None else f"{url}&part={name}"

    def of_count(self, count: Count, amount: int | None) -> str | None:
        """Return the link of a count of rides, or of the exceptions of rides; None if it is 0 or hidden."""
        if self._query is None or not amount:
            return None
        code = {"code": count.code} if count.code else {}
        parameters = urlencode({"dimension": count.dimension, "category": count.category, **code})
        return f"{_RIDES}?{parameters}&{self._query}"
