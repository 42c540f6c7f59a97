"""Fleet pages: role x page x {own, other, absent}, searched for canaries."""

import pytest

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from lib.scopes import Scope
from tests.access.operations import state
from tests.access.test_pages import _binding, _visitor
from tests.access.world import World, absent

FLEET = "/console/fleet"
KEPT = {"django_session", "audit_auditentry"}  # tables that viewing writes to


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_open_as_scopes_and_reach_say(world: World, role: UserRole) -> None:
    visitor, hides = _visitor(world, role), _binding(role) == "provider"

    for kind, page, scope in (
        ("drivers", "", Scope.DRIVERS_READ),
        ("vehicles", "", Scope.DRIVERS_READ),
        ("drivers", "activation/?to=suspended", Scope.DRIVERS_WRITE),
        ("vehicles", "status/", Scope.DRIVERS_WRITE),
        ("drivers", "credentials/driver_license/", Scope.DRIVERS_WRITE),
    ):
        opens = scope in SCOPES_OF_USER[role]
        ids = (world.own.id_of(kind), world.other.id_of(kind), absent())
        seen = [visitor.open(f"{FLEET}/{kind}/{pk}/{page}") for pk in ids]
        expected = [200, 404 if hides else 200, 404] if opens else [403] * 3
        assert [one.status_code for one in seen] == expected, (kind, page)
        assert [one.leaks for one in seen] == [[]] * 3, (kind, page)


@pytest.mark.parametrize("role", list(UserRole))
def test_lists_show_the_own_side_alone(world: World, role: UserRole) -> None:
    visitor = _visitor(world, role)
    status = 200 if Scope.DRIVERS_READ in SCOPES_OF_USER[role] else 403
    theirs = f"provider={world.other.id_of('providers')}"

    for path in ("credentials/", "credentials/?of=vehicles", "credentials/credentials.csv", f"credentials/?{theirs}"):
        response = visitor.open(f"{FLEET}/{path}")
        assert (response.status_code, response.leaks) == (status, []), path
    searched = visitor.open(f"{FLEET}/drivers/", {"q": "a"})
    assert (searched.status_code, searched.leaks) == (status, [])


def test_forms_about_what_is_out_of_reach_change_nothing(world: World) -> None:
    visitor = _visitor(world, UserRole.FLEET_ADMIN)
    driver, credential = world.other.id_of("drivers"), world.other.id_of("credentials")
    form = {"to": "suspended", "reason": "x", "version": 1, "release": "on", "expires_on": "2029-01-01"}
    before = {name: digest for name, digest in state().items() if name not in KEPT}

    paths = [f"drivers/{driver}/activation/", f"drivers/{driver}/credentials/mvr/"]
    for path in [*paths, f"credentials/{credential}/verify/", f"credentials/{credential}/reject/"]:
        response = visitor.open(f"{FLEET}/{path}", form)
        assert (response.status_code, response.leaks) == (404, []), path

    assert {name: digest for name, digest in state().items() if name not in KEPT} == before
