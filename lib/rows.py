"""Inserts and updates of single rows with SQL that is written once per form of row (docs/adr/0011).

For rows that every booking and report writes.  `Model.save` composes the SQL anew each time, which takes longer than
the database takes to store the row.  Values are prepared by the fields, as `save` does; signals are not sent (nobody
listens), and the caller has set every column, foreign keys included.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, router, transaction
from django.db.models import Model
from django.db.models.expressions import DatabaseDefault

_GIVEN, _AS_EVER, _LEFT_OUT = range(3)  # how a column stands in an INSERT
_NOTHING: Final = object()  # equal to no value


@dataclass(frozen=True, slots=True)
class _Statement:
    """A write of one row that has not been sent yet."""

    text: str
    values: list[Any]
    of: str  # the model, for messages


_waiting: ContextVar[list[_Statement] | None] = ContextVar("waiting", default=None)


@contextmanager
def sent_together() -> Iterator[None]:
    """Send the inserts and updates of the block in one round trip: at its end, or before any other statement.

    Inside a transaction.  A block that fails sends nothing more, and its transaction is undone.

    Raises:
        django.db.DatabaseError: as `insert` and `update` do, but not before they are sent.
    """
    waiting: list[_Statement] = []

    def send_first(execute: Callable[..., Any], text: Any, values: Any, many: bool, context: Any) -> Any:
        _send(waiting)
        return execute(text, values, many, context)

    mark = _waiting.set(waiting)
    try:
        with connections[DEFAULT_DB_ALIAS].execute_wrapper(send_first):
            yield
            _send(waiting)
    finally:
        _waiting.reset(mark)


def send_now() -> None:
    """Send what a block of `sent_together` holds back so far, for whoever wants to hear what the database says of it.

    Raises:
        django.db.DatabaseError: as `insert` and `update` do.
    """
    if waiting := _waiting.get():
        _send(waiting)


def _send(waiting: list[_Statement]) -> None:
    statements = waiting.copy()
    waiting.clear()  # first: what is sent passes by `send_first` too
    if statements:
        _execute(statements, DEFAULT_DB_ALIAS)


def _execute(statements: Sequence[_Statement], alias: str) -> None:
    with transaction.mark_for_rollback_on_error(using=alias), connections[alias].cursor() as cursor:
        if len(statements) == 1:
            cursor.execute(statements[0].text, statements[0].values)
        else:
            cursor.execute("; ".join(cursor.mogrify(one.text, one.values) for one in statements))
        for number, one in enumerate(statements):
            if number:
                cursor.nextset()
            if cursor.rowcount != 1:
                raise DatabaseError(f"there is no such row of {one.of} to update")


def _write(alias: str, statement: _Statement) -> None:
    waiting = _waiting.get()
    if waiting is not None and alias == DEFAULT_DB_ALIAS:
        waiting.append(statement)
    else:
        _execute([statement], alias)


def insert(row: Model, *, unless_taken: bool = False) -> bool:
    """Insert a new row.  Columns that the database fills are read from it where somebody asks for them.

    With `unless_taken`, a row that breaks a unique constraint is not inserted, and the transaction goes on: answer
    whether it was.

    Raises:
        django.db.IntegrityError: it breaks a constraint.
    """
    model = type(row)
    alias = router.db_for_write(model, instance=row)
    connection = connections[alias]
    form, values, left_to_database = bytearray(), [], []
    for field, usual in _columns(model):
        value = field.pre_save(row, add=True)
        if isinstance(value, DatabaseDefault):
            left_to_database.append(field.attname)
            form.append(_LEFT_OUT)
        elif value is None and not field.has_db_default():
            form.append(_LEFT_OUT)
        elif value == usual:
            form.append(_AS_EVER)
        else:
            values.append(field.get_db_prep_save(value, connection))
            form.append(_GIVEN)
    text = _insertion(model, bytes(form), alias)
    if unless_taken:
        with transaction.mark_for_rollback_on_error(using=alias), connection.cursor() as cursor:
            cursor.execute(f"{text} ON CONFLICT DO NOTHING", values)
            if cursor.rowcount == 0:
                return False
    else:
        _write(alias, _Statement(text, values, model._meta.label))
    for name in left_to_database:
        del vars(row)[name]
    row._state.db = alias
    row._state.adding = False
    return True


def update(row: Model, columns: Sequence[str]) -> None:
    """Write these columns of a row, named as `save(update_fields=...)` takes them.

    Raises:
        django.db.IntegrityError: the row breaks a constraint.
        django.db.DatabaseError: there is no such row.
    """
    model = type(row)
    alias = router.db_for_write(model, instance=row)
    connection = connections[alias]
    text, fields = _change(model, tuple(dict.fromkeys(columns)), alias)
    values = [field.get_db_prep_save(field.pre_save(row, add=False), connection) for field in fields]
    _write(alias, _Statement(text, [*values, row.pk], model._meta.label))


@cache
def _columns(model: Any) -> tuple[tuple[Any, Any], ...]:
    """List the fields of a model with the values that new rows mostly have."""
    return tuple((field, _usual(field)) for field in model._meta.local_concrete_fields if not field.generated)


def _usual(field: Any) -> Any:
    computed = callable(field.default) and field.default not in (list, dict)
    return _NOTHING if computed or field.has_db_default() else field.get_default()


@lru_cache(maxsize=1024)
def _insertion(model: Any, form: bytes, alias: str) -> str:
    """Write the statement for rows of one form.

    Half of a new ride's 91 columns are empty: without them the statement is short enough for psycopg to keep, too.
    """
    connection = connections[alias]
    postgresql: Any = connection.ops
    quote = postgresql.quote_name
    columns, places = [], []
    for (field, usual), how in zip(_columns(model), form, strict=True):
        if how == _LEFT_OUT:
            continue
        place = _place(field, alias)
        if how == _AS_EVER:
            literal: str = postgresql.compose_sql(place, [field.get_db_prep_save(usual, connection)])
            place = literal.replace("%", "%%")
        columns.append(quote(field.column))
        places.append(place)
    table = quote(model._meta.db_table)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(places)})"  # noqa: S608  # constant names


@lru_cache(maxsize=1024)
def _change(model: Any, columns: tuple[str, ...], alias: str) -> tuple[str, tuple[Any, ...]]:
    fields = tuple(model._meta.get_field(name) for name in columns)
    quote = connections[alias].ops.quote_name
    changes = ", ".join(f"{quote(field.column)} = {_place(field, alias)}" for field in fields)
    key = quote(model._meta.pk.column)
    return f"UPDATE {quote(model._meta.db_table)} SET {changes} WHERE {key} = %s", fields  # noqa: S608  # constant names


def _place(field: Any, alias: str) -> str:
    """Say how a value stands in the statement; arrays and ranges come with a cast."""
    if hasattr(field, "get_placeholder"):
        return str(field.get_placeholder(None, None, connections[alias]))
    return "%s"
