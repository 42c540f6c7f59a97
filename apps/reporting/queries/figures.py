"""Compute KPI values from measures, and hide those that are based on too few rides.

A caller without a PHI level sees no value with fewer than five rides in its numerator or denominator, or between the
two: such a value may reveal what happened to one rider.  Further values of a list or table are hidden if a hidden value
could be computed from them and their total.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apps.reporting.queries.sums import Sums
from apps.reporting.rules.kpis import ALL_KPIS, Kpi, KpiMethod, Names
from apps.reporting.rules.measures import BYTES_OF_VALUE, MEASURES, PACKED, MeasureKind, quantiles
from lib.access import Phi, Principal

SMALLEST: Final = 5  # rides
_DIGITS: Final = 4  # of a value
_EMPTY: Final[Mapping[str, Any]] = {}
# KPIs whose numerator and denominator both count rides, so that their difference is a count of rides, too.
_OF_RIDES: Final = frozenset(
    kpi.key
    for kpi in ALL_KPIS
    if kpi.method is KpiMethod.RATIO
    and all(MEASURES[name].kind is MeasureKind.COUNT for name in (*kpi.numerator, *kpi.denominator))
)


@dataclass(frozen=True, slots=True)
class Figure:
    """The value of one KPI, or of one of its parts.

    `value` None: nothing to count, or hidden (then `suppressed` is true).  A quantile has no numerator, and its
    denominator is the number of values.  `sample` is the number of rides that the value is based on, for KPIs that
    define it.
    """

    kpi: Kpi
    value: float | None
    numerator: int | None
    denominator: int | None
    excluded: Mapping[str, int | None]
    parts: Mapping[str, "Figure"] = field(default_factory=dict)
    suppressed: bool = False
    sample: int | None = None


def figures_of(kpis: Sequence[Kpi], sums: Sums) -> dict[str, Figure]:
    """Compute the values of these KPIs by key; quantiles of one measure are computed in one pass."""
    computed = _quantiles_of(kpis, sums)
    return {kpi.key: _figure(kpi, sums, computed) for kpi in kpis}


def _quantiles_of(kpis: Sequence[Kpi], sums: Sums) -> dict[tuple[str, float], float | None]:
    by_measure: dict[str, list[float]] = {}
    for kpi in kpis:
        if kpi.method is KpiMethod.QUANTILE:
            by_measure.setdefault(kpi.numerator[0], []).append(kpi.quantile)
    return {
        (measure, quantile): value
        for measure, levels in by_measure.items()
        for quantile, value in zip(levels, quantiles(sums[measure], levels), strict=True)
    }


def _figure(kpi: Kpi, sums: Sums, computed: Mapping[tuple[str, float], float | None]) -> Figure:
    excluded = {reason: total(names, sums) for reason, names in kpi.excluded.items()}
    if kpi.method is KpiMethod.QUANTILE:
        (measure,) = kpi.numerator
        exact = computed[measure, kpi.quantile]
        value = None if exact is None else round(exact, _DIGITS)
        return Figure(kpi, value, None, total(kpi.numerator, sums), excluded)
    parts = {name: _ratio(kpi, part.numerator, part.denominator, sums) for name, part in kpi.parts.items()}
    figure = _ratio(kpi, kpi.numerator, kpi.denominator, sums, excluded, parts)
    return replace(figure, sample=total(kpi.sample, sums)) if kpi.sample else figure


def _ratio(
    kpi: Kpi,
    numerator_names: Names,
    denominator_names: Names,
    sums: Sums,
    excluded: Mapping[str, int] = _EMPTY,
    parts: Mapping[str, Figure] = _EMPTY,
) -> Figure:
    numerator, denominator = total(numerator_names, sums), total(denominator_names, sums)
    value = round(numerator / denominator * kpi.factor, _DIGITS) if denominator else None
    return Figure(kpi, value, numerator, denominator, excluded, parts)


def total(names: Names, sums: Sums) -> int:
    """Add up measures; a measure with single values counts as the number of its values."""
    return sum(len(sums[name]) // BYTES_OF_VALUE if name in PACKED else int(sums[name]) for name in names)


def as_json(figure: Figure) -> dict[str, Any]:
    """Return the fields of a value in the API and in files."""
    return {
        "value": figure.value,
        "numerator": figure.numerator,
        "denominator": figure.denominator,
        "excluded": dict(figure.excluded),
        "parts": {
            name: {"value": part.value, "numerator": part.numerator, "denominator": part.denominator}
            for name, part in figure.parts.items()
        },
        "suppressed": figure.suppressed,
    }


def is_small(count: int | None) -> bool:
    return count is not None and 0 < count < SMALLEST


def visible_to_caller(by: Principal, figure: Figure) -> Figure:
    """Hide what the caller may not see: the whole value, with parts and exclusions, if a ride count is small."""
    if by.phi > Phi.NONE:
        return figure
    if any(map(is_small, _ride_counts(figure))):
        return hidden(figure)
    parts = {name: visible_to_caller(by, part) for name, part in figure.parts.items()}
    if any(part.suppressed for part in parts.values()):
        parts = {name: hidden(part) for name, part in parts.items()}
    return replace(figure, parts=parts, excluded=_visible_exclusions(figure.excluded))


def _ride_counts(figure: Figure) -> list[int | None]:
    """Return the ride counts of a value: numerator, denominator, and their difference if it counts rides."""
    if figure.sample is not None:
        return [figure.sample]
    difference = None
    if figure.kpi.key in _OF_RIDES and figure.numerator is not None and figure.denominator is not None:
        difference = figure.denominator - figure.numerator
    return [figure.numerator, figure.denominator, difference]


def _visible_exclusions(counts: Mapping[str, int | None]) -> Mapping[str, int | None]:
    """Hide all exclusions if one is small: it could be computed from the others and their sum."""
    return dict.fromkeys(counts) if any(is_small(count) for count in counts.values()) else counts


def hidden(figure: Figure) -> Figure:
    return replace(
        figure,
        value=None,
        numerator=None,
        denominator=None,
        excluded=dict.fromkeys(figure.excluded),
        parts={name: hidden(part) for name, part in figure.parts.items()},
        suppressed=True,
    )


def visible_beside_total(
    by: Principal, rows: Sequence[Mapping[str, Figure]], full_total: Mapping[str, Figure]
) -> tuple[list[dict[str, Figure]], dict[str, Figure]]:
    """Hide values of rows that add up to a total; return the visible rows and the visible total.

    If the hidden rows together are small, or there is only one, they could be computed from the total and the visible
    rows.  Then the smallest visible row is hidden, too, and so on; if no row is left, the total.
    """
    if by.phi > Phi.NONE:
        return [dict(row) for row in rows], dict(full_total)
    visible = [{key: visible_to_caller(by, figure) for key, figure in row.items()} for row in rows]
    total = {key: visible_to_caller(by, figure) for key, figure in full_total.items()}
    for key in full_total:
        while _is_derivable(key, rows, visible, total):
            candidates = [
                index for index, row in enumerate(visible) if not row[key].suppressed and row[key].denominator
            ]
            if candidates:
                smallest = min(candidates, key=lambda index: rows[index][key].denominator or 0)
                visible[smallest][key] = hidden(visible[smallest][key])
            else:
                total[key] = hidden(total[key])
    return visible, total


def _is_derivable(
    key: str,
    rows: Sequence[Mapping[str, Figure]],
    visible: Sequence[Mapping[str, Figure]],
    total: Mapping[str, Figure],
) -> bool:
    """Return whether a small value can be computed from the total and the visible rows."""
    hidden_figures = [rows[index][key] for index, row in enumerate(visible) if row[key].suppressed]
    if not hidden_figures or total[key].suppressed:
        return False
    together = [sum(filter(None, counts)) for counts in zip(*map(_ride_counts, hidden_figures), strict=True)]
    return len(hidden_figures) == 1 or any(map(is_small, together))


def visible_counts(by: Principal, amounts: Mapping[Any, int]) -> dict[Any, int | None]:
    """Replace small counts by None; if they add up to few, also the smallest of the others."""
    if by.phi > Phi.NONE:
        return dict(amounts)
    small = {key for key, count in amounts.items() if is_small(count)}
    candidates = sorted((key for key, count in amounts.items() if key not in small and count), key=amounts.__getitem__)
    while small and candidates and (len(small) == 1 or is_small(sum(amounts[key] for key in small))):
        small.add(candidates.pop(0))
    return {key: None if key in small else count for key, count in amounts.items()}
