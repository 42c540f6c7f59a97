"""Deprecated versions and operations of the API, announced in the headers of their answers (RFC 9745, RFC 8594).

API_RETIREMENTS deprecates a version, `retiring` of a view an operation; removing a field makes a new version.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.utils.http import http_date
from django.utils.translation import gettext_lazy as _

from lib.errors import Code, DomainError

DOCS: Final = '</docs/api>; rel="deprecation"; type="text/html"'


class Gone(DomainError):
    """The version or the operation has been removed."""

    code = Code.GONE
    template = _("This has been retired; docs/api.md says what there is instead.")


@dataclass(frozen=True, slots=True)
class Deprecation:
    """First days, from 00:00 UTC, of the deprecation and of the sunset, which is at least 24 months later."""

    deprecated: dt.date
    sunset: dt.date

    def headers(self) -> dict[str, str]:
        """Return the headers `Deprecation`, `Sunset` and the link to the documentation."""
        return {
            "Deprecation": f"@{_start_of(self.deprecated)}",
            "Sunset": http_date(_start_of(self.sunset)),
            "Link": DOCS,
        }


def headers_of(retirements: Iterable[Deprecation | None], *, at: dt.datetime) -> dict[str, str]:
    """Return the headers of the earliest sunset; none if nothing is deprecated.

    Raises:
        Gone: one of the sunsets has passed.
    """
    due = [
        deprecation
        for deprecation in retirements
        if deprecation is not None and at.timestamp() >= _start_of(deprecation.deprecated)
    ]
    if not due:
        return {}
    first = min(due, key=lambda deprecation: deprecation.sunset)
    if at.timestamp() >= _start_of(first.sunset):
        raise Gone
    return first.headers()


def _start_of(day: dt.date) -> int:
    return int(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp())
