"""Pages of standing orders: role x page x {own, other, absent}, and forms about rows outside the data scope."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.organizations.models import CalendarShift
from apps.recurring.models import StandingOrder
from lib.scopes import Scope
from tests.access.operations import state
from tests.access.test_pages import Visitor, _binding, _visitor
from tests.access.world import Side, World, absent
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY

BASE = "/console/recurring"
SHIFTED = dt.date(2027, 2, 1)
ACTIONS = ("change", "move", "skip", "restore", "hold", "resume", "end", "activate")


def _order(side: Side) -> StandingOrder:
    """Create an order with notes for the side's rider, as a draft: its vehicles need not have the capacity."""
    order = cast.order(side.first("facilities"), side.first("riders"), is_draft=True, of={"pickup_time": dt.time(9)})
    texts = {f"{name}_notes": side.canaries.text("person", name) for name in ("driver", "dispatcher", "facility")}
    StandingOrder.objects.filter(pk=order.pk).update(**texts, status="active")
    return order


def _shift(side: Side) -> CalendarShift:
    return CalendarShift.objects.create(facility=side.first("facilities"), from_date=SHIFTED, created_at=NOW)


def _pages(facility_id: Any, order_id: Any, rider_id: Any, shift_id: Any) -> dict[str, tuple[str, ...]]:
    """Return the pages by the scope that they require."""
    return {
        Scope.RIDES_READ: (
            f"{BASE}/{order_id}/",
            f"{BASE}/{order_id}/?day={MONDAY}",
            f"{BASE}/facilities/{facility_id}/",
            f"{BASE}/shifts/{shift_id}/",
        ),
        Scope.SCHEDULES_WRITE: (f"{BASE}/{order_id}/change/", f"{BASE}/add/?rider={rider_id}"),
    }


def _opens(role: UserRole, scope: str) -> bool:
    return scope in SCOPES_OF_USER[role] and _binding(role) != "provider"


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_open_as_scopes_and_reach_say(world: World, role: UserRole) -> None:
    own, other = (
        _pages(side.id_of("facilities"), _order(side).pk, side.id_of("riders"), _shift(side).pk)
        for side in (world.own, world.other)
    )
    nowhere = _pages(*(absent() for _ in range(4)))
    visitor = _visitor(world, role)

    for scope, pages in own.items():
        opens = _opens(role, scope)
        for path, theirs, nobodys in zip(pages, other[scope], nowhere[scope], strict=True):
            seen = [visitor.open(one) for one in (path, theirs, nobodys)]
            hides = _binding(role) == "facility"
            expected = [200, 404 if hides else 200, 404] if opens else [403] * 3
            assert [one.status_code for one in seen] == expected, path
            assert [one.leaks for one in seen] == [[]] * 3, path


@pytest.mark.parametrize("role", list(UserRole))
def test_list_shows_the_own_side_alone(world: World, role: UserRole) -> None:
    for side in (world.own, world.other):
        _order(side)
    visitor = _visitor(world, role)
    status = 200 if _opens(role, Scope.RIDES_READ) else 403

    for side in (world.own, world.other):
        response = visitor.open(f"{BASE}/?facility={side.id_of('facilities')}")
        assert (response.status_code, response.leaks) == (status, [])
    plain = visitor.open(f"{BASE}/")
    assert (plain.status_code, plain.leaks) == (status, [])


@pytest.mark.parametrize("role", [UserRole.PLANNER, UserRole.FLEET_ADMIN, UserRole.AUDITOR])
def test_forms_about_what_is_out_of_reach_change_nothing(world: World, role: UserRole) -> None:
    order, shift = _order(world.other), _shift(world.other)
    visitor = _visitor(world, role)
    form = {"version": 1, "day": MONDAY, "shown": MONDAY, "to_date": MONDAY, "from_date": MONDAY, "reason": "travel"}
    facility = world.other.id_of("facilities")
    before = _state()

    paths = [f"{BASE}/{order.pk}/{action}/" for action in ACTIONS]
    paths += [f"{BASE}/shifts/{shift.pk}/{action}/" for action in ("apply", "undo")]
    paths += [f"{BASE}/facilities/{facility}/enter/", f"{BASE}/add/?rider={world.other.id_of('riders')}"]
    expected = 404 if role is UserRole.PLANNER else 403
    for path in paths:
        response = visitor.open(path, form)
        assert (response.status_code, response.leaks) == (expected, []), path

    assert _state() == before


def test_search_for_riders_finds_those_in_reach(world: World) -> None:
    visitor: Visitor = _visitor(world, UserRole.PLANNER)

    for side, found in ((world.own, True), (world.other, False)):
        name = side.first("riders").last_name
        response = visitor.open(f"{BASE}/add/", {"q": name})
        assert (f"rider={side.id_of('riders')}" in response.content.decode()) is found
        assert response.leaks == []


def _state() -> dict[str, str]:
    """Digest every table except those that viewing writes to."""
    return {name: digest for name, digest in state().items() if name != "django_session"}
