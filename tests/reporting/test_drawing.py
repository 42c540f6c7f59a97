"""Charts on paper: axes, lines with gaps, bars over several pictures."""

import pytest
from django.utils import translation

from apps.console.reports.charts import LOOKS, Chart, Series
from apps.console.reports.drawing import Picture, pictures, ticks


def chart(values: list[float | None], *, is_line: bool = True, most: int | None = None, name: str = "Day 0") -> Chart:
    labels = [name.replace("0", str(at)) for at in range(len(values))]
    said = ["\N{EN DASH}" if value is None else str(value) for value in values]
    series = [Series("Pickups", LOOKS[0], values, said)]
    return Chart("Pickups", "%", labels, labels, series, most, is_line)


def drawn(of: Chart) -> Picture:
    (picture,) = pictures(of)
    return picture


@pytest.mark.parametrize(
    ("largest", "at_most", "cut"),
    [
        (0, None, [0, 1]),
        (1, None, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (7, None, [0, 2, 4, 6, 8]),
        (23, None, [0, 5, 10, 15, 20, 25]),
        (94, None, [0, 20, 40, 60, 80, 100]),
        (90, 100, [0, 20, 40, 60, 80, 100]),
        (3600, None, [0, 1000, 2000, 3000, 4000]),
        (0.03, None, [0, 0.01, 0.02, 0.03]),
    ],
)
def test_axis_is_cut_into_round_steps(largest: float, at_most: float | None, cut: list[float]) -> None:
    assert ticks(largest, at_most=at_most) == pytest.approx(cut)


def test_line_is_cut_where_there_is_no_value() -> None:
    (line,) = drawn(chart([50, 100, None, 0, None, 50, 50], most=100)).lines

    assert line.paths == ["44.0,116.0 146.7,18.0", "557.3,116.0 660.0,116.0"]
    assert len(line.marks) == 5


def test_long_lines_mark_points_alone_between_gaps() -> None:
    values: list[float | None] = [1.0] * 61
    values[29], values[31] = None, None

    (line,) = drawn(chart(values)).lines

    assert [mark.by for mark in line.marks] == ["translate(349.0 15.0) scale(0.6)"]
    assert len(line.paths) == 2


def test_names_below_the_axis_have_room() -> None:
    assert len(drawn(chart([1.0] * 90)).names) == 10
    assert len(drawn(chart([1.0] * 7)).names) == 7


def test_values_below_nothing_lie_on_the_ground() -> None:
    (line,) = drawn(chart([-5, 10])).lines

    assert line.paths == ["44.0,214.0 660.0,18.0"]


def test_bars_are_as_long_as_their_values_and_say_them() -> None:
    bars = drawn(chart([50, 100, None, -2], is_line=False, most=100)).bars

    assert [(bar.name.text, bar.width, bar.said.text) for bar in bars] == [
        ("Day 0", "180.0", "50"),
        ("Day 1", "360.0", "100"),
        ("Day 2", "0.0", "\N{EN DASH}"),
        ("Day 3", "0.0", "-2"),
    ]


def test_bars_without_any_value_have_no_length() -> None:
    assert {bar.width for bar in drawn(chart([None, 0], is_line=False)).bars} == {"0.0"}


def test_many_bars_come_on_several_pictures() -> None:
    found = pictures(chart([1.0] * 61, is_line=False))

    assert [len(one.bars) for one in found] == [30, 30, 1]
    assert found[2].about == "Pickups. Pickups: Day 60 1.0"


def test_long_names_are_cut() -> None:
    (bar,) = drawn(chart([1], is_line=False, name="The Rehabilitation Hospital of the Northern Suburbs")).bars

    assert bar.name.text == "The Rehabilitation Hospital of th…"


def test_lengths_have_a_point_in_every_language() -> None:
    with translation.override("de"):
        picture = drawn(chart([500.5, 1500]))

    assert picture.lines[0].paths == ["44.0,148.6 660.0,18.0"]
    assert [rule.text for rule in picture.rules] == ["0", "500", "1.000", "1.500"]


def test_axis_says_whole_numbers_whole() -> None:
    assert [rule.text for rule in drawn(chart([0.5, 1.5])).rules] == ["0", "0.5", "1", "1.5"]
