"""Pages of a driver who is out: the report, the freed rides, reassigning them, and undo."""

import datetime as dt
import re
import uuid
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Driver, Leave, Vehicle
from apps.rides.models import Ride
from tests import factories
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)
DAY_ENDS = dt.datetime(2026, 11, 21, 10, tzinfo=dt.UTC)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def crew_with_rides(count: int) -> tuple[Driver, Vehicle, list[Ride]]:
    driver, vehicle = fit_pair()
    rides = [factories.RideFactory.create(pickup_at=NOW + (2 + 1.5 * number) * HOUR) for number in range(count)]
    for ride in rides:
        factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    return driver, vehicle, rides


def out(driver: Driver) -> str:
    return f"/console/board/drivers/{driver.pk}/out/"


def report(desk: Client, driver: Driver, **fields: Any) -> Any:
    return desk.post(out(driver), {"reason": "sick", **fields}, follow=True)


def test_report_page_shows_rides_and_frees_them(desk: Client) -> None:
    driver, _, rides = crew_with_rides(2)

    page = text_of(desk.get(out(driver)))
    plan = report(desk, driver, note="Called in.")

    assert "2 rides today would wait for a driver" in page
    leave = Leave.objects.get()
    assert (leave.absence, leave.reason, leave.starts_at, leave.ends_at) == ("sick", "Called in.", NOW, DAY_ENDS)
    assert plan.redirect_chain == [(f"{out(driver)}{leave.pk}/", 302)]
    assert "2 rides were freed." in text_of(plan)
    assert "2 rides without an available driver" in text_of(plan)
    assert set(Ride.objects.values_list("status", flat=True)) == {"scheduled"}
    read = AuditEntry.objects.filter(action="rides.suggestions").latest("id")
    assert set(read.rider_ids) == {ride.rider_id for ride in rides}
    assert "Already reported out" in text_of(desk.get(out(driver)))


def test_reassigning_all_places_rides_and_ends_the_undo(desk: Client) -> None:
    driver, _, _ = crew_with_rides(2)
    substitute, _ = fit_pair()
    plan = report(desk, driver)
    assert "Reassign all 2" in text_of(plan)
    suggestions = re.findall(r'name="suggestion" value="([^"]+)"', plan.content.decode())

    after = desk.post(
        "/console/board/suggestions/accept/",
        {"suggestion": suggestions, "back": plan.request["PATH_INFO"]},
        follow=True,
    )

    assert told(after) == ["2 rides are changed."]
    assert "2 rides are placed or have ended" in text_of(after)
    assert "Bring back without the rides" in text_of(after)
    assert set(Ride.objects.values_list("driver", flat=True)) == {substitute.pk}
    refused = desk.post(f"{plan.request['PATH_INFO']}undo/", follow=True)
    assert "have changed since" in told(refused)[0]
    ended = desk.post(f"{plan.request['PATH_INFO']}undo/", {"without_rides": "on"}, follow=True)
    assert (told(ended), Leave.objects.count()) == (["The driver is back."], 0)


def test_undo_returns_to_the_board_with_the_rides(desk: Client) -> None:
    driver, _, _ = crew_with_rides(1)
    plan = report(desk, driver, starts_at="2026-11-20T09:30", ends_at="2026-11-20T18:00")

    after = desk.post(f"{plan.request['PATH_INFO']}undo/", follow=True)

    assert after.redirect_chain == [("/console/board/", 302)]
    assert told(after) == ["The driver is back, with 1 ride."]
    assert set(Ride.objects.values_list("driver", flat=True)) == {driver.pk}
    assert desk.post(f"{plan.request['PATH_INFO']}undo/").status_code == 404


def test_invalid_report_names_the_field_and_frees_nothing(desk: Client) -> None:
    driver, _, _ = crew_with_rides(1)

    page = desk.post(out(driver), {"reason": "sick", "ends_at": "2026-11-20T08:00"})

    assert page.status_code == 422
    assert "Until: The absence must end after it starts, and in the future." in text_of(page)
    assert (Leave.objects.count(), Ride.objects.get().status) == (0, "assigned")


def test_pages_name_no_driver_in_title_and_know_only_their_own(desk: Client) -> None:
    driver, _, _ = crew_with_rides(1)
    plan = report(desk, driver)
    path = plan.request["PATH_INFO"]

    for page in (desk.get(out(driver)), desk.get(path)):
        title = page.content.decode().partition("<title>")[2].partition("</title>")[0]
        assert driver.last_name not in title
    assert desk.get(f"/console/board/drivers/{uuid.uuid4()}/out/").status_code == 404
    assert desk.get(f"{out(fit_pair()[0])}{Leave.objects.get().pk}/").status_code == 404
    for role in (UserRole.PLANNER, UserRole.FLEET_ADMIN, UserRole.ANALYST):
        assert visitor(role).get(path).status_code == 403


@pytest.mark.parametrize("count", [1, 3])
def test_plan_query_count_is_the_same_for_each_number_of_rides(
    desk: Client, django_assert_max_num_queries: Any, count: int
) -> None:
    driver, _, _ = crew_with_rides(count)
    fit_pair()
    path = report(desk, driver).request["PATH_INFO"]

    with django_assert_max_num_queries(40):
        desk.get(path)


def test_absence_is_offered_where_the_driver_is_shown(desk: Client) -> None:
    driver, _, _ = crew_with_rides(1)
    for path in (f"/console/fleet/drivers/{driver.pk}/", f"/console/board/drivers/{driver.pk}/"):
        assert out(driver) in desk.get(path).content.decode()
    found = desk.post("/console/find/", {"q": driver.last_name}).content.decode()
    assert out(driver) in found

    report(desk, driver)

    assert (
        f"{out(driver)}{Leave.objects.get().pk}/" in desk.get(f"/console/fleet/drivers/{driver.pk}/").content.decode()
    )
