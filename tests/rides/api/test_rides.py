"""Rides over HTTP: the interface spec's own examples, then the rest."""

import datetime as dt
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
import time_machine

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import ExternalId, Facility
from apps.riders.models import Rider
from apps.rides.models import Milestone, Ride
from lib.access import Phi
from tests import factories
from tests.callers import TokenClient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("frozen")]
PICKUP = "2026-11-20T20:00:00Z"


@pytest.fixture
def frozen() -> Any:
    with time_machine.travel(factories.NOW, tick=False):
        yield


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


def booking_of(known: Rider | None, hospital: Facility, **changes: Any) -> dict[str, Any]:
    home = {"addressLine1": "1418 N Canary Ave", "city": "Chicago", "state": "IL", "postalCode": "60622"}
    asked = {
        "riderId": str(known.pk) if known else None,
        "pickupTime": PICKUP,
        "pickup": {"facilityId": str(hospital.pk)},
        "dropoff": {**home, "lat": 41.9071, "lng": -87.6722},
    }
    return {key: value for key, value in (asked | changes).items() if value is not None}


def test_missing_pickup_time_is_named(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    response = api.post("/api/rides", booking_of(rider, hospital, pickupTime=None))

    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "VALIDATION_ERROR")
    assert "pickupTime" in error["message"]
    assert error["requestId"] == response["X-Request-Id"]
    assert [detail["field"] for detail in error["details"]] == ["pickupTime"]
    assert Ride.objects.count() == 0


def test_list_takes_status_and_limit(api: TokenClient) -> None:
    ride = factories.RideFactory.create()
    factories.RideFactory.create(status="requested", scheduled_at=None)

    response = api.get("/api/rides?status=scheduled&limit=25")

    assert response.status_code == 200
    assert [row["id"] for row in response.json()["data"]] == [str(ride.pk)]
    assert response.json()["page"] == {"limit": 25, "hasMore": False, "nextCursor": None}


def test_booking_answers_the_ride_and_where_it_is(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    response = api.post("/api/rides", booking_of(rider, hospital, clientReference="R-1"))

    ride = Ride.objects.get()
    assert (response.status_code, response["Location"], response["ETag"]) == (201, f"/api/rides/{ride.pk}", '"1"')
    body = response.json()
    assert (body["status"], body["pickupTime"], body["clientReference"]) == ("scheduled", PICKUP, "R-1")
    assert body["pickupWindow"] == {"start": "2026-11-20T19:45:00Z", "end": "2026-11-20T20:15:00Z"}
    assert (ride.client_id, ride.facility_id) == (api.token.client_id, hospital.pk)


def test_booked_ride_reads_back_as_it_was_answered(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    booked = api.post("/api/rides", booking_of(rider, hospital, externalIds=[{"system": "epic", "value": "E-1"}]))

    read = api.get(booked["Location"])

    assert read.json() == booked.json()
    assert read["ETag"] == booked["ETag"]
    assert read.json()["externalIds"] == [{"system": "epic", "value": "E-1", "type": ""}]


def test_booking_keeps_who_pays_and_when_the_patient_is_ready(
    api: TokenClient, rider: Rider, hospital: Facility
) -> None:
    payment = {"programCode": "NEMT", "authorizationNumber": "A-7", "authorizationExpires": "2026-12-31"}
    discharge = {
        "unit": "4 West",
        "unitPhone": "+13125550140",
        "planner": {"name": "Pat Example"},
        "dischargeOrderAt": "2026-11-20T17:00:00Z",
        "expectedReadyAt": "2026-11-20T19:30:00Z",
    }

    booked = api.post(
        "/api/rides",
        booking_of(rider, hospital, serviceType="hospital_discharge", payer=payment, discharge=discharge),
    )

    shown = booked.json()
    assert booked.status_code == 201, shown
    assert shown["payer"].items() >= payment.items()
    assert shown["discharge"].items() >= discharge.items()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pickupTime": "2026-11-20T14:00:00"}, "pickupTime"),
        ({"pickupTime": 5}, "pickupTime"),
        ({"pickupTime": ""}, "pickupTime"),
        ({"color": "red"}, "color"),
        ({"status": "completed"}, "status"),
        ({"version": 3}, "version"),
        ({"pickup": {"addressLine1": "1", "street": "x"}}, "pickup.street"),
        ({"willCall": "yes"}, "willCall"),
        ({"serviceType": "taxi"}, "serviceType"),
        ({"riderId": None}, "riderId"),
        ({"dialysis": {"treatmentMinutes": "240"}}, "dialysis.treatmentMinutes"),
        ({"accommodation": {"mobility": "flying"}}, "accommodation.mobility"),
        ({"serviceType": "hospital_discharge"}, "discharge"),
    ],
)
def test_wrong_booking_is_refused_by_field_and_leaves_nothing(
    changes: dict[str, Any],
    field: str,
    api: TokenClient,
    rider: Rider,
    hospital: Facility,
) -> None:
    response = api.post("/api/rides", booking_of(rider, hospital, **changes))

    assert response.status_code == 400
    assert [detail["field"] for detail in response.json()["error"]["details"]] == [field]
    assert (Ride.objects.count(), Event.objects.count(), AuditEntry.objects.count()) == (0, 0, 0)


def test_booking_twice_with_one_idempotency_key_makes_one_ride(
    api: TokenClient,
    rider: Rider,
    hospital: Facility,
) -> None:
    first = api.post("/api/rides", booking_of(rider, hospital), HTTP_IDEMPOTENCY_KEY="k-1")
    second = api.post("/api/rides", booking_of(rider, hospital), HTTP_IDEMPOTENCY_KEY="k-1")

    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert Ride.objects.count() == 1


def test_rider_given_inline_is_registered_once(api: TokenClient, hospital: Facility) -> None:
    person = {"firstName": "Ada", "lastName": "Canary", "externalIds": [{"system": "mrn-a", "value": "77"}]}

    for hour in (20, 22):
        body = booking_of(None, hospital, rider=person, pickupTime=f"2026-11-20T{hour}:00:00Z")
        assert api.post("/api/rides", body).status_code == 201

    rider = Rider.objects.get()
    assert set(Ride.objects.values_list("rider_id", flat=True)) == {rider.pk}
    assert ExternalId.objects.get(subject_type="rider").subject_id == rider.pk


def test_round_trip_is_booked_in_one_call(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    body = booking_of(
        rider,
        hospital,
        serviceType="dialysis",
        appointmentTime="2026-11-20T21:00:00Z",
        dialysis={"treatmentMinutes": 200, "chair": "7"},
        returnLeg={},
    )

    response = api.post("/api/rides", body)

    back = Ride.objects.get(leg_type="return")
    assert response.status_code == 201
    assert (response.json()["legType"], response.json()["linkedRideIds"]) == ("outbound", [str(back.pk)])
    assert (back.will_call, back.dialysis) == (True, {"treatmentMinutes": 200, "chair": "7"})
    assert back.pickup_at == dt.datetime(2026, 11, 21, 0, 50, tzinfo=dt.UTC)


def test_ride_of_another_facility_is_like_an_unknown_ride(
    api_as: Callable[..., TokenClient],
) -> None:
    ride = factories.RideFactory.create()
    other = api_as(TokenRole.EHR_INTEGRATOR, facility_ids=[factories.FacilityFactory.create().pk])

    for tail in ("", "/timeline"):
        theirs, absent = other.get(f"/api/rides/{ride.pk}{tail}"), other.get(f"/api/rides/{uuid4()}{tail}")
        assert (theirs.status_code, absent.status_code) == (404, 404)
        assert without_id(theirs) == without_id(absent)
    assert other.patch(f"/api/rides/{ride.pk}", {"notes": {"driver": "x"}}).status_code == 404
    assert other.post(f"/api/rides/{ride.pk}/status", {"status": "cancelled"}).status_code == 404
    listed = other.get("/api/rides?includeTotal=true")
    assert (listed.json()["data"], listed.json()["page"]["total"]) == ([], 0)
    assert b"Canary" not in listed.content


def without_id(response: Any) -> dict[str, Any]:
    return {key: value for key, value in response.json()["error"].items() if key != "requestId"}


def test_reading_a_ride_is_audited_with_its_rider(api: TokenClient) -> None:
    ride = factories.RideFactory.create()

    api.get(f"/api/rides/{ride.pk}")

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id, entry.rider_ids) == ("rides.read", ride.pk, [ride.rider_id])
    assert (entry.actor, entry.phi) == (f"token:{api.token.pk}", "full")


@pytest.mark.parametrize("legs", [1, 3])
def test_reading_a_ride_costs_a_fixed_number_of_queries(
    legs: int,
    api: TokenClient,
    django_assert_max_num_queries: Any,
) -> None:
    trip = None
    rides = factories.RideFactory.create_batch(legs, trip=trip)

    with django_assert_max_num_queries(5):
        api.get(f"/api/rides/{rides[0].pk}")


def test_unchanged_ride_is_not_sent_again(api: TokenClient) -> None:
    ride = factories.RideFactory.create()

    response = api.get(f"/api/rides/{ride.pk}", HTTP_IF_NONE_MATCH='"1"')

    assert (response.status_code, response.content) == (304, b"")


def test_ride_that_has_become_late_is_sent_again(api: TokenClient) -> None:
    ride = factories.RideFactory.create(pickup_at=factories.NOW - dt.timedelta(minutes=30))

    response = api.get(f"/api/rides/{ride.pk}", HTTP_IF_NONE_MATCH='"1"')

    assert (response.status_code, response["ETag"]) == (200, '"1"')
    assert (response.json()["isLate"], response.json()["lateMinutes"]) == (True, 15)


def test_ride_runs_from_assigned_to_completed_by_status_calls(
    api_as: Callable[..., TokenClient],
) -> None:
    ride = factories.RideFactory.create(pickup_at=factories.NOW)
    driver = factories.DriverFactory.create()
    for type_ in ("driver_license", "exclusion_check_oig", "background_check", "mvr"):
        factories.CredentialFactory.create(driver=driver, type=type_)
    vehicle = factories.VehicleFactory.create(provider=driver.provider)
    for type_ in ("registration", "insurance", "inspection"):
        factories.CredentialFactory.create(driver=None, vehicle=vehicle, type=type_)
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    app = api_as(TokenRole.DISPATCH_PARTNER, provider_ids=[driver.provider_id])

    for status in ("en_route", "arrived", "in_progress"):
        answered = app.post(f"/api/rides/{ride.pk}/status", {"status": status})
        assert (answered.status_code, answered.json()["status"]) == (200, status)
    done = app.post(f"/api/rides/{ride.pk}/status", {"status": "completed", "arrivedDropoffAt": "2026-11-20T15:00:00Z"})

    assert (done.status_code, done.json()["status"], done["ETag"]) == (200, "completed", '"5"')
    types = ["departed", "arrived_pickup", "boarded", "arrived_dropoff", "dropped_off"]
    assert sorted(one["type"] for one in done.json()["milestones"]) == sorted(types)
    assert done.json()["assignment"]["driverFirstName"] == "Marek"
    kinds = [(one["kind"], one["type"]) for one in app.get(f"/api/rides/{ride.pk}/timeline").json()["data"]]
    assert ("event", "ride.completed") in kinds
    assert ("milestone", "boarded") in kinds


def test_wrong_move_says_what_is_allowed(api: TokenClient) -> None:
    ride = factories.RideFactory.create()

    response = api.post(f"/api/rides/{ride.pk}/status", {"status": "completed"})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "INVALID_TRANSITION")
    detail = response.json()["error"]["details"][0]
    assert (detail["from"], detail["to"]) == ("scheduled", "completed")
    assert "cancelled" in detail["allowed"]
    assert Event.objects.count() == 0


def test_will_call_is_released_and_taken_back(api: TokenClient) -> None:
    ride = factories.RideFactory.create(
        will_call=True, pickup_time_kind="estimated", will_call_expires_at=factories.PICKUP + dt.timedelta(hours=9)
    )

    released = api.post(f"/api/rides/{ride.pk}/ready", {"readySource": "phone"})
    retracted = api.post(f"/api/rides/{ride.pk}/unready", {})

    assert (released.status_code, released.json()["releaseState"]) == (200, "released")
    assert released.json()["promisedPickupBy"] == "2026-11-20T16:00:00Z"
    assert (retracted.status_code, retracted.json()["releaseState"]) == (200, "waiting")


def test_bulk_needs_a_key_and_books_all_or_none(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    good = booking_of(rider, hospital)
    bad = booking_of(rider, hospital, pickupTime="2026-11-21T20:00:00Z", appointmentTime=PICKUP)

    assert api.post("/api/rides/bulk", {"rides": [good]}).status_code == 400
    refused = api.post("/api/rides/bulk", {"rides": [good, bad]}, HTTP_IDEMPOTENCY_KEY="b-1")
    assert refused.json()["error"]["details"][0]["field"] == "rides[1].appointmentTime"
    assert Ride.objects.count() == 0

    partly = api.post("/api/rides/bulk", {"rides": [good, bad], "mode": "perItem"}, HTTP_IDEMPOTENCY_KEY="b-2")
    first, second = partly.json()["data"]
    assert (partly.status_code, first["status"], second["error"]["code"]) == (200, "scheduled", "VALIDATION_ERROR")
    assert Ride.objects.count() == 1


def test_door_codes_are_shown_to_those_who_go_there(
    api_as: Callable[..., TokenClient],
    rider: Rider,
    hospital: Facility,
) -> None:
    ehr = api_as(TokenRole.EHR_INTEGRATOR)
    body = booking_of(rider, hospital)
    body["dropoff"]["accessCode"] = "canary-4711"
    booked = ehr.post("/api/rides", body)
    url = booked["Location"]

    assert b"canary-4711" not in booked.content + ehr.get(url).content
    assert api_as(TokenRole.DISPATCH_CONSOLE).get(url).json()["dropoff"]["accessCode"] == "canary-4711"
    limited = api_as(TokenRole.DISPATCH_CONSOLE, phi_level="limited").get(url)
    assert b"canary-4711" not in limited.content
    listed = api_as(TokenRole.DISPATCH_CONSOLE).get("/api/rides")
    assert b"canary-4711" not in listed.content


@pytest.mark.parametrize(("level", "shown"), [("none", False), ("limited", True), ("full", True)])
def test_address_takes_more_than_no_phi(
    level: str,
    shown: bool,
    api_as: Callable[..., TokenClient],
) -> None:
    ride = factories.RideFactory.create()
    caller = api_as(TokenRole.FULL_ACCESS, phi_level=level)

    single, listed = caller.get(f"/api/rides/{ride.pk}"), caller.get("/api/rides")

    for response in (single, listed):
        assert (b"Canary Ave" in response.content) is shown
        assert (b'"60622"' in response.content) is shown
    assert Phi[level.upper()].name.lower() == level


@pytest.mark.parametrize(
    ("level", "place", "note"), [("none", False, False), ("limited", True, False), ("full", True, True)]
)
def test_milestone_hides_rider_location_by_phi_level(
    level: str, place: bool, note: bool, api_as: Callable[..., TokenClient]
) -> None:
    ride = factories.RideFactory.create()
    moment = {"occurred_at": factories.NOW, "lat": "41.907100", "lng": "-87.672200", "note": "canary-0815"}
    Milestone.objects.create(ride=ride, type="contact_attempt", source="driver_app", actor="system", **moment)
    caller = api_as(TokenRole.FULL_ACCESS, phi_level=level)

    single, told = caller.get(f"/api/rides/{ride.pk}"), caller.get(f"/api/rides/{ride.pk}/timeline")

    (milestone,), (entry,) = single.json()["milestones"], told.json()["data"]
    assert ("lat" in milestone, "lng" in milestone, "accuracyMeters" in milestone) == (place, place, place)
    assert ("lat" in entry, "lng" in entry, "note" in milestone) == (place, place, note)
    assert (b"41.907" in single.content, b"41.907" in told.content) == (place, place)


def test_operation_takes_its_scope(api_as: Callable[..., TokenClient], nobody: Any) -> None:
    ride = factories.RideFactory.create()
    reader = api_as(TokenRole.BILLING_READONLY)

    assert nobody.get("/api/rides").status_code == 401
    assert api_as(TokenRole.WEBHOOK_ADMIN).get("/api/rides").status_code == 403
    assert reader.post("/api/rides", {}).status_code == 403
    assert reader.patch(f"/api/rides/{ride.pk}", {}).status_code == 403
    assert (
        reader.post(f"/api/rides/{ride.pk}/status", {"status": "cancelled", "reasonCode": "weather"}).status_code == 403
    )
    ride.refresh_from_db()
    assert (ride.status, ride.version) == ("scheduled", 1)


def test_change_is_a_merge_patch_on_the_version_read(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    booked = api.post("/api/rides", booking_of(rider, hospital, notes={"driver": "ring", "facility": "desk"}))
    url = booked["Location"]

    changed = api.patch(url, {"notes": {"driver": ""}, "pickupTime": "2026-11-20T21:00:00Z"}, HTTP_IF_MATCH='"1"')
    stale = api.patch(url, {"notes": {"driver": "x"}}, HTTP_IF_MATCH='"1"')

    assert (changed.status_code, changed["ETag"]) == (200, '"2"')
    assert changed.json()["notes"] == {"driver": "", "dispatcher": "", "facility": "desk"}
    assert changed.json()["pickupWindow"]["start"] == "2026-11-20T20:45:00Z"
    assert (stale.status_code, stale["ETag"], stale.json()["error"]["code"]) == (412, '"2"', "PRECONDITION_FAILED")
    assert api.get(url).json() == changed.json()


def test_patch_replaces_external_ids_and_requested_vehicle_type(api: TokenClient) -> None:
    ride = factories.RideFactory.create()
    named = [{"system": "epic", "value": "E-2", "type": "encounter"}]

    changed = api.patch(f"/api/rides/{ride.pk}", {"externalIds": named, "vehicleTypeRequested": "wheelchair_van"})
    emptied = api.patch(f"/api/rides/{ride.pk}", {"externalIds": [], "vehicleTypeRequested": None})

    assert (changed.json()["externalIds"], changed.json()["vehicleTypeRequested"]) == (named, "wheelchair_van")
    assert (emptied.json()["externalIds"], emptied.json()["vehicleTypeRequested"]) == ([], None)
    assert emptied["ETag"] == '"3"'


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"riderId": "0197b1f0-0000-7000-8000-000000000000"}, "riderId"),
        ({"status": "completed"}, "status"),
        ({"pickupTime": None}, "pickupTime"),
        ({"pickupTime": "2026-11-20T21:00:00"}, "pickupTime"),
        ({"dropoff": {"lat": 41.0, "lng": None}}, "dropoff.lng"),
    ],
)
def test_wrong_change_is_refused_by_field_and_changes_nothing(
    changes: dict[str, Any], field: str, api: TokenClient
) -> None:
    ride = factories.RideFactory.create()

    response = api.patch(f"/api/rides/{ride.pk}", changes)

    ride.refresh_from_db()
    assert response.status_code == 400
    assert [detail["field"] for detail in response.json()["error"]["details"]] == [field]
    assert (ride.version, Event.objects.count()) == (1, 0)


def test_pickup_of_the_last_minutes_means_now(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    Facility.objects.update(lead_time_minutes=180)

    response = api.post("/api/rides", booking_of(rider, hospital, pickupTime="2026-11-20T14:45:00Z"))

    ride = response.json()
    assert (response.status_code, ride["status"], ride["reviewReasons"]) == (201, "scheduled", [])
    assert (ride["pickupTime"], ride["promisedPickupBy"]) == ("2026-11-20T14:45:00Z", "2026-11-20T15:15:00Z")
    assert ride["pickupWindow"] == {"start": "2026-11-20T15:00:00Z", "end": "2026-11-20T15:15:00Z"}


def test_pickup_in_the_past_is_refused_at_its_field(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    past = "2026-11-20T14:44:59Z"
    good = booking_of(rider, hospital)
    bad = booking_of(rider, hospital, pickupTime=past)

    single = api.post("/api/rides", bad)
    bulk = api.post("/api/rides/bulk", {"rides": [good, bad]}, HTTP_IDEMPOTENCY_KEY="p-1")

    assert (single.status_code, single.json()["error"]["code"]) == (422, "PICKUP_IN_PAST")
    assert [(detail["field"], detail["code"]) for detail in single.json()["error"]["details"]] == [
        ("pickupTime", "in_past")
    ]
    assert (bulk.status_code, bulk.json()["error"]["code"]) == (422, "PICKUP_IN_PAST")
    assert bulk.json()["error"]["details"][0]["field"] == "rides[1].pickupTime"
    assert (Ride.objects.count(), Event.objects.count()) == (0, 0)

    each = api.post("/api/rides/bulk", {"rides": [good, bad], "mode": "perItem"}, HTTP_IDEMPOTENCY_KEY="p-2")
    assert each.json()["data"][1]["error"]["code"] == "PICKUP_IN_PAST"
    assert Ride.objects.count() == 1


def test_ride_is_recorded_after_the_fact(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    body = booking_of(rider, hospital, pickupTime="2026-11-18T15:00:00Z", afterTheFact=True)

    response = api.post("/api/rides", body)
    edited = api.patch(response["Location"], {"notes": {"driver": "Ring twice."}}).json()
    late = api.post("/api/rides", body | {"pickupTime": "2026-11-17T14:59:59Z"})

    ride = response.json()
    assert (response.status_code, ride["afterTheFact"], ride["promisedPickupBy"]) == (201, True, None)
    assert ride["pickupWindow"] == {"start": "2026-11-18T15:00:00Z", "end": "2026-11-18T15:00:00Z"}
    assert (ride["isLate"], ride["lateMinutes"], ride["openExceptionCount"]) == (False, 0, 0)
    assert (edited["afterTheFact"], edited["promisedPickupBy"]) == (True, None)
    assert (late.status_code, late.json()["error"]["code"]) == (422, "PICKUP_IN_PAST")


def test_return_trip_in_the_past_is_refused(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    body = booking_of(rider, hospital, pickupTime="2026-11-20T12:00:00Z")

    response = api.post("/api/rides", body | {"returnLeg": {"pickupTime": "2026-11-20T13:00:00Z"}})

    assert (response.status_code, response.json()["error"]["code"]) == (422, "PICKUP_IN_PAST")
    assert Ride.objects.count() == 0


def test_ride_is_not_moved_into_the_past(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    url = api.post("/api/rides", booking_of(rider, hospital))["Location"]

    refused = api.patch(url, {"pickupTime": "2026-11-20T14:30:00Z"})
    moved = api.patch(url, {"pickupTime": "2026-11-20T14:50:00Z"}).json()

    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "PICKUP_IN_PAST")
    assert refused.json()["error"]["details"][0]["field"] == "pickupTime"
    assert (moved["version"], moved["promisedPickupBy"]) == (2, "2026-11-20T15:15:00Z")


def test_late_ride_keeps_its_promise_when_it_is_edited(api: TokenClient, rider: Rider, hospital: Facility) -> None:
    url = api.post("/api/rides", booking_of(rider, hospital))["Location"]
    before = api.get(url).json()

    with time_machine.travel(factories.PICKUP + dt.timedelta(hours=1), tick=False):
        changes = {"pickupTime": PICKUP, "dropoff": {"addressLine1": "9 Elm St", "lat": 41.9, "lng": -87.7}}
        response = api.patch(url, changes)

    after = response.json()
    assert (response.status_code, after["dropoff"]["addressLine1"]) == (200, "9 Elm St")
    assert {key: after[key] for key in ("pickupTime", "pickupWindow", "promisedPickupBy")} == {
        key: before[key] for key in ("pickupTime", "pickupWindow", "promisedPickupBy")
    }
