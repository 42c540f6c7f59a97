"""Charts as SVG: axes, lines with gaps, bars over several drawings, sparklines."""

from xml.etree import ElementTree

import pytest
from django.utils import translation

from apps.console.kit.svg_charts import LINE_STYLES, Chart, Series, draw, line_key, spark_line, ticks

SVG = "{http://www.w3.org/2000/svg}"


def chart(
    values: list[float | None], *, is_line: bool = True, axis_end: int | None = None, name: str = "Day 0"
) -> Chart:
    labels = [name.replace("0", str(at)) for at in range(len(values))]
    texts = ["\N{EN DASH}" if value is None else str(value) for value in values]
    series = [Series("Pickups", LINE_STYLES[0], values, texts)]
    return Chart("Pickups", "%", labels, labels, series, axis_end, is_line)


def drawing(of: Chart) -> ElementTree.Element:
    (svg,) = draw(of)
    return ElementTree.fromstring(svg)  # noqa: S314  # written by this test


def polylines(of: Chart) -> list[str | None]:
    return [line.get("points") for line in drawing(of).iter(f"{SVG}polyline")]


def marks(of: Chart) -> list[str]:
    return [transform for path in drawing(of).iter(f"{SVG}path") if (transform := path.get("transform"))]


def axis_texts(of: Chart) -> list[str | None]:
    return [text.text for text in drawing(of).iter(f"{SVG}text") if text.get("dy")]


def bars(of: Chart) -> list[tuple[str | None, str | None, str | None]]:
    """List label, width and text of each bar."""
    found = drawing(of)
    texts = [text.text for text in found.iter(f"{SVG}text")]
    widths = [bar.get("width") for bar in found.iter(f"{SVG}rect")]
    return list(zip(texts[::2], widths, texts[1::2], strict=True))


@pytest.mark.parametrize(
    ("largest", "axis_end", "expected"),
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
def test_axis_has_round_ticks(largest: float, axis_end: float | None, expected: list[float]) -> None:
    assert ticks(largest, axis_end=axis_end) == pytest.approx(expected)


def test_line_is_split_where_there_is_no_value() -> None:
    with_gaps = chart([50, 100, None, 0, None, 50, 50], axis_end=100)

    assert polylines(with_gaps) == ["44.0,116.0 146.7,18.0", "557.3,116.0 660.0,116.0"]
    assert len(marks(with_gaps)) == 5


def test_long_line_marks_isolated_points_only() -> None:
    values: list[float | None] = [1.0] * 61
    values[29], values[31] = None, None

    assert marks(chart(values)) == ["translate(349.0 15.0) scale(0.6)"]
    assert len(polylines(chart(values))) == 2


@pytest.mark.parametrize(("days", "labels"), [(90, 10), (7, 7)])
def test_labels_below_the_axis_have_room(days: int, labels: int) -> None:
    texts = drawing(chart([1.0] * days)).iter(f"{SVG}text")

    assert len([text for text in texts if text.get("text-anchor") == "middle"]) == labels


def test_negative_values_are_drawn_on_the_ground() -> None:
    assert polylines(chart([-5, 10])) == ["44.0,214.0 660.0,18.0"]


def test_bars_have_the_length_and_the_text_of_their_values() -> None:
    assert bars(chart([50, 100, None, -2], is_line=False, axis_end=100)) == [
        ("Day 0", "180.0", "50"),
        ("Day 1", "360.0", "100"),
        ("Day 2", "0.0", "\N{EN DASH}"),
        ("Day 3", "0.0", "-2"),
    ]


def test_bars_without_any_value_have_no_length() -> None:
    assert {width for _label, width, _text in bars(chart([None, 0], is_line=False))} == {"0.0"}


def test_many_bars_come_in_several_drawings() -> None:
    drawings = [ElementTree.fromstring(svg) for svg in draw(chart([1.0] * 61, is_line=False))]  # noqa: S314  # written by this test

    assert [len(list(svg.iter(f"{SVG}rect"))) for svg in drawings] == [30, 30, 1]
    assert drawings[2].findtext(f"{SVG}title") == "Pickups. Pickups: Day 60 1.0"


def test_long_labels_of_bars_are_shortened() -> None:
    ((label, _width, _text),) = bars(
        chart([1], is_line=False, name="The Rehabilitation Hospital of the Northern Suburbs")
    )

    assert label == "The Rehabilitation Hospital of th…"


def test_lengths_have_a_decimal_point_in_every_language() -> None:
    with translation.override("de"):
        lines, texts = polylines(chart([500.5, 1500])), axis_texts(chart([500.5, 1500]))

    assert lines == ["44.0,148.6 660.0,18.0"]
    assert texts == ["0", "500", "1.000", "1.500"]


def test_axis_writes_whole_numbers_without_decimals() -> None:
    assert axis_texts(chart([0.5, 1.5])) == ["0", "0.5", "1", "1.5"]


def test_names_are_escaped() -> None:
    named = chart([1], is_line=False, name="Smith & <Sons>")

    assert bars(named)[0][0] == "Smith & <Sons>"


def test_lines_differ_in_color_dashes_and_marks() -> None:
    keys = [line_key(style, ink=style.ink) for style in LINE_STYLES]

    assert ["stroke-dasharray" in key for key in keys] == [False, True, True, True, True, True]
    for attribute in ("ink", "mark", "dashes"):
        assert len({getattr(style, attribute) for style in LINE_STYLES}) == len(LINE_STYLES)


@pytest.mark.parametrize(
    ("values", "points"),
    [
        ([1, None, 3, 2], "4.0,28.0 24.0,4.0 34.0,16.0"),
        ([2, 2], "4.0,16.0 14.0,16.0"),
        ([1, None], None),
        ([], None),
    ],
)
def test_sparkline_goes_from_the_lowest_to_the_highest(values: list[float | None], points: str | None) -> None:
    drawn = spark_line(values, label="By day")

    if points is None:
        assert drawn == ""
    else:
        svg = ElementTree.fromstring(drawn)  # noqa: S314  # we drew it ourselves
        line, last = svg
        assert (svg.get("aria-label"), line.get("points")) == ("By day", points)
        assert last.get("d") == f"M{points.split()[-1].replace(',', ' ')}h0"
