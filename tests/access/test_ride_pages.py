"""Pages of rides, exceptions and a facility's day: role x page x {own, other, absent}, searched for canaries."""

from typing import Any

import pytest

from apps.accounts.rules.roles import PHI_OF_USER, SCOPES_OF_USER, UserRole
from apps.rides.rules.disclosure import STOP_KEYS
from lib.access import Phi
from lib.scopes import Scope
from tests.access.operations import state
from tests.access.test_pages import _binding, _visitor
from tests.access.world import Side, World, absent, reached

RIDES, DESK, DAY = "/console/rides", "/console/exceptions", "/console/day"
ACTIONS = ("ready", "unready", "confirm", "cancel", "no-show", "unfulfilled", "unassign", "notes", "moment")
# Pages show the same parts of a stop below FULL as the API does (rides/disclosure.py).
_OF_STOPS = {
    phi: {f"ride.{stop}.{key}" for stop in ("pickup", "dropoff") for key in STOP_KEYS[phi]}
    for phi in (Phi.NONE, Phi.LIMITED)
}
KEPT = {"django_session", "audit_auditentry"}  # tables that viewing writes to


def _near(role: UserRole, side: Side, kind: str) -> Any:
    """Return a row of the side that a bound role reaches, or any row if the role is not bound."""
    binding = _binding(role)
    rows = side.rows[kind]
    return next((row for row in rows if binding is None or reached(binding, getattr(row, "ride", row))), rows[0])


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_open_as_scopes_and_reach_say(world: World, role: UserRole) -> None:
    visitor, hides = _visitor(world, role), _binding(role) is not None

    for base, kind, scope in (
        (RIDES, "rides", Scope.RIDES_READ),
        (DESK, "ride-exceptions", Scope.EXCEPTIONS_READ),
    ):
        opens = scope in SCOPES_OF_USER[role]
        ids = (_near(role, world.own, kind).pk, world.other.first(kind).pk, absent())
        seen = [visitor.open(f"{base}/{pk}/") for pk in ids]
        expected = [200, 404 if hides else 200, 404] if opens else [403] * 3
        assert [one.status_code for one in seen] == expected, base
        leaks = [[leak for leak in one.leaks if leak not in _OF_STOPS.get(PHI_OF_USER[role], ())] for one in seen]
        assert leaks == [[]] * 3, base


@pytest.mark.parametrize("role", list(UserRole))
def test_desk_lists_the_own_side_alone(world: World, role: UserRole) -> None:
    visitor = _visitor(world, role)
    status = 200 if Scope.EXCEPTIONS_READ in SCOPES_OF_USER[role] else 403

    for query in ("", "list/", "history/", f"?facility={world.other.id_of('facilities')}", "?snoozed=all"):
        response = visitor.open(f"{DESK}/{query}")
        assert (response.status_code, response.leaks) == (status, []), query


@pytest.mark.parametrize("role", list(UserRole))
def test_day_is_that_of_facilities_in_reach(world: World, role: UserRole) -> None:
    visitor, hides, opens = _visitor(world, role), _binding(role) is not None, Scope.RIDES_WRITE in SCOPES_OF_USER[role]
    own, other = (_near(role, side, "rides") for side in (world.own, world.other))

    queries = [f"?facility={pk}&day={own.service_date}" for pk in (own.facility_id, other.facility_id, absent())]
    seen = [visitor.open(f"{DAY}/{part}{query}") for part in ("", "list/") for query in queries]

    expected = [200, 404 if hides else 200, 404] if opens else [403] * 3
    assert [one.status_code for one in seen] == expected * 2
    assert [one.leaks for one in seen] == [[]] * 6
    assert [f"ride-{own.pk}" in one.content.decode() for one in seen] == [opens, False, False] * 2


@pytest.mark.parametrize("role", [UserRole.PLANNER, UserRole.FLEET_ADMIN, UserRole.AUDITOR])
def test_forms_about_what_is_out_of_reach_change_nothing(world: World, role: UserRole) -> None:
    visitor = _visitor(world, role)
    ride, exception = world.other.id_of("rides"), world.other.id_of("ride-exceptions")
    form = {"version": 1, "reason_code": "rider_ill", "code": "false_alarm", "minutes": 15, "type": "departed"}
    before = {name: digest for name, digest in state().items() if name not in KEPT}

    paths = [f"{RIDES}/{ride}/{action}/" for action in (*ACTIONS, "edit", "copy")]
    paths += [f"/console/board/rides/{ride}/{action}/" for action in ("hand-over", "link")]
    paths += [f"{DAY}/{ride}/{action}/" for action in ("ready", "unready", "answer", "tick")]
    paths += [f"{DESK}/{exception}/{action}/" for action in ("acknowledge", "snooze", "note", "close")]
    paths.append(f"/console/board/rides/{ride}/alerts/{exception}/")
    for path in paths:
        response = visitor.open(path, form)
        assert response.status_code in {403, 404}, path
        assert response.leaks == [], path

    assert {name: digest for name, digest in state().items() if name not in KEPT} == before
