"""Resource for tests only: payers, through every part of the API framework."""

import time
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.utils import ConnectionHandler
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.organizations.models import Payer
from config.api import GUARD
from lib.access import ANY_TOKEN, PUBLIC
from lib.api import fields
from lib.api.query import CountedPageQuery
from lib.api.serializers import In, Out
from lib.api.views import ApiViewSet
from lib.errors import NotFound
from lib.ids import uuid7
from lib.messages import Message
from lib.scopes import Scope


class PayerOut(Out):
    """Who pays."""

    class Meta:
        model = Payer
        fields = ("id", "name")


class ContactIn(In):
    phone = fields.Phone()


class PayerIn(In):
    name = fields.Text(max_length=100)
    paid_since = fields.LocalDate(required=False)
    contacts = fields.List(child=ContactIn(), required=False, max_length=3)


class PayerQuery(CountedPageQuery):
    name = fields.Text(required=False)


class PayerViewSet(ApiViewSet):
    """Payers."""

    scopes = {
        "list": Scope.FACILITIES_READ,
        "retrieve": Scope.FACILITIES_READ,
        "create": Scope.FACILITIES_WRITE,
        "partial_update": Scope.FACILITIES_WRITE,
    }
    queries = {"list": PayerQuery}
    bodies = {"create": PayerIn, "partial_update": PayerIn}
    answers = {"list": PayerOut, "retrieve": PayerOut, "create": PayerOut, "partial_update": PayerOut}

    def list(self, request: Request) -> Response:
        """List payers."""
        rows = Payer.objects.all()
        if name := self.query.get("name"):
            rows = rows.filter(name=name)
        return self.answer_page(self.page(rows, sort="name"))

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read one payer."""
        payer = Payer.objects.filter(pk=id).first()
        if payer is None:
            raise NotFound(Message("payer"))
        return self.answer(payer, version=7)

    def create(self, request: Request) -> Response:
        """Create a payer."""
        body = self.body()
        payer = Payer.objects.create(name=body["name"])
        if body["name"] == "crash":
            raise RuntimeError("a bug")
        return self.answer(payer, version=1, headers={"Location": f"/api/payers/{payer.pk}"})

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Rename a payer, if it is still the version that the caller read."""
        body, expected = self.body(), self.expected_version()
        return self.answer(Payer(pk=id, name=f"{body.get('name')} {expected}"), version=8)


class TextIn(In):
    text = fields.Text(allow_blank=True)


class SlowViewSet(ApiViewSet):
    """Queries that exceed database limits, and an unreachable database."""

    scopes = dict.fromkeys(("sleep", "wait_for_lock", "reach_nobody", "bulk", "slow_create"), ANY_TOKEN)
    idempotency_key_required = frozenset({"bulk"})
    body_limits = {"bulk": settings.API_MAX_BULK_BODY_BYTES}
    bodies = {"slow_create": PayerIn, "bulk": TextIn}

    def sleep(self, request: Request) -> Response:
        """Run a statement that exceeds the statement timeout."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '20ms'")
            cursor.execute("SELECT pg_sleep(5)")
        return Response()

    def wait_for_lock(self, request: Request, id: UUID) -> Response:
        """Wait for a row lock beyond the lock timeout."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '20ms'")
            Payer.objects.select_for_update().get(pk=id)
        return Response()

    def reach_nobody(self, request: Request) -> Response:
        """Connect to a database that does not answer."""
        missing = ConnectionHandler({"default": settings.DATABASES["default"] | {"PORT": "1", "OPTIONS": {}}})[
            "default"
        ]
        missing.ensure_connection()
        return Response()

    def bulk(self, request: Request) -> Response:
        """Require an idempotency key, and accept a large body."""
        return Response({"size": len(cast(dict[str, Any], request.data)["text"])})

    def slow_create(self, request: Request) -> Response:
        """Create a payer slowly, under a unique name."""
        payer = Payer.objects.create(name=f"{self.body()['name']} {uuid7()}")
        time.sleep(0.05)
        return Response({"id": str(payer.pk)}, status=201)


class PublicViewSet(ApiViewSet):
    """Resources that callers without a token may read."""

    scopes = {"retrieve": PUBLIC}

    def retrieve(self, request: Request) -> Response:
        """Read a resource that rarely changes."""
        return self.answer(None, version=3)


def closed(request: Any) -> HttpResponse:
    """Refuse as a library does, with its own error message."""
    return HttpResponse("closed for the day", status=503)


def crash(request: Any) -> HttpResponse:
    raise RuntimeError("a bug outside any view of ours")


sample = [
    path("payers", PayerViewSet.as_view({"get": "list", "post": "create"}, guard=GUARD)),
    path("payers/<uuid:id>", PayerViewSet.as_view({"get": "retrieve", "patch": "partial_update"}, guard=GUARD)),
    path("sleep", SlowViewSet.as_view({"get": "sleep"}, guard=GUARD)),
    path("locked/<uuid:id>", SlowViewSet.as_view({"get": "wait_for_lock"}, guard=GUARD)),
    path("nobody", SlowViewSet.as_view({"get": "reach_nobody"}, guard=GUARD)),
    path("bulk", SlowViewSet.as_view({"post": "bulk"}, guard=GUARD)),
    path("slow", SlowViewSet.as_view({"post": "slow_create"}, guard=GUARD)),
    path("public", PublicViewSet.as_view({"get": "retrieve"}, guard=GUARD)),
    path("closed", closed),
    path("crash", crash),
]
urlpatterns = [path("api/", include(sample))]


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond without the service's error page, whose links do not exist in these URLs."""
    return HttpResponse(status=400)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return HttpResponse(status=404)
