"""Charts that the server draws as SVG: for PDF, where no script runs, and for tiny charts on pages.

Pages draw trends with ECharts (static/console/reports.js), from the same `Chart`.  The exceptions are sparklines, at
each of many webhook endpoints and in each tile of the reports, for which loading 180 kB of script would be out of
proportion.  SVG here has neither style elements nor style attributes, which the content policy refuses.

Lines differ in color, in dashes and in the marks of their points, so that nothing depends on color alone.  Numbers in
SVG are written with a decimal point whatever the language of the reader; numbers in texts follow the language.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

# Lengths in units of the drawing, which are pixels on a page and 0.75 pt in a PDF.
WIDTH: Final = 680
_LINES_HEIGHT: Final = 240
_LEFT: Final = 44
_RIGHT: Final = 20
_TOP: Final = 18
_BOTTOM: Final = 26
_BAR_LABELS: Final = 190  # room for the labels left of the bars
_BAR_TEXTS: Final = 130  # room for the values right of the bars
_BAR_ROW: Final = 22
_BAR_HEIGHT: Final = 13
_BARS_PER_PAGE: Final = 30
_TICKS: Final = 5
_MAX_LABELS: Final = 10  # below the axis
_MAX_LETTERS: Final = 34  # of the label of a bar
_MAX_MARKS: Final = 60  # a line with more points marks only those between two gaps
_SPARK_HEIGHT, _SPARK_WIDTH, _SPARK_STEP = 32, 8, 10
_SPARK_EDGE: Final = 4
_FEWEST_POINTS: Final = 2
_GRAY, _LIGHT_GRAY, _BLUE = "#444444", "#c8ced4", "#0b5fae"

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LineStyle:
    """The style of one of several lines.

    `token` names the color of the page's theme, `ink` is the color in a PDF.  `mark` is a path in a box of 10 by 10.
    """

    token: str
    ink: str
    mark: str
    dashes: tuple[int, ...] = ()


LINE_STYLES: Final = (
    LineStyle("brand", _BLUE, "M5 0a5 5 0 1 0 0 10a5 5 0 1 0 0-10z"),
    LineStyle("bad", "#b3141f", "M0.5 0.5h9v9h-9z", (7, 4)),
    LineStyle("ok", "#176b3a", "M5 0L10 9.5H0z", (2, 3)),
    LineStyle("info", "#5b3fa8", "M5 0L10 5L5 10L0 5z", (10, 3, 2, 3)),
    LineStyle("warn", "#8a4b00", "M0 2L2 0L5 3L8 0L10 2L7 5L10 8L8 10L5 7L2 10L0 8L3 5z", (4, 2)),
    LineStyle("text2", "#4b5864", "M0 0.5H10L5 10z", (14, 4)),
)


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or all bars.  `values` are in the unit of the axis, None for a gap; `texts` are the values in words."""

    name: str
    style: LineStyle
    values: list[float | None]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Chart:
    """What a chart shows.  Shares are percentages; `axis_end` None: the axis ends at the largest value."""

    title: str
    unit: str
    labels: list[str]
    short_labels: list[str]  # for the axis of a line chart
    series: list[Series]
    axis_end: int | None
    is_line: bool

    def data(self) -> dict[str, Any]:
        """Return the data for the script of the page."""
        return {
            "title": self.title,
            "unit": self.unit,
            "labels": self.labels,
            "shortLabels": self.short_labels,
            "axisEnd": self.axis_end,
            "isLine": self.is_line,
            "series": [
                {
                    "name": series.name,
                    "values": series.values,
                    "texts": series.texts,
                    "token": series.style.token,
                    "mark": series.style.mark,
                    "dashes": list(series.style.dashes),
                }
                for series in self.series
            ],
        }


def draw(chart: Chart) -> list[SafeString]:
    """Draw a chart for a PDF; many bars come in several drawings, each of which fits a page."""
    if chart.is_line:
        return [_lines(chart)]
    indexes = range(len(chart.labels))
    return [_bars(chart, indexes[at : at + _BARS_PER_PAGE]) for at in range(0, len(indexes), _BARS_PER_PAGE)]


def line_key(style: LineStyle, *, ink: str) -> SafeString:
    """Draw the key of a line for a legend."""
    return format_html(
        '<svg class="key" viewBox="0 0 34 12" width="34" height="12" aria-hidden="true">'
        '<path d="M0 6H34" fill="none" stroke="{}" stroke-width="2"{}/>'
        '<path d="{}" transform="translate(12 1)" fill="{}"/></svg>',
        ink,
        _dash_attribute(style),
        style.mark,
        ink,
    )


def sparkline(columns: Sequence[tuple[int, int]], *, label: str) -> SafeString:
    """Draw small columns of two parts, good below failed; the colors are classes of the page's style sheet.

    A count above 0 is at least two units high, so that one failure among thousands is visible.
    """
    largest = max((good + failed for good, failed in columns), default=0)
    bars = []
    for number, column in enumerate(columns):
        good, failed = (max(2, round(count * (_SPARK_HEIGHT - 2) / largest)) if count else 0 for count in column)
        x = number * _SPARK_STEP
        bars += [("ground", x, _SPARK_HEIGHT - 1, 1), ("good", x, _SPARK_HEIGHT - good, good)]
        bars.append(("failed", x, max(0, _SPARK_HEIGHT - good - failed), min(failed, _SPARK_HEIGHT - good)))
    drawn = format_html_join(
        "", '<rect class="{}" x="{}" y="{}" width="8" height="{}"></rect>', (bar for bar in bars if bar[3])
    )
    return format_html(
        '<svg class="spark" role="img" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-label="{}">{}</svg>',
        len(columns) * _SPARK_STEP - (_SPARK_STEP - _SPARK_WIDTH),
        _SPARK_HEIGHT,
        label,
        drawn,
    )


def spark_line(values: Sequence[float | None], *, label: str) -> SafeString:
    """Draw a small line from the lowest to the highest value, with a point at the last; gaps are left out.

    Empty for fewer than two values.  It shows a direction: `label` names the values, for screen readers too.
    """
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) < _FEWEST_POINTS:
        return SafeString()
    low, high = min(value for _, value in known), max(value for _, value in known)
    room, span = _SPARK_HEIGHT - 2 * _SPARK_EDGE, high - low

    def position(index: int, value: float) -> Point:
        down = (high - value) / span if span else 0.5
        return _SPARK_EDGE + index * _SPARK_STEP, _SPARK_EDGE + room * down

    points = [position(index, value) for index, value in known]
    return format_html(
        '<svg class="spark-line" role="img" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-label="{}">'
        '<polyline points="{}"/><path d="M{} {}h0"/></svg>',
        2 * _SPARK_EDGE + (len(values) - 1) * _SPARK_STEP,
        _SPARK_HEIGHT,
        label,
        " ".join(f"{_n(x)},{_n(y)}" for x, y in points),
        *(_n(length) for length in points[-1]),
    )


def ticks(largest: float, *, axis_end: float | None = None) -> list[float]:
    """Return the ticks of an axis from 0, in steps of 1, 2 or 5 times a power of ten."""
    end = largest if axis_end is None else axis_end
    if end <= 0:
        return [0, 1]
    smallest_step = end / _TICKS
    power = 10 ** math.floor(math.log10(smallest_step))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= smallest_step * (1 - 1e-9))
    return [number * step for number in range(math.ceil(end / step - 1e-9) + 1)]


def _lines(chart: Chart) -> SafeString:
    values = [value for series in chart.series for value in series.values if value is not None]
    axis = ticks(max(values, default=0), axis_end=chart.axis_end)
    bottom = _LINES_HEIGHT - _BOTTOM
    step = (WIDTH - _LEFT - _RIGHT) / max(len(chart.labels) - 1, 1)

    def position(index: int, value: float) -> Point:
        # Negative values, which a mean may have, are drawn at zero: the table shows them.
        return _LEFT + step * index, bottom - (bottom - _TOP) * max(value, 0) / axis[-1]

    every = math.ceil(len(chart.short_labels) / _MAX_LABELS)
    parts = [
        format_html('<text x="0" y="9" fill="{}">{}</text>', _GRAY, chart.unit),
        format_html_join(
            "",
            '<path d="M{} {}H{}" stroke="{}" stroke-width="0.7"/>'
            '<text x="{}" y="{}" dy="3.5" text-anchor="end" fill="{}">{}</text>',
            (
                (_LEFT, y, WIDTH - _RIGHT, _LIGHT_GRAY, _n(_LEFT - 6), y, _GRAY, _number(value))
                for value in axis
                for y in [_n(position(0, value)[1])]
            ),
        ),
        format_html_join(
            "",
            '<text x="{}" y="{}" text-anchor="middle" fill="{}">{}</text>',
            (
                (_n(_LEFT + step * index), _n(_LINES_HEIGHT - 8), _GRAY, label)
                for index, label in enumerate(chart.short_labels)
                if index % every == 0
            ),
        ),
        *(
            _line(series, [None if value is None else position(at, value) for at, value in enumerate(series.values)])
            for series in chart.series
        ),
    ]
    return _svg(_LINES_HEIGHT, _description(chart, range(len(chart.labels))), parts)


def _line(series: Series, points: Sequence[Point | None]) -> SafeString:
    style = series.style
    marked = [
        point
        for index, point in enumerate(points)
        if point is not None and (len(points) <= _MAX_MARKS or _is_isolated(points, index))
    ]
    return format_html_join(
        "",
        '<polyline points="{}" fill="none" stroke="{}" stroke-width="1.6"{}/>',
        ((" ".join(f"{_n(x)},{_n(y)}" for x, y in run), style.ink, _dash_attribute(style)) for run in _runs(points)),
    ) + format_html_join(
        "",
        '<path d="{}" transform="translate({} {}) scale(0.6)" fill="{}"/>',
        ((style.mark, _n(x - 3), _n(y - 3), style.ink) for x, y in marked),
    )


def _bars(chart: Chart, indexes: range) -> SafeString:
    (series,) = chart.series
    largest = max((value for value in series.values if value is not None), default=0)
    end = chart.axis_end or largest or 1
    room = WIDTH - _BAR_LABELS - _BAR_TEXTS

    def bar(row: int, index: int) -> tuple[object, ...]:
        y = 8 + row * _BAR_ROW
        width = room * max(series.values[index] or 0, 0) / end
        return (
            *(_n(_BAR_LABELS - 8), _n(y + 10), _shortened(chart.labels[index])),
            *(_BAR_LABELS, _n(y), _n(width), _BAR_HEIGHT, _BLUE),
            *(_n(_BAR_LABELS + width + 6), _n(y + 10), _GRAY, series.texts[index]),
        )

    drawn = format_html_join(
        "",
        '<text x="{}" y="{}" text-anchor="end" fill="#000000">{}</text>'
        '<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/><text x="{}" y="{}" fill="{}">{}</text>',
        (bar(row, index) for row, index in enumerate(indexes)),
    )
    return _svg(12 + _BAR_ROW * len(indexes), _description(chart, indexes), [drawn])


def _svg(height: int, description: str, parts: Sequence[SafeString]) -> SafeString:
    return format_html(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}"'
        ' font-family="Liberation Sans, DejaVu Sans, sans-serif" font-size="10"><title>{}</title>{}</svg>',
        WIDTH,
        height,
        WIDTH,
        height,
        description,
        format_html_join("", "{}", ((part,) for part in parts)),
    )


def _description(chart: Chart, indexes: range) -> str:
    """Return everything the chart shows as text, for screen readers."""
    texts = [
        f"{series.name}: " + ", ".join(f"{chart.labels[index]} {series.texts[index]}" for index in indexes)
        for series in chart.series
    ]
    return f"{chart.title}. " + "; ".join(texts)


def _is_isolated(points: Sequence[Point | None], index: int) -> bool:
    """Return whether a point is between two gaps, so that no line shows it."""
    return sum(point is not None for point in points[max(index - 1, 0) : index + 2]) == 1


def _runs(points: Sequence[Point | None]) -> Iterator[list[Point]]:
    """Split a line at its gaps into runs of two or more points."""
    run: list[Point] = []
    for point in [*points, None]:
        if point is not None:
            run.append(point)
            continue
        if len(run) > 1:
            yield run
        run = []


def _dash_attribute(style: LineStyle) -> SafeString:
    dashes = " ".join(map(str, style.dashes))
    return format_html(' stroke-dasharray="{}"', dashes) if dashes else SafeString()


def _shortened(label: str) -> str:
    return label if len(label) <= _MAX_LETTERS else f"{label[: _MAX_LETTERS - 1].rstrip()}…"


def _number(value: float) -> str:
    rounded = round(value, 4)  # ticks are multiples of 0.2 and 0.5, which are not exact in binary
    return number_format(int(rounded) if rounded == int(rounded) else rounded, force_grouping=True)


def _n(length: float) -> str:
    return f"{length:.1f}"
