"""Write docs/figures.md from the KPI definitions and their texts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.reporting.kpi_labels import EXCLUSION_TEXTS, KPI_TEXTS
from apps.reporting.rules.kpis import ALL_KPIS, Kpi, KpiMethod, Unit

_INTRODUCTION = """# Figures

Generated from `apps/reporting/rules/kpis.py` by `make docs`; do not edit. The same texts appear under "How is this
counted?" on every report page, and at `GET /reports/definitions`.

A figure covers the rides whose local service date is in the period. Its value is the numerator divided by the
denominator, or a median or percentile of single values; if there is nothing to count, it is null, never 0 or 100%.
Excluded rides are counted by reason beside the figure, and every count links to its rides. Where a definition says so,
missing data count against the service. Users without access to rider identities see no figure that is based on fewer
than five rides.

"""
_UNITS = {
    Unit.SHARE: "share, 0 to 1",
    Unit.MINUTES: "minutes",
    Unit.RATIO: "ratio",
    Unit.PER_100: "per 100 rides",
    Unit.PER_1000: "per 1,000 rides",
}
_DIRECTIONS = {True: "higher is better", False: "lower is better", None: "no direction is better"}


def figures_page() -> str:
    """Return the text of docs/figures.md."""
    contents = "".join(
        f"- [{KPI_TEXTS[kpi.key].title}](#{kpi.key}): {KPI_TEXTS[kpi.key].question}\n" for kpi in ALL_KPIS
    )
    return f"{_INTRODUCTION}{contents}" + "".join(map(_section, ALL_KPIS))


def _section(kpi: Kpi) -> str:
    rows = "".join(f"| {name} | {value} |\n" for name, value in _rows(kpi))
    text = KPI_TEXTS[kpi.key]
    return f'\n## <a id="{kpi.key}"></a>{text.title}\n\n{text.question}\n\n| | |\n|---|---|\n{rows}'


def _rows(kpi: Kpi) -> Iterator[tuple[str, str]]:
    text = KPI_TEXTS[kpi.key]
    yield "Key", f"`{kpi.key}`, version `{kpi.version}`"
    if kpi.method is KpiMethod.QUANTILE:
        statistic = "median" if kpi.quantile == 0.5 else f"{kpi.quantile * 100:.0f}th percentile"
        yield "What is measured", f"{text.counted}; the {statistic}"
        yield "Of", str(text.population)
    else:
        yield "Numerator", str(text.counted)
        yield "Denominator", str(text.population)
    yield "Excluded", "; ".join(f"{EXCLUSION_TEXTS[reason]} (`{reason}`)" for reason in kpi.excluded)
    if kpi.parts:
        yield "Parts", "; ".join(f"{title} (`{name}`)" for name, title in text.parts.items())
    yield "Unit", f"{_UNITS[kpi.unit]}; {_DIRECTIONS[kpi.higher_is_better]}"


class Command(BaseCommand):
    """Write docs/figures.md."""

    help = "Write docs/figures.md; a part of write_docs."

    def handle(self, *args: Any, **options: Any) -> None:
        (Path(settings.BASE_DIR) / "docs" / "figures.md").write_text(figures_page())
