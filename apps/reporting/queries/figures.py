"""Measures become figures: a value with what it is made of, what it leaves out, and what may be shown of it.

Whoever may see no identity is shown no figure that stands on fewer than five legs on either side of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apps.reporting.queries.sums import Sums
from apps.reporting.rules.defining import Definition, Names, Way
from apps.reporting.rules.definitions import DEFINITIONS
from apps.reporting.rules.measures import BYTES_OF_VALUE, MEASURES, PACKED, Kind
from apps.reporting.rules.quantiles import quantiles
from lib.access import Phi, Principal

SMALLEST: Final = 5  # legs
_DIGITS: Final = 4
_NONE: Final[Mapping[str, Any]] = {}
# Both sides count legs, so that those that are left over can be told, whatever the unit.
_OF_LEGS: Final = frozenset(
    one.key
    for one in DEFINITIONS
    if all(MEASURES[name].kind is Kind.COUNT for name in (*one.numerator, *one.denominator)) and one.way is Way.RATIO
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One value; a part has the definition of its whole.

    `value` None: nothing to count, or not shown, which `suppressed` tells apart.
    Of a quantile there is no numerator, and the denominator is the number of values.  `legs` is how many it stands on,
    where its definition names them.
    """

    definition: Definition
    value: float | None
    numerator: int | None
    denominator: int | None
    excluded: Mapping[str, int | None]
    parts: Mapping[str, "Figure"] = field(default_factory=dict)
    suppressed: bool = False
    legs: int | None = None


def figures_of(definitions: Sequence[Definition], sums: Sums) -> dict[str, Figure]:
    """Make the figures of these definitions; quantiles of one measure are found together."""
    found = _quantiles_of(definitions, sums)
    return {one.key: _figure(one, sums, found) for one in definitions}


def _quantiles_of(definitions: Sequence[Definition], sums: Sums) -> dict[tuple[str, float], float | None]:
    wanted: dict[str, list[float]] = {}
    for one in definitions:
        if one.way is Way.QUANTILE:
            wanted.setdefault(one.numerator[0], []).append(one.quantile)
    return {
        (name, quantile): value
        for name, asked in wanted.items()
        for quantile, value in zip(asked, quantiles(sums[name], asked), strict=True)
    }


def _figure(definition: Definition, sums: Sums, found: Mapping[tuple[str, float], float | None]) -> Figure:
    excluded = {reason: total(names, sums) for reason, names in definition.excluded.items()}
    if definition.way is Way.QUANTILE:
        (measure,) = definition.numerator
        exact = found[measure, definition.quantile]
        value = None if exact is None else round(exact, _DIGITS)
        return Figure(definition, value, None, total(definition.numerator, sums), excluded)
    parts = {
        name: _ratio(definition, part.numerator, part.denominator, sums) for name, part in definition.parts.items()
    }
    figure = _ratio(definition, definition.numerator, definition.denominator, sums, excluded, parts)
    return replace(figure, legs=total(definition.legs, sums)) if definition.legs else figure


def _ratio(
    definition: Definition,
    above: Names,
    below: Names,
    sums: Sums,
    excluded: Mapping[str, int] = _NONE,
    parts: Mapping[str, Figure] = _NONE,
) -> Figure:
    numerator, denominator = total(above, sums), total(below, sums)
    value = round(numerator / denominator * definition.times, _DIGITS) if denominator else None
    return Figure(definition, value, numerator, denominator, excluded, parts)


def total(names: Names, sums: Sums) -> int:
    """Add measures up; of packed values, their number."""
    return sum(len(sums[name]) // BYTES_OF_VALUE if name in PACKED else int(sums[name]) for name in names)


def as_json(figure: Figure) -> dict[str, Any]:
    """Write what a figure says, alike in every answer and file."""
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


def shown_to(by: Principal, figure: Figure) -> Figure:
    """Take away what the caller may not see: all of a figure that stands on too few legs, on either side."""
    if by.phi > Phi.NONE:
        return figure
    if any(map(is_small, _legs_of(figure))):
        return hidden(figure)
    parts = {name: shown_to(by, part) for name, part in figure.parts.items()}
    if any(part.suppressed for part in parts.values()):
        parts = {name: hidden(part) for name, part in parts.items()}
    return replace(figure, parts=parts, excluded=_shown_counts(figure.excluded))


def _legs_of(figure: Figure) -> list[int | None]:
    """Count the legs on which a figure stands, on either side of it."""
    if figure.legs is not None:
        return [figure.legs]
    left = None
    if figure.definition.key in _OF_LEGS and figure.numerator is not None and figure.denominator is not None:
        left = figure.denominator - figure.numerator
    return [figure.numerator, figure.denominator, left]


def _shown_counts(counts: Mapping[str, int | None]) -> Mapping[str, int | None]:
    """Hide all of several counts where one is small: with the others it would follow from their sum."""
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


def shown_beside_total(
    by: Principal, rows: Sequence[Mapping[str, Figure]], whole: Mapping[str, Figure]
) -> tuple[list[dict[str, Figure]], dict[str, Figure]]:
    """Show rows that add up to a whole: hidden ones that stand on too few legs together take more with them.

    Otherwise they would be the difference between the whole and the rest.  Where no more are left, the whole is hidden.
    """
    if by.phi > Phi.NONE:
        return [dict(row) for row in rows], dict(whole)
    shown = [{key: shown_to(by, figure) for key, figure in row.items()} for row in rows]
    total = {key: shown_to(by, figure) for key, figure in whole.items()}
    for key in whole:
        while _follows(key, rows, shown, total):
            others = [number for number, row in enumerate(shown) if not row[key].suppressed and row[key].denominator]
            if others:
                least = min(others, key=lambda number: rows[number][key].denominator or 0)
                shown[least][key] = hidden(shown[least][key])
            else:
                total[key] = hidden(total[key])
    return shown, total


def _follows(
    key: str, rows: Sequence[Mapping[str, Figure]], shown: Sequence[Mapping[str, Figure]], total: Mapping[str, Figure]
) -> bool:
    """Say whether something small follows from the whole and the rows that are shown."""
    lost = [rows[number][key] for number, row in enumerate(shown) if row[key].suppressed]
    if not lost or total[key].suppressed:
        return False
    together = [sum(filter(None, counts)) for counts in zip(*map(_legs_of, lost), strict=True)]
    return len(lost) == 1 or any(map(is_small, together))


def shown_amounts(by: Principal, amounts: Mapping[Any, int]) -> dict[Any, int | None]:
    """Show counts that stand beside one another: small ones are hidden, and where they are few, the least, too."""
    if by.phi > Phi.NONE:
        return dict(amounts)
    lost = {key for key, count in amounts.items() if is_small(count)}
    rest = sorted((key for key, count in amounts.items() if key not in lost and count), key=amounts.__getitem__)
    while lost and rest and (len(lost) == 1 or is_small(sum(amounts[key] for key in lost))):
        lost.add(rest.pop(0))
    return {key: None if key in lost else count for key, count in amounts.items()}
