"""The page for unhandled errors."""

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from lib.request_context import id_of


def server_error(request: HttpRequest) -> HttpResponse:
    """Return a page with only the request id; without queries and session, because either may be the cause."""
    page = render_to_string("500.html", {"request_id": id_of(request)})
    return HttpResponse(page, status=500)
