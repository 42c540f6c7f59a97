"""Rows out of PostgreSQL by COPY, as the bytes of a file: a piece of some tens of kilobytes at a time, and never more.

One statement is one snapshot: what an export holds was all true at once.  It needs no transaction that holds others up:
a session that only reads has no transaction id, so that the feed of events goes on beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.db import connections, transaction

from apps.exports.formats.columns import Column, Writer, selected
from apps.exports.formats.sealed_values import Opener, in_csv, in_json, in_xml, new_mark, plain_in_csv

_PIECE: Final = 65_536  # bytes
Identity = tuple[UUID, int]  # id and version of a row
Progress = Callable[[int, Sequence[Identity]], None]
_LINE: Final = b"\n"


class Form(Enum):
    """How rows come out of the database: two that are files already, one for a workbook, one to be read again."""

    NDJSON = "ndjson"
    CSV = "csv"
    SHEET = "sheet"  # rows of the XML of a sheet, without a head, a line each
    PLAIN = "plain"  # CSV that keeps what looks like a formula


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from: FROM, WHERE and ORDER BY as SQL, and their parameters as psycopg names them."""

    sql: str
    parameters: Mapping[str, Any]
    using: str = "default"


_WRITE: Final[dict[Form, Callable[[str], bytes]]] = {
    Form.NDJSON: in_json,
    Form.CSV: in_csv,
    Form.SHEET: in_xml,
    Form.PLAIN: plain_in_csv,
}
# JSON and our XML hold neither the raw bytes 1 and 2 nor ends of lines, so that COPY neither quotes nor escapes
# anything.
_UNTOUCHED: Final = r"FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01'"
_OPTIONS: Final[dict[Form, str]] = {
    Form.NDJSON: _UNTOUCHED,
    Form.SHEET: _UNTOUCHED,
    Form.CSV: "FORMAT csv, HEADER",
    Form.PLAIN: "FORMAT csv, HEADER",
}
_CRLF: Final = b"\r\n"  # RFC 4180, 2.1
_DELIMITERS: Final[dict[Form, bytes]] = {Form.NDJSON: b"\x02", Form.SHEET: b"\x02", Form.CSV: b",", Form.PLAIN: b","}
_END: Final[dict[Form, bytes]] = {Form.NDJSON: _LINE, Form.CSV: _CRLF, Form.SHEET: _LINE, Form.PLAIN: _CRLF}


def pieces(
    columns: Sequence[Column],
    source: Source,
    form: Form,
    *,
    show: Callable[[str], str],
    seconds: int,
    progress: Progress | None = None,
    identified: bool = False,
) -> Iterator[bytes]:
    """Yield the file in chunks of whole rows, as they come from the database.

    `show` says how much of a sealed value is shown; `seconds` is how long the statement may take.  `progress` is called
    for each chunk with its number of rows and, if `identified`, the id and the version of each row, which PostgreSQL
    then sends ahead of the row; it stops everything by raising.  Uses this thread's connection from the first chunk to
    the last; abandoned, it ends the statement.

    Raises:
        psycopg.Error: as any query.
        KeyError, cryptography.exceptions.InvalidTag: a sealed value does not open.
    """
    mark = new_mark()
    statement = _statement(columns, source, form, mark, identified=identified)
    opened = Opener(columns, mark, show=show, write=_WRITE[form])
    end = _END[form]
    head = 0 if form in (Form.NDJSON, Form.SHEET) else 1
    for lines in _held(statement, source, seconds):
        rows, identities = _split(lines, _DELIMITERS[form], head) if identified else (lines, [])
        if progress is not None:
            progress(len(rows) - head, identities)
        head = 0
        yield opened(end.join(rows) + end)


def _split(lines: list[bytes], delimiter: bytes, head: int) -> tuple[list[bytes], list[Identity]]:
    """Take the identity of each row off the line that holds both; the first `head` lines have none."""
    parts = [line.partition(delimiter) for line in lines]
    identities = [(UUID(key[:36].decode()), int(key[37:])) for key, _, _ in parts[head:]]
    return [row for _, _, row in parts], identities


def _held(statement: str, source: Source, seconds: int) -> Iterator[list[bytes]]:
    rows: list[bytes] = []
    size = 0
    with transaction.atomic(using=source.using), connections[source.using].cursor() as cursor:
        # Compiling what writes a row takes seconds, before the first one comes, and saves less.
        cursor.execute(f"SET LOCAL statement_timeout = '{seconds}s'; SET LOCAL jit = off")
        with cursor.copy(statement, source.parameters) as copy:
            for row in copy:
                rows.append(bytes(row)[:-1])
                size += len(rows[-1])
                if size >= _PIECE:
                    yield rows
                    rows, size = [], 0
    if rows:
        yield rows


def _statement(columns: Sequence[Column], source: Source, form: Form, mark: str, *, identified: bool) -> str:
    writer = Writer(mark)
    match form:
        case Form.NDJSON:
            select = writer.json(columns)
        case Form.SHEET:
            select = writer.xml(columns)
        case _:
            select = writer.csv(columns, for_spreadsheets=form is Form.CSV)
    if identified:  # by its first two columns (`dataset_columns.identity`)
        key, version, *_ = columns
        select = f"""concat(t."{key.name}", ' ', t."{version.name}") AS "identity", {select}"""
    # Its ORDER BY keeps the subquery one: each value is computed once, however often the outer select looks at it.
    inner = f"SELECT {selected(columns)} {source.sql}"
    return f"COPY (SELECT {select} FROM ({inner}) t) TO STDOUT ({_OPTIONS[form]})"  # noqa: S608  # constant names, values are parameters
