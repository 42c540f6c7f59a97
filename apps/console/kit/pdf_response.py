"""PDF responses: each one writes an audit entry; a message explains if the server has no Pango."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from lib import pdf


def pdf_response(
    request: HttpRequest, render: Callable[[], bytes], *, name: str, fallback_url: str, **audit_details: Any
) -> HttpResponse:
    """Return a PDF and write an audit entry; `audit_details` holds arguments of `audit.record`.

    Without Pango, redirects to the page `fallback_url` with a message.
    """
    try:
        content = render()
    except pdf.PangoMissing:
        messages.error(request, _("PDF files need Pango, which is not installed on the server (docs/operations.md)."))
        return redirect(fallback_url)
    record_read(by=principal_of(request), **audit_details)
    return HttpResponse(
        content, content_type="application/pdf", headers={"Content-Disposition": f'inline; filename="{name}.pdf"'}
    )
