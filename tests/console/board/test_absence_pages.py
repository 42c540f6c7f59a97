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
from apps.rides.services import assignment
from lib.access import system
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

    assert "2 rides would wait for a driver" in page
    assert "2 rides that no other driver can take" in page
    leave = Leave.objects.get()
    assert (leave.absence, leave.reason, leave.starts_at, leave.ends_at) == ("sick", "Called in.", NOW, DAY_ENDS)
    assert plan.redirect_chain == [(f"{out(driver)}{leave.pk}/", 302)]
    assert "2 rides were freed." in text_of(plan)
    assert "2 rides without an available driver" in text_of(plan)
    assert set(Ride.objects.values_list("status", flat=True)) == {"scheduled"}
    read = AuditEntry.objects.filter(action="rides.suggestions").latest("id")
    assert set(read.rider_ids) == {ride.rider_id for ride in rides}
    assert "Already reported out" in text_of(desk.get(out(driver)))


def test_report_page_names_replacements_and_their_cost_before_the_report(desk: Client) -> None:
    driver, vehicle, _rides = crew_with_rides(2)
    colleague, _ = fit_pair(provider=driver.provider)
    place = {"last_lat": "41.9071", "last_lng": "-87.6722", "last_located_at": NOW}
    # The colleague drives the vehicle of the driver, which is free once the driver is out.
    Driver.objects.filter(pk=colleague.pk).update(default_vehicle=vehicle, **place)

    page = desk.get(out(driver))

    assert [row["late_minutes"] for row in page.context["rows"]] == [0, 0]
    assert all(row["added_minutes"] > 0 for row in page.context["rows"])
    assert "2 rides with a replacement" in text_of(page)
    assert "On time" in text_of(page)
    assert set(Ride.objects.values_list("driver", flat=True)) == {driver.pk}


def test_report_reassigns_all_at_once_except_rides_that_changed(desk: Client) -> None:
    driver, _, rides = crew_with_rides(3)
    substitute, _ = fit_pair()
    suggestions = re.findall(r'name="suggestion" value="([^"]+)"', desk.get(out(driver)).content.decode())
    Ride.objects.filter(pk=rides[1].pk).update(version=rides[1].version + 5)

    after = report(desk, driver, reassign="on", suggestion=[*suggestions, "nonsense"][:3])

    assert told(after) == ["2 rides are reassigned."]
    assert [ride.driver_id for ride in Ride.objects.order_by("pickup_at")] == [substitute.pk, None, substitute.pk]
    assert "1 ride with a replacement" in text_of(after)


def test_malformed_suggestions_are_not_reassigned(desk: Client) -> None:
    driver, _, _ = crew_with_rides(1)
    fit_pair()

    after = report(desk, driver, reassign="on", suggestion=["nonsense"])

    assert (told(after), Ride.objects.get().status) == ([], "scheduled")


def test_other_times_show_other_rides_and_store_nothing(desk: Client) -> None:
    driver, _, rides = crew_with_rides(3)
    times = {"starts_at": "2026-11-20T12:00", "ends_at": "2026-11-20T13:00"}

    page = desk.post(out(driver), {"reason": "sick", "preview": "on", **times})
    backwards = desk.post(out(driver), {"reason": "sick", "preview": "on", "ends_at": "2026-11-20T08:00"})

    assert [row["ride"].pk for row in page.context["unmatched"]] == [rides[1].pk]
    assert (backwards.status_code, backwards.context["freed"]) == (200, 3)
    assert (Leave.objects.count(), Ride.objects.filter(status="assigned").count()) == (0, 3)


def test_rides_that_nobody_can_take_are_first_in_the_queue_with_the_reason(desk: Client) -> None:
    driver, _vehicle, rides = crew_with_rides(2)
    late = factories.RideFactory.create(pickup_at=NOW - HOUR)
    report(desk, driver)

    board = desk.get("/console/board/")

    assert [card["ride"].pk for card in board.context["queue"]] == [rides[0].pk, rides[1].pk, late.pk]
    assert "Driver out, no eligible driver: not on shift (1)" in text_of(board)
    substitute, other_vehicle = fit_pair()
    for ride in rides:
        ride.refresh_from_db()
    crew: dict[str, Any] = {"driver_id": substitute.pk, "vehicle_id": other_vehicle.pk}
    assignment.assign(ride_id=rides[0].pk, **crew, by=system(), at=NOW)
    assignment.unassign(ride_id=rides[0].pk, reason_code="replanned", by=system(), at=NOW + HOUR / 60)
    again = desk.get("/console/board/")
    assert [card["ride"].pk for card in again.context["queue"]] == [rides[1].pk, late.pk, rides[0].pk]


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

    assert told(after) == ["2 rides are assigned."]
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
