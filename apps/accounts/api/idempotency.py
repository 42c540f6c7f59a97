"""What runs around every POST: one transaction, and at most one success per Idempotency-Key."""

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
    """What makes two requests the same one."""

    client_id: UUID
    key: str
    fingerprint: bytes


def once(view: Any, handle: Callable[[], Response]) -> HttpResponse:
    """Run the handler of a POST, or repeat what it answered to an earlier request with the same key.

    The claim on the key, the change and the answer commit together; a refusal or a crash leaves nothing behind, and the
    key stays free.  What is repeated is what a token of equal reach and scopes was shown, and the trail says who saw it
    again.

    Raises:
        InvalidInput: the header is missing where it is required, or is not 1 to 255 visible ASCII characters.
        apps.accounts.services.idempotency.KeyReused: it came with another request before.
        apps.accounts.services.idempotency.KeyInProgress: such a request is under way.
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
    """Run a handler that waits for other machines, and keep its answer afterwards: no transaction is open meanwhile.

    Two requests with one key at the same moment both ask; both say what the first one was answered.
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
    principal: Principal = (
        view.principal
    )  # whoever passes the door for a POST holds a token, and so belongs to a client
    fingerprint = idempotency.fingerprint_of(
        view.request.method,
        view.request.path,
        canonical(view.request.data),
        canonical([*reach(principal), sorted(principal.scopes)]),  # what an answer shows depends on scopes too
    )
    return {"client_id": cast(UUID, principal.client_id), "key": key, "fingerprint": fingerprint}


def _repeat(view: Any, answer: idempotency.StoredAnswer) -> HttpResponse:
    """Answer again, and record who saw these riders again; the change itself is in the trail already."""
    if answer.rider_ids:
        by: Principal = view.principal
        route = view.request.resolver_match.route
        record_read(by=by, action="answers.repeat", rider_ids=answer.rider_ids, details={"route": route})
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    for name, value in answer.headers.items():
        response[name] = value
    response["Idempotent-Replayed"] = "true"
    return response
