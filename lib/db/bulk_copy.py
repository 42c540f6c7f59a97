"""Rows into tables by COPY: some two hundred thousand of them, in a few seconds.

Defaults are those of the model, read once for all rows: an id is given with each of them.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import orjson
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models.fields import NOT_PROVIDED

Row = Mapping[str, Any]

PIECE: Final = 400  # rows sent at a time
_NULL: Final = r"\N"
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def copy_rows(model: type[models.Model], rows: Iterable[Row]) -> int:
    """Write rows, given as column attribute (`rider_id`) -> value, and answer how many.

    Columns that a row does not mention, or has None in, get the model's default; instants may be seconds since 1970,
    and text in a JSON column is JSON already.  Inside a transaction.
    """
    return Copy(model, rows).send()


class Copy:
    """Rows on their way into a table, as `copy_rows` takes them.

    Raises:
        ValueError: a row names a column that the model does not have.
    """

    def __init__(self, model: type[models.Model], rows: Iterable[Row]) -> None:
        self._rows = list(rows)
        named = {name for row in self._rows for name in row}
        fields = model._meta.concrete_fields
        if unknown := named - {field.attname for field in fields}:
            raise ValueError(f"{model.__name__} has no column {sorted(unknown)}.")
        self._columns = [_Column(field) for field in fields if field.attname in named]
        silent = [_Column(field) for field in fields if field.attname not in named and _has_default(field)]
        silent = [column for column in silent if column.default != _NULL]  # which the database writes by itself
        quoted = ", ".join(connection.ops.quote_name(column.name) for column in [*self._columns, *silent])
        self._end = "".join(f"\t{column.default}" for column in silent) + "\n"
        self._sql = f"COPY {connection.ops.quote_name(model._meta.db_table)} ({quoted}) FROM STDIN"
        self._pieces: Iterable[str] = self._written()

    def write_out(self) -> "Copy":
        """Lay the rows out now: for whoever waits for the server anyhow (lib/pipelining.py)."""
        self._pieces = list(self._pieces)
        return self

    def send(self) -> int:
        """Write the rows, once, and answer how many.  Inside a transaction."""
        if self._rows:
            with connection.cursor() as cursor, cursor.copy(self._sql) as copy:
                # In pieces: the server takes one in while the next is being written.
                for piece in self._pieces:
                    copy.write(piece)
        return len(self._rows)

    def _written(self) -> Iterator[str]:
        for start in range(0, len(self._rows), PIECE):
            yield "".join([_line(row, self._columns) + self._end for row in self._rows[start : start + PIECE]])


def _line(row: Row, columns: list["_Column"]) -> str:
    return "\t".join(
        [column.default if (value := row.get(column.attribute)) is None else column.write(value) for column in columns]
    )


class _Column:
    def __init__(self, field: Any) -> None:
        self.attribute: str = field.attname
        self.name: str = field.column
        self.write: Callable[[Any], str] = _writer(field)
        default = field.get_default() if _has_default(field) else None
        self.default = _NULL if default is None else self.write(default)


def _has_default(field: Any) -> bool:
    """Whether the model, not the database, says what a column holds when nobody does."""
    if field.db_default is not NOT_PROVIDED:
        return False
    return field.null or field.default is not NOT_PROVIDED or field.empty_strings_allowed


def _writer(field: Any) -> Callable[[Any], str]:
    if isinstance(field, models.JSONField):
        return _json
    if isinstance(field, ArrayField):
        return _array
    if isinstance(field, models.DateTimeField):
        return _instant
    if isinstance(field, models.BooleanField):
        return _boolean
    if isinstance(field, models.BinaryField):
        return _binary
    return _plain


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text.translate(_ESCAPES) if "\\" in text or not text.isprintable() else text


def _json(value: Any) -> str:
    """Text is taken to be JSON already: stops and needs repeat, and are written once."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text.replace("\\", "\\\\")


def _array(value: Any) -> str:
    return "{" + ",".join(map(str, value)) + "}"


def _instant(value: Any) -> str:
    return (value if isinstance(value, dt.datetime) else dt.datetime.fromtimestamp(value, dt.UTC)).isoformat()


def _boolean(value: Any) -> str:
    return "t" if value else "f"


def _binary(value: Any) -> str:
    return rf"\\x{bytes(value).hex()}"
