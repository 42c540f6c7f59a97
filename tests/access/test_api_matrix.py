"""The API: role x operation x {own, other, absent}; no byte of an answer comes from the other side."""

from typing import Any

import pytest
from django.db import transaction

from apps.accounts.rules.roles import SCOPES_OF_TOKEN, TokenRole
from apps.rides.models.ride import RideQuerySet
from lib.scopes import Scope
from tests.access.operations import (
    OPERATIONS,
    SCOPES_OF_OPERATIONS,
    Caller,
    Operation,
    body_for,
    caller_of,
    likened,
    state,
)
from tests.access.world import SHARED, World, absent, reached
from tests.callers import error_of

# Answered without a token; every other operation requires one.
PUBLIC = {
    "GET health/live",
    "GET health/ready",
    "GET openapi.json",
    "GET webhooks/keys",
    "GET exports/files/<str:secret>",
}
ANY_TOKEN = {"GET tokens/self"}
SCOPED = [one for one in OPERATIONS if one.is_scoped]
WITH_ID = [one for one in SCOPED if one.takes_id]
BINDINGS = ("facility", "provider", "both")
CALLERS = [
    *((role, "facility") for role in TokenRole),
    *((role, "provider") for role in (TokenRole.DISPATCH_PARTNER, TokenRole.FULL_ACCESS)),
    *((role, "both") for role in (TokenRole.DISPATCH_CONSOLE, TokenRole.FULL_ACCESS)),
]
# Whether an offer exists is checked separately from whether the ride exists.
ANSWERING_OFFERS = {"POST rides/<uuid:id>/assignment/accept", "POST rides/<uuid:id>/assignment/decline"}
# Rows of the other side that a caller with this binding may reach: drivers and vehicles are not bound to a facility.
FLEET = {"drivers", "vehicles", "credentials", "shifts"}
REACHED = {"facility": FLEET | SHARED, "provider": {"facilities", *SHARED}, "both": SHARED}


def test_walk_covers_the_whole_api() -> None:
    public = {one.name for one in OPERATIONS if one.scope == "public"}
    any_token = {one.name for one in OPERATIONS if one.scope == "any token"}

    assert (public, any_token) == (PUBLIC, ANY_TOKEN)
    assert len(OPERATIONS) >= 96
    assert len(WITH_ID) >= 64
    assert len(SCOPES_OF_OPERATIONS) >= 14
    assert len(SCOPED) * len(TokenRole) * len(BINDINGS) > 1300


def test_world_holds_canaries_in_every_kind_of_row(world: World) -> None:
    for side in (world.own, world.other):
        per_kind = {kind: len(side.canaries.of([kind])) for kind in ("place", "person", "fleet", "access")}

        assert all(count >= least for count, least in zip(per_kind.values(), (16, 320, 60, 8), strict=True)), per_kind
    assert not {one.text for one in world.own.canaries.made} & {one.text for one in world.other.canaries.made}


def test_stranger_is_told_nothing(world: World) -> None:
    caller = caller_of(world, "both")
    caller.api.credentials()
    before = state()

    for operation in OPERATIONS:
        if operation.name in PUBLIC:
            continue
        response = caller.call(operation.method, operation.path(world.other.id_of("rides")), {})
        assert (response.status_code, response.leaks) == (401, []), operation.name
        assert error_of(response)["code"] == "UNAUTHENTICATED"

    assert state() == before


@pytest.mark.parametrize("role", list(TokenRole))
def test_role_without_the_scope_is_refused_whatever_it_names(world: World, role: TokenRole) -> None:
    caller, before = caller_of(world, "both", role), state()

    refused = [one for one in SCOPED if one.scope not in SCOPES_OF_TOKEN[role]]
    for operation in refused:
        for row_id in _targets(world, operation):
            response = caller.call(operation.method, operation.path(row_id), body_for(operation, world.own))
            assert (response.status_code, response.leaks) == (403, []), operation.name
            error = error_of(response)
            assert error["code"] == "INSUFFICIENT_SCOPE"
            assert error["details"][0]["requiredScope"] == operation.scope

    assert len(refused) == len(SCOPED) - len([one for one in SCOPED if one.scope in SCOPES_OF_TOKEN[role]])
    assert state() == before


@pytest.mark.parametrize("scope", sorted(SCOPES_OF_OPERATIONS))
def test_token_narrowed_to_other_scopes_is_refused(world: World, scope: Scope) -> None:
    others = sorted(SCOPES_OF_TOKEN[TokenRole.FULL_ACCESS] - {scope})
    caller, before = caller_of(world, "both", scopes=others), state()

    for operation in (one for one in SCOPED if one.scope == scope):
        response = caller.call(operation.method, operation.path(absent()), body_for(operation, world.own))
        assert response.status_code == 403, operation.name

    assert caller.calls > 0
    assert state() == before


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("role", list(TokenRole))
def test_row_of_the_other_side_is_as_good_as_absent(world: World, binding: str, role: TokenRole) -> None:
    caller, before = caller_of(world, binding, role), state()

    for operation in WITH_ID:
        if operation.scope in SCOPES_OF_TOKEN[role] and operation.kind not in REACHED[binding]:
            other, nowhere, body = world.other.id_of(operation.kind), absent(), body_for(operation, world.own)
            theirs = caller.call(operation.method, operation.path(other), body)
            nobodys = caller.call(operation.method, operation.path(nowhere), body)
            assert (theirs.status_code, theirs.leaks) == (404, []), (operation.name, theirs.content)
            assert likened(theirs, other) == likened(nobodys, nowhere), operation.name

    assert state() == before


@pytest.mark.parametrize(("role", "binding"), CALLERS)
def test_own_row_is_there_and_brings_nothing_of_the_other_side(world: World, role: TokenRole, binding: str) -> None:
    caller = caller_of(world, binding, role)

    for operation in WITH_ID:
        if operation.scope in SCOPES_OF_TOKEN[role]:
            for row in world.own.rows[operation.kind][:4]:
                _call_own(world, caller, operation, row, there=reached(binding, row))

    assert caller.calls >= len([one for one in WITH_ID if one.scope in SCOPES_OF_TOKEN[role]])


def test_walk_finds_rides_that_are_not_narrowed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RideQuerySet, "visible_to", lambda rows, principal: rows)

    with pytest.raises(AssertionError, match="GET rides/<uuid:id>"):
        test_row_of_the_other_side_is_as_good_as_absent(world, "facility", TokenRole.FULL_ACCESS)


def _call_own(world: World, caller: Caller, operation: Operation, row: Any, *, there: bool) -> None:
    """Call the operation in a savepoint: a change may be refused, but not because the row is missing."""
    with transaction.atomic():
        response = caller.call(operation.method, operation.path(str(row.pk)), body_for(operation, world.own))
        transaction.set_rollback(True)
    told = (operation.name, response.content)
    assert response.leaks == [], told
    assert response.status_code < 500, told
    if operation.name not in ANSWERING_OFFERS:
        assert (response.status_code == 404) is not there, told
    assert response.status_code == 200 or not (there and operation.reads), told


def _targets(world: World, operation: Operation) -> list[str]:
    if not operation.takes_id:
        return [""]
    return [world.own.id_of(operation.kind), world.other.id_of(operation.kind), absent()]
