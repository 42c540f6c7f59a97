"""docs/figures.md, made of the definitions."""

from collections.abc import Iterator

from apps.reporting.rules.defining import REASONS, Definition, Unit, Way
from apps.reporting.rules.definitions import DEFINITIONS

_INTRODUCTION = """# Figures

Made from `apps/reporting/rules/definitions.py` by `make docs`; do not edit. The same words stand behind "How is this
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
    """Write the page."""
    contents = "".join(f"- [{one.title}](#{one.key}): {one.question}\n" for one in DEFINITIONS)
    return f"{_INTRODUCTION}{contents}" + "".join(map(_section, DEFINITIONS))


def _section(definition: Definition) -> str:
    rows = "".join(f"| {name} | {told} |\n" for name, told in _rows(definition))
    return f'\n## <a id="{definition.key}"></a>{definition.title}\n\n{definition.question}\n\n| | |\n|---|---|\n{rows}'


def _rows(definition: Definition) -> Iterator[tuple[str, str]]:
    yield "Key", f"`{definition.key}`, version `{definition.version}`"
    if definition.way is Way.QUANTILE:
        which = "median" if definition.quantile == 0.5 else f"{definition.quantile:.0%} quantile"
        yield "What is measured", f"{definition.counted}; the {which}"
        yield "Of", definition.population
    else:
        yield "Numerator", definition.counted
        yield "Denominator", definition.population
    yield "Left out", "; ".join(f"{REASONS[reason]} (`{reason}`)" for reason in definition.excluded)
    if definition.parts:
        yield "Beside it", "; ".join(f"{part.title} (`{name}`)" for name, part in definition.parts.items())
    yield "Unit", f"{_UNITS[definition.unit]}; {_DIRECTIONS[definition.higher_is_better]}"
