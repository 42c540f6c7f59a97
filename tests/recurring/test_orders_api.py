"""Standing orders over HTTP: created, or refused."""

import datetime as dt
import json
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.services import booking
from lib.access import system
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.calls import body, fields_of, state
from tests.recurring.cast import DATES, both
from tests.rides.drafts import HOME, draft

pytestmark = pytest.mark.django_db

ELM = {"addressLine1": "9 W Elm St", "city": "Chicago", "lat": 41.9, "lng": -87.64}

DAY = dt.timedelta(days=1)


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def rider(centre: Facility) -> Rider:
    return factories.RiderFactory.create(facility=centre)


@pytest.fixture
def order(centre: Facility, rider: Rider) -> StandingOrder:
    return cast.order(centre, rider)


def _create(api: TokenClient, rider: Rider, asked: dict[str, Any], **headers: str) -> Any:
    return api.post(f"/api/riders/{rider.pk}/standing-orders", asked, headers=headers)


def _post(api: TokenClient, order: StandingOrder, what: str, asked: dict[str, Any] | None = None) -> Any:
    return api.post(f"/api/standing-orders/{order.pk}/{what}", asked or {})


def test_order_is_made_with_its_rides(api: TokenClient, centre: Facility, rider: Rider) -> None:
    response = _create(api, rider, body(centre))

    shown = response.json()
    order = StandingOrder.objects.get()
    assert response.status_code == 201, shown
    assert (response["Location"], response["ETag"]) == (f"/api/standing-orders/{order.pk}", '"1"')
    assert shown["rides"] | {"created": None} == {
        "created": None,
        "amended": [],
        "cancelled": [],
        "adopted": [],
        "unchanged": [],
        "refused": [],
    }
    assert [one["date"] for one in shown["nextOccurrences"]] == [day.isoformat() for day in DATES[:10]]
    assert sorted(shown["rides"]["created"]) == sorted(str(ride.pk) for ride in cast.rides(order))
    assert cast.live(order) == both(DATES)
    assert (order.client_id, order.rider_id) == (api.token.client_id, rider.pk)


def test_order_shows_what_was_asked_for_and_what_follows(api: TokenClient, centre: Facility, rider: Rider) -> None:
    payer, driver = factories.PayerFactory.create(), factories.DriverFactory.create()
    asked = body(
        centre,
        pattern={"daysOfWeek": ["sat", "tue", "thu"], "intervalWeeks": 2, "anchorDate": "2026-11-23"},
        endDate="2027-05-01",
        treatmentMinutes=210,
        postTreatmentMinutes=20,
        arriveEarlyMinutes=10,
        outbound={"pickup": {**HOME, "accessCode": "4711"}, "pickupTime": "09:40"},
        accommodation={"mobility": "wheelchair", "chair": {"widthIn": 26.5, "weightLb": None}},
        companions={"escorts": 1},
        payer={"payerId": str(payer.pk), "programCode": "MCD"},
        authorizationNumber="AUTH-1",
        authorizationEndsOn="2027-04-01",
        preferredDriverIds=[str(driver.pk)],
        vehicleType="wheelchair_van",
        notes={"driver": "Ring twice.", "dispatcher": "Talks a lot."},
        generationHorizonDays=14,
    )
    asked["return"] = {
        "mode": "scheduled",
        "pickupTime": "15:00",
        "mobility": "wheelchair_power",
        "dropoff": {**ELM, "accessCode": "2007", "unit": "3B"},
    }

    response = _create(api, rider, asked)

    shown = response.json()
    assert response.status_code == 201, shown
    end = shown["return"].pop("dropoff")
    assert (end["addressLine1"], end["lat"], end["unit"], end["accessCode"]) == ("9 W Elm St", 41.9, "3B", "2007")
    expected: dict[str, Any] = {
        "riderId": str(rider.pk),
        "facilityId": str(centre.pk),
        "serviceType": "dialysis",
        "status": "active",
        "timezone": "America/Chicago",
        "startDate": "2026-11-23",
        "endDate": "2027-05-01",
        "pattern": {
            "preset": "tts",
            "daysOfWeek": ["tue", "thu", "sat"],
            "intervalWeeks": 2,
            "anchorDate": "2026-11-23",
        },
        "chairTime": "10:30",
        "treatmentMinutes": 210,
        "postTreatmentMinutes": 20,
        "arriveEarlyMinutes": 10,
        "return": {"mode": "scheduled", "pickupTime": "15:00", "mobility": "wheelchair_power"},
        "accommodation": {"mobility": "wheelchair", "chair": {"widthIn": 26.5}},
        "companions": {"escorts": 1},
        "payer": {"payerId": str(payer.pk), "programCode": "MCD"},
        "authorizationNumber": "AUTH-1",
        "authorizationEndsOn": "2027-04-01",
        "preferredDriverIds": [str(driver.pk)],
        "vehicleType": "wheelchair_van",
        "notes": {"driver": "Ring twice.", "dispatcher": "Talks a lot.", "facility": ""},
        "generationHorizonDays": 14,
        "laterTerms": [],
        "holds": [],
        "skips": [],
        "overrides": [],
        "version": 1,
    }
    assert {key: shown[key] for key in expected} == expected
    assert shown["outbound"]["pickup"]["accessCode"] == "4711"
    assert "accessCode" not in shown["outbound"]["dropoff"]
    assert (shown["outbound"]["dropoff"]["facilityId"], shown["outbound"]["pickupTime"]) == (str(centre.pk), "09:40")
    assert {ride.spaces_wheelchair for ride in Ride.objects.all()} == {1}


def test_return_trip_ends_at_the_pickup_by_default(api: TokenClient, centre: Facility, rider: Rider) -> None:
    shown = _create(api, rider, body(centre)).json()

    assert shown["return"] == {"mode": "will_call", "pickupTime": None, "mobility": None, "dropoff": None}


def test_order_without_pattern_of_a_preset_has_none(api: TokenClient, centre: Facility, rider: Rider) -> None:
    shown = _create(api, rider, body(centre, pattern={"daysOfWeek": ["sun"]})).json()

    assert shown["pattern"] == {
        "preset": None,
        "daysOfWeek": ["sun"],
        "intervalWeeks": 1,
        "anchorDate": "2026-11-23",
    }


def test_order_external_ids_are_unique(api: TokenClient, centre: Facility, rider: Rider) -> None:
    name = {"system": "epic", "value": "SO-17"}

    first = _create(api, rider, body(centre, externalIds=[name]))
    before = state()
    again = _create(api, rider, body(centre, externalIds=[name]))
    twice = _create(api, rider, body(centre, externalIds=[name, name]))

    assert first.json()["externalIds"] == [{**name, "type": ""}]
    assert (again.status_code, error_of(again)["details"][0]["existingId"]) == (409, first.json()["id"])
    assert fields_of(twice) == ["externalIds[1]"]
    assert state() == before


def test_order_without_oxygen_overrides_rider_with_oxygen(api: TokenClient, centre: Facility, rider: Rider) -> None:
    oxygen = {"oxygen_uses": True, "oxygen_liters_per_minute": 2, "oxygen_source": "own_tank"}
    factories.AccommodationProfileFactory.create(rider=rider, **oxygen)

    response = _create(api, rider, body(centre, accommodation={"oxygen": {"uses": False}}))

    assert response.status_code == 201, response.content
    assert [ride.accommodation["oxygen"] for ride in Ride.objects.all()] == [
        {"uses": False, "litersPerMinute": None, "source": None}
    ] * 24


def test_draft_has_no_rides_until_it_is_activated(api: TokenClient, centre: Facility, rider: Rider) -> None:
    drafted = _create(api, rider, body(centre, status="draft")).json()
    order = StandingOrder.objects.get()

    response = _post(api, order, "activate")
    again = _post(api, order, "activate")

    assert (drafted["status"], drafted["rides"]["created"]) == ("draft", [])
    assert (response.status_code, response.json()["status"]) == (200, "active")
    assert len(response.json()["rides"]["created"]) == 24
    assert (again.json()["version"], again.json()["rides"]["created"]) == (2, [])
    assert AuditEntry.objects.filter(action="standing_orders.read").count() == 1  # of the request that changed nothing


def test_home_address_is_where_rides_begin_unless_said(api: TokenClient, centre: Facility) -> None:
    rider = factories.RiderFactory.create(facility=centre, home_address=factories.stop(**HOME))
    asked = body(centre)
    del asked["outbound"]

    shown = _create(api, rider, asked).json()

    assert shown["outbound"]["pickup"]["addressLine1"] == HOME["addressLine1"]


def test_same_key_makes_one_order(api: TokenClient, centre: Facility, rider: Rider) -> None:
    first = _create(api, rider, body(centre), **{"Idempotency-Key": "once"})
    again = _create(api, rider, body(centre), **{"Idempotency-Key": "once"})

    assert (again.content, again["Idempotent-Replayed"], again["Location"]) == (
        first.content,
        "true",
        first["Location"],
    )
    assert StandingOrder.objects.count() == 1


def test_refused_dates_are_listed_with_the_conflicting_ride(api: TokenClient, centre: Facility, rider: Rider) -> None:
    at = dt.datetime(2026, 11, 25, 16, 20, tzinfo=dt.UTC)
    other = booking.book(draft=draft(centre, rider, pickup_at=at), by=system(), at=NOW).ride

    shown = _create(api, rider, body(centre)).json()

    (refused,) = shown["rides"]["refused"]
    assert (refused["date"], refused["code"], refused["rideId"]) == ("2026-11-25", "DUPLICATE_RIDE", str(other.pk))
    assert refused["message"]
    assert len(shown["rides"]["created"]) == 22


def test_ride_in_the_way_that_is_out_of_reach_is_not_named(centre: Facility, rider: Rider) -> None:
    elsewhere = factories.FacilityFactory.create()
    rider.facilities.add(elsewhere)
    at = dt.datetime(2026, 11, 25, 16, 20, tzinfo=dt.UTC)
    other = booking.book(draft=draft(elsewhere, rider, pickup_at=at), by=system(), at=NOW).ride
    bound = api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[centre.pk])

    response = _create(bound, rider, body(centre))

    assert [one["rideId"] for one in response.json()["rides"]["refused"]] == [None]
    assert str(other.pk) not in response.content.decode()


def test_exception_names_conflicting_ride_only_within_reach(api: TokenClient, centre: Facility, rider: Rider) -> None:
    elsewhere = factories.FacilityFactory.create()
    rider.facilities.add(elsewhere)
    wednesday = dt.datetime(2026, 11, 25, 16, 20, tzinfo=dt.UTC)
    there = booking.book(draft=draft(elsewhere, rider, pickup_at=wednesday), by=system(), at=NOW).ride
    here = booking.book(draft=draft(centre, rider, pickup_at=wednesday + 2 * DAY), by=system(), at=NOW).ride
    cast.order(centre, rider)
    bound = api_with(TokenRole.DISPATCH_CONSOLE, facility_ids=[centre.pk])

    query = "/api/ride-exceptions?type=standing_order_conflict"
    of_bound, of_all = (one.get(query).json()["data"][0]["details"] for one in (bound, api))

    assert [one.get("rideId") for one in of_bound["dates"]] == [None, str(here.pk)]
    assert [one.get("rideId") for one in of_all["dates"]] == [str(there.pk), str(here.pk)]
    assert [(one["date"], one["code"]) for one in of_bound["dates"]] == [
        ("2026-11-25", "DUPLICATE_RIDE"),
        ("2026-11-27", "DUPLICATE_RIDE"),
    ]
    assert of_bound["count"] == 2


@pytest.mark.parametrize(
    ("given", "field", "code"),
    [
        ({"pattern": {}}, "pattern.daysOfWeek", "required"),
        ({"pattern": {"daysOfWeek": []}}, "pattern.daysOfWeek", "required"),
        ({"pattern": {"daysOfWeek": ["mon", "mon"]}}, "pattern.daysOfWeek", "invalid"),
        ({"pattern": {"daysOfWeek": ["monday"]}}, "pattern.daysOfWeek[0]", "invalid_choice"),
        ({"pattern": {"daysOfWeek": ["mon"] * 8}}, "pattern.daysOfWeek", "max_length"),
        ({"pattern": {"daysOfWeek": "mon"}}, "pattern.daysOfWeek", "not_a_list"),
        ({"pattern": {"preset": "mwf", "daysOfWeek": ["mon"]}}, "pattern.preset", "invalid"),
        ({"pattern": {"preset": "mwf", "intervalWeeks": 13}}, "pattern.intervalWeeks", "max_value"),
        ({"pattern": {"preset": "mwf", "intervalWeeks": 0}}, "pattern.intervalWeeks", "min_value"),
        ({"pattern": {"preset": "mwf", "anchorDate": "9999-12-31"}}, "pattern.anchorDate", "form"),
        ({"pattern": None}, "pattern", "null"),
        ({"pattern": ["mon"]}, "pattern", "invalid"),
        ({"chairTime": "25:00"}, "chairTime", "form"),
        ({"chairTime": None}, "chairTime", "null"),
        ({"chairTime": 630}, "chairTime", "form"),
        ({"startDate": "0001-01-01"}, "startDate", "form"),
        ({"startDate": "9999-12-31"}, "startDate", "form"),
        ({"startDate": "2025-11-18"}, "startDate", "invalid"),
        ({"startDate": "2028-11-21"}, "startDate", "invalid"),
        ({"endDate": "2026-11-22"}, "endDate", "invalid"),
        ({"authorizationEndsOn": "2026-11-22"}, "authorizationEndsOn", "invalid"),
        ({"treatmentMinutes": 0}, "treatmentMinutes", "invalid"),
        ({"treatmentMinutes": 10**17}, "treatmentMinutes", "max_value"),
        ({"treatmentMinutes": 960, "postTreatmentMinutes": 1}, "treatmentMinutes", "invalid"),
        ({"arriveEarlyMinutes": -1}, "arriveEarlyMinutes", "min_value"),
        ({"generationHorizonDays": 91}, "generationHorizonDays", "max_value"),
        ({"serviceType": "hospital_discharge"}, "serviceType", "invalid_choice"),
        ({"status": "ended"}, "status", "invalid_choice"),
        ({"timezone": "Mars/Olympus"}, "timezone", "unknown"),
        ({"colour": "red"}, "colour", "unknown"),
        ({"outbound": {"pickup": HOME, "pickupTime": "10:30"}}, "outbound.pickupTime", "invalid"),
        ({"outbound": {"pickup": HOME | {"lat": None, "lng": None}}}, "outbound.pickupTime", "required"),
        ({"outbound": {"pickup": HOME | {"lat": -33.9, "lng": 151.2}}}, "outbound.pickup", "invalid"),
        ({"outbound": {"pickup": HOME | {"lng": None}, "pickupTime": "09:00"}}, "outbound.pickup.lng", "required"),
        ({"outbound": {"pickup": None}}, "outbound.pickup", "invalid"),
        (
            {"outbound": {"pickup": HOME, "dropoff": {"addressLine1": "1 A St"}, "pickupTime": "09:00"}},
            "outbound.dropoff.city",
            "required",
        ),
        ({"outbound": {"pickup": HOME, "via": HOME}}, "outbound.via", "unknown"),
        ({"return": {"mode": "none", "pickupTime": "15:00"}}, "return.pickupTime", "invalid"),
        ({"return": {"mode": "scheduled", "pickupTime": "10:30"}}, "return.pickupTime", "invalid"),
        ({"return": {"mode": "taxi"}}, "return.mode", "invalid_choice"),
        ({"accommodation": {"mobility": "stretcher"}, "vehicleType": "sedan"}, "vehicleType", "invalid"),
        ({"return": {"mobility": "stretcher"}, "vehicleType": "sedan"}, "vehicleType", "invalid"),
        ({"accommodation": {"oxygen": {"litersPerMinute": 2}}}, "accommodation.oxygen.litersPerMinute", "invalid"),
        ({"payer": {"payerId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"}}, "payer.payerId", "invalid"),
        ({"preferredDriverIds": ["01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"]}, "preferredDriverIds", "invalid"),
        ({"facilityId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"}, "facilityId", "invalid"),
        ({"notes": {"driver": "x" * 1001}}, "notes.driver", "max_length"),
        ({"notes": {"driver": "\u0007"}}, "notes.driver", "control"),
    ],
)
def test_invalid_order_is_refused_by_field_and_not_saved(
    api: TokenClient, centre: Facility, rider: Rider, given: dict[str, Any], field: str, code: str
) -> None:
    before = state()

    response = _create(api, rider, body(centre, **given))

    error = error_of(response)
    assert (response.status_code, error["code"]) == (400, "VALIDATION_ERROR"), response.content
    assert (field, code) in [(one["field"], one["code"]) for one in error["details"]], response.content
    assert state() == before


@pytest.mark.parametrize("asked", [None, [], "text", 7, {}])
def test_body_that_is_no_order_is_refused(api: TokenClient, rider: Rider, asked: Any) -> None:
    before = state()

    path = f"/api/riders/{rider.pk}/standing-orders"
    response = api.generic("POST", path, json.dumps(asked), content_type="application/json")

    assert error_of(response)["code"] == "VALIDATION_ERROR"
    assert state() == before


def test_pattern_at_skipped_clock_time_moves_forward_that_night(
    api: TokenClient, centre: Facility, rider: Rider
) -> None:
    asked = body(centre, startDate="2027-03-07", pattern={"daysOfWeek": ["sun"]}, chairTime="02:30")

    order_id = _create(api, rider, asked).json()["id"]

    days = api.get(f"/api/standing-orders/{order_id}/occurrences?from=2027-03-07&to=2027-03-14").json()["data"]
    assert [(one["date"], one["movedByClockChange"], one["legs"][0]["appointmentTime"]) for one in days] == [
        ("2027-03-07", False, "2027-03-07T08:30:00Z"),
        ("2027-03-14", True, "2027-03-14T08:30:00Z"),
    ]
