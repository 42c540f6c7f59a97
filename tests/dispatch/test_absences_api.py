"""`/drivers/{id}/absences`: who can take the rides of a driver who is out."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.fleet.models import Leave, Shift
from apps.rides.models import Ride
from tests import factories
from tests.callers import TokenClient, error_of
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db

NOW, PICKUP = factories.NOW, factories.PICKUP
HOUR = dt.timedelta(hours=1)


def test_absence_frees_rides_and_names_a_replacement_for_each(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    shift = factories.ShiftFactory.create(
        driver=driver, vehicle=vehicle, provider=driver.provider, starts_at=NOW - HOUR, ends_at=NOW + 9 * HOUR
    )
    rides = [factories.RideFactory.create(pickup_at=PICKUP) for _ in range(3)]
    for ride in rides:
        factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    substitutes = [fit_pair(), fit_pair()]

    response = api.post(
        f"/api/drivers/{driver.pk}/absences",
        {"from": "2026-11-20T15:00:00Z", "reason": "sick", "note": "Called in."},
        headers={"Idempotency-Key": "absence-1"},
    )

    body = response.json()
    leave = Leave.objects.get()
    assert response.status_code == 201
    freed = body.pop("freedRides")
    assert body == {
        "id": str(leave.pk),
        "from": "2026-11-20T15:00:00Z",
        "to": "2026-11-21T10:00:00Z",
        "reason": "sick",
        "shifts": [
            {
                "id": str(shift.pk),
                "effect": "ended",
                "startsAt": "2026-11-20T14:00:00Z",
                "endsAt": "2026-11-20T15:00:00Z",
            }
        ],
        "handoverRideIds": [],
        "attendedRideIds": [],
        "withdrawnOfferRideIds": [],
    }
    best = [row["best"] for row in freed]
    assert [row["rideId"] for row in freed] == sorted(str(ride.pk) for ride in rides)
    # Three rides at one time and two other drivers: nobody is proposed twice.
    assert sorted(row["driverId"] for row in best if row) == sorted(str(other.pk) for other, _ in substitutes)
    assert [reason["code"] for row in best if row for reason in row["reasons"]].count("location_unknown") == 2
    assert {row["lateMinutes"] for row in best if row} == {None}
    assert [set(row) for row in best if row] == 2 * [
        {"driverId", "vehicleId", "lateMinutes", "addedDriveMinutes", "reasons"}
    ]
    (nobody,) = [row for row in freed if row["best"] is None]
    assert nobody["conflicts"] == [
        {"code": "SCHEDULE_CONFLICT", "drivers": 2},
        {"code": "OUTSIDE_SHIFT", "drivers": 1},
    ]
    assert [row["conflicts"] for row in freed if row["best"]] == [[], []]
    again = api.post(
        f"/api/drivers/{driver.pk}/absences",
        {"from": "2026-11-20T15:00:00Z", "reason": "sick", "note": "Called in."},
        headers={"Idempotency-Key": "absence-1"},
    )
    assert (again.status_code, again.json()["id"], Leave.objects.count()) == (201, str(leave.pk), 1)


def test_deleting_an_absence_gives_everything_back(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    ride = factories.RideFactory.create()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    shift = factories.ShiftFactory.create(
        driver=driver, vehicle=vehicle, provider=driver.provider, starts_at=NOW + HOUR, ends_at=NOW + 9 * HOUR
    )
    absence = api.post(f"/api/drivers/{driver.pk}/absences", {"reason": "no_show"}).json()

    undone = api.delete(f"/api/drivers/{driver.pk}/absences/{absence['id']}")

    ride.refresh_from_db()
    assert (undone.status_code, undone.json()) == (
        200,
        {
            "shifts": [
                {
                    "id": str(shift.pk),
                    "status": "planned",
                    "startsAt": "2026-11-20T16:00:00Z",
                    "endsAt": "2026-11-21T00:00:00Z",
                }
            ],
            "rideIds": [str(ride.pk)],
        },
    )
    assert ride.driver_id == driver.pk
    gone = api.delete(f"/api/drivers/{driver.pk}/absences/{absence['id']}")
    assert error_of(gone)["code"] == "NOT_FOUND"


def test_changed_ride_keeps_the_absence_until_it_ends_without_rides(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    ride = factories.RideFactory.create()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    absence = api.post(f"/api/drivers/{driver.pk}/absences", {"reason": "sick"}).json()
    other_driver, other_vehicle = fit_pair()
    crew = {"driverId": str(other_driver.pk), "vehicleId": str(other_vehicle.pk)}
    assert api.put(f"/api/rides/{ride.pk}/assignment", crew).status_code == 200
    path = f"/api/drivers/{driver.pk}/absences/{absence['id']}"

    error = error_of(api.delete(path))

    assert error["code"] == "ASSIGNMENT_CONFLICT"
    assert [detail["rideId"] for detail in error["details"]] == [str(ride.pk)]
    assert Leave.objects.count() == 1
    assert api.delete(f"{path}?withoutRides=true").json() == {"shifts": [], "rideIds": []}
    assert Leave.objects.count() == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "reason"),
        ({"reason": "tired"}, "reason"),
        ({"reason": "sick", "from": "2026-11-01T10:00:00Z"}, "from"),
        ({"reason": "sick", "to": "2026-11-20T14:00:00Z"}, "to"),
        ({"reason": "sick", "note": "x" * 101}, "note"),
        ({"reason": "sick", "until": "2026-11-20T18:00:00Z"}, "until"),
    ],
)
def test_invalid_absence_names_the_field_and_changes_nothing(api: TokenClient, body: Any, field: str) -> None:
    driver, vehicle = fit_pair()
    factories.put_driver_on(factories.RideFactory.create(), driver=driver, vehicle=vehicle)

    error = error_of(api.post(f"/api/drivers/{driver.pk}/absences", body))

    assert (error["code"], error["details"][0]["field"]) == ("VALIDATION_ERROR", field)
    assert (Leave.objects.count(), Ride.objects.get().status) == (0, "assigned")


def test_partner_reports_only_drivers_of_its_provider(api_as: Callable[..., TokenClient]) -> None:
    driver, vehicle = fit_pair()
    other_driver, _ = fit_pair()
    factories.put_driver_on(factories.RideFactory.create(), driver=driver, vehicle=vehicle)
    partner = api_as(TokenRole.DISPATCH_PARTNER, provider_ids=[driver.provider_id])

    own = partner.post(f"/api/drivers/{driver.pk}/absences", {"reason": "left_early"})
    other = partner.post(f"/api/drivers/{other_driver.pk}/absences", {"reason": "sick"})

    # The partner does not see a ride without a driver, so nobody is proposed.
    assert [row["best"] for row in own.json()["freedRides"]] == [None]
    assert error_of(other)["code"] == "NOT_FOUND"
    assert Shift.objects.count() == 0
    assert Leave.objects.get().driver_id == driver.pk
