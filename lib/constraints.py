"""Which of its constraints the database enforced when it refused a row."""

from django.db import IntegrityError


def constraint_of(refusal: IntegrityError) -> str:
    """Read the name of the violated constraint from the driver's diagnostics, or "" where there is none."""
    diagnostics = getattr(refusal.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None) or ""
