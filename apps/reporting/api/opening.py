"""Where the rides behind a figure are read: addresses of the API."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from apps.reporting.queries.behind import MOST_DAYS, Count
from apps.reporting.queries.figures import Figure
from apps.reporting.rules.steps import opened

_RIDES: Final = "/api/reports/rides"
# Parameters of the operation by what a step is called.
_NAMES: Final[Mapping[str, str]] = {
    "first": "from",
    "last": "to",
    "facility": "facilityId",
    "provider": "providerId",
    "service_type": "type",
}


class Opening:
    """Opens the figures of one answer, which asked for what `query` says; see `_address` for when it cannot."""

    def __init__(self, query: Mapping[str, Any]) -> None:
        self._first: date = query.get("first") or query["date"]
        self._last: date = query.get("last") or query["date"]
        self._asked = {
            "facilityId": ",".join(map(str, query.get("facility_id", ()))),
            "providerId": ",".join(map(str, query.get("provider_id", ()))),
            "type": ",".join(query.get("type", ())),
        }

    def whole(self) -> "Address":
        """Open figures of all that was asked for."""
        return self._address({})

    def facility(self, facility_id: object, *, before: bool = False) -> "Address":
        """Open figures of one facility; with `before`, of the period before."""
        return Address(None) if facility_id is None else self._address({"facility": facility_id}, before=before)

    def before(self) -> "Address":
        return self._address({}, before=True)

    def step(self, along: str, key: tuple[Any, ...], facility_id: object = None) -> "Address":
        """Open figures of one step of a trend, of all or of one facility."""
        narrowed = opened(along, key, first=self._first, last=self._last)
        if narrowed is None:
            return Address(None)
        return self._address(narrowed | ({} if facility_id is None else {"facility": facility_id}))

    def _address(self, narrowed: Mapping[str, Any], *, before: bool = False) -> "Address":
        """Write what follows the figure's key; None for periods longer than rides are read of."""
        days = timedelta(days=(self._last - self._first).days + 1) if before else timedelta(0)
        span = {"first": self._first - days, "last": self._last - days, **narrowed}
        if (span["last"] - span["first"]).days >= MOST_DAYS:
            return Address(None)
        asked = {**self._asked, **{_NAMES.get(name, name): value for name, value in span.items()}}
        return Address(urlencode({name: value for name, value in asked.items() if value != ""}, safe=","))


class Address:
    """Opens any figure or count of one row; without a text there is nothing to open."""

    def __init__(self, asked: str | None) -> None:
        self._asked = asked

    def of(self, figure: Figure) -> str | None:
        if self._asked is None or figure.suppressed:
            return None
        return f"{_RIDES}?kpi={figure.definition.key}&{self._asked}"

    def of_part(self, figure: Figure, name: str) -> str | None:
        """Open a part of a figure."""
        part = figure.parts[name]
        return None if part.suppressed or (whole := self.of(figure)) is None else f"{whole}&part={name}"

    def of_count(self, count: Count, amount: int | None) -> str | None:
        """Open a count of rides, or of the exceptions of rides; None of nothing, and of what is not shown."""
        if self._asked is None or not amount:
            return None
        code = {"code": count.code} if count.code else {}
        return f"{_RIDES}?{urlencode({'what': count.what, 'word': count.word, **code})}&{self._asked}"
