"""Landing page of each role, the home page and the navigation."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from apps.accounts.rules.roles import UserRole
from apps.console.shell.home import start_of
from apps.console.shell.navigation import CONTENTS, contents_for
from apps.dispatch.models import DowntimePack
from apps.rides.models import RideException
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of

pytestmark = pytest.mark.django_db


def _home(role: UserRole, **memberships: Any) -> Any:
    person = factories.UserFactory.create(role=role)
    for name, places in memberships.items():
        getattr(person, name).set(places)
    client = Client()
    sign_in(client, person)
    return client.get("/console/home/")


def _tiles(response: Any, name: str) -> list[tuple[str, int]]:
    return [(str(tile["label"]), tile["count"]) for tile in response.context[name]]


def test_home_counts_rides_of_the_local_day_by_status() -> None:
    start = dt.datetime(2026, 11, 20, 6, 0, tzinfo=dt.UTC)  # midnight in Chicago
    for pickup_at in (start - dt.timedelta(seconds=1), start, start + dt.timedelta(hours=24)):
        factories.RideFactory.create(pickup_at=pickup_at)
    factories.put_driver_on(factories.RideFactory.create(pickup_at=start + dt.timedelta(hours=23, minutes=59)))

    with time_machine.travel(factories.NOW, tick=False):
        response = _home(UserRole.DISPATCHER)

    assert _tiles(response, "statuses") == [("Scheduled", 1), ("Assigned", 1)]
    assert response.context["total"] == 2


@pytest.mark.parametrize("day", [dt.date(2026, 3, 8), dt.date(2026, 11, 1)])
def test_home_counts_whole_days_when_clocks_change(day: dt.date) -> None:
    zone = dt.timezone(dt.timedelta(hours=-6 if day.month == 3 else -5))
    after = dt.timezone(dt.timedelta(hours=-5 if day.month == 3 else -6))
    first = dt.datetime(day.year, day.month, day.day, tzinfo=zone)
    last = dt.datetime(day.year, day.month, day.day, 23, 59, tzinfo=after)
    for pickup_at in (first, last, first - dt.timedelta(minutes=1), last + dt.timedelta(minutes=1)):
        factories.RideFactory.create(pickup_at=pickup_at)

    with time_machine.travel(last, tick=False):
        response = _home(UserRole.DISPATCHER)

    assert response.context["total"] == 2


def test_tile_leads_to_the_rides_that_it_counts() -> None:
    factories.RideFactory.create(pickup_at=factories.NOW)
    factories.RideFactory.create(pickup_at=factories.NOW + dt.timedelta(days=1))
    person = factories.UserFactory.create(role=UserRole.DISPATCHER)
    client = Client()

    with time_machine.travel(factories.NOW, tick=False):
        sign_in(client, person)
        tile = client.get("/console/home/").context["statuses"][0]
        listed = client.get(tile["url"])

    assert listed.status_code == 200
    assert listed.context["cl"].result_count == tile["count"] == 1


def test_home_counts_unsettled_exceptions_the_worst_first() -> None:
    ride = factories.RideFactory.create()
    opened = [("warning", "open"), ("critical", "open"), ("critical", "resolved"), ("info", "open")]
    for number, (severity, status) in enumerate(opened):
        settled = {"resolved_at": factories.NOW, "resolution_code": "recovered_late"} if status == "resolved" else {}
        RideException.objects.create(
            ride=ride,
            rider=ride.rider,
            facility=ride.facility,
            type=["address_problem", "late_pickup", "rider_no_show", "milestone_gap"][number],
            severity=severity,
            status=status,
            opened_at=factories.NOW,
            opened_by="system",
            detected_by="T1",
            summary="",
            updated_at=factories.NOW,
            **settled,
        )

    response = _home(UserRole.DISPATCHER)

    assert _tiles(response, "exceptions") == [("Critical", 1), ("Warning", 1), ("Info", 1)]
    assert [tile["edge"] for tile in response.context["exceptions"]] == ["bad", "warn", "brand-edge"]


def test_planner_counts_own_facilities_alone() -> None:
    own = factories.RideFactory.create(pickup_at=factories.NOW)
    factories.RideFactory.create(pickup_at=factories.NOW)

    with time_machine.travel(factories.NOW, tick=False):
        response = _home(UserRole.PLANNER, facilities=[own.facility])

    assert response.context["total"] == 1


def test_admin_sees_no_rides_at_home() -> None:
    factories.RideFactory.create(pickup_at=factories.NOW)

    response = _home(UserRole.ADMIN)

    assert "statuses" not in response.context
    assert "exceptions" not in response.context


def test_clock_shows_the_zone_of_the_planners_facility() -> None:
    facility = factories.FacilityFactory.create(timezone="America/Denver")

    with time_machine.travel(factories.NOW, tick=False):
        page = _home(UserRole.PLANNER, facilities=[facility]).content.decode()

    assert "<strong>08:00</strong>" in page
    assert ">MT<" in page


@pytest.mark.parametrize("count", [1, 3])
def test_home_asks_the_same_however_many_rides(django_assert_num_queries: Any, count: int) -> None:
    factories.RideFactory.create_batch(count)
    person = factories.UserFactory.create(role=UserRole.DISPATCHER)
    client = Client()
    sign_in(client, person)

    with django_assert_num_queries(6):  # session, user, inbox, rides, exceptions, simulator of the demo
        client.get("/console/home/")


@pytest.mark.parametrize("role", list(UserRole))
def test_contents_offer_what_opens_and_nothing_else(role: UserRole) -> None:
    person = factories.UserFactory.create(role=role)
    client = Client()
    sign_in(client, person)
    offered = {entry.address for group in contents_for(person) for entry in group.entries}

    wrong = []
    for entry in (entry for group in CONTENTS for entry in group.entries if not entry.address.startswith("/")):
        status = client.get(reverse(entry.address)).status_code
        if (status == 200) != (entry.address in offered):
            wrong.append((entry.address, status))

    assert wrong == []


def test_home_of_a_planner_begins_with_the_facilitys_day() -> None:
    facility = factories.FacilityFactory.create()

    page = _home(UserRole.PLANNER, facilities=[facility]).content.decode()

    assert page.index("My facility today") < page.index('id="day"')
    for response in (_home(UserRole.PLANNER), _home(UserRole.DISPATCHER)):
        assert "My facility today" not in response.content.decode()


@pytest.fixture
def pack(settings: Any) -> DowntimePack:
    settings.DOWNTIME_PASSPHRASE, settings.DOWNTIME_COPY_DIR = "correct horse battery staple", ""
    return DowntimePack.objects.create(made_at=factories.NOW, file="a.zip", sheets=80, rides=1)


@pytest.mark.parametrize("role", [UserRole.ADMIN, UserRole.DISPATCH_SUPERVISOR])
def test_f2_home_shows_downtime_pack_age_and_red_when_too_old(pack: DowntimePack, role: UserRole) -> None:
    said = {}
    for minutes in (0, 15, 16):
        with time_machine.travel(factories.NOW + dt.timedelta(minutes=minutes), tick=False):
            page = _home(role)
        text = page.content.decode().partition('id="downtime-pack" class="')[2].partition("</p>")[0]
        said[minutes] = text.partition('"')[0], "Too old." in text
        assert "Made <time" in text
        assert f", {minutes} minute" in text
        assert "80 run sheets." in text
        assert "1 ride." in text

    assert said == {
        0: ("message success", False),
        15: ("message success", False),
        16: ("message error", True),
    }


def test_home_says_what_the_downtime_pack_lacks(pack: DowntimePack, settings: Any) -> None:
    settings.DOWNTIME_COPY_DIR = "/mnt/share"
    assert "could not be copied" in text_of(_home(UserRole.ADMIN))

    DowntimePack.objects.update(copied_at=factories.NOW, without_sheets=True)
    page = text_of(_home(UserRole.ADMIN))
    assert "could not be copied" not in page
    assert "Without run sheets: the server has no Pango." in page

    DowntimePack.objects.all().delete()
    page = _home(UserRole.ADMIN)
    assert "Not created yet. Check that a worker is running." in text_of(page)
    assert b'id="downtime-pack" class="message error"' in page.content

    settings.DOWNTIME_PASSPHRASE = ""
    assert "Off: no passphrase is set." in text_of(_home(UserRole.ADMIN))


@pytest.mark.parametrize("role", sorted({*UserRole} - {UserRole.ADMIN, UserRole.DISPATCH_SUPERVISOR}))
def test_others_hear_nothing_of_the_downtime_pack(pack: DowntimePack, role: UserRole) -> None:
    assert "Downtime pack" not in text_of(_home(role))


BOARD, DESK, HOME = "/console/board/", "/console/exceptions/", "/console/home/"


@pytest.mark.parametrize(
    ("role", "page"),
    [
        (UserRole.ADMIN, HOME),
        (UserRole.DISPATCHER, BOARD),
        (UserRole.DISPATCH_SUPERVISOR, DESK),
        (UserRole.PLANNER, "/console/day/"),
        (UserRole.FLEET_ADMIN, "/console/fleet/credentials/"),
        (UserRole.ANALYST, HOME),
        (UserRole.AUDITOR, HOME),
    ],
)
def test_everybody_begins_where_their_work_starts(role: UserRole, page: str) -> None:
    person = factories.UserFactory.create(role=role)
    person.facilities.set([factories.FacilityFactory.create()])
    person.providers.set([factories.TransportProviderFactory.create()])
    client = Client()
    sign_in(client, person)

    begun, home = client.get("/", follow=True), client.get(HOME)

    assert begun.redirect_chain == [(page, 302)]
    assert (begun.status_code, home.status_code) == (200, 200)
    assert f'<a href="{HOME}" data-keys="g h"' in begun.content.decode()


@pytest.mark.parametrize("role", list(UserRole))
def test_nobody_begins_at_a_page_that_refuses_them(role: UserRole) -> None:
    """Not even users who belong to no facility or provider yet."""
    client = Client()
    sign_in(client, factories.UserFactory.create(role=role))

    assert client.get("/", follow=True).status_code == 200


def test_where_one_begins_goes_by_what_one_may_do() -> None:
    hooks = factories.principal(scopes=frozenset({Scope.WEBHOOKS_MANAGE}))
    runs = factories.principal(scopes=frozenset({Scope.WEBHOOKS_MANAGE, Scope.DRIVERS_WRITE, Scope.USERS_MANAGE}))

    assert [start_of(by) for by in (hooks, runs, factories.principal(scopes=frozenset()))] == [
        "webhook_deliveries",
        "home",
        "home",
    ]


def test_supervisor_exceptions_show_board_counters_on_top() -> None:
    factories.RideFactory.create(pickup_at=factories.NOW + dt.timedelta(hours=1))
    counted = "<strong>1</strong> Unassigned"
    for role, shown in ((UserRole.DISPATCH_SUPERVISOR, True), (UserRole.DISPATCHER, False), (UserRole.PLANNER, False)):
        client = Client()
        sign_in(client, factories.UserFactory.create(role=role))
        assert (counted in client.get(DESK).content.decode()) is shown
        alone = client.get(f"{BOARD}counters/")
        assert (alone.status_code == 200) is (role != UserRole.PLANNER)


def test_table_links_are_collapsed_except_on_their_own_pages() -> None:
    client = Client()
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))

    home, table = client.get(HOME).content.decode(), client.get("/admin/fleet/driver/").content.decode()

    assert '<details class="folded"><summary>' in home
    assert '<details class="folded" open><summary>' in table
    labels = [entry.label for group in CONTENTS for entry in group.entries]
    assert len(set(map(str, labels))) == len(labels)
