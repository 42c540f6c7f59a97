"""Charts as plain SVG, for paper: there no script draws them.

Lengths are in units of the picture, written with a point whatever the language: a comma would end a number there.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.utils.formats import number_format

from apps.console.reports.charts import Chart, Series

WIDTH: Final = 680
_HEIGHT: Final = 240  # of lines; bars are as high as there are steps
_LEFT: Final = 44
_RIGHT: Final = 20
_TOP: Final = 18
_BOTTOM: Final = 26
_NAMES: Final = 190  # beside bars
_ROW: Final = 22
_BAR: Final = 13
_ROWS_OF_A_PICTURE: Final = 30  # what stands on a page
_TICKS: Final = 5
_LABELS: Final = 10
_LETTERS: Final = 34  # of a name beside a bar
_MARKED: Final = 60  # points of a line that are marked each


@dataclass(frozen=True, slots=True)
class Text:
    x: str
    y: str
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a line; `by` moves its mark there."""

    by: str
    path: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """One line with its marks."""

    series: Series
    paths: list[str]
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Bar:
    name: Text
    said: Text
    y: str
    width: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What a template writes as SVG; `about` says it in words."""

    height: int
    about: str
    unit: str
    rules: list[Text] = field(default_factory=list)  # across, with the value at their left end
    names: list[Text] = field(default_factory=list)
    lines: list[Drawn] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    width: int = WIDTH
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bar: int = _BAR


def pictures(chart: Chart) -> list[Picture]:
    """Draw a chart; many bars come on several pictures, each of which fits a page."""
    if chart.is_line:
        return [_lines(chart)]
    places = range(len(chart.labels))
    return [_bars(chart, places[at : at + _ROWS_OF_A_PICTURE]) for at in range(0, len(places), _ROWS_OF_A_PICTURE)]


def ticks(largest: float, *, at_most: float | None = None) -> list[float]:
    """Cut an axis from 0 up to where the largest value lies, or to `at_most`, into steps of 1, 2 or 5 and zeros."""
    end = largest if at_most is None else at_most
    if end <= 0:
        return [0, 1]
    raw = end / _TICKS
    power = 10 ** math.floor(math.log10(raw))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= raw * (1 - 1e-9))
    return [number * step for number in range(math.ceil(end / step - 1e-9) + 1)]


def _lines(chart: Chart) -> Picture:
    values = [value for one in chart.series for value in one.values if value is not None]
    axis = ticks(max(values, default=0), at_most=chart.most)
    bottom = _HEIGHT - _BOTTOM
    # Differences below nothing, which a mean may have, are drawn on the ground: the table says them.
    heights = [bottom - (bottom - _TOP) * value / axis[-1] for value in axis]
    across = (WIDTH - _LEFT - _RIGHT) / max(len(chart.labels) - 1, 1)

    def place(at: int, value: float) -> tuple[float, float]:
        return _LEFT + across * at, bottom - (bottom - _TOP) * max(value, 0) / axis[-1]

    every = math.ceil(len(chart.short) / _LABELS)
    return Picture(
        height=_HEIGHT,
        about=_about(chart, range(len(chart.labels))),
        unit=chart.unit,
        rules=[Text(_n(_LEFT - 6), _n(height), _said(value)) for value, height in zip(axis, heights, strict=True)],
        names=[
            Text(_n(_LEFT + across * at), _n(_HEIGHT - 8), text)
            for at, text in enumerate(chart.short)
            if at % every == 0
        ],
        lines=[
            Drawn(
                one,
                [_path(run) for run in _runs([None if v is None else place(at, v) for at, v in enumerate(one.values)])],
                [
                    Mark(
                        f"translate({_n(place(at, value)[0] - 3)} {_n(place(at, value)[1] - 3)}) scale(0.6)",
                        one.look.mark,
                    )
                    for at, value in enumerate(one.values)
                    if value is not None and (len(one.values) <= _MARKED or _is_alone(one.values, at))
                ],
            )
            for one in chart.series
        ],
    )


def _bars(chart: Chart, places: range) -> Picture:
    (series,) = chart.series
    largest = max((value for value in series.values if value is not None), default=0)
    end = chart.most or largest or 1
    room = WIDTH - _NAMES - 130  # what a bar says stands behind it

    def bar(row: int, at: int) -> Bar:
        y = 8 + row * _ROW
        width = room * max(series.values[at] or 0, 0) / end
        return Bar(
            name=Text(_n(_NAMES - 8), _n(y + 10), _cut(chart.labels[at])),
            said=Text(_n(_NAMES + width + 6), _n(y + 10), series.said[at]),
            y=_n(y),
            width=_n(width),
        )

    return Picture(
        height=12 + _ROW * len(places),
        about=_about(chart, places),
        unit=chart.unit,
        bars=[bar(row, at) for row, at in enumerate(places)],
        left=_NAMES,
    )


def _about(chart: Chart, places: range) -> str:
    """Say what a picture shows, for who has it read aloud."""
    told = [f"{one.name}: " + ", ".join(f"{chart.labels[at]} {one.said[at]}" for at in places) for one in chart.series]
    return f"{chart.title}. " + "; ".join(told)


def _is_alone(values: Sequence[float | None], at: int) -> bool:
    beside = values[max(at - 1, 0) : at + 2]
    return sum(value is not None for value in beside) == 1


def _runs(points: Sequence[tuple[float, float] | None]) -> Iterator[list[tuple[float, float]]]:
    """Cut a line where there is no value."""
    run: list[tuple[float, float]] = []
    for point in [*points, None]:
        if point is not None:
            run.append(point)
        elif len(run) > 1:
            yield run
            run = []
        else:
            run = []


def _path(run: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in run)


def _cut(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1].rstrip()}…"


def _said(value: float) -> str:
    rounded = round(value, 4)  # steps are made of halves and fifths, which no number of a computer is exactly
    return number_format(int(rounded) if rounded == int(rounded) else rounded, force_grouping=True)


def _n(length: float) -> str:
    return f"{length:.1f}"
