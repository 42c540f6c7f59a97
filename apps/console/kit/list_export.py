"""CSV files of lists: each names the user who exported it, and is recorded in the audit trail."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.accounts.sessions import principal_of, zone_of
from apps.audit.views import record_read
from lib.csv_file import csv_file


def exported(
    request: HttpRequest,
    name: str,
    rows: Iterable[Iterable[object]],
    *,
    action: str,
    subject_type: str,
    at: datetime,
    details: dict[str, Any],
) -> HttpResponse:
    """Return a table as a CSV file and record the export in the audit trail; the first row holds the column headings.

    `details` are added to the audit entry, which also has the number of rows: names of fields, never values.
    """
    table = list(rows)
    record_read(
        by=principal_of(request),
        action=action,
        subject_type=subject_type,
        phi=False,
        details={"rows": len(table) - 1, **details},
    )
    exported_by = cast(User, request.user).name
    return csv_file(name, table, exported_by=exported_by, at=at.astimezone(zone_of(request)))
