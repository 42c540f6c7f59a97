"""PHI levels: no answer contains data above the caller's level, even about the own side."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.riders.rules.disclosure import MASK, SHOWN_OF_MASKED
from lib.access import Phi
from lib.scopes import Scope
from tests.access.canaries import Canary, found
from tests.access.operations import OPERATIONS, Caller, raw
from tests.access.world import World

STOPS: Final = ("ride.pickup", "ride.dropoff", "terms.pickup", "terms.dropoff", "terms.return_dropoff")
# Personal texts that each level sees, by location (rules/disclosure.py of riders and rides).
AT_NONE: Final = {
    *(f"{stop}.{key}" for stop in STOPS for key in ("city", "state")),
    "event.data",  # published unredacted, because no event contains personal data
    "rideexception.summary",  # written by rules, from codes only
    "rideexception.opened_by",
    "rideexception.acknowledged_by",
    "rideexception.resolved_by",
    "rideexception.detected_by",
    "ride.ended_by",
    "milestone.actor",
    "ride.program_code",
    "standingorder.program_code",
    "hold.set_by",
}
AT_LIMITED: Final = AT_NONE | {
    *(f"{stop}.{key}" for stop in STOPS for key in ("name", "addressLine1", "addressLine2", "postalCode")),
    "ride.client_reference",
    "ride.authorization_number",
    "standingorder.authorization_number",
    "ride.signatures.name",
    "ride.attestation.driverName",
    "ride.attestation.text",
    "externalid.system",
    "externalid.value",
    "externalid.type",
    "rider.first_name",
    "rider.last_name",
    "rider.preferred_name",
}
SEEN: Final = {Phi.NONE: AT_NONE, Phi.LIMITED: AT_LIMITED}
# At FULL, and yet only for dispatchers or drivers.
DISPATCHERS: Final = {
    "ride.dispatcher_notes",
    "ride.accommodation.dispatcherNotes",
    "standingorder.dispatcher_notes",
    "terms.accommodation.dispatcherNotes",
}
DOORS: Final = {"ride.accessCode", "ride.keyInfo", "terms.accessCode"}


def _answers(caller: Caller, world: World) -> Iterator[tuple[str, bytes]]:
    """Read every list and every row of the own side, in every response shape."""
    for operation in (one for one in OPERATIONS if one.reads and one.is_scoped):
        rows = world.own.rows[operation.kind][:4] if operation.takes_id else [None]
        for row in rows:
            path = operation.path(str(row.pk)) if row is not None else operation.path("")
            yield operation.name, raw(caller.call("GET", path))
    yield "expanded", raw(caller.call("GET", "/api/rides?expand=rider,facility,driver"))
    yield "searched", raw(caller.call("POST", "/api/riders/search", {"name": world.own.first("riders").last_name}))


def _caller(world: World, phi: Phi, **columns: Any) -> Caller:
    return Caller(world.bound("facility", TokenRole.FULL_ACCESS, phi_level=phi.name.lower(), **columns), [], set())


def _labels(texts: list[Canary], answers: Iterator[tuple[str, bytes]]) -> set[str]:
    return {one.label for _, answer in answers for one in found(texts, answer)}


@pytest.mark.parametrize("phi", [Phi.NONE, Phi.LIMITED])
def test_level_shows_what_the_tables_say_and_no_more(world: World, phi: Phi) -> None:
    people = world.own.canaries.of(["person"])

    shown = _labels(people, _answers(_caller(world, phi), world))

    assert shown == SEEN[phi]


def test_full_level_shows_all_that_has_a_place_in_an_answer(world: World) -> None:
    people = world.own.canaries.of(["person"])

    shown = _labels(people, _answers(_caller(world, Phi.FULL), world))

    assert {one.label for one in people} - shown == set()


@pytest.mark.parametrize(
    ("scopes", "kept"),
    [
        ([Scope.RIDES_READ, Scope.RIDERS_READ], DISPATCHERS | DOORS),
        ([Scope.RIDES_READ, Scope.RIDES_STATUS], DISPATCHERS),
    ],
)
def test_full_level_without_dispatch_hides_notes_and_entrances(world: World, scopes: list[str], kept: set[str]) -> None:
    people = world.own.canaries.of(["person"])

    shown = _labels(people, _answers(_caller(world, Phi.FULL, scopes=scopes), world))

    assert shown & kept == set()
    assert shown >= {"ride.driver_notes", "ride.pickup.instructions", "terms.pickup.instructions"}


def test_codes_of_payers_are_masked_below_full(world: World) -> None:
    caller = _caller(world, Phi.LIMITED)
    code = world.own.codes["medicaid_id"]

    rider = caller.call("GET", f"/api/riders/{world.own.id_of('riders')}").json()

    assert rider["medicaidId"] in {MASK, MASK + code[-SHOWN_OF_MASKED:]}
