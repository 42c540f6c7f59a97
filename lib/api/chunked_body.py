"""Request bodies in chunks, without Content-Length (RFC 9112, section 7.1).

Django and REST Framework treat a request without Content-Length as one without a body: its content would be lost, but
the answer would still be 200.
"""

import io
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from lib.api.json import MalformedBody


def set_content_length(request: HttpRequest) -> None:
    """Read a chunked body, up to the longest one allowed, and set its Content-Length.

    Raises:
        MalformedBody: the server does not mark the end of a chunked body.
    """
    if "HTTP_TRANSFER_ENCODING" not in request.META or request.META.get("CONTENT_LENGTH"):
        return
    environ = getattr(request, "environ", None)  # of WSGI; under ASGI the request itself holds the whole body
    if environ is not None and not environ.get("wsgi.input_terminated"):
        raise MalformedBody(_("The body needs a Content-Length."))
    raw_request: Any = request  # HttpRequest.read reads `_stream`; replacing it does not mark the body as read
    source = raw_request._stream if environ is None else environ["wsgi.input"]
    body = source.read(settings.API_MAX_BULK_BODY_BYTES + 1)
    raw_request._stream = io.BytesIO(body)
    request.META["CONTENT_LENGTH"] = str(len(body))
