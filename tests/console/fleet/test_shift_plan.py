"""Shift plan of a week, without a browser."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.fleet.models import Leave, Shift
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, visitor
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db

PLAN = "/console/fleet/shifts/"
MONDAY = dt.date(2026, 11, 16)
HOUR = dt.timedelta(hours=1)
# Monday 06:00 in Chicago.
SIX = dt.datetime(2026, 11, 16, 12, tzinfo=dt.UTC)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def _shift(starts_at: dt.datetime, hours: float = 8, **columns: Any) -> Shift:
    made: Shift = factories.ShiftFactory.create(starts_at=starts_at, ends_at=starts_at + hours * HOUR, **columns)
    return made


def _cells(page: Any) -> dict[str, list[list[str]]]:
    """Return the content of each day, by driver."""
    return {
        row["name"].partition(",")[0]: [
            [f"{one['starts']}-{one['ends']} {one['unit']}" for one in day["shifts"]] + ["away"] * day["away"]
            for day in row["days"]
        ]
        for row in page.context["rows"]
    }


@pytest.mark.parametrize("role", list(UserRole))
def test_plan_needs_read_scope_and_changes_write_scope(role: UserRole) -> None:
    shift = _shift(SIX)
    page = visitor(role).get(f"{PLAN}?day=2026-11-16")

    assert page.status_code == (200 if Scope.DRIVERS_READ in SCOPES_OF_USER[role] else 403)
    if page.status_code == 200 and role != UserRole.FLEET_ADMIN:  # who belongs to no provider here
        links = f"{PLAN}{shift.pk}/" in page.content.decode()
        assert links == (Scope.DRIVERS_WRITE in SCOPES_OF_USER[role])
        assert "06:00\N{EN DASH}14:00" in text_of(page)


def test_shifts_stand_on_the_day_on_which_they_begin(desk: Client) -> None:
    driver, vehicle = fit_pair(last_name="Diaz")
    vehicle.unit_number = "V17"
    vehicle.save()
    crew: dict[str, Any] = {"driver": driver, "vehicle": vehicle}
    _shift(SIX, **crew)
    _shift(SIX + 16 * HOUR, 8, **crew)  # 22:00 until 06:00
    _shift(SIX + 6 * 24 * HOUR, 4, **crew)
    _shift(SIX - 7 * HOUR, 4, **crew)  # Sunday 23:00, the week before
    _shift(SIX + 7 * 24 * HOUR, **crew)
    _shift(SIX + 24 * HOUR, **crew, status="cancelled")
    Leave.objects.create(driver=driver, starts_at=SIX + 48 * HOUR, ends_at=SIX + 50 * HOUR)

    page = desk.get(f"{PLAN}?day=2026-11-18")

    assert _cells(page) == {
        "Diaz": [["06:00-14:00 V17", "22:00-06:00 V17"], [], ["away"], [], [], [], ["06:00-10:00 V17"]]
    }
    assert "20 h" in text_of(page)
    assert "Shifts from Mon, Nov 16, 2026" in text_of(page)


def test_week_is_that_of_today_unless_it_is_said(desk: Client) -> None:
    _shift(SIX)

    for query in ("", "?day=nonsense", "?day=1812-01-01", "?provider=nonsense"):
        page = desk.get(f"{PLAN}{query}")
        assert page.context["days"][0][0] == MONDAY, query
        assert [label for _day, label, today in page.context["days"] if today] == ["Fri, Nov 20"]
    assert page.context["earlier"] == "?day=2026-11-09"
    assert page.context["later"] == "?day=2026-11-23"


def test_plan_is_narrowed_to_a_provider_and_its_links_stay_there(desk: Client) -> None:
    ours, _theirs = _shift(SIX, driver__last_name="Ours"), _shift(SIX, driver__last_name="Theirs")
    empty = factories.TransportProviderFactory.create()

    page = desk.get(f"{PLAN}?provider={ours.provider_id}")

    assert list(_cells(page)) == ["Ours"]
    assert page.context["later"] == f"?day=2026-11-23&provider={ours.provider_id}"
    assert "This provider has no drivers." in text_of(desk.get(f"{PLAN}?provider={empty.pk}"))


def test_plan_without_anybody_says_so(desk: Client) -> None:
    assert "No drivers yet" in text_of(desk.get(PLAN))


def test_plan_omits_former_and_marks_inactive_drivers(desk: Client) -> None:
    _shift(SIX, driver__last_name="Adams", driver__activation="suspended", driver__activation_reason="x")
    _shift(SIX, driver__last_name="Baker", driver__activation="inactive")

    page = desk.get(PLAN)

    assert list(_cells(page)) == ["Adams"]
    assert "⊘ Suspended" in text_of(page)


def test_fleet_admin_sees_the_own_providers_alone() -> None:
    ours, theirs = _shift(SIX, driver__last_name="Ours"), _shift(SIX, driver__last_name="Theirs")
    person = factories.UserFactory.create(role=UserRole.FLEET_ADMIN)
    person.providers.add(ours.provider)
    client = Client()
    sign_in(client, person)

    pages = [client.get(path) for path in (PLAN, f"{PLAN}?provider={theirs.provider_id}")]

    assert [list(_cells(page)) for page in pages] == [["Ours"], ["Ours"]]


def test_hundred_drivers_stand_on_a_page(desk: Client) -> None:
    provider = factories.TransportProviderFactory.create()
    for number in range(101):
        factories.DriverFactory.create(provider=provider, last_name=f"Diaz{number:03}")

    first, second = desk.get(PLAN), desk.get(f"{PLAN}?page=2")

    assert (len(first.context["rows"]), list(_cells(second))) == (100, ["Diaz100"])
    assert "Later" in text_of(first)
    assert "Earlier" in text_of(second)


@pytest.mark.parametrize("count", [1, 3])
def test_plan_costs_the_same_queries_however_many_drivers(
    desk: Client, count: int, django_assert_num_queries: Any
) -> None:
    for _ in range(count):
        _shift(SIX)

    # session and user; providers; drivers, shifts and leave; the inbox
    with django_assert_num_queries(7):
        desk.get(PLAN)
