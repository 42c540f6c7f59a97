"""Booking pages: role x page x {own, other, absent}; every rider that is shown is in the audit trail."""

from typing import Any

import pytest

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from lib.scopes import Scope
from tests.access.operations import state
from tests.access.test_pages import _binding, _visitor
from tests.access.world import Side, World, absent

BOOK = "/console/book/"


def _pages(side: Side | None) -> tuple[str, ...]:
    """Return the pages that open the booking form: for a rider, a facility, a ride to repeat."""
    ids = [side.id_of(kind) if side else absent() for kind in ("riders", "facilities", "rides")]
    return tuple(f"{BOOK}?{name}={one}" for name, one in zip(("rider", "facility", "repeat"), ids, strict=True))


@pytest.mark.parametrize("role", list(UserRole))
def test_desk_opens_as_scopes_and_reach_say(world: World, role: UserRole) -> None:
    visitor = _visitor(world, role)
    books = Scope.RIDES_WRITE in SCOPES_OF_USER[role]
    hides = _binding(role) == "facility"

    for path, theirs, nobodys in zip(_pages(world.own), _pages(world.other), _pages(None), strict=True):
        seen = [visitor.open(one) for one in (path, theirs, nobodys)]
        assert [one.status_code for one in seen] == ([200, 404 if hides else 200, 404] if books else [403] * 3), path
        assert [one.leaks for one in seen] == [[]] * 3, path


@pytest.mark.parametrize("role", [UserRole.PLANNER, UserRole.FLEET_ADMIN, UserRole.AUDITOR])
def test_forms_about_what_is_out_of_reach_book_nothing(world: World, role: UserRole) -> None:
    visitor = _visitor(world, role)
    rider, facility = world.other.id_of("riders"), world.other.id_of("facilities")
    expected = 404 if role is UserRole.PLANNER else 403
    before = _state()

    for form in ({"rider": rider}, {"do": f"pick:{rider}"}, {"facility": facility}):
        response = visitor.open(BOOK, {"clock": "1430", **form})
        assert (response.status_code, response.leaks) == (expected, []), form
    for form in ({"rider": rider}, {"facility": facility}):
        response = visitor.open(f"{BOOK}check/", form)
        assert (response.status_code, response.leaks) == (expected, []), form

    assert _state() == before


def test_search_for_riders_finds_those_in_reach(world: World) -> None:
    visitor = _visitor(world, UserRole.PLANNER)

    for side, found in ((world.own, True), (world.other, False)):
        name = side.first("riders").last_name
        for path, form in ((f"{BOOK}riders/", {"q": name}), (BOOK, {"q": name, "do": "find"})):
            response: Any = visitor.open(path, form)
            assert (side.id_of("riders") in response.content.decode()) is found
            assert response.leaks == []


def _state() -> dict[str, str]:
    """Digest every table except those that viewing writes to."""
    return {name: digest for name, digest in state().items() if name != "django_session"}
