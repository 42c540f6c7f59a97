"""Control of the idempotency test: look up, run, store, without a claim for which other requests wait."""

import threading
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.urls import path
from rest_framework.response import Response

from apps.accounts.models import IdempotencyRecord
from config.api import GUARD
from lib.api.views import Guard
from tests.api.sample import SlowViewSet

RETRIES = 6  # each uses a connection, and the pool has eight
_all_have_looked = threading.Barrier(RETRIES, timeout=60)


def once(view: Any, handle: Callable[[], Response]) -> HttpResponse:
    client_id, key = view.principal.client_id, view.request.headers["Idempotency-Key"]
    if IdempotencyRecord.objects.filter(client_id=client_id, key=key).exists():
        return HttpResponse(b"{}", status=201, content_type="application/json")
    _all_have_looked.wait()
    response = handle()
    record = IdempotencyRecord(client_id=client_id, key=key, fingerprint=b"")
    IdempotencyRecord.objects.bulk_create([record], ignore_conflicts=True)
    return response


_GUARD = Guard(once=once, record_denial=GUARD.record_denial)
urlpatterns = [path("api/slow", SlowViewSet.as_view({"post": "slow_create"}, guard=_GUARD))]
