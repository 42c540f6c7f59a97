"""Days of a standing order over HTTP: projected for years, and changed one by one."""

import datetime as dt
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.recurring.models import OccurrenceChange, StandingOrder
from apps.recurring.services import edit_order
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.rides.models import Ride
from apps.rides.services import editing
from lib.access import system
from tests import factories
from tests.callers import TokenClient, error_of
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.calls import chairs, fields_of, state
from tests.recurring.cast import DATES, MONDAY, both

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


@pytest.fixture
def order(db: None) -> StandingOrder:
    return cast.order()


def _days(api: TokenClient, order: StandingOrder, query: str = "") -> Any:
    return api.get(f"/api/standing-orders/{order.pk}/occurrences{query}")


def _address(order: StandingOrder, day: object, what: str = "") -> str:
    return f"/api/standing-orders/{order.pk}/occurrences/{day}{what}"


def test_days_of_any_span_are_listed_and_nothing_is_stored(api: TokenClient, order: StandingOrder) -> None:
    before = state()

    response = _days(api, order, "?from=2026-11-23&to=2029-11-24")

    days = response.json()["data"]
    assert response.status_code == 200, days
    assert len(days) == 3 * 157
    assert response.json()["page"] == {"limit": len(days), "hasMore": False, "nextCursor": None}
    assert state() == before
    ride = cast.rides(order, leg_type="outbound")[0]
    assert days[0] | {"legs": None} == {
        "date": "2026-11-23",
        "serviceDate": "2026-11-23",
        "status": "due",
        "change": "as_generated",
        "movedByClockChange": False,
        "legs": None,
    }
    there, back = days[0]["legs"]
    assert there == {
        "leg": "outbound",
        "status": "booked",
        "pickupTime": ride.pickup_at.isoformat().replace("+00:00", "Z"),
        "appointmentTime": "2026-11-23T16:30:00Z",
        "rideId": str(ride.pk),
        "rideStatus": "scheduled",
        "refusal": None,
        "willCall": False,
    }
    assert (back["leg"], back["pickupTime"], back["appointmentTime"]) == ("return", "2026-11-23T21:00:00Z", None)
    assert back["willCall"]
    planned = days[-1]["legs"][0]
    assert (planned["status"], planned["rideId"], planned["rideStatus"]) == ("planned", None, None)
    entry = AuditEntry.objects.get(action="standing_orders.occurrences")
    assert (entry.subject_id, entry.rider_ids) == (order.pk, [order.rider_id])


def test_ride_of_moved_day_shows_its_original_service_date(api: TokenClient, order: StandingOrder) -> None:
    ride, alone = cast.rides(order)[0], factories.RideFactory.create()
    edit_order.change_occurrence(
        order_id=order.pk, pattern_date=MONDAY, edit=OccurrenceEdit(to_date=MONDAY + DAY), by=system(), at=NOW
    )

    shown = [api.get(f"/api/rides/{one.pk}").json() for one in (ride, alone)]
    listed = {one["id"]: one["originalServiceDate"] for one in api.get("/api/rides").json()["data"]}

    assert [(one["serviceDate"], one["originalServiceDate"]) for one in shown] == [
        ("2026-11-24", "2026-11-23"),
        (alone.service_date.isoformat(), None),
    ]
    assert (listed[str(ride.pk)], listed[str(alone.pk)]) == ("2026-11-23", None)


def test_without_a_span_four_weeks_from_today_are_listed(api: TokenClient, order: StandingOrder) -> None:
    assert [one["date"] for one in _days(api, order).json()["data"]] == [day.isoformat() for day in DATES]
    later = _days(api, order, f"?from={DATES[3]}").json()["data"]
    assert (later[0]["date"], later[-1]["date"]) == (DATES[3].isoformat(), (DATES[3] + 28 * DAY).isoformat())


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?from=2026-11-23&to=2026-11-22", "to"),
        ("?from=2026-11-23&to=2029-11-25", "to"),
        ("?from=1800-01-01&to=2200-12-31", "to"),
        ("?from=9999-12-31", "from"),
        ("?from=0001-01-01", "from"),
        ("?to=2026-13-01", "to"),
        ("?to=", "to"),
        ("?limit=5", "limit"),
        ("?from=2026-11-23&from=2026-11-24", "from"),
    ],
)
def test_span_that_cannot_be_is_refused_by_its_field(
    api: TokenClient, order: StandingOrder, query: str, field: str
) -> None:
    response = _days(api, order, query)

    assert (response.status_code, fields_of(response)) == (400, [field])


@pytest.mark.parametrize("query", ["?from=1800-01-01&to=1802-01-01", "?from=2198-01-01&to=2200-12-31"])
def test_days_at_the_ends_of_time_are_listed(api: TokenClient, order: StandingOrder, query: str) -> None:
    assert _days(api, order, query).status_code == 200


def test_one_day_moves_and_the_series_goes_on(api: TokenClient, order: StandingOrder) -> None:
    there = cast.rides(order, leg_type="outbound")[1]
    moved = {"toDate": (DATES[1] + DAY).isoformat(), "chairTime": "07:00"}

    response = api.patch(_address(order, DATES[1]), moved, headers={"If-Match": '"1"'})

    shown = response.json()
    assert (response.status_code, response["ETag"]) == (200, '"2"'), shown
    assert len(shown["rides"]["amended"]) == 2
    assert shown["overrides"] == [{"date": DATES[1].isoformat(), "pickupTime": None, "returnTime": None, **moved}]
    others = dict.fromkeys([DATES[0], *DATES[2:]], dt.time(10, 30))
    assert chairs(order.pk) == {**others, DATES[1] + DAY: dt.time(7)}
    there.refresh_from_db()
    assert (there.service_date, there.occurrence_state) == (DATES[1] + DAY, "customized")


def test_omitted_fields_remain_and_null_reverts_an_override(api: TokenClient, order: StandingOrder) -> None:
    address = _address(order, DATES[1])
    api.patch(address, {"toDate": (DATES[1] + DAY).isoformat(), "chairTime": "07:00"})

    later = api.patch(address, {"chairTime": "08:00"}).json()["overrides"]
    at_its_time = api.patch(address, {"chairTime": None}).json()["overrides"]
    same = api.patch(address, {"toDate": (DATES[1] + DAY).isoformat()})
    taken_back = api.patch(address, {"toDate": None}).json()

    assert [(one["toDate"], one["chairTime"]) for one in later] == [((DATES[1] + DAY).isoformat(), "08:00")]
    assert [(one["toDate"], one["chairTime"]) for one in at_its_time] == [((DATES[1] + DAY).isoformat(), None)]
    assert same["ETag"] == '"4"'
    assert (taken_back["overrides"], taken_back["version"]) == ([], 5)
    assert chairs(order.pk) == dict.fromkeys(DATES, dt.time(10, 30))
    assert {ride.occurrence_state for ride in cast.rides(order)} == {"as_generated"}


def test_empty_change_of_occurrence_changes_nothing(api: TokenClient, order: StandingOrder) -> None:
    before = state()

    response = api.patch(_address(order, DATES[1]), {"chairTime": None})

    assert (response.status_code, response["ETag"], state()) == (200, '"1"', before)


def test_times_of_the_two_ways_are_changed_alone(api: TokenClient, order: StandingOrder) -> None:
    api.patch(_address(order, DATES[0]), {"pickupTime": "09:15", "returnTime": "14:30"})

    there, back = (leg for leg in _days(api, order).json()["data"][0]["legs"])
    assert (there["pickupTime"], there["appointmentTime"]) == ("2026-11-23T15:15:00Z", "2026-11-23T16:30:00Z")
    assert back["pickupTime"] == "2026-11-23T20:30:00Z"


def test_day_is_skipped_and_comes_back(api: TokenClient, order: StandingOrder) -> None:
    skipped = api.post(_address(order, DATES[1], "/skip")).json()
    fates = {one["date"]: one["status"] for one in _days(api, order).json()["data"]}
    restored = api.post(_address(order, DATES[1], "/restore")).json()

    assert (skipped["skips"], len(skipped["rides"]["cancelled"])) == ([DATES[1].isoformat()], 2)
    assert [day for day, status in fates.items() if status == "skipped"] == [DATES[1].isoformat()]
    assert (restored["skips"], len(restored["rides"]["created"])) == ([], 2)
    assert cast.live(order) == both(DATES)


def test_skipped_day_that_is_given_a_time_takes_place(api: TokenClient, order: StandingOrder) -> None:
    api.post(_address(order, DATES[1], "/skip"))

    shown = api.patch(_address(order, DATES[1]), {"chairTime": "07:00"}).json()

    assert (shown["skips"], len(shown["overrides"]), len(shown["rides"]["created"])) == ([], 1, 2)


def test_day_of_the_past_that_was_arranged_is_no_longer_shown(api: TokenClient) -> None:
    order = cast.order(start_date=MONDAY - 28 * DAY)
    for day in (MONDAY - 12 * DAY, MONDAY - 7 * DAY):
        OccurrenceChange.objects.create(standing_order=order, pattern_date=day, kind="skip")

    assert api.get(f"/api/standing-orders/{order.pk}").json()["skips"] == [(MONDAY - 7 * DAY).isoformat()]


@pytest.mark.parametrize(
    ("day", "asked", "fields"),
    [
        (MONDAY + DAY, {"chairTime": "07:00"}, ["date"]),  # outside the pattern
        (MONDAY - 7 * DAY, {"chairTime": "07:00"}, ["date"]),  # before it starts
        ("2028-11-22", {"chairTime": "07:00"}, ["date"]),
        ("9999-12-31", {"chairTime": "07:00"}, ["date"]),
        ("0001-01-01", {"chairTime": "07:00"}, ["date"]),
        ("2026-02-30", {"chairTime": "07:00"}, ["date"]),
        ("tomorrow", {"chairTime": "07:00"}, ["date"]),
        (MONDAY, {"toDate": "2026-12-01"}, ["toDate"]),
        (MONDAY, {"toDate": "9999-12-31"}, ["toDate"]),
        (MONDAY, {"toDate": "2026-11-19"}, ["toDate"]),
        (MONDAY, {"chairTime": "24:00"}, ["chairTime"]),
        (MONDAY, {"chairTime": 7}, ["chairTime"]),
        (MONDAY, {"pickupTime": "10:30"}, ["pickupTime"]),
        (MONDAY, {"pickupTime": "10:31"}, ["pickupTime"]),  # 24 hours before
        (MONDAY, {"pickupTime": "04:29"}, ["pickupTime"]),
        (MONDAY, {"returnTime": "10:30"}, ["returnTime"]),
        (MONDAY, {"returnTime": "02:31"}, ["returnTime"]),
        (MONDAY, {"scope": "this"}, ["scope"]),
    ],
)
def test_invalid_occurrence_is_refused_by_field_and_not_saved(
    api: TokenClient, order: StandingOrder, day: object, asked: dict[str, Any], fields: list[str]
) -> None:
    before = state()

    response = api.patch(_address(order, day), asked)

    assert (response.status_code, fields_of(response)) == (400, fields), response.content
    assert state() == before


@pytest.mark.parametrize("what", ["/skip", "/restore"])
@pytest.mark.parametrize("day", [MONDAY + DAY, "2200-12-31", "2026-02-30", "9999-12-31", "x"])
def test_skip_of_what_is_no_day_of_the_pattern_is_refused(
    api: TokenClient, order: StandingOrder, what: str, day: object
) -> None:
    before = state()

    response = api.post(_address(order, day, what))

    assert (response.status_code, fields_of(response)) == (400, ["date"])
    assert state() == before


def test_body_of_a_skip_is_refused(api: TokenClient, order: StandingOrder) -> None:
    assert fields_of(api.post(_address(order, MONDAY, "/skip"), {"reason": "x"})) == ["reason"]


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({"chairTime": "02:30"}, ["chairTime"]),
        ({"pickupTime": "02:30"}, ["pickupTime"]),
        ({"returnTime": "02:30"}, ["returnTime"]),
    ],
)
def test_time_that_the_clocks_skip_on_that_day_is_refused(
    api: TokenClient, asked: dict[str, Any], fields: list[str]
) -> None:
    sunday = dt.date(2027, 3, 14)
    chair = dt.time(1, 30) if "returnTime" in asked else dt.time(5)
    order = cast.order(start_date=sunday - 7 * DAY, of={"days_of_week": (6,), "chair_time": chair})

    response = api.patch(_address(order, sunday), asked)

    assert fields_of(response) == fields


def test_return_before_chair_time_by_clock_change_is_refused(api: TokenClient) -> None:
    sunday = dt.date(2027, 3, 14)
    order = cast.order(start_date=sunday - 7 * DAY, of={"days_of_week": (6,), "chair_time": dt.time(2, 50)})

    response = api.patch(_address(order, sunday), {"returnTime": "03:20"})  # the chair is at 03:50 that day

    assert fields_of(response) == ["returnTime"]


def test_order_without_a_way_back_has_no_time_for_it(api: TokenClient) -> None:
    order = cast.order(of={"return_mode": "none"})

    response = api.patch(_address(order, MONDAY), {"returnTime": "15:00"})

    assert fields_of(response) == ["returnTime"]


def test_day_long_past_stays_as_it_was(api: TokenClient) -> None:
    order = cast.order(start_date=MONDAY - 28 * DAY)

    response = api.patch(_address(order, MONDAY - 14 * DAY), {"chairTime": "07:00"})

    assert fields_of(response) == ["date"]


def test_unknown_order_has_no_days(api: TokenClient) -> None:
    nobody = "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"

    for path, call in (("", api.get), (f"/{MONDAY}", api.patch), (f"/{MONDAY}/skip", api.post)):
        assert error_of(call(f"/api/standing-orders/{nobody}/occurrences{path}"))["code"] == "NOT_FOUND"


def test_last_day_of_ended_order_remains_customized(order: StandingOrder) -> None:
    moved = OccurrenceEdit(chair_time=dt.time(7))
    edit_order.change_occurrence(order_id=order.pk, pattern_date=DATES[4], edit=moved, by=system(), at=NOW)
    ride = Ride.objects.get(occurrence_key=f"{order.pk}:{DATES[4]}:outbound")
    by_hand = ride.pickup_at - dt.timedelta(minutes=20)
    editing.edit(ride_id=ride.pk, changes={"pickup_at": by_hand}, by=system(), at=NOW)

    edit_order.end(order_id=order.pk, last_date=DATES[4], by=system(), at=NOW)

    ride.refresh_from_db()
    assert (ride.pickup_at, ride.occurrence_state) == (by_hand, "customized")
    assert cast.live(order) == both(DATES[:5])
