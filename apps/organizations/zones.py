"""IANA time zones."""

from functools import cache
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


@cache
def known_zones() -> frozenset[str]:
    """Return the selectable time zones: real places and UTC, no abbreviations."""
    return frozenset(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")) | {"UTC"}


def validate_zone(name: str) -> None:
    """Validate that `name` is an IANA zone.

    Raises:
        ValidationError: it is not.
    """
    if name not in known_zones():
        raise ValidationError(_("Not an IANA time zone, such as America/Chicago."), code="invalid")
