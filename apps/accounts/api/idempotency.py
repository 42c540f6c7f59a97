"""What runs around every POST: one transaction, and at most one success per Idempotency-Key (api.md B.5)."""

import re
from collections.abc import Callable
from typing import Any, Final, cast
from uuid import UUID

from django.http import HttpResponse
from rest_framework.response import Response

from apps.accounts.services import audit, idempotency
from lib.access import Principal
from lib.api.json import JsonRenderer, canonical
from lib.api.pagination import reach
from lib.errors import InvalidInput
from lib.transactions import all_or_nothing

_KEY = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_KEPT_HEADERS: Final = ("ETag", "Location")


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
    key = _key_of(view)  # whoever passes the door for a POST holds a token, and so belongs to a client
    with all_or_nothing():
        if key is None:
            return handle()
        principal: Principal = view.principal
        fingerprint = idempotency.fingerprint_of(
            view.request.method,
            view.request.path,
            canonical(view.request.data),
            canonical([*reach(principal), sorted(principal.scopes)]),  # what an answer shows depends on scopes too
        )
        claim = idempotency.claim(client_id=cast(UUID, principal.client_id), key=key, fingerprint=fingerprint)
        if claim.answer is not None:
            _record_repeat(view, claim.answer.rider_ids)
            return _replay(claim.answer)
        with audit.riders_named() as rider_ids:
            response = handle()
        idempotency.keep(
            claim,
            status=response.status_code,
            headers={name: response[name] for name in _KEPT_HEADERS if response.has_header(name)},
            body=JsonRenderer().render(response.data).decode(),
            rider_ids=rider_ids,
        )
        return response


def _key_of(view: Any) -> str | None:
    key: str | None = view.request.headers.get("Idempotency-Key")
    if key is None:
        if view.action in view.idempotency_key_required:
            raise InvalidInput("Idempotency-Key", "Idempotency-Key is required.", detail_code="required")
        return None
    if not _KEY.fullmatch(key):
        raise InvalidInput("Idempotency-Key", "Idempotency-Key must be 1 to 255 visible ASCII characters.")
    return key


def _record_repeat(view: Any, rider_ids: list[UUID]) -> None:
    """Record who saw these riders again; the change itself is in the trail already."""
    if rider_ids:
        by: Principal = view.principal
        route = view.request.resolver_match.route
        audit.record(
            by=by,
            action="answers.repeat",
            rider_ids=rider_ids,
            phi=by.phi.name.lower(),
            details={"route": route},
        )


def _replay(answer: idempotency.Answer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    for name, value in answer.headers.items():
        response[name] = value
    response["Idempotent-Replayed"] = "true"
    return response
