"""Assignment, offers and candidates over HTTP."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.rides.models import Assignment, Ride
from apps.rides.rules.lifecycle import RideStatus
from tests import factories
from tests.callers import TokenClient, api_with
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def ride(db: None) -> Ride:
    """A ride two days ahead of the real clock, which requests read."""
    pickup_at = timezone.now() + dt.timedelta(days=2)
    made: Ride = factories.RideFactory.create(pickup_at=pickup_at, service_date=pickup_at.date())
    return made


def everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Ride, Assignment)]


def test_ride_is_assigned_and_taken_back(api: TokenClient, ride: Ride) -> None:
    driver, vehicle = fit_pair()
    path = f"/api/rides/{ride.pk}/assignment"

    put = api.put(path, {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk)}, HTTP_IF_MATCH='"1"')
    gone = api.delete(path, {"reasonCode": "replanned"}, HTTP_IF_MATCH='"2"')

    shown = put.json()
    assert (put.status_code, put["ETag"]) == (200, '"2"'), shown
    assert (shown["status"], shown["rideStatus"], shown["rideVersion"]) == ("accepted", "assigned", 2)
    assert (shown["driverId"], shown["vehicleId"], shown["method"]) == (str(driver.pk), str(vehicle.pk), "manual")
    assert shown["snapshot"] == {
        "driverName": f"{driver.first_name} {driver.last_name}",
        "licenseNumber": None,
        "vehiclePlate": vehicle.license_plate,
    }
    assert (gone.status_code, gone["ETag"], gone.content) == (204, '"3"', b"")


def test_reason_may_stand_in_the_query(api: TokenClient) -> None:
    ride = ride_in(RideStatus.ASSIGNED)

    response = api.delete(f"/api/rides/{ride.pk}/assignment?reasonCode=driver_ill")

    assert response.status_code == 204, response.content
    assert Assignment.objects.get().end_reason == "driver_ill"


def test_refusal_lists_every_violation(api: TokenClient, ride: Ride) -> None:
    driver, vehicle = fit_pair(activation="suspended", activation_reason="x")
    Ride.objects.update(vehicle_type_requested="bls_ambulance")
    before = everything()

    response = api.put(f"/api/rides/{ride.pk}/assignment", {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk)})

    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (409, "ASSIGNMENT_REJECTED")
    assert error["details"] == [
        {
            "code": "DRIVER_INACTIVE",
            "message": "The driver is suspended, not active.",
            "kind": "hard",
            "subjectId": str(driver.pk),
        },
        {
            "code": "VEHICLE_NOT_SUITABLE",
            "message": "The ride was booked as an ambulance.",
            "kind": "hard",
            "subjectId": str(vehicle.pk),
        },
    ]
    assert everything() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "driverId"),
        ({"driverId": 7}, "driverId"),
        ({"driver": "x"}, "driver"),
        ({"respondBy": "2026-11-20T10:00:00"}, "respondBy"),
        ({"location": {"lat": 91, "lng": 0}}, "location.lat"),
    ],
)
def test_body_is_strict(api: TokenClient, ride: Ride, body: dict[str, Any], field: str) -> None:
    before = everything()

    response = api.put(f"/api/rides/{ride.pk}/assignment", body)

    assert response.status_code == 400
    assert field in [one["field"] for one in response.json()["error"]["details"]]
    assert everything() == before


def test_stale_copy_is_refused(api: TokenClient, ride: Ride) -> None:
    driver, vehicle = fit_pair()
    before = everything()

    response = api.put(
        f"/api/rides/{ride.pk}/assignment",
        {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk)},
        HTTP_IF_MATCH='"4"',
    )

    assert (response.status_code, response.json()["error"]["code"]) == (412, "PRECONDITION_FAILED")
    assert everything() == before


@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_offer_of_a_ride_that_has_changed_is_not_answered(api: TokenClient, ride: Ride, answer: str) -> None:
    driver, vehicle = fit_pair(employment="contractor")
    asked = {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk), "offer": True}
    api.put(f"/api/rides/{ride.pk}/assignment", asked)
    Ride.objects.update(version=4)
    before = everything()

    stale = api.post(f"/api/rides/{ride.pk}/assignment/{answer}", {}, HTTP_IF_MATCH='"3"')

    assert (stale.status_code, stale.json()["error"]["code"]) == (412, "PRECONDITION_FAILED")
    assert stale["ETag"] == '"4"'
    assert everything() == before
    assert api.post(f"/api/rides/{ride.pk}/assignment/{answer}", {}, HTTP_IF_MATCH='"4"').status_code == 200


def test_partner_takes_an_offer_made_to_it(api: TokenClient, ride: Ride) -> None:
    driver, vehicle = fit_pair(employment="partner_company")
    offer = {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk), "offer": True}
    partner = api_with(TokenRole.DISPATCH_PARTNER, provider_ids=[driver.provider_id])

    made = api.put(f"/api/rides/{ride.pk}/assignment", offer)
    taken = partner.post(f"/api/rides/{ride.pk}/assignment/accept", {})

    assert (made.json()["status"], made.json()["rideStatus"]) == ("offered", "scheduled"), made.json()
    assert (taken.status_code, taken.json()["rideStatus"]) == (200, "assigned"), taken.json()


def test_partner_declines_an_offer(api: TokenClient, ride: Ride) -> None:
    driver, vehicle = fit_pair(employment="contractor")
    made = api.put(
        f"/api/rides/{ride.pk}/assignment", {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk), "offer": True}
    )

    declined = api.post(
        f"/api/rides/{ride.pk}/assignment/decline", {"assignmentId": made.json()["id"], "reason": "Too far"}
    )

    assert (declined.status_code, declined.json()["status"]) == (200, "declined")
    ride.refresh_from_db()
    assert (ride.status, ride.open_exception_count) == ("scheduled", 1)


def test_transfer_names_place_reason_and_miles(api: TokenClient) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    driver, vehicle = fit_pair()

    response = api.put(
        f"/api/rides/{ride.pk}/assignment",
        {
            "driverId": str(driver.pk),
            "vehicleId": str(vehicle.pk),
            "reasonCode": "vehicle_breakdown",
            "location": {"lat": 41.9, "lng": -87.7},
            "milesDriven": 3.25,
        },
    )

    assert (response.status_code, response.json()["sequence"]) == (200, 2), response.json()
    first = Assignment.objects.get(sequence=1)
    assert (first.status, str(first.miles_attributed)) == ("superseded", "3.25")


@pytest.mark.parametrize("count", [1, 3])
def test_candidates_ask_the_same_number_of_queries(
    api: TokenClient, ride: Ride, django_assert_max_num_queries: Callable[..., Any], count: int
) -> None:
    for _ in range(count):
        fit_pair()

    with django_assert_max_num_queries(17):
        response = api.get(f"/api/rides/{ride.pk}/candidates")

    assert response.status_code == 200, response.json()
    assert len(response.json()["data"]) == count


def test_candidates_are_shown_with_reason_and_recorded(api: TokenClient, ride: Ride) -> None:
    driver, vehicle = fit_pair(last_lat="41.880500", last_lng="-87.672200", last_located_at=factories.NOW)
    suspended, _ = fit_pair(activation="suspended", activation_reason="x")

    shown = api.get(f"/api/rides/{ride.pk}/candidates").json()

    first, last = shown["data"]
    assert (first["driverId"], first["vehicleId"], first["eligible"]) == (str(driver.pk), str(vehicle.pk), True)
    assert first["reasons"][0] == {
        "code": "available",
        "parameters": {"until": factories.NOW.isoformat(), "driveMinutes": 9},
        "message": "Free now, 9 min away (reported position)",
    }
    assert first["availableFrom"] == {"label": "reported position", "lat": 41.8805, "lng": -87.6722}
    assert (first["availableAt"], first["predictedPickupAt"]) == ("2026-11-20T15:00:00Z", "2026-11-22T15:00:00Z")
    assert (first["lateMinutes"], first["addedDriveMinutes"], first["delays"]) == (0, 12.2, [])
    assert {last[name] for name in ("availableAt", "availableFrom", "predictedPickupAt", "lateMinutes")} == {None}
    assert last["reasons"][0]["code"] == "location_unknown"
    assert (last["driverId"], last["eligible"]) == (str(suspended.pk), False)
    assert [one["code"] for one in last["violations"]] == ["DRIVER_INACTIVE"]
    entry = AuditEntry.objects.get(action="rides.candidates")
    assert entry.rider_ids == [ride.rider_id]
    assert [one["driverId"] for one in api.get(f"/api/rides/{ride.pk}/candidates?limit=1").json()["data"]] == [
        first["driverId"]
    ]


def test_ride_of_another_facility_is_not_there(ride: Ride) -> None:
    driver, vehicle = fit_pair()
    outsider = api_with(TokenRole.FULL_ACCESS, facility_ids=[factories.FacilityFactory.create().pk])
    path = f"/api/rides/{ride.pk}/assignment"
    before = everything()

    answers = [
        outsider.put(path, {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk)}),
        outsider.delete(path, {"reasonCode": "replanned"}),
        outsider.post(f"{path}/accept", {}),
        outsider.post(f"{path}/decline", {}),
        outsider.get(f"/api/rides/{ride.pk}/candidates"),
    ]

    assert [(one.status_code, one.json()["error"]["code"]) for one in answers] == [(404, "NOT_FOUND")] * 5
    assert everything() == before


def test_booking_system_neither_assigns_nor_ranks(ride: Ride) -> None:
    driver, vehicle = fit_pair()
    booking = api_with(TokenRole.EHR_INTEGRATOR)
    path = f"/api/rides/{ride.pk}/assignment"
    before = everything()

    answers = [
        booking.put(path, {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk)}),
        booking.delete(path, {"reasonCode": "replanned"}),
        booking.post(f"{path}/accept", {}),
        booking.get(f"/api/rides/{ride.pk}/candidates"),
    ]

    assert [(one.status_code, one.json()["error"]["code"]) for one in answers] == [(403, "INSUFFICIENT_SCOPE")] * 4
    assert everything() == before


@pytest.mark.parametrize("level", ["none", "limited", "full"])
def test_what_people_wrote_is_shown_at_the_full_level_alone(level: str) -> None:
    reader = api_with(phi_level=level)
    pickup_at = timezone.now() + dt.timedelta(days=2)
    columns: dict[str, Any] = {"pickup_at": pickup_at, "service_date": pickup_at.date()}
    ride = factories.RideFactory.create(rider__driver_gender_preference="female", **columns)
    driver, vehicle = fit_pair(employment="contractor", gender="male")
    asked = {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk), "offer": True}
    reasons = {"override": True, "overrideReason": "Mrs Canary agrees."}

    offered = reader.put(f"/api/rides/{ride.pk}/assignment", asked | reasons).json()
    declined = reader.post(f"/api/rides/{ride.pk}/assignment/decline", {"reason": "I know Mrs Canary."}).json()

    shown = [offered.get("overrideReason"), declined.get("declineReason")]
    assert shown == (["Mrs Canary agrees.", "I know Mrs Canary."] if level == "full" else [None, None])
    assert offered["overridden"] == declined["overridden"] == ["PREFERENCE_UNMET"]
    assert ("overrideReason" in declined, "declineReason" in offered) == (level == "full", level == "full")
