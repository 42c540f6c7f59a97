"""The last word when a page failed."""

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from lib.request_context import id_of


def server_error(request: HttpRequest) -> HttpResponse:
    """Show the request id and nothing of what happened; no query, no session: either may be what failed."""
    page = render_to_string("500.html", {"request_id": id_of(request)})
    return HttpResponse(page, status=500)
