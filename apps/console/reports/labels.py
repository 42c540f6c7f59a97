"""Texts and formats of KPI values on report pages and in files, and links to the rides behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.ride import labels as ride_labels
from apps.reporting.kpi_labels import (
    EXCLUSION_TEXTS,
    KPI_TEXTS,
    MEASURE_TEXTS,
    format_count,
    format_ratio,
    format_value,
    kpi_title,
)
from apps.reporting.queries.drill_down import Count
from apps.reporting.queries.figures import Figure
from apps.reporting.queries.freshness import Progress
from apps.reporting.queries.restatements import Restated
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.kpis import Kpi, KpiMethod, Unit
from apps.rides.labels import Reason
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.reasons import Fault
from lib.listing import spelled

UNITS: Final[Mapping[Unit, str | Promise]] = {
    Unit.SHARE: gettext_lazy("Share"),
    Unit.MINUTES: gettext_lazy("Minutes"),
    Unit.RATIO: gettext_lazy("Ratio"),
    Unit.PER_100: gettext_lazy("Per 100 rides"),
    Unit.PER_1000: gettext_lazy("Per 1,000 rides"),
}


@dataclass(frozen=True, slots=True)
class Links:
    """Links from a report to the rides behind its numbers, with the parameters of the page's filter."""

    parameters: Mapping[str, str]

    def rides(self, kpi: Kpi, counted: str, **changes: object) -> str:
        values = {**self.parameters, "counted": counted, **changes}
        return f"{reverse('report_rides', args=[kpi.key])}?{spelled(values)}"

    def count(self, count: Count, amount: int | None) -> str:
        """Return the URL of the rides of a count; "" if it is 0 or suppressed."""
        if not amount:
            return ""
        values = {
            **self.parameters,
            "dimension": count.dimension,
            "category": count.category,
            "code": count.code,
        }
        return f"{reverse('report_counted_rides')}?{spelled(values)}"


def figure_context(figure: Figure, links: Links | None, **changes: object) -> dict[str, Any]:
    """Return the template context of a value; `links` is None if no page lists the rides behind it."""
    kpi = figure.kpi
    has_rides = bool(figure.denominator)
    return {
        "figure": figure,
        "title": kpi_title(kpi),
        "value": format_value(kpi, figure.value),
        "of": format_ratio(figure),
        "url": links.rides(kpi, "denominator", **changes) if links and has_rides else "",
        "counts_url": links.rides(kpi, "numerator", **changes) if links and has_rides else "",
        "page": reverse("report_figure", args=[kpi.key]),
    }


def definition_context(figure: Figure, links: Links) -> dict[str, Any]:
    """Return the template context of a KPI's definition, with its exclusions and parts."""
    kpi = figure.kpi
    text = KPI_TEXTS[kpi.key]
    return {
        "question": text.question,
        "population": text.population,
        "counted": text.counted,
        "numerator": None if figure.numerator is None else format_count(figure.numerator),
        "denominator": None if figure.denominator is None else format_count(figure.denominator),
        "is_quantile": kpi.method is KpiMethod.QUANTILE,
        "excluded": [
            (
                EXCLUSION_TEXTS[reason],
                visible_count(count),
                links.rides(kpi, "excluded", reason=reason) if count else "",
            )
            for reason, count in figure.excluded.items()
        ],
        "parts": [
            (
                text.parts[name],
                format_value(kpi, part.value),
                format_ratio(part),
                links.rides(kpi, "denominator", part=name) if part.denominator else "",
            )
            for name, part in figure.parts.items()
        ],
        "version": kpi.version,
        "unit": UNITS[kpi.unit],
    }


def data_status(selection: Selection, restatements: Sequence[Restated], progress: Progress) -> dict[str, Any]:
    """Return the template context of the period, the progress of the rollups, and restatements of closed days."""
    return {
        "selection": selection,
        "progress": progress,
        "restatements": [
            {
                "day": restated.service_date,
                "at": restated.at,
                "changes": [
                    (MEASURE_TEXTS[change.measure], change.closed, change.current) for change in restated.changes
                ],
            }
            for restated in restatements
        ],
        "restated_rides": len({ride for restated in restatements for ride in restated.ride_ids}),
    }


def visible_count(count: int | None) -> str:
    return _("Too few rides to show") if count is None else format_count(count)


def count_labels(count: Count) -> tuple[str, str]:
    """Return the labels of a count: its status or severity, and its reason, fault or type ("" for a status)."""
    if count.dimension == "exception_type":
        category = ride_labels.SEVERITIES[count.category].text
        code = ExceptionType(count.code).label if count.code in ExceptionType else count.code
    else:
        category = ride_labels.STATUSES[count.category].text
        labels = Fault if count.dimension == "fault" else Reason
        # A deleted reason code of the operator has no built-in reason that it maps to.
        code = labels(count.code).label if count.code in labels else count.code
    return str(category), str(capfirst(str(code)))


def file_cells(figure: Figure | None) -> list[object]:
    """Return value, numerator and denominator as cells of a file, unrounded as in the API; None: no rides."""
    if figure is None:
        return ["", "", ""]
    if figure.suppressed:
        return [_("Too few rides to show"), "", ""]
    return ["" if number is None else number for number in (figure.value, figure.numerator, figure.denominator)]


def file_headings(kpi: Kpi, *, of: str = "") -> list[str]:
    """Return the headings of `file_cells`; `of` is the facility's name if the file has several."""
    title = f"{of}: {kpi_title(kpi)}" if of else kpi_title(kpi)
    return [title, f"{title}, {_('numerator')}", f"{title}, {_('denominator')}"]


def exclusion_cells(figure: Figure) -> list[object]:
    """Return the exclusions as cells of a file, one per reason."""
    return [_("Too few rides to show") if count is None else count for count in figure.excluded.values()]


def exclusion_headings(kpi: Kpi) -> list[str]:
    title = kpi_title(kpi)
    return [
        _("%(title)s, excluded: %(reason)s") % {"title": title, "reason": EXCLUSION_TEXTS[reason]}
        for reason in kpi.excluded
    ]
