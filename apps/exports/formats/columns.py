"""Columns of exported tables: what each holds, who may see it, and how a format writes it, said as SQL.

PostgreSQL writes the text of whole rows; Python passes the bytes on.  A test holds every form against its Python twin.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from apps.exports.formats.workbook import in_cell_sql
from lib.access import Phi
from lib.csv_file import neutral_sql


class Kind(Enum):
    """What a column holds, by what its SQL gives.  Empty text is no value, in every format."""

    ID = "uuid"
    WORD = "a word of a list of ours, or something else without quotes, spaces and signs"
    TEXT = "anything that somebody wrote"
    COUNT = "whole number"
    AMOUNT = "decimal number of two places"
    NUMBER = "double precision; never infinite, and not NaN"
    FLAG = "true or false"
    INSTANT = "timestamptz, written in UTC with Z; the session's zone is UTC"
    LOCAL = "timestamp on a local clock, written without a zone"
    DATE = "day of the calendar"
    JSON = "json object, as text where a format has no objects"
    WORDS = "array of such words; between semicolons where a format has no lists"
    SEALED = "bytes that `lib.crypto` sealed, opened outside the database"


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a sealed value is bound to: "table.column" as `lib.crypto.aad` says it, and the SQL of the row's key."""

    of: str
    key: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `sql` is over the aliases of its dataset, `phi` the level from which it is shown."""

    name: str
    kind: Kind
    sql: str
    phi: Phi = Phi.NONE
    sealed: Sealed | None = None


# Around what stands for a sealed value until it is opened.  JSON and XML hold neither; in CSV the mark tells ours.
OPENS: Final = "\x03"
CLOSES: Final = "\x04"
_PAIRS_AT_ONCE: Final = 30  # of three arguments each: functions of PostgreSQL take 100
_CELLS_AT_ONCE: Final = 90  # of one argument each
_EMPTY: Final = "'<c/>'"


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes columns of a subquery `t`, in which each has its name, for one export.

    `mark` is a word that nobody can have guessed when data were written.
    """

    mark: str

    def csv(self, columns: Iterable[Column], *, for_spreadsheets: bool = True) -> str:
        """List expressions for a CSV file; what looks like a formula gets an apostrophe, for spreadsheets."""
        written = (self._cell(place, column, for_spreadsheets) for place, column in enumerate(columns))
        return ", ".join(f'{sql} AS "{name}"' for name, sql in written)

    def json(self, columns: Iterable[Column]) -> str:
        """Write one expression for a line of NDJSON: an object with every key, null where there is no value."""
        pairs = [f"'\"{column.name}\":', {self._member(place, column)}" for place, column in enumerate(columns)]
        told = list(_with_commas(pairs))
        groups = [told[start : start + _PAIRS_AT_ONCE] for start in range(0, len(told), _PAIRS_AT_ONCE)]
        parts = [f"concat({', '.join(group)})" for group in groups]
        return f"concat('{{', {', '.join(parts)}, '}}')"

    def xml(self, columns: Iterable[Column]) -> str:
        """Write one expression for a row of a sheet: a cell for every column, an empty one where there is no value.

        Cells name no place of theirs: the first stands in the first column, and each beside the one before.
        """
        cells = [self._sheet_cell(place, column) for place, column in enumerate(columns)]
        groups = [cells[start : start + _CELLS_AT_ONCE] for start in range(0, len(cells), _CELLS_AT_ONCE)]
        parts = [f"concat({', '.join(group)})" for group in groups]
        return f"concat('<row>', {', '.join(parts)}, '</row>')"

    def _cell(self, place: int, column: Column, for_spreadsheets: bool) -> tuple[str, str]:
        text = self._text(place, column)
        if for_spreadsheets and column.kind is Kind.TEXT:
            text = neutral_sql(text)
        return column.name, text

    def _text(self, place: int, column: Column) -> str:
        """Write the value as text, null where there is none."""
        sql = _value(column)
        match column.kind:
            case Kind.WORD | Kind.TEXT:
                return f"nullif({sql}, '')"
            case Kind.INSTANT:
                # 2026-11-20 20:00:00+00 becomes 2026-11-20T20:00:00Z; to_char takes five times as long.
                return f"rtrim(translate({sql}::text, ' +', 'TZ'), '0')"
            case Kind.LOCAL:
                return f"translate({sql}::text, ' ', 'T')"
            case Kind.WORDS:
                return f"nullif(array_to_string({sql}, ';'), '')"
            case Kind.SEALED:
                return self._placeholder(place, column)
            case _:
                return f"{sql}::text"

    def _member(self, place: int, column: Column) -> str:
        """Write the value as JSON, never null: `concat` would leave the member without one."""
        match column.kind:
            case Kind.COUNT | Kind.AMOUNT | Kind.NUMBER | Kind.FLAG | Kind.JSON:
                return f"coalesce({_value(column)}::text, 'null')"
            case Kind.TEXT:
                return f"coalesce(to_json({self._text(place, column)})::text, 'null')"
            case Kind.WORDS:
                return f"coalesce(array_to_json({_value(column)})::text, '[]')"
            case _:
                return f"coalesce('\"' || {self._text(place, column)} || '\"', 'null')"

    def _sheet_cell(self, place: int, column: Column) -> str:
        """Write the value as a cell of a sheet, never null.  Text is never a formula: such a cell holds none."""
        text = self._text(place, column)
        match column.kind:
            case Kind.COUNT | Kind.AMOUNT | Kind.NUMBER:
                return f"coalesce('<c><v>' || {text} || '</v></c>', {_EMPTY})"
            case Kind.FLAG:
                return f"coalesce('<c t=\"b\"><v>' || {_value(column)}::int || '</v></c>', {_EMPTY})"
            case Kind.TEXT:
                return _text_cell(in_cell_sql(neutral_sql(text)), blanks=True)
            case Kind.JSON:
                return _text_cell(in_cell_sql(text), blanks=True)
            case _:
                return _text_cell(text, blanks=column.kind is Kind.SEALED)

    def _placeholder(self, place: int, column: Column) -> str:
        """Stand for a sealed value; null where nothing is stored."""
        start = f"chr(3) || '{self.mark}:{place}:' || {_key(column)}"
        return f"({start} || ':' || encode({_value(column)}, 'hex') || chr(4))"


def _text_cell(text: str, *, blanks: bool) -> str:
    """Write a cell of text; with `blanks`, those at its beginning and end count."""
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
    """List the bare values, and the keys of rows that hold sealed ones: what the subquery `t` has to select."""
    return ", ".join(
        f'{column.sql} AS "{column.name}"' + (f', {column.sealed.key} AS "{column.name} key"' if column.sealed else "")
        for column in columns
    )
