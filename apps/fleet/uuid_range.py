"""A range of exactly one uuid: equality of a uuid column in a GiST exclusion constraint, without an extension.

Migration 0001 of this app creates the type `uuidrange`.
"""

from typing import Any

from django.db import models
from django.db.models import Func, Value


class UuidRangeField(models.Field[Any, Any]):
    """What `UuidRange` gives; no column is of it."""


class UuidRange(Func):
    """`uuidrange(column, column, '[]')`; two of them overlap when the columns are equal."""

    function = "uuidrange"

    def __init__(self, column: str) -> None:
        super().__init__(column, column, Value("[]"), output_field=UuidRangeField())
