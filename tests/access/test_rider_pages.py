"""Pages of riders: role x page x {own, other, absent}, searched for canaries."""

import pytest

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from lib.scopes import Scope
from tests.access.operations import state
from tests.access.test_pages import _binding, _visitor
from tests.access.test_ride_pages import KEPT
from tests.access.world import World, absent

RIDERS = "/console/riders"
PAGES = {
    "": Scope.RIDERS_READ,
    "edit/": Scope.RIDERS_WRITE,
    "needs/": Scope.RIDERS_WRITE,
    "stay/": Scope.SCHEDULES_WRITE,
}


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_open_as_scopes_and_reach_say(world: World, role: UserRole) -> None:
    visitor, hides = _visitor(world, role), _binding(role) is not None
    ids = (world.own.id_of("riders"), world.other.id_of("riders"), absent())

    for page, scope in PAGES.items():
        seen = [visitor.open(f"{RIDERS}/{pk}/{page}") for pk in ids]

        opens = scope in SCOPES_OF_USER[role]
        expected = [200, 404 if hides else 200, 404] if opens else [403] * 3
        assert [one.status_code for one in seen] == expected, page
        assert [one.leaks for one in seen] == [[]] * 3, page


def test_forms_about_riders_out_of_reach_change_nothing(world: World) -> None:
    visitor, rider = _visitor(world, UserRole.PLANNER), world.other.id_of("riders")
    form = {"version": 1, "first_name": "X", "last_name": "Y", "from_date": "2026-11-23"}
    before = {name: digest for name, digest in state().items() if name not in KEPT}

    answers = [visitor.client.post(f"{RIDERS}/{rider}/{page}", form) for page in PAGES if page]

    assert [answer.status_code for answer in answers] == [404] * 3
    assert {name: digest for name, digest in state().items() if name not in KEPT} == before
