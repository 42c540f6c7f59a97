"""Columns of exported tables: their types, PHI levels, and the SQL that writes them in each format.

PostgreSQL writes the text of whole rows, and Python passes the bytes on.  A test compares each format with an
implementation in Python.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from apps.exports.formats.workbook import in_cell_sql
from lib.access import Phi
from lib.csv_file import neutral_sql


class ColumnType(Enum):
    """Type of a column, by the result of its SQL.  Empty text counts as no value in every format."""

    ID = "uuid"
    WORD = "a code, or other text without quotes, spaces and special characters"
    TEXT = "free text"
    COUNT = "integer"
    AMOUNT = "decimal number with two places"
    NUMBER = "double precision; never infinite, and not NaN"
    FLAG = "true or false"
    INSTANT = "timestamptz, written in UTC with Z; the time zone of the session is UTC"
    LOCAL = "timestamp in local time, written without a zone"
    DATE = "date"
    JSON = "json object, written as text in formats without objects"
    WORDS = "array of codes, separated by semicolons in formats without lists"
    SEALED = "bytes encrypted by `lib.crypto`, decrypted outside the database"


@dataclass(frozen=True, slots=True)
class Encryption:
    """The associated data of an encrypted value: "table.column" (see `lib.crypto.aad`) and the SQL of the row's key."""

    column: str
    key: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `sql` uses the table aliases of its dataset, `phi` is the level that it requires."""

    name: str
    kind: ColumnType
    sql: str
    phi: Phi = Phi.NONE
    encryption: Encryption | None = None


# Delimiters of the placeholder of an encrypted value.  JSON and XML cannot contain them; in CSV, `mark` identifies it.
OPENS: Final = "\x03"
CLOSES: Final = "\x04"
_PAIRS_PER_CALL: Final = 30  # of three arguments each: functions of PostgreSQL take 100
_CELLS_PER_CALL: Final = 90  # of one argument each
_EMPTY: Final = "'<c/>'"


@dataclass(frozen=True, slots=True)
class Writer:
    """Generates the SQL that writes the columns of a subquery `t` for one export.

    `mark` is a random word, so that data cannot imitate a placeholder.
    """

    mark: str

    def csv(self, columns: Iterable[Column], *, for_spreadsheets: bool = True) -> str:
        """List expressions for a CSV file; what looks like a formula gets an apostrophe, for spreadsheets."""
        cells = (self._cell(position, column, for_spreadsheets) for position, column in enumerate(columns))
        return ", ".join(f'{sql} AS "{name}"' for name, sql in cells)

    def json(self, columns: Iterable[Column]) -> str:
        """Return one expression for a line of NDJSON: an object with every key, null for no value."""
        pairs = [f"'\"{column.name}\":', {self._member(position, column)}" for position, column in enumerate(columns)]
        members = list(_with_commas(pairs))
        groups = [members[start : start + _PAIRS_PER_CALL] for start in range(0, len(members), _PAIRS_PER_CALL)]
        parts = [f"concat({', '.join(group)})" for group in groups]
        return f"concat('{{', {', '.join(parts)}, '}}')"

    def xml(self, columns: Iterable[Column]) -> str:
        """Return one expression for a row of a sheet: a cell for every column, an empty one for no value.

        Cells have no references: they fill the columns from left to right.
        """
        cells = [self._sheet_cell(position, column) for position, column in enumerate(columns)]
        groups = [cells[start : start + _CELLS_PER_CALL] for start in range(0, len(cells), _CELLS_PER_CALL)]
        parts = [f"concat({', '.join(group)})" for group in groups]
        return f"concat('<row>', {', '.join(parts)}, '</row>')"

    def _cell(self, position: int, column: Column, for_spreadsheets: bool) -> tuple[str, str]:
        text = self._text(position, column)
        if for_spreadsheets and column.kind is ColumnType.TEXT:
            text = neutral_sql(text)
        return column.name, text

    def _text(self, position: int, column: Column) -> str:
        """Return the value as text, null for no value."""
        sql = _value(column)
        match column.kind:
            case ColumnType.WORD | ColumnType.TEXT:
                return f"nullif({sql}, '')"
            case ColumnType.INSTANT:
                # 2026-11-20 20:00:00+00 becomes 2026-11-20T20:00:00Z; to_char takes five times as long.
                return f"rtrim(translate({sql}::text, ' +', 'TZ'), '0')"
            case ColumnType.LOCAL:
                return f"translate({sql}::text, ' ', 'T')"
            case ColumnType.WORDS:
                return f"nullif(array_to_string({sql}, ';'), '')"
            case ColumnType.SEALED:
                return self._placeholder(position, column)
            case _:
                return f"{sql}::text"

    def _member(self, position: int, column: Column) -> str:
        """Return the value as JSON, never SQL null, which `concat` would skip."""
        match column.kind:
            case ColumnType.COUNT | ColumnType.AMOUNT | ColumnType.NUMBER | ColumnType.FLAG | ColumnType.JSON:
                return f"coalesce({_value(column)}::text, 'null')"
            case ColumnType.TEXT:
                return f"coalesce(to_json({self._text(position, column)})::text, 'null')"
            case ColumnType.WORDS:
                return f"coalesce(array_to_json({_value(column)})::text, '[]')"
            case _:
                return f"coalesce('\"' || {self._text(position, column)} || '\"', 'null')"

    def _sheet_cell(self, position: int, column: Column) -> str:
        """Return the value as a cell of a sheet, never SQL null.  Text cells cannot contain formulas."""
        text = self._text(position, column)
        match column.kind:
            case ColumnType.COUNT | ColumnType.AMOUNT | ColumnType.NUMBER:
                return f"coalesce('<c><v>' || {text} || '</v></c>', {_EMPTY})"
            case ColumnType.FLAG:
                return f"coalesce('<c t=\"b\"><v>' || {_value(column)}::int || '</v></c>', {_EMPTY})"
            case ColumnType.TEXT:
                return _text_cell(in_cell_sql(neutral_sql(text)), blanks=True)
            case ColumnType.JSON:
                return _text_cell(in_cell_sql(text), blanks=True)
            case _:
                return _text_cell(text, blanks=column.kind is ColumnType.SEALED)

    def _placeholder(self, position: int, column: Column) -> str:
        """Return the placeholder of an encrypted value; null for no value."""
        start = f"chr(3) || '{self.mark}:{position}:' || {_key(column)}"
        return f"({start} || ':' || encode({_value(column)}, 'hex') || chr(4))"


def _text_cell(text: str, *, blanks: bool) -> str:
    """Return a cell of text; `blanks` preserves leading and trailing spaces."""
    space = ' xml:space="preserve"' if blanks else ""
    return f"""coalesce('<c t="inlineStr"><is><t{space}>' || {text} || '</t></is></c>', {_EMPTY})"""


def _value(column: Column) -> str:
    return f't."{column.name}"'


def _key(column: Column) -> str:
    return f't."{column.name} key"'


def _with_commas(pairs: list[str]) -> Iterator[str]:
    for number, pair in enumerate(pairs):
        yield pair if number == 0 else "',' " + ", " + pair


def selected(columns: Iterable[Column]) -> str:
    """Return the select list of the subquery `t`: the values, and the row keys of encrypted ones."""
    return ", ".join(
        f'{column.sql} AS "{column.name}"'
        + (f', {column.encryption.key} AS "{column.name} key"' if column.encryption else "")
        for column in columns
    )
