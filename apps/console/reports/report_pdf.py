"""Reports on paper: what a page shows, for who has no screen to look at, with what it is about at its head."""

from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from apps.accounts.models import User
from apps.accounts.sessions import zone_of
from apps.console.kit.pdf_response import printed
from apps.reporting.rules.kpis import VERSION
from lib import pdf
from lib.clocks import clock

STYLE: Final = Path(settings.BASE_DIR) / "templates" / "reports" / "paper.css"
_FORMAT: Final = "format"
_PDF: Final = "pdf"


def asked(request: HttpRequest) -> bool:
    """Say whether a page is asked for on paper."""
    return request.GET.get(_FORMAT) == _PDF


def address(query: str) -> str:
    """Write where the same page is on paper, relative to its own; `query` is what is asked of it."""
    return f"?{query}&{_FORMAT}={_PDF}" if query else f"?{_FORMAT}={_PDF}"


def report(
    request: HttpRequest, kind: str, context: dict[str, Any], *, name: str, at: datetime, details: dict[str, Any]
) -> HttpResponse:
    """Lay out what a page shows; `kind` names its template, `name` the file, to which the days are added.

    `context` is that of the page, with its form and its selection.  It is in the trail like what is saved as a file.
    """
    there = at.astimezone(zone_of(request))
    told = {
        **context,
        "operator": settings.OPERATOR_NAME,
        "asked_for": context["form"].said(),
        "version": VERSION,
        "made_for": cast(User, request.user).name,
        "made_at": f"{there:%Y-%m-%d} {clock(there)} {there:%Z}",
    }
    selection = context["selection"]
    instead = request.GET.copy()
    del instead[_FORMAT]
    return printed(
        request,
        lambda: pdf.write(render_to_string(f"reports/paper_{kind}.html", told), style=STYLE),
        name=f"{name}-{selection.first}-{selection.last}",
        instead=f"{request.path}?{instead.urlencode()}",
        action="reports.print",
        phi=False,
        subject_type="report",
        details=details,
    )
