"""Report pages as PDF, with their filters in the header."""

from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from apps.accounts.models import User
from apps.accounts.sessions import zone_of
from apps.console.kit.pdf_response import pdf_response
from apps.reporting.rules.kpis import VERSION
from lib import dates, pdf, zone_labels
from lib.clocks import clock

STYLE: Final = Path(settings.BASE_DIR) / "templates" / "reports" / "pdf.css"
_FORMAT: Final = "format"
_PDF: Final = "pdf"


def is_requested(request: HttpRequest) -> bool:
    """Return whether the request is for the PDF of a page."""
    return request.GET.get(_FORMAT) == _PDF


def address(query: str) -> str:
    """Return the relative URL of the PDF of a page; `query` holds the filters of the page."""
    return f"?{query}&{_FORMAT}={_PDF}" if query else f"?{_FORMAT}={_PDF}"


def report(
    request: HttpRequest, kind: str, context: dict[str, Any], *, name: str, at: datetime, details: dict[str, Any]
) -> HttpResponse:
    """Return the PDF of a page; `kind` names its template, `name` the file, to which the days are added.

    `context` is that of the page, with its form and its selection.  Writes an audit entry.
    """
    local_time = at.astimezone(zone_of(request))
    pdf_context = {
        **context,
        "operator": settings.OPERATOR_NAME,
        "filter_summary": context["form"].summary(),
        "version": VERSION,
        "made_for": cast(User, request.user).name,
        "made_at": f"{dates.dated_day(local_time.date())}, {clock(local_time)} {zone_labels.short(local_time)}",
    }
    selection = context["selection"]
    page_query = request.GET.copy()
    del page_query[_FORMAT]
    return pdf_response(
        request,
        lambda: pdf.write(render_to_string(f"reports/pdf_{kind}.html", pdf_context), style=STYLE),
        name=f"{name}-{selection.first}-{selection.last}",
        fallback_url=f"{request.path}?{page_query.urlencode()}",
        action="reports.print",
        phi=False,
        subject_type="report",
        details=details,
    )
