"""The hours of a week as a table whose cells have a stronger colour the larger their value."""

from collections.abc import Sequence
from typing import Any, Final

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR

from apps.console.reports import words
from apps.reporting.queries.reports import Point

LEVELS: Final = 5


def heat(points: Sequence[Point], key: str, address: words.Address) -> dict[str, Any]:
    """Lay points of weekday and hour out: a row for each weekday, a column for each hour between the first and last.

    The level of a cell is where its value lies between the smallest and the largest one that is shown, 1 to `LEVELS`.
    """
    found = {point.key: point.figures[key] for point in points}
    hours = range(min((hour for _day, hour in found), default=0), max((hour for _day, hour in found), default=-1) + 1)
    values = [one.value for one in found.values() if one.value is not None]
    least, most = min(values, default=0.0), max(values, default=0.0)
    rows = []
    for day in range(1, 8):
        cells = []
        for hour in hours:
            figure = found.get((day, hour))
            cells.append(
                {
                    **words.shown(figure, address, weekday=day, hour=str(hour)),
                    "short": words.value_said(figure.definition, figure.value, short=True),
                    "level": _level(figure.value, least, most),
                }
                if figure
                else None
            )
        rows.append({"day": WEEKDAYS[day - 1], "short": WEEKDAYS_ABBR[day - 1], "cells": cells})
    return {"hours": [f"{hour:02d}" for hour in hours], "rows": rows}


def _level(value: float | None, least: float, most: float) -> int:
    if value is None:
        return 0
    if most == least:
        return 1
    return 1 + min(LEVELS - 1, int((value - least) / (most - least) * LEVELS))
