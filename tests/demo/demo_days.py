"""The demo, loaded once for a test module and rolled back after it."""

import datetime as dt
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import connection, transaction

from apps.demo.loading import DayRange, load
from lib.access import system

FRIDAY_NOON = dt.datetime(2026, 11, 20, 18, 0, tzinfo=dt.UTC)
SMALL = DayRange(past=3, future=2)
# Random data that the demo does not seed (digests, encryption, password hashes), and rows that services write.
_NOT_COMPARED = {"audit_auditentry", "django_migrations", "django_content_type"}


@contextmanager
def loaded(now: dt.datetime, span: DayRange = SMALL) -> Iterator[None]:
    """Load, check every foreign key at once, and roll back at the end."""
    with transaction.atomic():
        load(now, by=system(), span=span)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        yield
        transaction.set_rollback(True)


def digest() -> dict[str, str]:
    """Digest each table of the project, without data that is random by design."""
    answers = {}
    for model in apps.get_models():
        table = model._meta.db_table
        if not model.__module__.startswith("apps.") or table in _NOT_COMPARED:
            continue
        columns = [
            connection.ops.quote_name(str(field.column))
            for field in model._meta.concrete_fields
            if field.column and not field.column.endswith(("_encrypted", "digest", "password", "transaction"))
        ]
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1")  # noqa: S608 - names of our models
            answers[table] = hashlib.sha256(repr(cursor.fetchall()).encode()).hexdigest()
    return answers
