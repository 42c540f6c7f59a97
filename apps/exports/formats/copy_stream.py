"""Streaming rows from PostgreSQL by COPY as the bytes of a file, in chunks of some tens of kilobytes.

One statement is one snapshot of the database.  Its transaction does not delay the event feed, because a session that
only reads has no transaction id.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.db import connections, transaction

from apps.exports.formats.columns import Column, Writer, selected
from apps.exports.formats.encrypted_values import Decrypter, in_csv, in_json, in_xml, new_mark, plain_in_csv

_CHUNK_BYTES: Final = 65_536
Identity = tuple[UUID, int]  # id and version of a row
Progress = Callable[[int, Sequence[Identity]], None]
_LINE: Final = b"\n"


class RowFormat(Enum):
    """Format of rows from the database: complete files, rows of a workbook, or input for the Parquet writer."""

    NDJSON = "ndjson"
    CSV = "csv"
    SHEET = "sheet"  # rows of the XML of a sheet without a header, one per line
    PLAIN = "plain"  # CSV without protection against formulas


@dataclass(frozen=True, slots=True)
class Source:
    """FROM, WHERE and ORDER BY of the rows as SQL, with their parameters."""

    sql: str
    parameters: Mapping[str, Any]
    using: str = "default"


_ESCAPES: Final[dict[RowFormat, Callable[[str], bytes]]] = {
    RowFormat.NDJSON: in_json,
    RowFormat.CSV: in_csv,
    RowFormat.SHEET: in_xml,
    RowFormat.PLAIN: plain_in_csv,
}
# Lines of JSON and of our XML contain neither the bytes 1 and 2 nor line breaks, so COPY does not quote or escape them.
_RAW: Final = r"FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01'"
_OPTIONS: Final[dict[RowFormat, str]] = {
    RowFormat.NDJSON: _RAW,
    RowFormat.SHEET: _RAW,
    RowFormat.CSV: "FORMAT csv, HEADER",
    RowFormat.PLAIN: "FORMAT csv, HEADER",
}
_CRLF: Final = b"\r\n"  # RFC 4180, 2.1
_DELIMITERS: Final[dict[RowFormat, bytes]] = {
    RowFormat.NDJSON: b"\x02",
    RowFormat.SHEET: b"\x02",
    RowFormat.CSV: b",",
    RowFormat.PLAIN: b",",
}
_LINE_ENDS: Final[dict[RowFormat, bytes]] = {
    RowFormat.NDJSON: _LINE,
    RowFormat.CSV: _CRLF,
    RowFormat.SHEET: _LINE,
    RowFormat.PLAIN: _CRLF,
}


def chunks(
    columns: Sequence[Column],
    source: Source,
    row_format: RowFormat,
    *,
    mask: Callable[[str], str],
    seconds: int,
    progress: Progress | None = None,
    identified: bool = False,
) -> Iterator[bytes]:
    """Yield the file in chunks of whole rows, as they come from the database.

    `mask` hides part of a decrypted value; `seconds` limits the duration of the statement.  `progress` is called
    for each chunk with its number of rows and, if `identified`, the id and the version of each row, which PostgreSQL
    then sends ahead of the row; an exception in it ends the export.  Uses this thread's connection from the first
    chunk to the last; closing the iterator ends the statement.

    Raises:
        psycopg.Error: the query failed.
        KeyError, cryptography.exceptions.InvalidTag: a value cannot be decrypted.
    """
    mark = new_mark()
    statement = _statement(columns, source, row_format, mark, identified=identified)
    decrypt = Decrypter(columns, mark, mask=mask, escape=_ESCAPES[row_format])
    line_end = _LINE_ENDS[row_format]
    header_lines = 0 if row_format in (RowFormat.NDJSON, RowFormat.SHEET) else 1
    for lines in _lines(statement, source, seconds):
        rows, identities = _split(lines, _DELIMITERS[row_format], header_lines) if identified else (lines, [])
        if progress is not None:
            progress(len(rows) - header_lines, identities)
        header_lines = 0
        yield decrypt(line_end.join(rows) + line_end)


def _split(lines: list[bytes], delimiter: bytes, header_lines: int) -> tuple[list[bytes], list[Identity]]:
    """Separate lines into rows and their identities; header lines have no identity."""
    parts = [line.partition(delimiter) for line in lines]
    identities = [(UUID(key[:36].decode()), int(key[37:])) for key, _, _ in parts[header_lines:]]
    return [row for _, _, row in parts], identities


def _lines(statement: str, source: Source, seconds: int) -> Iterator[list[bytes]]:
    rows: list[bytes] = []
    size = 0
    with transaction.atomic(using=source.using), connections[source.using].cursor() as cursor:
        # JIT compilation delays the first row by seconds and saves less time than that.
        cursor.execute(f"SET LOCAL statement_timeout = '{seconds}s'; SET LOCAL jit = off")
        with cursor.copy(statement, source.parameters) as copy:
            for row in copy:
                rows.append(bytes(row)[:-1])
                size += len(rows[-1])
                if size >= _CHUNK_BYTES:
                    yield rows
                    rows, size = [], 0
    if rows:
        yield rows


def _statement(columns: Sequence[Column], source: Source, row_format: RowFormat, mark: str, *, identified: bool) -> str:
    writer = Writer(mark)
    match row_format:
        case RowFormat.NDJSON:
            select = writer.json(columns)
        case RowFormat.SHEET:
            select = writer.xml(columns)
        case _:
            select = writer.csv(columns, for_spreadsheets=row_format is RowFormat.CSV)
    if identified:  # the first two columns (`dataset_columns.identity`)
        key, version, *_ = columns
        select = f"""concat(t."{key.name}", ' ', t."{version.name}") AS "identity", {select}"""
    # ORDER BY keeps the subquery from being flattened: each value is computed once, however often it is used.
    inner = f"SELECT {selected(columns)} {source.sql}"
    return f"COPY (SELECT {select} FROM ({inner}) t) TO STDOUT ({_OPTIONS[row_format]})"  # noqa: S608  # constant names, values are parameters
