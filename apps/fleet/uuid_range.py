"""A range of exactly one uuid: equality of a uuid column in a GiST exclusion constraint, without an extension.

Migration 0001 of this app creates the type `uuidrange`.
"""

from typing import Any

from django.db import models
from django.db.models import Func, Value


class UuidRangeField(models.Field[Any, Any]):
    """Output field of `UuidRange`; no column has this type."""


class UuidRange(Func):
    """The SQL `uuidrange(column, column, '[]')`; two such ranges overlap if the columns are equal."""

    function = "uuidrange"

    def __init__(self, column: str) -> None:
        super().__init__(column, column, Value("[]"), output_field=UuidRangeField())
