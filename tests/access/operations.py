"""Every operation of the API, read from its OpenAPI document, and calls of it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.http import HttpResponse
from django.urls import URLPattern, URLResolver
from rest_framework import serializers

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.riders.models import Rider
from config import api
from lib.access import ANY_TOKEN, PUBLIC
from lib.api import fields
from lib.api.document import document
from lib.api.serializers import camel
from lib.ids import uuid7
from lib.scopes import Scope
from tests.access.canaries import Canary, found
from tests.access.world import ORDERED_FROM, Side, World
from tests.callers import TokenClient

PREFIX: Final = "/api/"
# Tables that a refused call may write to: the refusal in the audit trail, and the last use of the token.
_NOT_STATE: Final = ("audit_auditentry", "audit_auditseal", "accounts_apitoken")


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one route."""

    method: str
    route: str
    action: str
    view: Any

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"

    @property
    def scope(self) -> str:
        return str(self.view.scopes[self.action])

    @property
    def is_scoped(self) -> bool:
        return self.scope not in (PUBLIC, ANY_TOKEN)

    @property
    def kind(self) -> str:
        """Kind of the rows that the id in the path names, by the first one or two segments of the path."""
        first, _, rest = self.route.partition("/")
        two = first == "webhooks" or rest.startswith(("schedules", "destinations"))
        return f"{first}/{rest.partition('/')[0]}" if two else first

    @property
    def takes_id(self) -> bool:
        return "<uuid:id>" in self.route

    @property
    def reads(self) -> bool:
        return self.method == "GET"

    def path(self, row_id: str) -> str:
        named = self.route.replace("<str:type>", "ride.completed").replace("<str:date>", ORDERED_FROM.isoformat())
        named = (
            named.replace("<str:file>", "rides.ndjson")
            .replace("<uuid:absence_id>", row_id)
            .replace("<uuid:outage_id>", row_id)
            .replace("<uuid:ride_id>", row_id)
        )
        return PREFIX + named.replace("<uuid:id>", row_id)

    @property
    def query(self) -> dict[str, Any]:
        """Query parameters, by their API names."""
        shape = self.view.queries.get(self.action)
        return {} if shape is None else dict(shape().fields)

    @property
    def id_fields(self) -> list[tuple[str, ...]]:
        """Paths of the body fields that contain row ids; "*" stands for any item of a list."""
        shape = self.view.bodies.get(self.action)
        return [] if shape is None else list(_ids_in(shape()))

    def example(self) -> dict[str, Any]:
        """Valid example body from the document."""
        path = re.sub(r"<\w+:(\w+)>", lambda found: f"{{{camel(found[1])}}}", self.route)
        published = document()["paths"][f"/{path}"][self.method.lower()]
        if "requestBody" not in published:
            return {}
        (shown,) = published["requestBody"]["content"]["application/json"]["examples"].values()
        return dict(json.loads(json.dumps(shown["value"])))


def _ids_in(shape: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, declared in shape.fields.items():
        where, inner = (*path, name), declared
        while isinstance(inner, (serializers.ListSerializer, serializers.ListField)):
            where, inner = (*where, "*"), inner.child
        if isinstance(inner, fields.Uuid):
            yield where
        elif isinstance(inner, serializers.Serializer):
            yield from _ids_in(inner, where)


def _routes(entries: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for entry in entries:
        if isinstance(entry, URLResolver):
            yield from _routes(entry.url_patterns)
        else:
            yield entry


def _operations(route: URLPattern) -> Iterator[Operation]:
    view: Any = route.callback
    for method, action in view.actions.items():
        yield Operation(method.upper(), str(route.pattern), action, view.cls)


OPERATIONS: Final = [one for route in _routes(api.urlpatterns) for one in _operations(route)]
SCOPES_OF_OPERATIONS: Final = {Scope(one.scope) for one in OPERATIONS if one.is_scoped}


@dataclass
class Caller:
    """A token, and the canaries that must not appear in any answer to it."""

    api: TokenClient
    hidden: list[Canary]
    hidden_ids: set[str]
    calls: int = 0

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Call the operation and search the answer for canaries: its `leaks` must be empty."""
        self.calls += 1
        headers = {"Idempotency-Key": key or str(uuid7())} if method == "POST" else {}
        given: dict[str, Any] = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        response: Any = _whole(self.api.generic(method, path, headers=headers, **given))
        response.leaks = self._leaks(response, path + json.dumps(body))
        return response

    def _leaks(self, response: Any, sent: str) -> list[str]:
        answer = raw(response)
        text, asked = answer.decode(errors="replace"), sent.lower()
        shown = [one for one in found(self.hidden, answer) if one.text not in asked]
        named = [one for one in self.hidden_ids if one in text and one not in asked]
        return [one.label for one in shown] + [f"id {one}" for one in named]


def _whole(response: Any) -> Any:
    """Read a streamed answer to its end and return it as a regular response."""
    if not response.streaming:
        return response
    return HttpResponse(b"".join(response.streaming_content), status=response.status_code, headers=response.headers)


# Rows of the other side that a bound caller may see: drivers and vehicles for facilities, facilities for providers.
_SHARED: Final[dict[str, tuple[str, ...]]] = {
    "facility": ("drivers", "vehicles", "credentials", "shifts", "providers", "home-bases"),
    "provider": ("facilities", "entrances", "contacts", "calendar-shifts"),
    "both": (),
}


def caller_of(world: World, binding: str, role: TokenRole = TokenRole.FULL_ACCESS, **columns: Any) -> Caller:
    """Return a caller of the own side with the canaries that it must not see."""
    return Caller(world.bound(binding, role, **columns), world.hidden(binding), unshared_ids(world, binding))


def unshared_ids(world: World, binding: str) -> set[str]:
    """Return the ids of the other side that must not appear in answers to a caller of the own side."""
    return world.other.ids() - {str(row.pk) for kind in _SHARED[binding] for row in world.other.rows[kind]}


def raw(response: Any) -> bytes:
    """Return all bytes of an answer, headers first."""
    headers = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    return headers.encode() + b"\n" + bytes(response.content)


def likened(response: Any, row_id: str) -> tuple[int, dict[str, str], str]:
    """Remove from an answer what differs from request to request."""
    moving = {"X-Request-Id", "RateLimit", "RateLimit-Policy", "Date"}
    headers = {name: value for name, value in response.headers.items() if name not in moving}
    body = response.content.decode().replace(row_id, "<id>").replace(response.headers["X-Request-Id"], "<request>")
    return response.status_code, headers, body


def riders_shown(response: Any) -> set[UUID]:
    """Return the riders whose ids appear in an answer."""
    text = response.content.decode()
    return {pk for pk in Rider.objects.values_list("pk", flat=True) if str(pk) in text}


def riders_recorded(response: Any) -> set[UUID]:
    """Return the riders that the audit entries of this request name."""
    rows = AuditEntry.objects.filter(request_id=response.headers["X-Request-Id"])
    return {pk for row in rows for pk in row.rider_ids}


def state() -> dict[str, str]:
    """Digest every table; two equal states contain the same rows."""
    tables = [name for name in connection.introspection.table_names() if name not in _NOT_STATE]
    digests = ", ".join(
        f"(SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {name} t)"  # noqa: S608  # names from the catalogue
        for name in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {digests}")
        return dict(zip(tables, cursor.fetchone(), strict=True))


def body_for(operation: Operation, side: Side) -> dict[str, Any]:
    """Return a body that passes validation; the rows that it names belong to `side`."""
    return dict(_of_side(operation.example() | AMENDED.get(operation.name, {}), side))


def _of_side(value: Any, side: Side, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _of_side(inner, side, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_of_side(inner, side, name) for inner in value]
    return side.id_of(NAMED[name]) if name in NAMED else value


# Kinds of rows that id fields in bodies and queries name.
NAMED: Final[dict[str, str]] = {
    "assignmentId": "offers",
    "attendantIds": "drivers",
    "clientId": "clients",
    "defaultVehicleId": "vehicles",
    "driverId": "drivers",
    "endpointId": "webhooks/endpoints",
    "entranceId": "entrances",
    "eventId": "events",
    "excludedDriverIds": "drivers",
    "excludedRiderIds": "riders",
    "facilityId": "facilities",
    "facilityIds": "facilities",
    "homeBaseId": "home-bases",
    "pickupEntranceId": "entrances",
    "preferredDriverIds": "drivers",
    "providerId": "providers",
    "providerIds": "providers",
    "rideId": "rides",
    "rideIds": "rides",
    "standingOrderIds": "standing-orders",
    "riderId": "riders",
    "vehicleId": "vehicles",
}
# The document's examples have a valid form; these values also pass the semantic checks that run before access checks.
AMENDED: Final[dict[str, dict[str, Any]]] = {
    "POST vehicles/<uuid:id>/credentials": {"type": "insurance"},
}
