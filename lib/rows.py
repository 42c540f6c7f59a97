"""Inserts and updates of single rows with SQL that is written once per form of row (docs/adr/0011).

For rows that every booking and report writes.  `Model.save` composes the SQL anew each time, which takes longer than
the database takes to store the row.  Values are prepared by the fields, as `save` does; signals are not sent (nobody
listens), and the caller has set every column, foreign keys included.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

from django.db import DatabaseError, connections, router, transaction
from django.db.models import Model
from django.db.models.expressions import DatabaseDefault

_GIVEN, _AS_EVER, _LEFT_OUT = range(3)  # how a column stands in an INSERT
_NOTHING: Final = object()  # equal to no value


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
    statement = _insertion(model, bytes(form), alias)
    if unless_taken:
        statement += " ON CONFLICT DO NOTHING"
    with transaction.mark_for_rollback_on_error(using=alias), connection.cursor() as cursor:
        cursor.execute(statement, values)
        inserted: bool = cursor.rowcount == 1
    if inserted:
        for name in left_to_database:
            del vars(row)[name]
        row._state.db = alias
        row._state.adding = False
    return inserted


def update(row: Model, columns: Sequence[str]) -> None:
    """Write these columns of a row, named as `save(update_fields=...)` takes them.

    Raises:
        django.db.IntegrityError: the row breaks a constraint.
        django.db.DatabaseError: there is no such row.
    """
    model = type(row)
    alias = router.db_for_write(model, instance=row)
    connection = connections[alias]
    statement, fields = _change(model, tuple(dict.fromkeys(columns)), alias)
    values = [field.get_db_prep_save(field.pre_save(row, add=False), connection) for field in fields]
    with transaction.mark_for_rollback_on_error(using=alias), connection.cursor() as cursor:
        cursor.execute(statement, [*values, row.pk])
        if cursor.rowcount != 1:
            raise DatabaseError(f"there is no such row of {model._meta.label} to update")


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
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(places)})"  # noqa: S608  # names of ours


@lru_cache(maxsize=1024)
def _change(model: Any, columns: tuple[str, ...], alias: str) -> tuple[str, tuple[Any, ...]]:
    fields = tuple(model._meta.get_field(name) for name in columns)
    quote = connections[alias].ops.quote_name
    changes = ", ".join(f"{quote(field.column)} = {_place(field, alias)}" for field in fields)
    key = quote(model._meta.pk.column)
    return f"UPDATE {quote(model._meta.db_table)} SET {changes} WHERE {key} = %s", fields  # noqa: S608  # names of ours


def _place(field: Any, alias: str) -> str:
    """Say how a value stands in the statement; arrays and ranges come with a cast."""
    if hasattr(field, "get_placeholder"):
        return str(field.get_placeholder(None, None, connections[alias]))
    return "%s"
