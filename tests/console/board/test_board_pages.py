"""Pages of the board, without a browser."""

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.console.board import labels, timeline
from apps.fleet.models import Driver, Leave
from apps.riders.rules.accommodation import complete
from apps.riders.rules.needs import Mobility
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import OPEN, RideStatus
from lib.ids import uuid7
from tests import factories
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

BOARD = "/console/board/"
CHANGES = f"{BOARD}changes/"
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def _driven(**columns: Any) -> Ride:
    ride = factories.RideFactory.create(**columns)
    factories.put_driver_on(ride)
    return ride


@pytest.mark.parametrize("role", sorted(set(UserRole) - {UserRole.DISPATCHER, UserRole.DISPATCH_SUPERVISOR}))
def test_the_board_is_for_dispatch(role: UserRole) -> None:
    ride = factories.RideFactory.create()
    client = visitor(role)

    paths = ["", "changes/", f"rides/{ride.pk}/", f"rides/{ride.pk}/assign/", f"rides/{ride.pk}/unassign/"]
    assert {client.get(BOARD + path).status_code for path in paths} == {403}
    posts = ["selection/", f"rides/{ride.pk}/ready/", f"drivers/{ride.pk}/break/"]
    assert {client.post(BOARD + path).status_code for path in posts} == {403}


def test_day_shows_rows_and_queue_and_is_audited(desk: Client) -> None:
    driven, waiting = _driven(pickup_at=NOW + HOUR), factories.RideFactory.create()

    page = desk.get(BOARD)

    said = text_of(page)
    assert f"{driven.rider.last_name}, Orla , 10:00 to" in said
    assert f"14:00 {waiting.rider.last_name}, Orla" in said
    row = AuditEntry.objects.get(action="rides.board")
    assert set(row.rider_ids) == {driven.rider_id, waiting.rider_id}
    assert row.details == {"day": "2026-11-20"}
    assert page["Cache-Control"] == "no-store"


def test_counters_count_the_day_and_filter_it(desk: Client) -> None:
    _driven(pickup_at=NOW - HOUR)
    _driven(pickup_at=NOW + HOUR)
    factories.RideFactory.create()
    factories.RideFactory.create(pickup_at=NOW - HOUR)
    factories.RideFactory.create(will_call=True, pickup_time_kind="estimated", will_call_expires_at=NOW + 9 * HOUR)

    everything = desk.get(BOARD)
    counters = {str(counter["label"]): counter["count"] for counter in everything.context["counters"]}
    late, will_call, waiting = (desk.get(f"{BOARD}?show={show}") for show in ("late", "will-call", "waiting"))

    assert counters == {
        "Total": 5, "Assigned": 2, "Unassigned": 2, "At risk": 0, "Late": 2, "On board": 0, "Will-call waiting": 1,
        "Done": 0,
    }  # fmt: skip
    shape = [
        (len(page.context["driver_rows"]), len(page.context["queue"]), len(page.context["will_calls"]))
        for page in (everything, late, will_call, waiting)
    ]
    assert shape == [(2, 2, 1), (1, 1, 0), (2, 0, 1), (2, 2, 0)]


@pytest.mark.parametrize("show", ["", "assigned", "waiting", "risk", "will-call", "late", "on-board", "done"])
def test_the_list_has_the_rides_that_pass(desk: Client, show: str) -> None:
    ended, boarded = _driven(pickup_at=NOW - 3 * HOUR), _driven(pickup_at=NOW - HOUR)
    reported = {"departed_at": NOW - HOUR, "arrived_pickup_at": NOW - HOUR, "boarded_at": NOW - HOUR}
    Ride.objects.filter(pk=boarded.pk).update(status="in_progress", **reported)
    Ride.objects.filter(pk=ended.pk).update(
        status="completed", status_before_end="in_progress", arrived_dropoff_at=NOW, dropped_off_at=NOW, **reported
    )
    at_risk = _driven(pickup_at=NOW + HOUR)
    Ride.objects.filter(pk=at_risk.pk).update(eta_pickup_at=NOW + 3 * HOUR)
    rides = {
        "on-board": boarded,
        "done": ended,
        "risk": at_risk,
        "late": _driven(pickup_at=NOW - HOUR),
        "assigned": _driven(pickup_at=NOW + HOUR),
        "waiting": factories.RideFactory.create(),
        "will-call": factories.RideFactory.create(
            will_call=True, pickup_time_kind="estimated", will_call_expires_at=NOW + 9 * HOUR
        ),
    }

    page = desk.get(f"{BOARD}?view=list&show={show}")

    shown = {
        "": set(rides) - {"done"},
        "assigned": {"assigned", "risk", "late"},
    }.get(show, {show})
    listed = {row["ride"].pk for row in page.context["rows"]}
    assert listed == {rides[name].pk for name in shown}


def test_list_is_sorted_paged_and_has_chosen_columns(desk: Client) -> None:
    def listed(query: str) -> list[str]:
        page = desk.get(f"{BOARD}?view=list&{query}")
        return [row["ride"].rider.last_name for row in page.context["rows"]]

    adair, brooks, chen = (
        factories.RiderFactory.create(last_name=name) for name in ("Adair", "brooks", "Chen")
    )  # fmt: skip
    _driven(rider=chen, pickup_at=NOW + HOUR)
    factories.RideFactory.create(rider=adair, pickup_at=NOW + 3 * HOUR)
    factories.RideFactory.create(rider=brooks, pickup_at=NOW + 2 * HOUR)

    assert listed("") == ["Chen", "brooks", "Adair"]
    assert listed("sort=-pickup") == ["Adair", "brooks", "Chen"]
    assert listed("sort=rider") == ["Adair", "brooks", "Chen"]
    assert listed("sort=-rider") == ["Chen", "brooks", "Adair"]
    assert listed("sort=-status") == ["Chen", "brooks", "Adair"]
    assert listed("sort=driver") == ["brooks", "Adair", "Chen"]

    sent = {"rows": "50", "sort": "rider", "query": "view=list", "offered": ["needs", "way"], "columns": ["needs"]}
    answer = desk.post("/console/lists/board/look/", sent)
    assert answer["Location"] == f"{BOARD}?view=list&sort=rider&rows=50"
    page = desk.get(answer["Location"])
    heads = page.content.decode().partition("<thead>")[2].partition("</thead>")[0]
    assert "Needs" in heads
    assert "From and to" not in heads
    assert f'data-live-url="{BOARD}?view=list&amp;sort=rider&amp;rows=50"' in page.content.decode()
    assert "&amp;sort=rider" in page.content.decode().partition('aria-label="Day"')[2], "another day, the same order"


def test_list_pages_are_stable_when_the_list_changes(desk: Client) -> None:
    for minutes in range(52):
        factories.RideFactory.create(pickup_at=NOW + minutes * HOUR / 60)

    first, second = desk.get(f"{BOARD}?view=list&rows=50"), desk.get(f"{BOARD}?view=list&rows=50&page=2")

    assert (len(first.context["rows"]), len(second.context["rows"])) == (50, 2)
    assert f'data-live-url="{BOARD}?view=list&amp;rows=50&amp;page=2"' in second.content.decode()
    assert "Later" in text_of(first)


def test_an_empty_day_says_so_and_what_is_asked_wrongly_is_today(desk: Client) -> None:
    factories.RideFactory.create()

    empty = desk.get(f"{BOARD}?day=2026-12-24")
    nothing = desk.get(f"{BOARD}?day=2026-12-24&view=list&show=late")

    assert "There are no shifts and no assigned rides" in text_of(empty)
    assert "No ride of this day under “Late”" in text_of(nothing)
    for wrong in ("day=tomorrow", "day=9999-12-31", "view=globe", "show=all"):
        page = desk.get(f"{BOARD}?{wrong}").context["page"]
        assert (page.is_today, page.view, page.show) == (True, "timeline", "")


def test_changes_return_changed_rows_and_removed_rides(desk: Client) -> None:
    ride, other = _driven(), _driven()
    gone = factories.DriverFactory.create()

    page = desk.get(f"{CHANGES}?ride={ride.pk}&driver={gone.pk}&driver=none")

    body = page.content.decode()
    assert f'id="driver-row-{ride.driver_id}"' in body
    assert f'id="driver-row-{other.driver_id}"' not in body
    assert f'data-removed="{gone.pk}"' in body
    assert "data-full" not in body


def test_changes_without_names_or_with_too_many_are_everything(desk: Client) -> None:
    ride = _driven()

    whole = desk.get(CHANGES).content.decode()
    many = desk.get(CHANGES + "?" + "&".join(f"ride={uuid7()}" for _ in range(61))).content.decode()

    for body in (whole, many):
        assert "data-full" in body
        assert f'id="driver-row-{ride.driver_id}"' in body


@pytest.mark.parametrize("count", [1, 3])
def test_the_board_costs_the_same_queries_however_many_rides(
    desk: Client, django_assert_num_queries: Any, count: int
) -> None:
    for _ in range(count):
        _driven()
        factories.RideFactory.create()

    # session and user; seven of the day; names of facilities; the operator's reasons; audit trail; inbox
    with django_assert_num_queries(14):
        desk.get(BOARD)


def test_the_map_has_the_points_that_are_known(desk: Client) -> None:
    waiting = factories.RideFactory.create(pickup=factories.stop(lat=41.9, lng=-87.6), dropoff=factories.stop(lat=None))
    factories.RideFactory.create(pickup=factories.stop(lat=None))
    seen, stale = _driven(pickup_at=NOW + HOUR), _driven(pickup_at=NOW + 2 * HOUR)
    for ride, minutes in ((seen, 10), (stale, 130)):
        located_at = NOW - dt.timedelta(minutes=minutes)
        Driver.objects.filter(rides=ride).update(last_lat="41.95", last_lng="-87.7", last_located_at=located_at)
    factories.FacilityFactory.create(active=False)

    found = desk.get(f"{BOARD}?view=map").context["points"]

    # in order of time, the order of keyboard navigation
    assert [point["id"] for point in found["rides"]] == [str(ride.pk) for ride in (seen, stale, waiting)]
    last = found["rides"][-1]
    assert (last["at"], last["to"], last["late"], last["soon"]) == ([41.9, -87.6], None, "", False)
    assert [point["soon"] for point in found["rides"][:2]] == [True, True]
    assert last["text"].startswith(f"14:00 {waiting.rider.last_name}, Orla, Home → Home, Unassigned")
    (driver,) = found["drivers"]
    assert (driver["at"], driver["age"], driver["stale"]) == ([41.95, -87.7], "position 10 minutes ago", True)
    assert driver["rides"] == [str(seen.pk)]
    assert len(found["facilities"]) == 4


def test_the_map_marks_the_next_stop_and_who_is_late(desk: Client) -> None:
    aboard = ride_in(RideStatus.IN_PROGRESS)
    overdue = _driven(pickup_at=NOW - HOUR)
    Driver.objects.filter(rides=aboard).update(last_lat="41.95", last_lng="-87.7", last_located_at=NOW, last_heading=90)

    found = desk.get(f"{BOARD}?view=map").context["points"]

    points = {point["id"]: point for point in found["rides"]}
    assert points[str(aboard.pk)]["at"] == points[str(aboard.pk)]["to"]
    assert points[str(overdue.pk)]["at"] == points[str(overdue.pk)]["from"]
    assert points[str(overdue.pk)]["late"] == "late"
    assert [(point["heading"], point["stale"]) for point in found["drivers"]] == [(90, False)]


def test_the_map_draws_the_rides_of_the_filter(desk: Client) -> None:
    waiting = factories.RideFactory.create()
    _driven()

    found = desk.get(f"{BOARD}?view=map&show=waiting").context["points"]

    assert [point["id"] for point in found["rides"]] == [str(waiting.pk)]


def test_every_place_on_the_axis_has_its_class() -> None:
    css = (Path(__file__).parents[3] / "static/console/minutes.css").read_text()

    places = {int(n) for n in re.findall(r"\.s(\d+)\{--s:\1\}", css)}
    widths = {int(n) for n in re.findall(r"\.w(\d+)\{--w:\1\}", css)}

    steps = range(0, timeline.LAST + 1, timeline.STEP)
    assert (places, widths) == (set(steps), set(steps) - {0})
    assert {int(n) for n in re.findall(r"\.r(\d+)\{--r:\1\}", css)} == set(range(timeline.MOST_ROWS))
    assert {int(n) for n in re.findall(r"\.h(\d+)\{--h:\1\}", css)} == set(range(1, timeline.MOST_ROWS + 1))


def test_every_open_status_and_mobility_has_its_words() -> None:
    for status in OPEN:
        assert labels.STATES[labels.state_of(Ride(status=status))]
    for mobility in Mobility:
        assert labels.kind_of(Ride(accommodation=complete({"mobility": mobility.value})))[1]


def test_names_and_places_are_escaped(desk: Client) -> None:
    rider = factories.RiderFactory.create(last_name="<b>Canary</b>", first_name="&")
    _driven(rider=rider, dropoff=factories.stop(name='"><script>'))

    body = desk.get(BOARD).content.decode()

    assert "&lt;b&gt;Canary&lt;/b&gt;, &amp;" in body
    assert "<script>" not in body.partition("<main")[2]


def test_rows_draw_off_duty_leave_travel_and_delay(desk: Client) -> None:
    driver = factories.DriverFactory.create()
    vehicle = factories.VehicleFactory.create(provider=driver.provider)
    times = [(NOW - HOUR, NOW + HOUR), (NOW + 2 * HOUR, NOW + 20 * HOUR)]
    for begins_at, ends_at in times:
        factories.ShiftFactory.create(driver=driver, vehicle=vehicle, starts_at=begins_at, ends_at=ends_at)
    Leave.objects.create(driver=driver, starts_at=NOW + 8 * HOUR, ends_at=NOW + 9 * HOUR)
    for minutes in (-10, 60):
        ride = factories.RideFactory.create(
            pickup_at=NOW + dt.timedelta(minutes=minutes), estimated_minutes=20, dropoff=factories.stop(lat=41.95)
        )
        factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    Ride.objects.update(eta_pickup_at=NOW + dt.timedelta(minutes=20))

    night = factories.ShiftFactory.create(starts_at=NOW - 8 * HOUR, ends_at=NOW + HOUR)

    row, idle = desk.get(BOARD).context["driver_rows"]

    # 04:00 is minute 0: the shifts leave 04:00 to 08:00 and 10:00 to 11:00 free, the second shift ends after the day.
    assert re.findall(r'<i class="(off|leave) (s\d+ w\d+)"', row) == [
        ("off", "s0 w240"), ("off", "s360 w60"), ("leave", "s780 w60"),
    ]  # fmt: skip
    assert '<path class="way" d="M' in row
    assert "<b>+15 Canarywell" in row
    assert "predicted 15 minutes late" in row
    assert 'data-late="0" data-risk="1"' in row
    assert f'id="driver-row-{night.driver_id}"' in idle
    assert re.findall(r'class="off (s\d+ w\d+)"', idle) == ["s360 w1080"]


def test_a_break_is_said_in_the_driver_row(desk: Client) -> None:
    ride = _driven()

    begun = desk.post(f"{BOARD}drivers/{ride.driver_id}/break/", {"on_break": "on"}, follow=True)
    assert "On break" in text_of(begun)

    assert "End break" in text_of(desk.get(f"{BOARD}drivers/{ride.driver_id}/"))
    ended = desk.post(f"{BOARD}drivers/{ride.driver_id}/break/", follow=True)
    assert "On break" not in text_of(ended)


def test_drivers_day_lists_rides_shift_and_leave(desk: Client) -> None:
    ride = _driven(pickup_at=NOW + HOUR)
    assert ride.driver is not None
    shift = factories.ShiftFactory.create(driver=ride.driver, vehicle=ride.vehicle)
    Leave.objects.create(driver=ride.driver, starts_at=NOW + 8 * HOUR, ends_at=NOW + 9 * HOUR)

    said = text_of(desk.get(f"{BOARD}drivers/{ride.driver_id}/?day=2026-11-20"))

    assert f"{shift.vehicle.unit_number} · Wheelchair van · on shift 07:00 to 17:00 · on leave 17:00 to 18:00." in said
    assert f"10:00 {ride.rider.last_name}, Orla Ambulatory Hospital → Home Assigned" in said
    row = AuditEntry.objects.get(action="rides.run")
    assert (row.subject_id, row.rider_ids) == (ride.driver_id, [ride.rider_id])


def test_day_without_rides_says_so_and_a_free_day_has_no_page(desk: Client) -> None:
    shift = factories.ShiftFactory.create()

    page = desk.get(f"{BOARD}drivers/{shift.driver_id}/")

    assert "No more rides on this day." in text_of(page)
    assert desk.get(f"{BOARD}drivers/{shift.driver_id}/?day=2026-12-24").status_code == 404
