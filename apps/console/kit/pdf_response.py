"""Papers: what is printed leaves a row in the trail, and a server without what lays paper out says so."""

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
    """Answer with a PDF to be read or printed, and leave a row in the trail; `trail` is what `audit.record` takes.

    Where it cannot be laid out, say so on the page at the address `instead`.
    """
    try:
        paper = make()
    except pdf.PangoMissing:
        messages.error(request, _("Papers need Pango on the server, which is not installed (docs/operations.md)."))
        return redirect(instead)
    record_read(by=principal_of(request), **trail)
    return HttpResponse(
        paper, content_type="application/pdf", headers={"Content-Disposition": f'inline; filename="{name}.pdf"'}
    )
