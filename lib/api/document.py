"""The OpenAPI document, and the pages that people read it on."""

from functools import lru_cache
from typing import Any, Final

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import override
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request
from rest_framework.response import Response

from lib.access import PUBLIC
from lib.api import fields
from lib.api.serializers import OutShape
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.reference import Operation, sections_of

ENGLISH: Final = "en"  # what the API speaks, and all that describes it


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
    """Generate the document, once per process: the code it describes does not change meanwhile.

    In English, whoever is the first to ask.
    """
    with override(ENGLISH):
        made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped library
    return made


@lru_cache(maxsize=1)
def _sections() -> dict[str, list[Operation]]:
    return sections_of(document())


@login_not_required
def reference(request: HttpRequest) -> HttpResponse:
    """Show every operation on one page that needs no script and prints well."""
    return _page(request, "docs/reference.html", {"sections": _sections(), "info": document()["info"]})


@login_not_required
def errors(request: HttpRequest) -> HttpResponse:
    """Show every error code; `error.docs` points here."""
    return _page(request, "docs/errors.html", {"codes": list(Code)})


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    with override(ENGLISH):
        response = render(request, template, context)
    response.headers["Content-Language"] = ENGLISH
    return response
