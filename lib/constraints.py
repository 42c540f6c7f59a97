"""The name of the constraint that a database error violated."""

from django.db import IntegrityError


def constraint_of(refusal: IntegrityError) -> str:
    """Return the name of the violated constraint from the driver's diagnostics; "" if there is none."""
    diagnostics = getattr(refusal.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None) or ""
