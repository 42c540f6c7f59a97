"""Overrides: soft rules give way to somebody who may override and says why."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from lib.access import Principal
from lib.errors import InvalidInput, ScopeMissing
from lib.scopes import Scope


@dataclass(frozen=True, slots=True)
class Override:
    """That soft rules are to give way, and why."""

    wanted: bool = False
    reason: str = ""


def require_right(override: Override, by: Principal) -> None:
    """Check an override that is needed.

    Raises:
        ScopeMissing: the caller may not override.
        InvalidInput: it came without a reason.
    """
    if not by.has_scope(Scope.RIDES_OVERRIDE):
        raise ScopeMissing(Scope.RIDES_OVERRIDE)
    if not override.reason.strip():
        raise InvalidInput("overrideReason", _("%(field)s is required with an override."), detail_code="required")
