"""Workbooks: their content in an independent reader, and their streaming."""

import io
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import psycopg
import pytest
from django.db import connection
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from openpyxl.utils.escape import unescape

from apps.exports.formats import workbook
from apps.exports.formats.columns import Column, ColumnType
from apps.exports.formats.copy_stream import RowFormat, Source, chunks
from apps.exports.formats.files import Table
from apps.exports.formats.workbook import MAX_CHARACTERS, in_cell
from lib.csv_file import neutral
from tests.exports.test_formats import NULLS, ONE, TEXTS, _file, _table
from tests.tiers import sized

# Characters that are special in XML or to its readers, in any order.
PARTS = [
    "_x0041_",
    "_x005F_",
    "_x00",
    "41_",
    "_",
    "x0041",
    "\x01",
    "\x0b",
    "\x1f",
    "\ufffe",
    "\uffff",
    "\r",
    "\n",
    "\t",
]
PARTS += ["<", ">", "&", "&amp;", '"', "]]>", " ", "\x7f", "\x85", "\u2028", "=", "\U0001f697"]
TRAPS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join)
NUMBER = (Column("number", ColumnType.COUNT, "n.number"),)


def _said(values: list[str]) -> Table:
    source = Source(
        "FROM unnest(%(values)s::text[]) WITH ORDINALITY AS v(said, number) ORDER BY v.number", {"values": values}
    )
    columns = (Column("said", ColumnType.TEXT, "v.said"), Column("number", ColumnType.COUNT, "v.number"))
    return Table("rides", columns, source, str, seconds=5)


def _read(table: Table) -> list[str | None]:
    """Read the first column below its header, as Excel does: this reader keeps `_xHHHH_` as it is."""
    book = openpyxl.load_workbook(io.BytesIO(b"".join(table.stream("xlsx"))))
    _, *rows = book.worksheets[0].iter_rows()
    assert all(cell.data_type != "f" for row in rows for cell in row)
    assert [row[1].value for row in rows] == list(range(1, len(rows) + 1))
    return [None if row[0].value is None else unescape(row[0].value) for row in rows]


class Texts(TestCase):
    """Texts are unchanged in their cell, or changed as `neutral` defines, and PostgreSQL writes them as Python does."""

    @settings(max_examples=sized(short=75, nightly=150))
    @given(st.lists(TEXTS | TRAPS, min_size=1, max_size=8))
    @example(["_x0041\x01", "_x0041_x0042_", "\r\n", " a ", "_x00\x01"])
    def test_come_back(self, values: list[str]) -> None:
        rows = b"".join(_said(values).chunks(RowFormat.SHEET)).decode().split("\n")

        assert _read(_said(values)) == [neutral(value) or None for value in values]
        assert [row.partition('preserve">')[2].partition("</t>")[0] for row in rows[:-1]] == [
            in_cell(neutral(value)) for value in values
        ]


@pytest.mark.django_db
def test_text_is_cut_where_a_cell_ends() -> None:
    long = "é<" * 20_000

    assert _read(_said([long, long[:MAX_CHARACTERS], "=" * MAX_CHARACTERS])) == [
        long[:MAX_CHARACTERS],
        long[:MAX_CHARACTERS],
        "'" + "=" * (MAX_CHARACTERS - 1),
    ]
    assert in_cell(long) == in_cell(long[:MAX_CHARACTERS])


@pytest.mark.django_db
def test_holds_texts_and_numbers_and_no_formula(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(_file(tmp_path, "xlsx"))

    assert book.sheetnames == ["rides"]
    assert book["rides"].freeze_panes == "A2"
    head, row, again = book["rides"].iter_rows()
    assert [cell.value for cell in head] == list(ONE)
    values = dict(zip(ONE, [cell.value for cell in row], strict=True))
    assert (values["text"], values["count"], values["amount"], values["flag"]) == ('\'=Núñez, "Ada"', 7, 12.5, True)
    assert (values["empty"], values["none"], values["words"]) == (None, None, "odometer_end;arrived_pickup")
    assert (values["json"], values["instant"]) == ('{"not_booked":3,"other":null}', "2026-11-20T20:00:00.12Z")
    assert all(cell.data_type != "f" for cell in row)
    assert [cell.value for cell in again] == [cell.value for cell in row]


@pytest.mark.django_db
def test_nothing_is_an_empty_cell(tmp_path: Path) -> None:
    _, row, _ = openpyxl.load_workbook(_file(tmp_path, "xlsx", _table(NULLS)))["rides"].iter_rows(values_only=True)

    assert row == (None,) * len(ONE)


def _numbers(most: int) -> Iterator[bytes]:
    source = Source(f"FROM generate_series(1, {most}) AS n(number) ORDER BY n.number", {})
    return chunks(NUMBER, source, RowFormat.SHEET, mask=str, seconds=5)


@pytest.mark.django_db
def test_long_table_goes_on_on_another_sheet() -> None:
    found = b"".join(workbook.chunks("rides", ["number"], _numbers(5), max_rows=3))

    sheets = {
        sheet.title: [row[0] for row in sheet.iter_rows(values_only=True)]
        for sheet in openpyxl.load_workbook(io.BytesIO(found))
    }
    assert sheets == {"rides": ["number", 1, 2], "rides 2": ["number", 3, 4], "rides 3": ["number", 5]}


@pytest.mark.django_db
def test_sheet_is_split_before_it_needs_zip64() -> None:
    """The standard library writes ZIP64 headers that Excel treats as a corrupt file."""
    most = 300_000

    found = b"".join(workbook.chunks("rides", ["number"], _numbers(20_000), max_bytes=most))

    book = openpyxl.load_workbook(io.BytesIO(found))
    assert [row[0] for sheet in book for row in sheet.iter_rows(min_row=2, values_only=True)] == list(range(1, 20_001))
    with ZipFile(io.BytesIO(found)) as file:
        sheets = [one for one in file.infolist() if one.filename.startswith("xl/worksheets/")]
        assert len(sheets) == len(book.sheetnames) > 1
        assert all(one.file_size < most + 2_000 for one in sheets)
        assert [one.filename for one in file.infolist() if one.extract_version > 20 or one.extra] == []
    assert b"\xff\xff\xff\xff" not in found[:200]


def _noise(most: int) -> Table:
    columns = (*NUMBER, Column("noise", ColumnType.TEXT, "md5(n.number::text)"))
    source = Source(f"FROM generate_series(1, {most}) AS n(number) ORDER BY n.number", {})
    return Table("rides", columns, source, str, seconds=5)


@pytest.mark.django_db
def test_comes_in_pieces_while_rows_are_read() -> None:
    counts: list[int] = []

    def count(rows: int, _: object) -> None:
        counts.append(rows)

    seen = [(sum(counts), len(piece)) for piece in _noise(20_000).stream("xlsx", count)]

    assert seen[0][0] < 2_000
    assert len(list(takewhile(lambda one: one[0] < 20_000, seen))) > 10
    assert max(size for _, size in seen) < 70_000
    assert all(size for _, size in seen)


@pytest.mark.django_db
def test_that_is_abandoned_ends_its_statement() -> None:
    stream = _noise(1_000_000).stream("xlsx")
    assert next(stream).startswith(b"PK")

    stream.close()  # type: ignore[attr-defined]  # a generator

    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


@pytest.mark.django_db(transaction=True)
def test_gives_nothing_where_the_statement_fails() -> None:
    """The refusal is then a separate answer, and not the beginning of a file."""
    table = Table("rides", (Column("number", ColumnType.COUNT, "1 / 0"),), Source("ORDER BY 1", {}), str, seconds=5)

    with pytest.raises(psycopg.Error):
        next(table.stream("xlsx"))
