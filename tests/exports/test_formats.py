"""File formats: every form of COPY compared to Python's formatting of the same values."""

import csv
import datetime as dt
import io
import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import openpyxl
import pyarrow.parquet as pq
import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from apps.exports.formats import files
from apps.exports.formats.columns import Column, ColumnType, Encryption
from apps.exports.formats.copy_stream import RowFormat, Source, chunks
from apps.exports.formats.files import Table
from lib.crypto import encrypt
from lib.csv_file import neutral
from tests.tiers import sized

KEY = UUID("01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f")
# Characters that PostgreSQL can store, and prefixes of formulas and placeholders more often than by chance.
ODD = ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\x03", '"']
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20) | st.builds(
    str.__add__, st.sampled_from(ODD), st.text("a1")
)


def _texts(values: list[str], form: RowFormat) -> bytes:
    columns = (Column("number", ColumnType.COUNT, "v.number"), Column("said", ColumnType.TEXT, "v.said"))
    source = Source(
        "FROM unnest(%(values)s::text[]) WITH ORDINALITY AS v(said, number) ORDER BY v.number", {"values": values}
    )
    return b"".join(chunks(columns, source, form, mask=str, seconds=5))


class Texts(TestCase):
    """Texts are unchanged in each format, or changed as `neutral` defines."""

    @settings(max_examples=sized(short=75, nightly=150))
    @given(st.lists(TEXTS, min_size=1, max_size=8))
    def test_of_each_form(self, values: list[str]) -> None:
        lines = _texts(values, RowFormat.NDJSON).split(b"\n")
        cells, plain = (
            [row[1] for row in csv.reader(io.StringIO(_texts(values, form).decode(), newline=""))][1:]
            for form in (RowFormat.CSV, RowFormat.PLAIN)
        )

        assert [json.loads(line)["said"] for line in lines[:-1]] == [value or None for value in values]
        assert lines[-1] == b""
        assert cells == [neutral(value) for value in values]
        assert plain == values


ONE = {
    "id": (ColumnType.ID, f"'{KEY}'::uuid"),
    "word": (ColumnType.WORD, "'completed'::text"),
    "empty": (ColumnType.WORD, "''::text"),
    "text": (ColumnType.TEXT, "'=Núñez, \"Ada\"'::text"),
    "count": (ColumnType.COUNT, "7"),
    "amount": (ColumnType.AMOUNT, "12.50::numeric"),
    "number": (ColumnType.NUMBER, "0.9333::float8"),
    "flag": (ColumnType.FLAG, "true"),
    "instant": (ColumnType.INSTANT, "'2026-11-20T20:00:00.120Z'::timestamptz"),
    "whole": (ColumnType.INSTANT, "'2026-11-20T20:00:00Z'::timestamptz"),
    "local": (ColumnType.LOCAL, "'2026-11-20T20:00:00Z'::timestamptz AT TIME ZONE 'America/Chicago'"),
    "date": (ColumnType.DATE, "'2026-11-20'::date"),
    "json": (ColumnType.JSON, """'{"not_booked":3,"other":null}'::json"""),
    "words": (ColumnType.WORDS, "ARRAY['odometer_end', 'arrived_pickup']"),
    "none": (ColumnType.WORDS, "ARRAY[]::text[]"),
}
COLUMNS = tuple(Column(name, kind, sql) for name, (kind, sql) in ONE.items())
NULLS = tuple(Column(name, kind, "NULL::" + NULL_TYPE) for name, kind, NULL_TYPE in (
    (name, kind, {
        ColumnType.ID: "uuid", ColumnType.COUNT: "int", ColumnType.AMOUNT: "numeric", ColumnType.FLAG: "boolean",
        ColumnType.INSTANT: "timestamptz", ColumnType.LOCAL: "timestamp", ColumnType.DATE: "date",
        ColumnType.WORDS: "text[]", ColumnType.NUMBER: "float8", ColumnType.JSON: "json",
    }.get(kind, "text")) for name, (kind, _) in ONE.items()
))  # fmt: skip
ROW = Source("FROM (VALUES (1), (2)) AS n(number) ORDER BY n.number", {})


def _table(columns: Iterable[Column] = COLUMNS, source: Source = ROW) -> Table:
    return Table("rides", tuple(columns), source, str, seconds=5, metadata={"dataset": "rides"})


def _file(tmp_path: Path, format: str, table: Table | None = None) -> Path:
    path = tmp_path / f"file.{format}"
    files.write(path, format, table or _table())
    return path


def _cells(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True))


@pytest.mark.django_db
def test_ndjson_has_every_key_and_the_types_of_json(tmp_path: Path) -> None:
    lines = _file(tmp_path, "ndjson").read_bytes().splitlines()

    assert len(lines) == 2
    assert json.loads(lines[0]) == {
        "id": str(KEY),
        "word": "completed",
        "empty": None,
        "text": '=Núñez, "Ada"',
        "count": 7,
        "amount": 12.5,
        "number": 0.9333,
        "flag": True,
        "instant": "2026-11-20T20:00:00.12Z",
        "whole": "2026-11-20T20:00:00Z",
        "local": "2026-11-20T14:00:00",
        "date": "2026-11-20",
        "json": {"not_booked": 3, "other": None},
        "words": ["odometer_end", "arrived_pickup"],
        "none": [],
    }


@pytest.mark.django_db
def test_csv_is_that_of_the_rfc_and_safe_for_spreadsheets(tmp_path: Path) -> None:
    content = _file(tmp_path, "csv").read_bytes()

    head, row, *_ = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    assert content.endswith(b"\r\n")
    assert content.count(b"\r\n") == 3
    assert head == list(ONE)
    assert row == [
        *(str(KEY), "completed", "", '\'=Núñez, "Ada"', "7", "12.50", "0.9333", "true"),
        *("2026-11-20T20:00:00.12Z", "2026-11-20T20:00:00Z", "2026-11-20T14:00:00", "2026-11-20"),
        *('{"not_booked":3,"other":null}', "odometer_end;arrived_pickup", ""),
    ]


@pytest.mark.django_db
def test_parquet_keeps_types_nulls_and_what_looks_like_a_formula(tmp_path: Path) -> None:
    table = pq.read_table(_file(tmp_path, "parquet"))

    assert {name: str(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)} == {
        **dict.fromkeys(ONE, "string"),
        "count": "int64",
        "amount": "decimal128(12, 2)",
        "number": "double",
        "flag": "bool",
        "instant": "timestamp[us, tz=UTC]",
        "whole": "timestamp[us, tz=UTC]",
        "local": "timestamp[us]",
        "date": "date32[day]",
        "words": "list<element: string>",
        "none": "list<element: string>",
    }
    assert table.schema.metadata[b"dataset"] == b"rides"
    first = table.to_pylist()[0]
    assert table.num_rows == 2
    assert first["text"] == '=Núñez, "Ada"'
    assert (first["amount"], first["empty"], first["none"]) == (Decimal("12.50"), None, None)
    assert first["words"] == ["odometer_end", "arrived_pickup"]
    assert first["local"] == dt.datetime(2026, 11, 20, 14, 0)  # noqa: DTZ001  # on a local clock
    assert first["instant"] == dt.datetime(2026, 11, 20, 20, 0, 0, 120_000, tzinfo=dt.UTC)


@pytest.mark.django_db
def test_nothing_stays_nothing_in_every_format(tmp_path: Path) -> None:
    table = _table(NULLS)

    (line, _) = _file(tmp_path, "ndjson", table).read_text().splitlines()
    _, row, _ = _cells(_file(tmp_path, "csv", table))
    shown = pq.read_table(_file(tmp_path, "parquet", table)).to_pylist()[0]

    assert json.loads(line) == {name: [] if name in ("words", "none") else None for name in ONE}
    assert row == [""] * len(ONE)
    assert shown == dict.fromkeys(ONE)


@pytest.mark.django_db
@pytest.mark.parametrize("format", ["ndjson", "csv", "xlsx", "parquet"])
def test_table_without_rows_is_a_file_all_the_same(tmp_path: Path, format: str) -> None:
    path = _file(tmp_path, format, _table(source=Source("FROM (VALUES (1)) AS n(number) WHERE false ORDER BY 1", {})))

    if format == "xlsx":
        assert [row[0] for row in openpyxl.load_workbook(path)["rides"].iter_rows(values_only=True)] == ["id"]
    elif format == "parquet":
        assert (pq.read_table(path).num_rows, pq.read_table(path).schema.names) == (0, list(ONE))
    else:
        assert path.read_bytes().decode() == ("" if format == "ndjson" else ",".join(ONE) + "\r\n")


def _sealed(text: str, key: UUID = KEY) -> tuple[Column, ...]:
    value = encrypt(text, aad=f"riders_rider.medicaid_id.{KEY}").hex()
    sealed = Encryption("riders_rider.medicaid_id", f"'{key}'::uuid")
    return (
        Column("id", ColumnType.ID, f"'{KEY}'::uuid"),
        Column("code", ColumnType.SEALED, f"'\\x{value}'::bytea", encryption=sealed),
        Column("after", ColumnType.COUNT, "n.number"),
    )


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["IL44719925", '=a"b,\\', "ü\n1"])
def test_sealed_values_are_opened_in_every_format(tmp_path: Path, text: str) -> None:
    table = _table(_sealed(text))

    (line, _) = _file(tmp_path, "ndjson", table).read_text().splitlines()
    _, row, _ = _cells(_file(tmp_path, "csv", table))
    shown = pq.read_table(_file(tmp_path, "parquet", table)).to_pylist()
    (_, cells, _) = openpyxl.load_workbook(_file(tmp_path, "xlsx", table))["rides"].iter_rows(values_only=True)

    assert json.loads(line) == {"id": str(KEY), "code": text, "after": 1}
    assert row == [str(KEY), neutral(text), "1"]
    assert [one["code"] for one in shown] == [text, text]
    assert cells[1] == neutral(text)


@pytest.mark.django_db
def test_sealed_value_of_another_row_breaks_the_export_off(tmp_path: Path) -> None:
    other = UUID("01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e60")

    with pytest.raises(InvalidTag):
        _file(tmp_path, "csv", _table(_sealed("IL1", key=other)))


@pytest.mark.django_db
def test_what_looks_like_a_placeholder_of_ours_is_text(tmp_path: Path) -> None:
    """Users who write into a column cannot know the marker of a future export."""
    forged = Column("forged", ColumnType.TEXT, f"chr(3) || '0123456789abcdef:1:{KEY}:00' || chr(4)")

    _, row, _ = _cells(_file(tmp_path, "csv", _table([*_sealed("IL1"), forged])))

    assert row == [str(KEY), "IL1", "1", f"\x030123456789abcdef:1:{KEY}:00\x04"]


@pytest.mark.django_db
@pytest.mark.parametrize("form", list(RowFormat))
def test_identities_are_reported_and_are_no_part_of_the_file(form: RowFormat) -> None:
    version = Column("rowVersion", ColumnType.COUNT, "n.number")
    columns = (Column("rideId", ColumnType.ID, f"'{KEY}'::uuid"), version, Column("text", ColumnType.TEXT, "'a,\"b'"))
    source = Source("FROM generate_series(1, 3) AS n(number) ORDER BY n.number", {})
    reports: list[tuple[int, list[Any]]] = []

    plain = b"".join(chunks(columns, source, form, mask=str, seconds=5))
    content = b"".join(
        chunks(
            columns,
            source,
            form,
            mask=str,
            seconds=5,
            progress=lambda count, identities: reports.append((count, list(identities))),
            identified=True,
        )
    )

    assert reports == [(3, [(KEY, 1), (KEY, 2), (KEY, 3)])]
    assert content == plain


@pytest.mark.django_db
def test_long_table_comes_in_pieces_of_whole_rows() -> None:
    columns = (Column("number", ColumnType.COUNT, "n.number"), Column("text", ColumnType.TEXT, "repeat('x', 1000)"))
    source = Source("FROM generate_series(1, 500) AS n(number) ORDER BY n.number", {})
    counts: list[int] = []

    found = list(
        chunks(columns, source, RowFormat.CSV, mask=str, seconds=5, progress=lambda count, _: counts.append(count))
    )

    assert len(found) == 8
    assert all(piece.endswith(b"\r\n") for piece in found)
    assert max(map(len, found)) < 70_000
    assert sum(counts) == 500
    assert [json_row for piece in found for json_row in csv.reader(io.StringIO(piece.decode(), newline=""))][1:] == [
        [str(number), "x" * 1000] for number in range(1, 501)
    ]


@pytest.mark.django_db
def test_statement_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    columns: Any = (Column("slept", ColumnType.TEXT, "pg_sleep(3)::text"),)

    with pytest.raises(Exception, match="statement timeout"):
        list(chunks(columns, ROW, RowFormat.CSV, mask=str, seconds=1))
