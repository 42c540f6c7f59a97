"""Holiday weeks over HTTP: entered, previewed, applied, undone."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.organizations.models import CalendarShift, Facility
from apps.recurring.services import generate_rides
from apps.rides.services import booking
from lib.access import system
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.calls import chairs, fields_of, state
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
THANKSGIVING = dt.date(2026, 11, 26)
TTS = {"days_of_week": (1, 3, 5)}
MOVED = {"fromDate": "2026-11-26", "toDate": "2026-11-25", "appliesTo": "tts"}
NOBODY = "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


def _enter(api: TokenClient, centre: Facility, **given: Any) -> Any:
    return api.post(f"/api/facilities/{centre.pk}/calendar-shifts", {**MOVED, **given})


def _entered(api: TokenClient, centre: Facility, **given: Any) -> str:
    return f"/api/calendar-shifts/{_enter(api, centre, **given).json()['id']}"


def test_shift_is_entered_and_moves_nothing_yet(api: TokenClient, centre: Facility) -> None:
    order = cast.order(centre, of=TTS)
    before = chairs(order.pk)

    response = _enter(api, centre, newChairTime="06:00")

    shown = response.json()
    shift = CalendarShift.objects.get()
    assert (response.status_code, response["Location"]) == (201, f"/api/calendar-shifts/{shift.pk}"), shown
    assert shown == {
        "facilityId": str(centre.pk),
        "id": str(shift.pk),
        **MOVED,
        "newChairTime": "06:00",
        "offsetMinutes": None,
        "standingOrderIds": [],
        "appliedAt": None,
        "undoneAt": None,
        "createdBy": f"token:{api.token.pk}",
        "createdAt": "2026-11-20T15:00:00Z",
    }
    assert api.get(response["Location"]).json() == shown
    assert chairs(order.pk) == before


def test_shift_is_applied_and_taken_back(api: TokenClient, centre: Facility) -> None:
    order = cast.order(centre, of=TTS)
    before, path = chairs(order.pk), _entered(api, centre, offsetMinutes=-60)

    applied = api.post(f"{path}/apply")
    again = api.post(f"{path}/apply")
    generate_rides.generate(by=system(), at=NOW)
    moved = chairs(order.pk)
    undone = api.post(f"{path}/undo")
    generate_rides.generate(by=system(), at=NOW)

    assert (applied.status_code, applied.json()["appliedAt"]) == (200, "2026-11-20T15:00:00Z")
    assert again.json() == applied.json()
    assert (moved[THANKSGIVING - DAY], THANKSGIVING in moved) == (dt.time(9, 30), False)
    assert (undone.status_code, undone.json()["undoneAt"]) == (200, "2026-11-20T15:00:00Z")
    assert chairs(order.pk) == before
    assert error_of(api.post(f"{path}/apply"))["code"] == "RULE_VIOLATION"
    assert error_of(api.post(f"{path}/undo"))["code"] == "RULE_VIOLATION"


def test_unapplied_shift_is_deleted_when_undone(api: TokenClient, centre: Facility) -> None:
    path = _entered(api, centre)

    shown = api.post(f"{path}/undo").json()

    assert (f"/api/calendar-shifts/{shown['id']}", shown["appliedAt"]) == (path, None)
    assert shown["undoneAt"] == "2026-11-20T15:00:00Z"
    assert api.get(path).status_code == 404


def test_preview_says_what_moves_and_what_stands_in_the_way(api: TokenClient, centre: Facility) -> None:
    silent = factories.RiderFactory.create(facility=centre, phones=[])
    clashing, driven = cast.order(centre, silent, of=TTS), cast.order(centre, of=TTS | {"chair_time": dt.time(12)})
    at = dt.datetime(2026, 11, 25, 15, 50, tzinfo=dt.UTC)
    other = booking.book(draft=draft(centre, silent, pickup_at=at), by=system(), at=NOW).ride
    ride = next(ride for ride in cast.rides(driven) if ride.service_date == THANKSGIVING)
    driver_id = factories.put_driver_on(ride).driver_id

    response = api.get(f"{_entered(api, centre)}/preview")

    first, second = response.json()["data"]
    assert response.json()["page"] == {"limit": 2, "hasMore": False, "nextCursor": None}
    assert (first["standingOrderId"], first["riderId"], len(first["rideIds"])) == (
        str(clashing.pk),
        str(silent.pk),
        2,
    )
    times = ("serviceDate", "chairTime", "returnTime", "movedByClockChange")
    assert [first["before"][key] for key in times] == [
        "2026-11-26",
        "2026-11-26T16:30:00Z",
        "2026-11-26T21:00:00Z",
        False,
    ]
    assert (first["after"]["serviceDate"], first["after"]["chairTime"]) == ("2026-11-25", "2026-11-25T16:30:00Z")
    assert (first["hasConflict"], first["conflictingRideId"], first["hasPhone"]) == (True, str(other.pk), False)
    assert (second["hasConflict"], second["conflictingRideId"], second["hasPhone"]) == (False, None, True)
    assert (first["unavailableDrivers"], second["unavailableDrivers"]) == ([], [str(driver_id)])
    entry = AuditEntry.objects.get(action="calendar_shifts.preview")
    assert set(entry.rider_ids) == {silent.pk, driven.rider_id}


def test_preview_of_a_closed_day_becomes_nothing(api: TokenClient, centre: Facility) -> None:
    cast.order(centre, of=TTS)

    (move,) = api.get(f"{_entered(api, centre, toDate=None)}/preview").json()["data"]

    assert (move["after"], move["hasConflict"]) == (None, False)


def test_preview_has_no_return_time_without_return_trip(api: TokenClient, centre: Facility) -> None:
    cast.order(centre, of=TTS | {"return_mode": "none"})

    (move,) = api.get(f"{_entered(api, centre)}/preview").json()["data"]

    assert (len(move["rideIds"]), move["before"]["returnTime"], move["after"]["returnTime"]) == (1, None, None)


def test_ride_in_the_way_that_is_out_of_reach_is_not_named(centre: Facility) -> None:
    rider, elsewhere = factories.RiderFactory.create(facility=centre), factories.FacilityFactory.create()
    cast.order(centre, rider, of=TTS)
    rider.facilities.add(elsewhere)
    at = dt.datetime(2026, 11, 25, 15, 50, tzinfo=dt.UTC)
    booking.book(draft=draft(elsewhere, rider, pickup_at=at), by=system(), at=NOW)
    bound = api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[centre.pk])

    (move,) = bound.get(f"{_entered(bound, centre)}/preview").json()["data"]

    assert (move["hasConflict"], move["conflictingRideId"]) == (True, None)


def test_facility_shifts_are_paginated_latest_first(api: TokenClient, centre: Facility) -> None:
    for first, to in (("2026-11-26", "2026-11-25"), ("2026-12-24", "2026-12-23"), ("2026-12-31", "2026-12-30")):
        _enter(api, centre, fromDate=first, toDate=to)
    _enter(api, cast.dialysis_centre())
    path = f"/api/facilities/{centre.pk}/calendar-shifts"

    first = api.get(f"{path}?limit=2").json()
    second = api.get(f"{path}?limit=2&cursor={first['page']['nextCursor']}").json()

    assert [one["fromDate"] for one in first["data"] + second["data"]] == ["2026-12-31", "2026-12-24", "2026-11-26"]
    assert api.get(f"/api/facilities/{NOBODY}/calendar-shifts").status_code == 404


def test_selected_orders_alone_are_meant(api: TokenClient, centre: Facility) -> None:
    order = cast.order(centre, of=TTS)
    cast.order(centre, of=TTS)

    path = _entered(api, centre, appliesTo="selected", standingOrderIds=[str(order.pk)])

    assert [move["standingOrderId"] for move in api.get(f"{path}/preview").json()["data"]] == [str(order.pk)]


def test_same_key_enters_one_shift(api: TokenClient, centre: Facility) -> None:
    path = f"/api/facilities/{centre.pk}/calendar-shifts"
    first, again = (api.post(path, MOVED, headers={"Idempotency-Key": "once"}) for _ in range(2))

    assert (first.status_code, again.content, CalendarShift.objects.count()) == (201, first.content, 1)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"fromDate": "2026-11-20"}, ["fromDate"]),
        ({"fromDate": "9999-12-31"}, ["fromDate"]),
        ({"fromDate": "2029-01-01", "toDate": None}, ["fromDate"]),
        ({"fromDate": None}, ["fromDate"]),
        ({"toDate": "2026-12-04"}, ["toDate"]),
        ({"toDate": "0001-01-01"}, ["toDate"]),
        ({"toDate": "2026-11-20"}, ["toDate"]),
        ({"toDate": "2026-11-26"}, ["toDate"]),
        ({"newChairTime": "06:00", "offsetMinutes": 30}, ["offsetMinutes"]),
        ({"toDate": None, "newChairTime": "06:00"}, ["newChairTime"]),
        ({"newChairTime": "6"}, ["newChairTime"]),
        ({"fromDate": "2027-03-13", "toDate": "2027-03-14", "newChairTime": "02:30"}, ["newChairTime"]),
        ({"offsetMinutes": 1441}, ["offsetMinutes"]),
        ({"offsetMinutes": 10**17}, ["offsetMinutes"]),
        ({"offsetMinutes": "30"}, ["offsetMinutes"]),
        ({"appliesTo": "some"}, ["appliesTo"]),
        ({"appliesTo": "selected"}, ["standingOrderIds"]),
        ({"standingOrderIds": [NOBODY]}, ["standingOrderIds"]),
        ({"appliesTo": "selected", "standingOrderIds": [NOBODY]}, ["standingOrderIds"]),
        ({"appliesTo": "selected", "standingOrderIds": [NOBODY] * 501}, ["standingOrderIds"]),
        ({"appliesTo": "selected", "standingOrderIds": ["x"]}, ["standingOrderIds[0]"]),
        ({"reason": "Thanksgiving"}, ["reason"]),
    ],
)
def test_invalid_shift_is_refused_by_field_and_not_saved(
    api: TokenClient, centre: Facility, given: dict[str, Any], fields: list[str]
) -> None:
    before = state()

    response = _enter(api, centre, **given)

    assert (response.status_code, fields_of(response)) == (400, fields), response.content
    assert state() == before


def test_shift_without_target_day_must_declare_closure(api: TokenClient, centre: Facility) -> None:
    response = api.post(f"/api/facilities/{centre.pk}/calendar-shifts", {"fromDate": "2026-11-26"})

    assert fields_of(response) == ["toDate"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "fromDate"),  # moves already
        ({"fromDate": "2026-11-25", "toDate": "2026-11-27"}, "fromDate"),  # already the target of a move
        ({"fromDate": "2026-11-27", "toDate": "2026-11-26"}, "toDate"),  # moves away
        ({"fromDate": "2026-11-27"}, "toDate"),  # taken
    ],
)
def test_shift_that_lands_on_a_shifted_day_is_refused(
    api: TokenClient, centre: Facility, given: dict[str, Any], field: str
) -> None:
    _enter(api, centre)

    response = _enter(api, centre, **{"appliesTo": "all", **given})

    assert field in fields_of(response)
    assert CalendarShift.objects.count() == 1


def test_shift_whose_day_has_come_stays(api: TokenClient, centre: Facility) -> None:
    shift = CalendarShift.objects.create(facility=centre, from_date=NOW.date())

    assert error_of(api.post(f"/api/calendar-shifts/{shift.pk}/apply"))["code"] == "RULE_VIOLATION"
    assert error_of(api.post(f"/api/calendar-shifts/{shift.pk}/undo"))["code"] == "RULE_VIOLATION"


def test_shifts_require_schedule_rights_at_the_facility(api: TokenClient, centre: Facility) -> None:
    path = _entered(api, centre)
    provider = factories.TransportProviderFactory.create()
    elsewhere = api_with(TokenRole.FULL_ACCESS, facility_ids=[factories.FacilityFactory.create().pk])
    bound = api_with(TokenRole.FULL_ACCESS, provider_ids=[provider.pk])
    before = state()

    for caller in (elsewhere, bound):
        assert [caller.get(one).status_code for one in (path, f"{path}/preview")] == [404, 404]
        assert [caller.post(f"{path}/{one}").status_code for one in ("apply", "undo")] == [404, 404]
    assert (elsewhere.get(f"/api/facilities/{centre.pk}/calendar-shifts").status_code) == 404
    assert bound.get(f"/api/facilities/{centre.pk}/calendar-shifts").json()["data"] == []
    assert error_of(_enter(bound, centre))["code"] == "FORBIDDEN"
    assert error_of(_enter(elsewhere, centre))["code"] == "NOT_FOUND"
    refused = error_of(_enter(api_with(TokenRole.AUDITOR), centre))
    assert refused["details"][0]["requiredScope"] == "schedules:write"
    assert state() == before
