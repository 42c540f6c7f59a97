"""Standing orders over HTTP: changed, held, ended; stale versions are refused."""

import datetime as dt
import json
from typing import Any

import pytest
import time_machine

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder
from apps.recurring.services import edit_order, hold_order
from apps.riders.models import Rider
from apps.rides.services import editing
from lib.access import system
from tests import factories
from tests.callers import TokenClient, error_of
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.calls import body, chairs, fields_of, state
from tests.recurring.cast import DATES, both
from tests.rides.drafts import HOME

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
ELM = {"addressLine1": "9 W Elm St", "lat": 41.9, "lng": -87.64}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def rider(centre: Facility) -> Rider:
    return factories.RiderFactory.create(facility=centre)


@pytest.fixture
def order(centre: Facility, rider: Rider) -> StandingOrder:
    return cast.order(centre, rider)


def _patch(api: TokenClient, order: StandingOrder, asked: dict[str, Any], **headers: str) -> Any:
    return api.patch(f"/api/standing-orders/{order.pk}", asked, headers=headers)


def _post(api: TokenClient, order: StandingOrder, what: str, asked: dict[str, Any] | None = None) -> Any:
    return api.post(f"/api/standing-orders/{order.pk}/{what}", asked or {})


def test_change_for_all_future_amends_existing_rides(api: TokenClient, order: StandingOrder) -> None:
    response = _patch(api, order, {"chairTime": "06:00", "notes": {"driver": "Side door."}}, **{"If-Match": '"1"'})

    shown = response.json()
    assert (response.status_code, response["ETag"], shown["chairTime"]) == (200, '"2"', "06:00")
    assert len(shown["rides"]["amended"]) == 24
    assert chairs(order.pk) == dict.fromkeys(DATES, dt.time(6))
    assert {ride.driver_notes for ride in cast.rides(order)} == {"Side door."}


def test_change_from_a_day_on_leaves_what_comes_before(api: TokenClient, order: StandingOrder) -> None:
    asked = {"scope": "this_and_following", "fromDate": DATES[3].isoformat(), "pattern": {"preset": "tts"}}

    shown = _patch(api, order, asked).json()

    assert (shown["pattern"]["preset"], shown["laterTerms"][0]["pattern"]["preset"]) == ("mwf", "tts")
    assert cast.live(order) == both(DATES[:3] + [day + DAY for day in DATES[3:-1]])
    assert (len(shown["rides"]["created"]), len(shown["rides"]["cancelled"])) == (16, 18)


def test_change_merges_objects_key_by_key(api: TokenClient, centre: Facility, rider: Rider) -> None:
    order = cast.order(
        centre,
        rider,
        of={
            "pickup": {**HOME, "accessCode": "4711", "unit": "3B"},
            "accommodation": {"mobility": "wheelchair", "oxygen": {"uses": True}},
            "companions": {"escorts": 1},
        },
    )
    asked = {
        "outbound": {"pickup": {"accessCode": "", "instructions": "Side door."}},
        "accommodation": {"oxygen": None, "chair": {"widthIn": 26.5}},
        "companions": None,
    }

    shown = _patch(api, order, asked).json()

    pickup = shown["outbound"]["pickup"]
    assert (pickup["unit"], pickup["instructions"], "accessCode" in pickup) == ("3B", "Side door.", False)
    assert (pickup["addressLine1"], pickup["lat"]) == (HOME["addressLine1"], HOME["lat"])
    assert (shown["accommodation"], shown["companions"]) == (
        {"mobility": "wheelchair", "chair": {"widthIn": 26.5}},
        {},
    )


def test_moved_stop_drops_details_of_the_old_place(api: TokenClient, order: StandingOrder) -> None:
    unplaced = _patch(api, order, {"outbound": {"pickup": {"addressLine1": "9 W Elm St"}}})
    moved = _patch(api, order, {"outbound": {"pickup": ELM}})

    assert fields_of(unplaced) == ["outbound.pickupTime"]  # without coordinates the drive time is unknown
    assert moved.json()["outbound"]["pickup"]["lat"] == 41.9
    assert {ride.pickup["addressLine1"] for ride in cast.rides(order, leg_type="outbound")} == {"9 W Elm St"}


def test_end_of_the_way_back_is_set_merged_moved_and_taken_away(api: TokenClient, order: StandingOrder) -> None:
    place = {**HOME, **ELM, "accessCode": "2007"}
    answers, ends = [], []
    for end in (place, {"unit": "3B"}, {"addressLine1": "5 Oak St"}, {"accessCode": ""}, None):
        answers.append(_patch(api, order, {"return": {"dropoff": end}}).json())
        ends.append(
            {(ride.dropoff["addressLine1"], ride.dropoff_access) for ride in cast.rides(order, leg_type="return")}
        )

    code = '{"accessCode":"2007"}'
    assert ends == [
        {("9 W Elm St", code)},
        {("9 W Elm St", code)},
        {("5 Oak St", code)},
        {("5 Oak St", "")},
        {(HOME["addressLine1"], "")},
    ]
    stops = [one["return"]["dropoff"] for one in answers]
    assert [stop and (stop["unit"], stop["lat"], "accessCode" in stop) for stop in stops] == [
        ("", 41.9, True),
        ("3B", 41.9, True),
        ("3B", None, True),
        ("3B", None, False),
        None,
    ]
    there = cast.rides(order, leg_type="outbound")
    assert {(ride.pickup["addressLine1"], ride.version) for ride in there} == {(HOME["addressLine1"], 1)}


def test_access_code_removed_from_order_is_removed_from_rides(api: TokenClient, centre: Facility) -> None:
    order = cast.order(centre, of={"pickup": {**HOME, "accessCode": "4711"}})

    _patch(api, order, {"outbound": {"pickup": {"accessCode": ""}}})

    assert {(ride.pickup_access, ride.dropoff_access) for ride in cast.rides(order)} == {("", "")}


def test_names_of_other_systems_are_replaced(api: TokenClient, centre: Facility, order: StandingOrder) -> None:
    named = _patch(api, order, {"externalIds": [{"system": "epic", "value": "SO-17", "type": "order"}]})
    same = _patch(api, order, {"externalIds": [{"system": "epic", "value": "SO-17", "type": "order"}]})
    taken = _patch(api, cast.order(centre), {"externalIds": [{"system": "epic", "value": "SO-17"}]})
    emptied = _patch(api, order, {"externalIds": []})

    assert (named["ETag"], same["ETag"]) == ('"2"', '"2"')
    assert error_of(taken)["code"] == "DUPLICATE_RESOURCE"
    assert (emptied.json()["externalIds"], emptied["ETag"]) == ([], '"3"')
    assert Event.objects.get(type="standing_order.changed", sequence=2).data["changed"] == ["externalIds"]


def test_null_goes_back_to_what_is_usual(api: TokenClient, centre: Facility) -> None:
    rider = factories.RiderFactory.create(facility=centre, home_address=factories.stop(**HOME))
    payer = factories.PayerFactory.create()
    asked = body(
        centre,
        treatmentMinutes=200,
        outbound={"pickup": {**HOME, **ELM}, "dropoff": {"instructions": "Back door."}, "pickupTime": "09:00"},
        vehicleType="wheelchair_van",
        payer={"payerId": str(payer.pk)},
        endDate="2027-03-01",
        authorizationEndsOn="2027-02-01",
    )
    asked["return"] = {"mode": "scheduled", "pickupTime": "15:00", "mobility": "wheelchair", "dropoff": HOME}
    order_id = api.post(f"/api/riders/{rider.pk}/standing-orders", asked).json()["id"]
    nothing = {
        "treatmentMinutes": None,
        "outbound": {"pickup": None, "dropoff": None, "pickupTime": None},
        "return": {"pickupTime": None, "mobility": None, "dropoff": None},
        "pattern": {"anchorDate": None},
        "vehicleType": None,
        "payer": {"payerId": None},
        "endDate": None,
        "authorizationEndsOn": None,
    }

    response = api.patch(f"/api/standing-orders/{order_id}", nothing)

    shown = response.json()
    assert response.status_code == 200, shown
    assert (shown["treatmentMinutes"], shown["vehicleType"], shown["endDate"]) == (240, None, None)
    assert (shown["payer"]["payerId"], shown["authorizationEndsOn"]) == (None, None)
    assert [shown["return"][name] for name in ("pickupTime", "mobility", "dropoff")] == [None] * 3
    there = shown["outbound"]
    assert (there["pickup"]["addressLine1"], there["dropoff"]["instructions"], there["pickupTime"]) == (
        HOME["addressLine1"],
        "",
        None,
    )


def test_customized_rides_are_listed_and_overwritten_on_request(api: TokenClient, order: StandingOrder) -> None:
    ride = cast.rides(order, leg_type="outbound")[4]
    earlier = ride.pickup_at - dt.timedelta(minutes=20)
    editing.edit(ride_id=ride.pk, changes={"pickup_at": earlier}, by=system(), at=NOW)

    left = _patch(api, order, {"chairTime": "11:00"}).json()["rides"]["unchanged"]
    overwritten = _patch(api, order, {"chairTime": "11:00", "overwriteCustomized": True}).json()["rides"]

    assert left == [{"date": DATES[4].isoformat(), "rideIds": [str(ride.pk)]}]
    assert (overwritten["unchanged"], overwritten["amended"]) == ([], [str(ride.pk)])


def test_customized_days_are_reset_when_overwrite_is_requested(api: TokenClient, order: StandingOrder) -> None:
    for day in (DATES[1], DATES[4]):
        moved = edit_order.OccurrenceEdit(chair_time=dt.time(7))
        edit_order.change_occurrence(order_id=order.pk, pattern_date=day, edit=moved, by=system(), at=NOW)
    asked = {"scope": "this_and_following", "fromDate": DATES[3].isoformat(), "overwriteCustomized": True}

    response = _patch(api, order, asked)

    assert (response["ETag"], [one["date"] for one in response.json()["overrides"]]) == (
        '"4"',
        [DATES[1].isoformat()],
    )
    assert chairs(order.pk) == dict.fromkeys(DATES, dt.time(10, 30)) | {DATES[1]: dt.time(7)}
    told = Event.objects.get(type="standing_order.changed", sequence=4).data
    assert (told["changed"], told["fromDate"]) == (["overrides"], DATES[3].isoformat())


def test_change_of_nothing_changes_nothing_and_shows_the_order(api: TokenClient, order: StandingOrder) -> None:
    before = state()

    response = _patch(api, order, {"chairTime": "10:30", "outbound": {"pickup": {"city": "Chicago"}}})
    empty = _patch(api, order, {})

    assert (response.status_code, response["ETag"], empty["ETag"]) == (200, '"1"', '"1"')
    assert state() == before
    assert AuditEntry.objects.filter(action="standing_orders.read").count() == 2


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"scope": "this"}, "scope"),
        ({"scope": "this_and_following"}, "fromDate"),
        ({"fromDate": "2026-12-07"}, "fromDate"),
        ({"scope": "all_future", "fromDate": "2026-12-07"}, "fromDate"),
        ({"scope": "this_and_following", "fromDate": "2026-11-19"}, "fromDate"),
        ({"scope": "this_and_following", "fromDate": "2028-11-21"}, "fromDate"),
        ({"scope": "this_and_following", "fromDate": "9999-12-31"}, "fromDate"),
        ({"scope": None}, "scope"),
        ({"overwriteCustomized": "yes"}, "overwriteCustomized"),
        ({"pattern": {"daysOfWeek": []}}, "pattern.daysOfWeek"),
        ({"pattern": {"daysOfWeek": ["tue", "tue"]}}, "pattern.daysOfWeek"),
        ({"pattern": {"preset": "mwf", "daysOfWeek": ["mon"]}}, "pattern.preset"),
        ({"pattern": None}, "pattern"),
        ({"chairTime": None}, "chairTime"),
        ({"outbound": None}, "outbound"),
        ({"outbound": {"pickup": None}}, "outbound.pickup"),
        ({"outbound": {"pickup": {"lat": 91}}}, "outbound.pickup.lat"),
        ({"return": None}, "return"),
        ({"return": {"mode": None}}, "return.mode"),
        ({"return": {"pickupTime": "15:00"}}, "return.pickupTime"),
        ({"endDate": "2026-11-22"}, "endDate"),
        ({"authorizationEndsOn": "2026-11-22"}, "authorizationEndsOn"),
        ({"generationHorizonDays": None}, "generationHorizonDays"),
        ({"preferredDriverIds": None}, "preferredDriverIds"),
        ({"notes": None}, "notes"),
        ({"payer": {"payerId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"}}, "payer.payerId"),
        ({"startDate": "2026-11-30"}, "startDate"),
        ({"facilityId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"}, "facilityId"),
        ({"timezone": "Europe/Berlin"}, "timezone"),
        ({"status": "active"}, "status"),
    ],
)
def test_invalid_change_is_refused_by_field_and_not_saved(
    api: TokenClient, order: StandingOrder, asked: dict[str, Any], field: str
) -> None:
    before = state()

    response = _patch(api, order, asked)

    assert (response.status_code, fields_of(response)) == (400, [field]), response.content
    assert state() == before


@pytest.mark.parametrize("asked", [None, [], "text", 7])
def test_change_that_is_no_object_is_refused(api: TokenClient, order: StandingOrder, asked: Any) -> None:
    path = f"/api/standing-orders/{order.pk}"
    response = api.generic("PATCH", path, json.dumps(asked), content_type="application/json")

    assert error_of(response)["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("patch", "", {"chairTime": "06:00"}),
        ("post", "/hold", {"from": "2026-11-25", "reason": "travel"}),
        ("post", "/resume", {"from": "2026-11-25"}),
        ("post", "/end", {}),
        ("post", "/activate", {}),
        ("patch", f"/occurrences/{DATES[1]}", {"chairTime": "06:00"}),
        ("post", f"/occurrences/{DATES[1]}/skip", {}),
        ("post", f"/occurrences/{DATES[1]}/restore", {}),
    ],
)
def test_older_version_is_refused_and_so_is_what_has_ended(
    api: TokenClient, order: StandingOrder, method: str, path: str, asked: dict[str, Any]
) -> None:
    call = getattr(api, method)
    address = f"/api/standing-orders/{order.pk}{path}"
    before = state()

    stale = call(address, asked, headers={"If-Match": '"7"'})
    assert (error_of(stale)["code"], stale["ETag"], state()) == ("PRECONDITION_FAILED", '"1"', before)

    edit_order.end(order_id=order.pk, last_date=None, by=system(), at=NOW)
    assert error_of(call(address, asked))["code"] == "RULE_VIOLATION"


def test_hold_calls_rides_off_and_resuming_brings_them_back(api: TokenClient, order: StandingOrder) -> None:
    asked = {"from": DATES[2].isoformat(), "reason": "hospital_stay"}

    held = _post(api, order, "hold", asked).json()
    resumed = _post(api, order, "resume", {"from": DATES[5].isoformat()}).json()

    (hold,) = held["holds"]
    assert hold["source"] == "integration"
    assert {key: hold[key] for key in ("from", "until", "reason", "reviewOn")} == {
        **asked,
        "until": None,
        "reviewOn": (DATES[2] + 7 * DAY).isoformat(),
    }
    assert hold["setBy"].startswith("token:")
    assert len(held["rides"]["cancelled"]) == 20
    assert len(resumed["rides"]["created"]) == 14
    assert resumed["holds"][0]["until"] == (DATES[5] - DAY).isoformat()
    assert cast.live(order) == both(DATES[:2] + DATES[5:])


def test_hold_that_is_over_is_no_longer_shown(api: TokenClient, order: StandingOrder) -> None:
    first = NOW.date() - 6 * DAY
    hold_order.hold(order_id=order.pk, from_date=first, until=NOW.date(), reason="travel", by=system(), at=NOW)

    assert len(_shown_at(api, order, NOW + 7 * DAY)["holds"]) == 1
    assert _shown_at(api, order, NOW + 8 * DAY)["holds"] == []


def _shown_at(api: TokenClient, order: StandingOrder, at: dt.datetime) -> Any:
    with time_machine.travel(at, tick=False):
        return api.get(f"/api/standing-orders/{order.pk}").json()


def test_same_hold_once_more_changes_nothing(api: TokenClient, order: StandingOrder) -> None:
    asked = {"from": DATES[2].isoformat(), "until": DATES[4].isoformat(), "reason": "other"}

    first, again = _post(api, order, "hold", asked), _post(api, order, "hold", asked)

    assert (first["ETag"], again["ETag"], len(again.json()["holds"])) == ('"2"', '"2"', 1)


@pytest.mark.parametrize(
    ("what", "asked", "field"),
    [
        ("hold", {"reason": "travel"}, "from"),
        ("hold", {"from": "2026-11-25"}, "reason"),
        ("hold", {"from": "2026-11-25", "reason": "bored"}, "reason"),
        ("hold", {"from": None, "reason": "travel"}, "from"),
        ("hold", {"from": "2026-11-12", "reason": "travel"}, "from"),
        ("hold", {"from": "2028-11-21", "reason": "travel"}, "from"),
        ("hold", {"from": "9999-12-31", "reason": "travel"}, "from"),
        ("hold", {"from": "2026-11-25", "until": "2026-11-24", "reason": "travel"}, "until"),
        ("hold", {"from": "2026-11-16", "until": "2026-11-19", "reason": "travel"}, "until"),
        ("hold", {"from": "2026-11-25", "until": "0001-01-01", "reason": "travel"}, "until"),
        ("hold", {"from": "2026-11-25", "reason": "travel", "source": "x"}, "source"),
        ("resume", {}, "from"),
        ("resume", {"from": "2028-11-21"}, "from"),
        ("resume", {"from": 7}, "from"),
        ("end", {"on": "2026-11-18"}, "on"),
        ("end", {"on": "9999-12-31"}, "on"),
        ("end", {"on": True}, "on"),
        ("end", {"lastDate": "2026-12-01"}, "lastDate"),
        ("activate", {"at": "now"}, "at"),
    ],
)
def test_invalid_hold_resume_or_end_is_refused_by_field(
    api: TokenClient, order: StandingOrder, what: str, asked: dict[str, Any], field: str
) -> None:
    before = state()

    response = _post(api, order, what, asked)

    assert (response.status_code, fields_of(response)) == (400, [field]), response.content
    assert state() == before


def test_order_ends_on_a_day_or_at_once(api: TokenClient, centre: Facility, order: StandingOrder) -> None:
    other = cast.order(centre)

    later = _post(api, order, "end", {"on": DATES[4].isoformat()})
    at_once = _post(api, other, "end")

    assert (later.json()["status"], later.json()["endDate"]) == ("active", DATES[4].isoformat())
    assert cast.live(order) == both(DATES[:5])
    assert (at_once.json()["status"], at_once.json()["endDate"], cast.live(other)) == ("ended", "2026-11-19", [])


def test_end_that_lies_behind_the_orders_own_is_refused(api: TokenClient, centre: Facility) -> None:
    order = cast.order(centre, end_date=DATES[5])

    response = _post(api, order, "end", {"on": DATES[6].isoformat()})

    assert fields_of(response) == ["on"]
