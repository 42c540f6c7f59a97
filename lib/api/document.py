"""The OpenAPI document, and the pages that show it."""

from functools import lru_cache
from typing import Any, Final

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import override
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from lib.access import PUBLIC
from lib.api import fields
from lib.api.serializers import OutShape
from lib.api.views import ApiViewSet
from lib.errors import Code

ENGLISH: Final = "en"  # the language of the API and of its documentation


class DocumentOut(OutShape):
    """An OpenAPI 3.1 document."""

    openapi = fields.Text()
    example = {"openapi": "3.1.0"}

    def to_representation(self, document: dict[str, Any]) -> dict[str, Any]:
        return document


class DocumentViewSet(ApiViewSet):
    """This document."""

    scopes = {"document": PUBLIC}
    answers = {"document": DocumentOut}

    def document(self, request: Request) -> Response:
        """Read the OpenAPI document of this service."""
        return self.answer(document())


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """Generate the document, once per process: the described code does not change while the process runs.

    Always in English, regardless of the language of the first request.
    """
    with override(None):
        schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped library
    return schema


class ReferenceView(SpectacularSwaggerSplitView):
    """Swagger UI on the OpenAPI document.

    The template is in `templates/docs`, because the content policy refuses the inline styles of the stock template.
    """

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    schema = None  # a page, not an operation
    url_name = "openapi"
    template_name = "docs/reference.html"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Render the page, or its script, in English regardless of the language of the request."""
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # untyped library
        response.headers["Content-Language"] = ENGLISH
        return response


@login_not_required
def errors(request: HttpRequest) -> HttpResponse:
    """Show every error code; `error.docs` points here."""
    with override(None):
        response = render(request, "docs/errors.html", {"codes": list(Code)})
    response.headers["Content-Language"] = ENGLISH
    return response
