"""Positions of drivers and vehicles that telematics systems report."""

import datetime as dt
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import QuerySet

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.fleet.models import Driver, Shift, Vehicle
from apps.fleet.services import drivers, positions
from apps.fleet.services.positions import Position
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.access import system
from lib.api.fields import instant_text
from lib.ids import uuid7
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.fleet.crew import fit_driver, fit_pair
from tests.locks import wait_until_somebody_waits
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

NOW = factories.NOW
URL = "/api/drivers/positions"


def ago(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


def position(at: dt.datetime = NOW, lat: float = 41.9, **changes: Any) -> dict[str, Any]:
    return {"at": at.isoformat(), "lat": lat, "lng": -87.7, **changes}


def report(api: TokenClient, *items: dict[str, Any]) -> list[dict[str, Any]]:
    response = api.post(URL, {"positions": list(items)})
    assert response.status_code == 200, response.json()
    data: list[dict[str, Any]] = response.json()["data"]
    assert [result["index"] for result in data] == list(range(len(items)))
    return data


def codes(data: list[dict[str, Any]]) -> list[str]:
    """Return "stored", or the field and code of the refusal, of each position."""
    results = []
    for result in data:
        assert set(result) == {"index", "status"} | ({"error"} if result["status"] == "refused" else set())
        if result["status"] == "stored":
            results.append("stored")
            continue
        assert result["error"]["code"] == "VALIDATION_ERROR"
        (detail,) = result["error"]["details"]
        assert detail["message"] == result["error"]["message"]
        results.append(f"{detail['field']} {detail['code']}")
    return results


def located(driver: Driver) -> tuple[Any, ...]:
    columns = ("last_lat", "last_lng", "last_located_at", "last_heading", "last_speed_mph", "version")
    return tuple(Driver.objects.filter(pk=driver.pk).values_list(*columns).get())


def test_position_becomes_the_last_location(api: TokenClient) -> None:
    driver = fit_driver()
    events = Event.objects.count()

    data = report(api, position(ago(5), driverId=str(driver.pk), heading=359, speedMph=27.46))

    assert data == [{"index": 0, "status": "stored"}]
    assert located(driver) == (Decimal("41.9"), Decimal("-87.7"), ago(5), 359, Decimal("27.5"), 1)
    assert api.get(f"/api/drivers/{driver.pk}").json()["lastLocation"] == {
        "lat": 41.9,
        "lng": -87.7,
        "at": instant_text(ago(5)),
        "heading": 359,
        "speedMph": 27.5,
    }
    assert Event.objects.count() == events
    entry = AuditEntry.objects.get(action="drivers.locate")
    assert (entry.subject_type, entry.subject_id) == ("driver", None)
    assert entry.details == {"drivers": 1, "stored": 1, "refused": 0}


def test_heading_and_speed_belong_to_their_position(api: TokenClient) -> None:
    driver, other = fit_driver(), fit_driver()
    both = [str(driver.pk), str(other.pk)]
    report(api, *(position(ago(60), driverId=pk, heading=90, speedMph=30) for pk in both))

    report(api, position(ago(50), driverId=both[0], heading=None))
    drivers.locate(driver_id=other.pk, lat=Decimal("41.5"), lng=Decimal("-87.5"), at=ago(40))

    assert located(driver)[2:5] == (ago(50), None, None)
    assert located(other)[2:5] == (ago(40), None, None)


def test_each_refusal_leaves_the_others_stored(api: TokenClient) -> None:
    stored, late, driver = fit_driver(), fit_driver(), fit_driver()
    vehicle = factories.VehicleFactory.create()
    drivers.locate(driver_id=late.pk, lat=Decimal("41.5"), lng=Decimal("-87.5"), at=ago(30))
    before = located(late), located(driver)

    data = report(
        api,
        position(driverId=str(uuid7())),
        position(vehicleId=str(uuid7())),
        position(NOW + dt.timedelta(seconds=121), driverId=str(driver.pk)),
        position(ago(31), driverId=str(late.pk)),
        position(ago(30), driverId=str(late.pk)),
        position(vehicleId=str(vehicle.pk)),
        position(ago(24 * 3600 + 1), vehicleId=str(vehicle.pk)),
        position(driverId=str(stored.pk)),
    )

    assert codes(data) == [
        "positions[0].driverId unknown",
        "positions[1].vehicleId unknown",
        "positions[2].at in_future",
        "positions[3].at out_of_order",
        "positions[4].at out_of_order",
        "positions[5].vehicleId no_driver",
        "positions[6].at too_old",
        "stored",
    ]
    assert (located(late), located(driver)) == before
    assert located(stored)[2] == NOW
    assert AuditEntry.objects.get(action="drivers.locate").details == {"drivers": 1, "stored": 1, "refused": 7}


def test_batch_without_a_stored_position_leaves_no_trace(api: TokenClient) -> None:
    assert codes(report(api, position(driverId=str(uuid7())))) == ["positions[0].driverId unknown"]
    assert not AuditEntry.objects.filter(action="drivers.locate").exists()


def test_newest_position_of_a_batch_stays(api: TokenClient) -> None:
    driver = fit_driver()
    pk = str(driver.pk)

    data = report(
        api,
        position(ago(30), 41.1, driverId=pk),
        position(ago(10), 41.2, driverId=pk),
        position(ago(20), 41.3, driverId=pk),
        position(ago(10), 41.4, driverId=pk),
    )

    assert codes(data) == ["stored", "stored", "positions[2].at out_of_order", "positions[3].at out_of_order"]
    assert located(driver)[0::2][:2] == (Decimal("41.2"), ago(10))


def test_clock_ahead_is_stored_as_the_time_of_receipt(api: TokenClient) -> None:
    driver = fit_driver()
    pk = str(driver.pk)

    data = report(
        api,
        position(NOW + dt.timedelta(seconds=110), 41.1, driverId=pk),
        position(NOW + dt.timedelta(seconds=120), 41.2, driverId=pk),
    )

    assert codes(data) == ["stored", "stored"]
    assert located(driver)[0::2][:2] == (Decimal("41.2"), NOW)


def test_vehicle_position_belongs_to_its_shift(api: TokenClient) -> None:
    before, vehicle = fit_pair()
    after, cancelled = fit_driver(provider=before.provider), fit_driver(provider=before.provider)
    spans = [(before, -2, 0, "planned"), (after, 0, 2, "planned"), (cancelled, -2, 2, "cancelled")]
    for driver, start, end, status in spans:
        hours = {"starts_at": NOW + dt.timedelta(hours=start), "ends_at": NOW + dt.timedelta(hours=end)}
        factories.ShiftFactory.create(driver=driver, vehicle=vehicle, status=status, **hours)

    data = report(
        api,
        position(ago(1), 41.1, vehicleId=str(vehicle.pk)),
        position(NOW + dt.timedelta(seconds=60), 41.2, vehicleId=str(vehicle.pk)),
        position(ago(2 * 3600 + 1), 41.3, vehicleId=str(vehicle.pk)),
    )

    assert codes(data) == ["stored", "stored", "positions[2].vehicleId no_driver"]
    assert [located(driver)[0] for driver in (before, after)] == [Decimal("41.1"), Decimal("41.2")]
    assert located(cancelled)[0] is None


def test_vehicle_position_without_shift_is_of_its_ride(api: TokenClient) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    assigned = ride_in(RideStatus.ASSIGNED)
    Shift.objects.all().delete()

    data = report(api, *(position(ago(5), vehicleId=str(each.vehicle_id)) for each in (ride, assigned)))

    assert codes(data) == ["stored", "positions[1].vehicleId no_driver"]
    assert ride.driver is not None
    assert located(ride.driver)[2] == ago(5)


def test_shift_comes_before_a_ride_under_way(api: TokenClient) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    Shift.objects.all().delete()
    assert ride.driver is not None
    driver = fit_driver(provider=ride.driver.provider)
    factories.ShiftFactory.create(driver=driver, vehicle=ride.vehicle)

    data = report(api, position(ago(5), vehicleId=str(ride.vehicle_id)))

    assert codes(data) == ["stored"]
    assert (located(driver)[2], located(ride.driver)[2]) == (ago(5), None)


def test_ride_that_is_stuck_shows_no_driver(api: TokenClient) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    Shift.objects.all().delete()
    Ride.objects.update(pickup_at=ago(24 * 3600))

    assert codes(report(api, position(vehicleId=str(ride.vehicle_id)))) == ["positions[0].vehicleId no_driver"]


def test_latest_of_several_rides_shows_the_driver(api: TokenClient) -> None:
    ride, later = ride_in(RideStatus.EN_ROUTE), ride_in(RideStatus.EN_ROUTE)
    Shift.objects.all().delete()
    Ride.objects.filter(pk=later.pk).update(vehicle=ride.vehicle, pickup_at=ride.pickup_at + dt.timedelta(minutes=5))

    report(api, position(vehicleId=str(ride.vehicle_id)))

    assert ride.driver is not None
    assert later.driver is not None
    assert (located(ride.driver)[2], located(later.driver)[2]) == (None, NOW)


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({}, "driverId", "required"),
        ({"driverId": str(uuid.UUID(int=1)), "vehicleId": str(uuid.UUID(int=1))}, "vehicleId", "exclusive"),
        ({"driverId": "7"}, "driverId", "form"),
        ({"driverId": str(uuid.UUID(int=1)), "lat": 90.5}, "lat", "max_value"),
        ({"driverId": str(uuid.UUID(int=1)), "lng": None}, "lng", "null"),
        ({"driverId": str(uuid.UUID(int=1)), "at": "2026-11-20T14:00:00"}, "at", "form"),
        ({"driverId": str(uuid.UUID(int=1)), "heading": 360}, "heading", "max_value"),
        ({"driverId": str(uuid.UUID(int=1)), "heading": -1}, "heading", "min_value"),
        ({"driverId": str(uuid.UUID(int=1)), "speedMph": -0.1}, "speedMph", "min_value"),
        ({"driverId": str(uuid.UUID(int=1)), "speedMph": 200.1}, "speedMph", "max_value"),
        ({"driverId": str(uuid.UUID(int=1)), "altitude": 3}, "altitude", "unknown"),
    ],
)
def test_malformed_position_refuses_the_batch(api: TokenClient, changes: dict[str, Any], field: str, code: str) -> None:
    driver = fit_driver()

    response = api.post(URL, {"positions": [position(driverId=str(driver.pk)), {**position(), **changes}]})

    assert response.status_code == 400
    details = [(detail["field"], detail["code"]) for detail in error_of(response)["details"]]
    assert details == [(f"positions[1].{field}", code)]
    assert located(driver)[2] is None


@pytest.mark.parametrize(("count", "code"), [(0, "min_length"), (501, "max_length")])
def test_batch_has_one_to_500_positions(api: TokenClient, count: int, code: str) -> None:
    driver = fit_driver()

    response = api.post(URL, {"positions": [position(driverId=str(driver.pk))] * count})

    assert response.status_code == 400
    assert [detail["code"] for detail in error_of(response)["details"]] == [code]
    assert located(driver)[2] is None


def test_500_positions_take_as_many_queries_as_one(
    api: TokenClient, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    driver, vehicle = fit_pair()
    factories.ShiftFactory.create(driver=driver, vehicle=vehicle)
    crew = [fit_driver() for _ in range(20)]

    answers = []
    for count in (1, 500):
        items = [position(ago(1200 - count - number), driverId=str(crew[number % 20].pk)) for number in range(count)]
        items[-1] = position(ago(1200 - count), vehicleId=str(vehicle.pk))
        with django_assert_max_num_queries(9):
            answers.append(codes(report(api, *items)))

    assert answers == [["stored"], ["stored"] * 500]
    assert located(driver)[2] == ago(700)


def test_repeated_batch_is_refused_and_changes_nothing(api: TokenClient) -> None:
    driver = fit_driver()
    item = position(ago(5), driverId=str(driver.pk))
    report(api, item)
    before = located(driver)

    assert codes(report(api, item)) == ["positions[0].at out_of_order"]
    assert located(driver) == before


def test_same_idempotency_key_gives_the_first_answer(api: TokenClient) -> None:
    driver = fit_driver()
    body = {"positions": [position(ago(5), driverId=str(driver.pk))]}

    first, again = (api.post(URL, body, headers={"Idempotency-Key": "once"}) for _ in range(2))

    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert codes(again.json()["data"]) == ["stored"]
    assert AuditEntry.objects.filter(action="drivers.locate").count() == 1


@pytest.mark.parametrize("role", list(TokenRole))
def test_positions_need_the_scope_to_locate(role: TokenRole) -> None:
    driver = fit_driver()

    response = api_with(role).post(URL, {"positions": [position(driverId=str(driver.pk))]})

    locates = role in {TokenRole.DISPATCH_PARTNER, TokenRole.DISPATCH_CONSOLE, TokenRole.FULL_ACCESS}
    assert response.status_code == (200 if locates else 403)
    assert (located(driver)[2] is None) is not locates
    if not locates:
        assert error_of(response)["details"][0]["requiredScope"] == "drivers:locate"


def test_position_outside_the_data_scope_is_unknown() -> None:
    own, other = fit_driver(), fit_driver()
    vehicle = factories.VehicleFactory.create(provider=other.provider)
    factories.ShiftFactory.create(driver=other, vehicle=vehicle)
    api = api_with(TokenRole.DISPATCH_PARTNER, provider_ids=[own.provider_id])

    data = report(
        api,
        position(driverId=str(other.pk)),
        position(driverId=str(uuid7())),
        position(vehicleId=str(vehicle.pk)),
        position(vehicleId=str(uuid7())),
        position(ago(25 * 3600), vehicleId=str(vehicle.pk)),
        position(NOW + dt.timedelta(hours=1), driverId=str(other.pk)),
        position(driverId=str(own.pk)),
    )

    assert codes(data) == [
        "positions[0].driverId unknown",
        "positions[1].driverId unknown",
        "positions[2].vehicleId unknown",
        "positions[3].vehicleId unknown",
        "positions[4].vehicleId unknown",
        "positions[5].driverId unknown",
        "stored",
    ]
    assert (located(other)[2], located(own)[2]) == (None, NOW)


def race(driver: Driver) -> list[str | None]:
    """Store a position of 20 seconds ago while one of 10 seconds ago is not yet committed; return its refusal."""

    def store(seconds: int) -> list[str | None]:
        item = Position(at=ago(seconds), lat=Decimal(40 + seconds), lng=Decimal(-87), driver_id=driver.pk)
        refusals = positions.store(positions=[item], by=system(), at=NOW)
        return [None if refusal is None else refusal.details[0].code for refusal in refusals]

    def store_and_close(seconds: int) -> list[str | None]:
        try:
            return store(seconds)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as executor:
        with transaction.atomic():
            assert store(10) == [None]
            second = executor.submit(store_and_close, 20)
            wait_until_somebody_waits()
        return second.result()


@pytest.mark.django_db(transaction=True)
def test_race_of_two_batches_keeps_the_newest() -> None:
    driver = fit_driver()

    assert race(driver) == ["out_of_order"]
    assert located(driver)[0::2][:2] == (Decimal(50), ago(10))


@pytest.mark.django_db(transaction=True)
def test_race_without_the_lock_keeps_the_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    driver = fit_driver()
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **options: rows)

    assert race(driver) == [None]
    assert located(driver)[0::2][:2] == (Decimal(60), ago(20))


def test_vehicles_are_not_changed_by_positions(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    factories.ShiftFactory.create(driver=driver, vehicle=vehicle)
    before = Vehicle.objects.filter(pk=vehicle.pk).values().get()

    report(api, position(vehicleId=str(vehicle.pk)))

    assert Vehicle.objects.filter(pk=vehicle.pk).values().get() == before
