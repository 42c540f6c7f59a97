"""Write docs/figures.md from the KPI definitions and their texts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.reporting.kpi_labels import EXCLUSION_TEXTS, KPI_TEXTS
from apps.reporting.rules.kpis import ALL_KPIS, Kpi, KpiMethod, Unit

_INTRODUCTION = """# Figures

Made from `apps/reporting/rules/kpis.py` by `make docs`; do not edit. The same words stand behind "How is this
counted?" on every page of reports, and at `GET /reports/definitions`.

A figure is about the rides whose local day of service lies in the period, as their rows say. Its value is the numerator
over the denominator, or a median or percentile of the values that there are; where there is nothing to count it is
null, never 0 or 100 %. What a figure leaves out stands beside it by reason, and each count opens to its rides. Missing
data count against the service where a figure says so. Who sees no rider is shown no figure that stands on fewer than
five rides.

"""
_UNITS = {
    Unit.SHARE: "share, 0 to 1",
    Unit.MINUTES: "minutes",
    Unit.RATIO: "ratio",
    Unit.PER_100: "on 100 rides",
    Unit.PER_1000: "on 1,000 rides",
}
_DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither is better"}


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
        statistic = "median" if kpi.quantile == 0.5 else f"{kpi.quantile:.0%} quantile"
        yield "What is measured", f"{text.counted}; the {statistic}"
        yield "Of", str(text.population)
    else:
        yield "Numerator", str(text.counted)
        yield "Denominator", str(text.population)
    yield "Left out", "; ".join(f"{EXCLUSION_TEXTS[reason]} (`{reason}`)" for reason in kpi.excluded)
    if kpi.parts:
        yield "Beside it", "; ".join(f"{title} (`{name}`)" for name, title in text.parts.items())
    yield "Unit", f"{_UNITS[kpi.unit]}; {_DIRECTIONS[kpi.higher_is_better]}"


class Command(BaseCommand):
    """Write docs/figures.md."""

    help = "Write docs/figures.md; a part of write_docs."

    def handle(self, *args: Any, **options: Any) -> None:
        (Path(settings.BASE_DIR) / "docs" / "figures.md").write_text(figures_page())
