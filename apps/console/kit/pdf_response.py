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


def printed(request: HttpRequest, make: Callable[[], bytes], *, name: str, instead: str, **trail: Any) -> HttpResponse:
    """Return a PDF and write an audit entry; `trail` holds arguments of `audit.record`.

    Without Pango, redirects to the page `instead` with a message.
    """
    try:
        content = make()
    except pdf.PangoMissing:
        messages.error(request, _("PDF files need Pango, which is not installed on the server (docs/operations.md)."))
        return redirect(instead)
    record_read(by=principal_of(request), **trail)
    return HttpResponse(
        content, content_type="application/pdf", headers={"Content-Disposition": f'inline; filename="{name}.pdf"'}
    )
