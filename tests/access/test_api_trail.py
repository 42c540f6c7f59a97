"""Every answer that shows riders adds an audit entry with exactly those riders, at each request."""

import datetime as dt
from typing import Any, Final

import pytest
from django.db import transaction

from apps.audit.models import AuditEntry
from apps.rides.models import Ride
from tests import factories
from tests.access.operations import (
    OPERATIONS,
    Caller,
    Operation,
    body_for,
    caller_of,
    riders_recorded,
    riders_shown,
)
from tests.access.world import World

SCOPED: Final = [one for one in OPERATIONS if one.is_scoped]
# Operations whose answers contain rider ids, for rows of the own side.
SHOWING: Final = {
    "GET rides",
    "POST rides",
    "GET rides/<uuid:id>",
    "PATCH rides/<uuid:id>",
    "POST rides/<uuid:id>/status",
    "POST rides/<uuid:id>/ready",
    "GET ride-exceptions",
    "GET ride-exceptions/<uuid:id>",
    "POST ride-exceptions/<uuid:id>/acknowledge",
    "POST ride-exceptions/<uuid:id>/resolve",
    "POST ride-exceptions/<uuid:id>/snooze",
    "POST ride-exceptions/<uuid:id>/note",
    "GET riders",
    "POST riders",
    "POST riders/search",
    "GET riders/<uuid:id>",
    "PATCH riders/<uuid:id>",
    "GET drivers",
    "GET drivers/<uuid:id>",
    "PATCH drivers/<uuid:id>",
    "GET standing-orders",
    "GET standing-orders/<uuid:id>",
    "PATCH standing-orders/<uuid:id>",
    *(f"POST standing-orders/<uuid:id>/{what}" for what in ("hold", "resume", "end", "activate")),
    "PATCH standing-orders/<uuid:id>/occurrences/<str:date>",
    *(f"POST standing-orders/<uuid:id>/occurrences/<str:date>/{what}" for what in ("skip", "restore")),
    "GET riders/<uuid:id>/standing-orders",
    "POST riders/<uuid:id>/standing-orders",
    "GET calendar-shifts/<uuid:id>/preview",
}
# Fields that name riders in answers without other rider data: omitted for callers without PHI.
FIELDS_ABOVE_NONE: Final = {"GET drivers", "GET drivers/<uuid:id>"}
# A day on which the own riders have no rides.
SOME_DAY: Final = (factories.NOW + dt.timedelta(days=20)).isoformat()
BODIES: Final[dict[str, dict[str, Any]]] = {
    "POST rides": {"pickupTime": SOME_DAY},
    "PATCH rides/<uuid:id>": {"pickupTime": SOME_DAY},
    "POST rides/<uuid:id>/status": {"status": "scheduled"},
    "POST ride-exceptions/<uuid:id>/snooze": {"until": (factories.NOW + dt.timedelta(hours=1)).isoformat()},
    "POST riders/search": {"name": "z"},
}


def _body(operation: Operation, world: World) -> dict[str, Any]:
    body = body_for(operation, world.own) | BODIES.get(operation.name, {})
    return {**body, "name": world.own.first("riders").last_name} if operation.action == "search" else body


@pytest.mark.parametrize("phi_level", ["none", "full"])
def test_trail_names_exactly_the_riders_that_an_answer_shows(world: World, phi_level: str) -> None:
    caller, showing = caller_of(world, "facility", phi_level=phi_level), set()

    for operation in SCOPED:
        for row in world.own.rows[operation.kind] if operation.takes_id else [None]:
            with transaction.atomic():
                response = caller.call(
                    operation.method, operation.path(str(row.pk) if row else ""), _body(operation, world)
                )
                shown, recorded = riders_shown(response), riders_recorded(response)
                transaction.set_rollback(True)
            if shown and response.status_code < 300:
                showing.add(operation.name)
                assert shown == recorded, operation.name
            elif response.status_code < 300 and operation.reads and operation.kind in {"rides", "riders"}:
                assert recorded, operation.name  # the answer concerns riders without naming their ids

    read = {name for name in SHOWING if name.startswith("GET")}
    assert showing >= (SHOWING if phi_level == "full" else read - FIELDS_ABOVE_NONE)
    assert phi_level == "full" or not showing & FIELDS_ABOVE_NONE


def test_rides_without_rider_field_are_recorded_with_riders(world: World) -> None:
    caller = caller_of(world, "facility")

    response = caller.call("GET", "/api/rides?fields=id,pickup&limit=2")

    ids = [ride["id"] for ride in response.json()["data"]]
    assert len(ids) == 2
    assert riders_recorded(response) == set(Ride.objects.filter(pk__in=ids).values_list("rider_id", flat=True))


@pytest.mark.parametrize("operation", ["POST riders/search", "POST rides", "POST riders"])
def test_repeated_answer_is_one_more_look_at_its_riders(world: World, operation: str) -> None:
    caller = caller_of(world, "facility")
    (asked,) = (one for one in SCOPED if one.name == operation)
    body = _body(asked, world)
    first = caller.call("POST", asked.path(""), body, key="once")

    again = caller.call("POST", asked.path(""), body, key="once")

    assert first.status_code in {200, 201}
    assert (again.headers["Idempotent-Replayed"], again.content) == ("true", first.content)
    assert riders_recorded(again) == riders_shown(first) != set()
    entry = AuditEntry.objects.get(request_id=again.headers["X-Request-Id"])
    assert (entry.action, entry.actor, entry.phi) == ("answers.repeat", f"token:{caller.api.token.pk}", "full")
    assert entry.details == {"route": f"api/{asked.route}"}


def test_repeated_answer_is_recorded_under_who_asked_again(world: World) -> None:
    first, second = (caller_of(world, "facility", client=world.own.first("clients")) for _ in range(2))
    body = {"name": world.own.first("riders").last_name}
    _search(first, body)

    again = _search(second, body)

    entry = AuditEntry.objects.get(request_id=again.headers["X-Request-Id"])
    assert entry.actor == f"token:{second.api.token.pk}" != f"token:{first.api.token.pk}"


def test_repeat_that_shows_no_rider_leaves_no_row(world: World) -> None:
    caller = caller_of(world, "facility")
    _search(caller, {"name": "nobody of that name"})

    again = _search(caller, {"name": "nobody of that name"})

    assert again.headers["Idempotent-Replayed"] == "true"
    assert not AuditEntry.objects.filter(request_id=again.headers["X-Request-Id"]).exists()


def _search(caller: Caller, body: dict[str, Any]) -> Any:
    return caller.call("POST", "/api/riders/search", body, key="once")
