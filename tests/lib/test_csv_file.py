"""CSV files for spreadsheets: their content, and protection from formulas."""

import csv
from io import StringIO
from zoneinfo import ZoneInfo

import pytest

from lib.csv_file import csv_file, neutral
from tests.factories import NOW


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_looks_like_a_formula_is_text(text: str) -> None:
    assert neutral(text) == f"'{text}"


@pytest.mark.parametrize("value", ["Diaz, Ada", "", "a=b", 3, -3, -21.5])
def test_other_values_stay_as_they_are(value: object) -> None:
    assert neutral(value) == str(value)


def test_file_is_saved_under_its_name_and_read_back_as_written() -> None:
    at = NOW.astimezone(ZoneInfo("America/Chicago"))
    rows: list[list[object]] = [["Driver", "Rides"], ['Núñez, "Ada"', 3], ["=HYPERLINK()", 0]]

    answer = csv_file("people", rows, exported_by="Dana Desk", at=at)

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="people-2026-11-20-0900-CT.csv"'
    text = answer.content.decode("utf-8-sig")
    assert list(csv.reader(StringIO(text))) == [
        ["Driver", "Rides", "Exported Fri, Nov 20, 2026, 09:00 CT by Dana Desk"],
        ['Núñez, "Ada"', "3", ""],
        ["'=HYPERLINK()", "0", ""],
    ]
    assert [one["Driver"] for one in csv.DictReader(StringIO(text))] == ['Núñez, "Ada"', "'=HYPERLINK()"]
