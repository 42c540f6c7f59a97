"""Helper of constraint tests: write past every service, and return the database's error."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from lib.constraints import constraint_of


def constraint_against(rows: QuerySet[Any], columns: dict[str, Any]) -> str:
    """Write columns into existing rows; return the constraint that refuses it."""
    with pytest.raises(IntegrityError) as refusal, transaction.atomic():
        rows.update(**columns)
    return constraint_of(refusal.value)
