"""Charts of trends, for the page's script and for PDF, and a heat map of weekdays and hours as a table."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.translation import gettext

from apps.console.kit.svg_charts import LINE_STYLES, Chart, LineStyle, Series
from apps.console.reports import labels, trend_buckets
from apps.reporting import kpi_labels
from apps.reporting.queries.figures import Figure
from apps.reporting.queries.reports import Point, Trend
from apps.reporting.rules.kpis import Kpi, Unit
from apps.reporting.rules.trend_buckets import TIMES

# Above this share, the axis ends at 100%; on such an axis, smaller shares would be lines along the bottom.
_LARGE_SHARE: Final = 0.5
LEVELS: Final = 5
_HOUR: Final = 60  # minutes
_DAY: Final = 24 * _HOUR


def chart_of(kpi: Kpi, trend: Trend) -> Chart:
    """Return the chart of a trend: a line for each facility if the trend has them, else one line for the total."""
    keys = [point.key for point in trend.points]
    lines = [(line.name, _by_key(line.points)) for line in trend.lines]
    lines = lines or [(kpi_labels.kpi_title(kpi), _by_key(trend.points))]
    largest_value = max((_value(kpi, point) or 0 for _name, points in lines for point in points.values()), default=0)
    scale, unit = _axis(kpi, largest_value)
    series = [
        _series(kpi, name, style, [points.get(key) for key in keys], scale)
        for (name, points), style in zip(lines, LINE_STYLES, strict=False)
    ]
    largest = max((value for line in series for value in line.values if value is not None), default=0)
    is_share = kpi.unit is Unit.SHARE
    return Chart(
        title=kpi_labels.kpi_title(kpi),
        unit=unit,
        labels=[trend_buckets.label(trend.by, key, trend.names) for key in keys],
        short_labels=[trend_buckets.short(trend.by, key, trend.names) for key in keys],
        series=series,
        axis_end=100 if is_share and largest > 100 * _LARGE_SHARE else None,
        is_line=trend.by in TIMES and len(keys) > 1,
    )


def _by_key(points: Sequence[Point]) -> Mapping[Any, Point]:
    return {point.key: point for point in points}


def _value(kpi: Kpi, point: Point) -> float | None:
    return point.figures[kpi.key].value


def _axis(kpi: Kpi, largest: float) -> tuple[float, str]:
    """Return the factor of values on the axis, and its unit: a unit of time in which numbers are short."""
    if kpi.unit is Unit.SHARE:
        return 100, "%"
    if kpi.unit is Unit.MINUTES and largest >= 2 * _DAY:
        return 1 / _DAY, gettext("Days")
    if kpi.unit is Unit.MINUTES and largest >= 5 * _HOUR:
        return 1 / _HOUR, gettext("Hours")
    return 1, str(labels.UNITS[kpi.unit])


def _series(kpi: Kpi, name: str, style: LineStyle, points: Sequence[Point | None], scale: float) -> Series:
    figures: list[Figure | None] = [point.figures[kpi.key] if point else None for point in points]
    return Series(
        name=name,
        style=style,
        values=[_axis_value(figure.value if figure else None, scale) for figure in figures],
        texts=[kpi_labels.format_figure(figure) if figure else kpi_labels.DASH for figure in figures],
    )


def _axis_value(value: float | None, scale: float) -> float | None:
    return None if value is None else round(value * scale, 2)


def heat_table(points: Sequence[Point], key: str, links: labels.Links) -> dict[str, Any]:
    """Return a table of weekdays by hours, from the first hour with a value to the last.

    The level of a cell, 1 to `LEVELS`, is the position of its value between the smallest and the largest; 0: no value.
    """
    figures = {point.key: point.figures[key] for point in points}
    hours = range(
        min((hour for _day, hour in figures), default=0), max((hour for _day, hour in figures), default=-1) + 1
    )
    values = [figure.value for figure in figures.values() if figure.value is not None]
    smallest, largest = min(values, default=0.0), max(values, default=0.0)
    rows = []
    for day in range(1, 8):
        cells = []
        for hour in hours:
            figure = figures.get((day, hour))
            cells.append(
                {
                    **labels.figure_context(figure, links, weekday=day, hour=str(hour)),
                    "short": kpi_labels.format_value(figure.kpi, figure.value, short=True),
                    "level": _level(figure.value, smallest, largest),
                }
                if figure
                else None
            )
        rows.append({"day": WEEKDAYS[day - 1], "short": WEEKDAYS_ABBR[day - 1], "cells": cells})
    return {"hours": [f"{hour:02d}" for hour in hours], "rows": rows}


def _level(value: float | None, smallest: float, largest: float) -> int:
    if value is None:
        return 0
    if largest == smallest:
        return 1
    return 1 + min(LEVELS - 1, int((value - smallest) / (largest - smallest) * LEVELS))
