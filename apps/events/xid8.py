"""PostgreSQL's 64-bit transaction id as a column, for feeds in commit order."""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class Xid8Field(models.Field[int, int]):
    """A column of type `xid8`; read as int."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "xid8"

    def from_db_value(self, value: Any, expression: object, connection: BaseDatabaseWrapper) -> int | None:
        return None if value is None else int(value)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> str | None:
        return None if value is None else str(value)


class CurrentTransactionId(models.Func):
    """The id of the transaction that writes the row."""

    function = "pg_current_xact_id"
    template = "%(function)s()"
    output_field = Xid8Field()
    allowed_default = True


class OldestRunningTransactionId(models.Func):
    """The oldest running transaction: all transactions before it have committed or rolled back."""

    template = "pg_snapshot_xmin(pg_current_snapshot())"
    output_field = Xid8Field()
