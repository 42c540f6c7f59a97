"""Writes: an id of the other side in a body is handled like an id that does not exist, and nothing is stored."""

import datetime as dt
from typing import Any, Final

import pytest
from django.db import transaction

from tests import factories
from tests.access.operations import NAMED, OPERATIONS, Operation, body_for, caller_of, likened, state
from tests.access.world import World, absent, reached

CASES: Final = [(one, path) for one in OPERATIONS for path in one.id_fields]


def _with(body: dict[str, Any], path: tuple[str, ...], value: str) -> dict[str, Any]:
    """Return the body with a value replaced, in the first item of lists on the path."""
    step, rest = path[0], path[1:]
    if not rest:
        return {**body, step: value}
    if rest[0] == "*":
        items = body.get(step) or [{}]
        first = value if rest[1:] == () else _with(dict(items[0]), rest[1:], value)
        return {**body, step: [first, *items[1:]]}
    return {**body, step: _with(dict(body.get(step) or {}), rest, value)}


def _name(path: tuple[str, ...]) -> str:
    return [step for step in path if step != "*"][-1]


def _kind(path: tuple[str, ...]) -> str:
    """Return the kind of row that the field names; a plain `id` names an item of the list that contains it."""
    return path[0] if _name(path) == "id" else NAMED[_name(path)]


# Stored unchecked and shown only to its author, so that it cannot reveal whether a row exists.
KEPT_AS_GIVEN: Final = {"documentId"}
# Operations that answer 200 with a refusal for each row that they do not find; tested in tests/fleet/test_positions.py.
REFUSED_ONE_BY_ONE: Final = {"POST drivers/positions"}
DAY: Final = dt.timedelta(days=1)
# Rows of the operator, the same for every caller.
SHARED: Final = {"payerId", "escalationPolicyId", "destinationId"}


def _body(operation: Operation, path: tuple[str, ...], value: str, world: World) -> dict[str, Any]:
    """Return a valid body with the value inserted."""
    body = body_for(operation, world.own)
    record = body["rides"][0] if "rides" in path else body
    if "pickupTime" in record:  # the example's day has passed
        record["pickupTime"] = (factories.NOW + 20 * DAY).isoformat()
    if "rider" in path:
        record.pop("riderId")
        record["rider"] = record = {"firstName": "Nadia", "lastName": "Doe"}
    if "returnLeg" in path:
        record.pop("discharge")
        record |= {"serviceType": "appointment", "returnLeg": {"pickupTime": (factories.NOW + 20.5 * DAY).isoformat()}}
    if "savedPlaces" in path:
        record["savedPlaces"] = [{"name": "Work", "addressLine1": "1 N State St", "city": "Chicago", "state": "IL"}]
    if "otherVehicles" in path:
        row = {"driverId": world.own.id_of("drivers"), "vehicleId": world.own.id_of("vehicles")}
        record["otherVehicles"] = [row]
    return _with(body, path, value)


@pytest.mark.parametrize("binding", ["facility", "provider"])
def test_foreign_id_in_body_is_refused_like_unknown_id(world: World, binding: str) -> None:
    caller, before, refused = caller_of(world, binding), state(), 0

    for operation, path in CASES:
        name = _name(path)
        if name in KEPT_AS_GIVEN | SHARED or operation.name in REFUSED_ONE_BY_ONE:
            continue
        theirs, nobodys = world.other.id_of(_kind(path)), absent()
        if theirs not in caller.hidden_ids:
            continue
        refused += 1
        target = operation.path(_row(world, operation, binding))
        answers = []
        for value in (theirs, nobodys):
            response = caller.call(operation.method, target, _body(operation, path, value, world))
            answers.append(likened(response, value))
            assert response.leaks == []
        told = (operation.name, path, response.content)
        assert answers[0] == answers[1], told
        assert response.status_code in {400, 403, 404}, told
        if response.status_code == 400:
            assert any(name in detail["field"] for detail in response.json()["error"]["details"]), told

    assert refused >= {"facility": 50, "provider": 14}[binding]
    assert state() == before


@pytest.mark.parametrize(("name", "kind"), [("driverId", "drivers"), ("vehicleId", "vehicles")])
def test_foreign_position_is_refused_like_unknown_one(world: World, name: str, kind: str) -> None:
    (operation,) = (one for one in OPERATIONS if one.name in REFUSED_ONE_BY_ONE)
    caller, before, answers = caller_of(world, "provider"), state(), []
    body = body_for(operation, world.own)
    del body["positions"][0]["driverId"]

    for value in (world.other.id_of(kind), absent()):
        body["positions"][0][name] = value
        with transaction.atomic():
            response = caller.call(operation.method, operation.path(""), body)
            transaction.set_rollback(True)  # the stored answer of the key
        answers.append(likened(response, value))
        assert (response.status_code, response.leaks) == (200, [])
        (result,) = response.json()["data"]
        assert (result["status"], result["error"]["details"][0]["code"]) == ("refused", "unknown")

    assert answers[0] == answers[1]
    assert state() == before


def _row(world: World, operation: Operation, binding: str) -> str:
    """Return a row that the caller reaches; providers reach no riders, and get the id of one out of reach."""
    if not operation.takes_id:
        return ""
    reachable = (str(row.pk) for row in world.own.rows[operation.kind] if reached(binding, row))
    return next(reachable, world.own.id_of(operation.kind))
