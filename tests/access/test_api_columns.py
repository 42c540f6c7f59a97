"""Writes: a request can set only the columns for which a body field is declared."""

from typing import Any, Final

import pytest
from django.apps import apps

from lib.api.serializers import camel
from tests.access.operations import OPERATIONS, Operation, body_for, caller_of, state
from tests.access.world import World, reached

WRITES: Final = [one for one in OPERATIONS if one.is_scoped and (one.action in one.view.bodies or one.method == "POST")]


def _columns() -> set[str]:
    """Return the columns of every Carelane table, in the spelling of Django and of the API."""
    ours = [model for model in apps.get_models() if model.__module__.startswith("apps.")]
    names = {name for model in ours for field in model._meta.concrete_fields for name in (field.name, field.attname)}
    return names | {camel(name) for name in names}


def _declared(operation: Operation) -> set[str]:
    shape = operation.view.bodies.get(operation.action)
    return set() if shape is None else set(shape().fields)


def _row(world: World, operation: Operation) -> str:
    if not operation.takes_id:
        return ""
    return next(str(row.pk) for row in world.own.rows[operation.kind] if reached("facility", row))


def test_undeclared_columns_are_refused_by_name(world: World) -> None:
    caller, columns, before = caller_of(world, "facility"), _columns(), state()

    for operation in WRITES:
        undeclared = sorted(columns - _declared(operation))
        body: dict[str, Any] = {**body_for(operation, world.own), **dict.fromkeys(undeclared, "x")}
        response = caller.call(operation.method, operation.path(_row(world, operation)), body)
        assert response.status_code == 400, (operation.name, response.content)
        refused = {detail["field"] for detail in response.json()["error"]["details"] if detail["code"] == "unknown"}
        assert refused == set(undeclared), operation.name

    assert len(WRITES) >= 40
    assert {"status", "version", "is_active", "created_by", "facility_id", "revokedAt"} <= columns
    assert state() == before


@pytest.mark.parametrize("column", ["status", "version", "facility_id"])
def test_column_inside_a_booking_of_many_is_refused_too(world: World, column: str) -> None:
    (bulk,) = (one for one in WRITES if one.name == "POST rides/bulk")
    caller, body, before = caller_of(world, "facility"), body_for(bulk, world.own), state()
    body["rides"][0][column] = "x"

    response = caller.call("POST", bulk.path(""), body)

    details = response.json()["error"]["details"]
    assert (response.status_code, [(one["field"], one["code"]) for one in details]) == (
        400,
        [(f"rides[0].{column}", "unknown")],
    )
    assert state() == before
