"""What charts draw: lines along time, or a bar for each step; on the screen and on paper the same.

Lines differ in colour, in dashes and in the marks of their points, so that nothing depends on colours alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.console.reports import steps, words
from apps.reporting.queries.figures import Figure
from apps.reporting.queries.reports import Point, Trend
from apps.reporting.rules.defining import Definition, Unit
from apps.reporting.rules.steps import TIMES

_LARGE_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Look:
    """How one of several lines looks: a token of colours and its tone on paper, a mark in a box of 10 by 10, dashes."""

    token: str
    ink: str
    mark: str
    dashes: tuple[int, ...] = ()

    @property
    def dashed(self) -> str:
        """Write the dashes as SVG does."""
        return " ".join(map(str, self.dashes))


LOOKS: Final = (
    Look("brand", "#0b5fae", "M5 0a5 5 0 1 0 0 10a5 5 0 1 0 0-10z"),
    Look("bad", "#b3141f", "M0.5 0.5h9v9h-9z", (7, 4)),
    Look("ok", "#176b3a", "M5 0L10 9.5H0z", (2, 3)),
    Look("info", "#5b3fa8", "M5 0L10 5L5 10L0 5z", (10, 3, 2, 3)),
    Look("warn", "#8a4b00", "M0 2L2 0L5 3L8 0L10 2L7 5L10 8L8 10L5 7L2 10L0 8L3 5z", (4, 2)),
    Look("text2", "#4b5864", "M0 0.5H10L5 10z", (14, 4)),
)


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or all bars.  `values` are in the unit of the axis, None where there is nothing to show."""

    name: str
    look: Look
    values: list[float | None]
    said: list[str]


@dataclass(frozen=True, slots=True)
class Chart:
    """`most` is where the axis of values ends, None where the largest one says it.  Shares are percents."""

    title: str
    unit: str
    labels: list[str]
    short: list[str]
    series: list[Series]
    most: int | None
    is_line: bool

    def data(self) -> dict[str, Any]:
        """Give the script of the page what it draws."""
        return {
            "title": self.title,
            "unit": self.unit,
            "labels": self.labels,
            "short": self.short,
            "most": self.most,
            "line": self.is_line,
            "series": [
                {
                    "name": one.name,
                    "values": one.values,
                    "said": one.said,
                    "token": one.look.token,
                    "mark": one.look.mark,
                    "dashes": list(one.look.dashes),
                }
                for one in self.series
            ],
        }


def chart_of(definition: Definition, trend: Trend) -> Chart:
    """Draw a trend; with lines asked for, those of facilities in place of all together."""
    keys = [point.key for point in trend.points]
    told = [(line.name, _by_key(line.points)) for line in trend.lines]
    told = told or [(words.title_of(definition), _by_key(trend.points))]
    series = [
        _series(definition, name, look, [found.get(key) for key in keys])
        for (name, found), look in zip(told, LOOKS, strict=False)
    ]
    largest = max((value for one in series for value in one.values if value is not None), default=0)
    is_share = definition.unit is Unit.SHARE
    return Chart(
        title=words.title_of(definition),
        unit="%" if is_share else str(words.UNITS[definition.unit]),
        labels=[steps.label(trend.by, key, trend.names) for key in keys],
        short=[steps.short(trend.by, key, trend.names) for key in keys],
        series=series,
        # Small shares would lie on the ground of an axis up to 100.
        most=100 if is_share and largest > 100 * _LARGE_SHARE else None,
        is_line=trend.by in TIMES and len(keys) > 1,
    )


def _by_key(points: Sequence[Point]) -> Mapping[Any, Point]:
    return {point.key: point for point in points}


def _series(definition: Definition, name: str, look: Look, points: Sequence[Point | None]) -> Series:
    figures: list[Figure | None] = [point.figures[definition.key] if point else None for point in points]
    return Series(
        name=name,
        look=look,
        values=[_drawn(definition, figure.value if figure else None) for figure in figures],
        said=[words.said(figure) if figure else words.DASH for figure in figures],
    )


def _drawn(definition: Definition, value: float | None) -> float | None:
    if value is None:
        return None
    return round(100 * value if definition.unit is Unit.SHARE else value, 2)
