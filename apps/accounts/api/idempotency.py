"""Wrapper of every POST: one transaction, and at most one success per Idempotency-Key."""

import re
from collections.abc import Callable, Collection
from typing import Any, Final, TypedDict, cast
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.response import Response

from apps.accounts.services import idempotency
from apps.audit.services import audit
from apps.audit.views import record_read
from lib.access import Principal
from lib.api.json import JsonRenderer, canonical
from lib.errors import InvalidInput
from lib.pagination import reach

_KEY = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_SAVED_HEADERS: Final = ("ETag", "Location")


class _Key(TypedDict):
    """The parts that identify a repeated request."""

    client_id: UUID
    key: str
    fingerprint: bytes


def once(view: Any, handle: Callable[[], Response]) -> HttpResponse:
    """Run the handler of a POST, or repeat its answer to an earlier request with the same key.

    The claim on the key, the change and the answer commit together; after a refusal or a crash, the key is free.  An
    answer is repeated only to tokens with the same data scope and scopes, and the audit log records who saw it again.

    Raises:
        InvalidInput: the header is missing where it is required, or is not 1 to 255 visible ASCII characters.
        apps.accounts.services.idempotency.KeyReused: the key was used with another request.
        apps.accounts.services.idempotency.KeyInProgress: a request with the key is in progress.
    """
    key = _key_of(view)
    if view.action in view.asks_others:
        return handle() if key is None else _asked_first(view, handle, key)
    with transaction.atomic():
        if key is None:
            return handle()
        answer = idempotency.claim(**key)
        if answer is not None:
            return _repeat(view, answer)
        with audit.riders_named() as rider_ids:
            response = handle()
        return _saved(key, response, rider_ids)


def _asked_first(view: Any, handle: Callable[[], Response], key: _Key) -> HttpResponse:
    """Run a handler that waits for other systems, outside of a transaction, and store its answer afterwards.

    Two simultaneous requests with one key both run it; both return the answer that was stored first.
    """
    answer = idempotency.answer_of(**key)
    if answer is not None:
        return _repeat(view, answer)
    with audit.riders_named() as rider_ids:
        response = handle()
    with transaction.atomic():
        answer = idempotency.claim(**key)
        return _repeat(view, answer) if answer else _saved(key, response, rider_ids)


def _saved(key: _Key, response: Response, rider_ids: Collection[UUID]) -> Response:
    idempotency.save_response(
        **key,
        status=response.status_code,
        headers={name: response[name] for name in _SAVED_HEADERS if response.has_header(name)},
        body=JsonRenderer().render(response.data).decode(),
        rider_ids=rider_ids,
    )
    return response


def _key_of(view: Any) -> _Key | None:
    key: str | None = view.request.headers.get("Idempotency-Key")
    if key is None:
        if view.action in view.idempotency_key_required:
            raise InvalidInput("Idempotency-Key", _("%(field)s is required."), detail_code="required")
        return None
    if not _KEY.fullmatch(key):
        raise InvalidInput("Idempotency-Key", _("%(field)s must be 1 to 255 visible ASCII characters."))
    principal: Principal = view.principal  # a POST requires a token, which has a client
    fingerprint = idempotency.fingerprint_of(
        view.request.method,
        view.request.path,
        canonical(view.request.data),
        canonical([*reach(principal), sorted(principal.scopes)]),  # the content of an answer depends on scopes too
    )
    return {"client_id": cast(UUID, principal.client_id), "key": key, "fingerprint": fingerprint}


def _repeat(view: Any, answer: idempotency.StoredAnswer) -> HttpResponse:
    """Repeat the answer, and record who saw its riders again; the change itself is recorded already."""
    if answer.rider_ids:
        by: Principal = view.principal
        route = view.request.resolver_match.route
        record_read(by=by, action="answers.repeat", rider_ids=answer.rider_ids, details={"route": route})
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    for name, value in answer.headers.items():
        response[name] = value
    response["Idempotent-Replayed"] = "true"
    return response
