"""Inserts and updates of single rows with SQL that is written once per process (docs/adr/0011).

For rows that every booking and report writes.  `Model.save` composes the SQL anew each time, which takes longer than
the database takes to store the row.  Values are prepared by the fields, as `save` does; signals are not sent (nobody
listens), and the caller has set every column, foreign keys included.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from django.db import DatabaseError, connections, router, transaction
from django.db.models import Model
from django.db.models.expressions import DatabaseDefault


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
    left_out = tuple(
        field.attname for field in _defaulting(model) if isinstance(vars(row).get(field.attname), DatabaseDefault)
    )
    statement, fields = _insertion(model, left_out, alias)
    values = [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields]
    if unless_taken:
        statement += " ON CONFLICT DO NOTHING"
    with transaction.mark_for_rollback_on_error(using=alias), connection.cursor() as cursor:
        cursor.execute(statement, values)
        inserted: bool = cursor.rowcount == 1
    if inserted:
        for name in left_out:
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
def _defaulting(model: type[Model]) -> tuple[Any, ...]:
    return tuple(field for field in model._meta.local_concrete_fields if field.has_db_default())


@cache
def _insertion(model: Any, left_out: tuple[str, ...], alias: str) -> tuple[str, tuple[Any, ...]]:
    concrete = model._meta.local_concrete_fields
    fields = tuple(field for field in concrete if not field.generated and field.attname not in left_out)
    quote = connections[alias].ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    places = ", ".join(_place(field, alias) for field in fields)
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})", fields  # noqa: S608  # names of ours


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
