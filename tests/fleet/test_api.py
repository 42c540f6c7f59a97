"""Drivers, vehicles, credentials and shifts over HTTP."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Credential, Driver, Shift, Vehicle
from tests import factories
from tests.callers import TokenClient, api_with
from tests.fleet.crew import fit_driver, fit_pair, fit_vehicle

pytestmark = pytest.mark.django_db


def everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Driver, Vehicle, Credential, Shift)]


def driver_body(**given: Any) -> dict[str, Any]:
    provider = factories.TransportProviderFactory.create()
    return {
        "providerId": str(provider.pk),
        "firstName": "Nadia",
        "lastName": "Canarylove",
        "phone": "+13125550133",
        **given,
    }


def vehicle_body(**given: Any) -> dict[str, Any]:
    provider = factories.TransportProviderFactory.create()
    return {
        "providerId": str(provider.pk),
        "unitNumber": "W-12",
        "licensePlate": "CL 12",
        "type": "wheelchair_van",
        "capacityConfigs": [{"name": "one chair", "ambulatory": 2, "wheelchair": 1}],
        **given,
    }


def test_driver_is_added_pending_with_what_was_said(api: TokenClient) -> None:
    body = driver_body(
        licenseNumber="D400-7836-0001",
        qualifications=["oxygen"],
        gender="female",
        externalIds=[{"system": "hr", "value": "77", "type": ""}],
        leave=[{"startsAt": "2099-12-24T00:00:00Z", "endsAt": "2099-12-26T00:00:00Z"}],
    )

    response = api.post("/api/drivers", body)

    assert response.status_code == 201, response.json()
    shown = response.json()
    assert response["Location"] == f"/api/drivers/{shown['id']}"
    assert (shown["activation"], shown["duty"], shown["version"]) == ("pending", "off", 1)
    assert (shown["licenseNumber"], shown["gender"]) == ("D400-7836-0001", "female")
    assert shown["externalIds"] == [{"system": "hr", "value": "77", "type": ""}]
    assert [leave["startsAt"] for leave in shown["leave"]] == ["2099-12-24T00:00:00Z"]
    assert [(credential["type"], credential["status"]) for credential in shown["credentials"]] == [
        ("driver_license", "missing"),
        ("exclusion_check_oig", "missing"),
        ("background_check", "missing"),
        ("mvr", "missing"),
    ]
    assert b"D400" not in bytes(Driver.objects.get().license_number_encrypted or b"")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"providerId": str(uuid.uuid4())}, "providerId"),
        ({"homeBaseId": str(uuid.uuid4())}, "homeBaseId"),
        ({"defaultVehicleId": str(uuid.uuid4())}, "defaultVehicleId"),
        ({"phone": "555"}, "phone"),
        ({"employment": "friend"}, "employment"),
        ({"activation": "active"}, "activation"),
        ({"qualifications": ["flying"]}, "qualifications[0]"),
        ({"languages": ["en", "no language"]}, "languages[1]"),
        ({"leave": [{"startsAt": "2099-12-24T00:00:00Z", "endsAt": "2099-12-24T00:00:00Z"}]}, "leave[0].endsAt"),
    ],
)
def test_driver_with_a_wrong_field_is_not_added(api: TokenClient, given: dict[str, Any], field: str) -> None:
    response = api.post("/api/drivers", driver_body(**given))

    assert response.status_code == 400
    assert [one["field"] for one in response.json()["error"]["details"]] == [field]
    assert Driver.objects.count() == 0


@pytest.mark.parametrize("count", [1, 3])
def test_driver_list_asks_the_same_number_of_queries(
    api: TokenClient, django_assert_num_queries: Callable[..., Any], count: int
) -> None:
    for _ in range(count):
        driver, vehicle = fit_pair()
        factories.ShiftFactory.create(driver=driver, vehicle=vehicle)

    with django_assert_num_queries(8):
        response = api.get("/api/drivers")

    assert response.status_code == 200, response.json()
    assert len(response.json()["data"]) == count


def test_driver_list_filters_by_state_and_pages(api: TokenClient) -> None:
    first, second = fit_driver(), fit_driver()
    fit_driver(activation="pending")

    page = api.get("/api/drivers?activation=active&limit=1").json()
    rest = api.get(f"/api/drivers?activation=active&limit=1&cursor={page['page']['nextCursor']}").json()

    assert [one["id"] for one in page["data"] + rest["data"]] == [str(second.pk), str(first.pk)]
    assert (page["page"]["hasMore"], rest["page"]["hasMore"]) == (True, False)


def test_unknown_filter_is_refused(api: TokenClient) -> None:
    assert api.get("/api/drivers?state=active").status_code == 400


def test_driver_changes_under_its_version(api: TokenClient) -> None:
    driver = fit_driver()

    changed = api.patch(f"/api/drivers/{driver.pk}", {"lastName": "Newname", "gender": None}, HTTP_IF_MATCH='"1"')
    stale = api.patch(f"/api/drivers/{driver.pk}", {"lastName": "Other"}, HTTP_IF_MATCH='"1"')

    assert (changed.status_code, changed.json()["lastName"], changed["ETag"]) == (200, "Newname", '"2"')
    assert (stale.status_code, stale.json()["error"]["code"]) == (412, "PRECONDITION_FAILED")
    assert Driver.objects.get().last_name == "Newname"


def test_same_values_again_keep_the_version(api: TokenClient) -> None:
    driver = fit_driver()

    response = api.patch(f"/api/drivers/{driver.pk}", {"lastName": driver.last_name})

    assert (response.json()["version"], AuditEntry.objects.filter(action="drivers.amend").count()) == (1, 0)


def test_license_number_is_for_those_who_keep_the_records(api: TokenClient) -> None:
    driver = fit_driver()
    driver.license_number = "D400-CANARY"
    driver.save(update_fields=["license_number_encrypted"])
    Credential.objects.filter(driver=driver, type="driver_license").update(number="D400-CANARY")
    reader = api_with(TokenRole.DISPATCH_PARTNER)
    without_phi = api_with(TokenRole.FULL_ACCESS, phi_level="none")

    own = api.get(f"/api/drivers/{driver.pk}")
    others = [
        caller.get(path)
        for caller in (reader, without_phi)
        for path in (f"/api/drivers/{driver.pk}", "/api/drivers", f"/api/drivers/{driver.pk}/credentials")
    ]

    assert own.json()["licenseNumber"] == "D400-CANARY"
    assert [one.status_code for one in others] == [200] * 6
    assert not any(b"CANARY" in one.content for one in others)
    assert AuditEntry.objects.filter(action="drivers.read_license", subject_id=driver.pk).count() == 1


def test_duty_follows_shift_break_and_ride(api: TokenClient) -> None:
    now = timezone.now()
    driver, vehicle = fit_pair()

    def duty() -> tuple[str, str | None]:
        shown = api.get(f"/api/drivers/{driver.pk}").json()
        return shown["duty"], shown["currentAssignmentId"]

    off = duty()
    Shift.objects.create(
        provider=driver.provider,
        driver=driver,
        vehicle=vehicle,
        starts_at=now - dt.timedelta(hours=1),
        ends_at=now + dt.timedelta(hours=1),
    )
    available = duty()
    Driver.objects.update(on_break=True)
    resting = duty()
    ride = factories.RideFactory.create(pickup_at=now)
    assignment = factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    type(ride).objects.update(status="en_route")
    driving = duty()

    assert [off, available, resting, driving] == [
        ("off", None),
        ("available", None),
        ("break", None),
        ("on_ride", str(assignment.pk)),
    ]


def test_vehicle_is_added_changed_and_listed(api: TokenClient) -> None:
    made = api.post("/api/vehicles", vehicle_body(liftType="lift", liftRatingLb=800, maxChairWidthIn=32.5))
    path = f"/api/vehicles/{made.json()['id']}"
    changed = api.patch(path, {"capacityConfigs": [{"name": "all seats", "ambulatory": 4}]}, HTTP_IF_MATCH='"1"')
    same = api.patch(path, {"maxChairWidthIn": 32.5})

    assert made.status_code == 201, made.json()
    assert (made.json()["status"], made.json()["maxChairWidthIn"]) == ("in_service", 32.5)
    assert changed.json()["capacityConfigs"] == [
        {"name": "all seats", "ambulatory": 4, "wheelchair": 0, "stretcher": 0}
    ]
    assert changed["ETag"] == same["ETag"] == '"2"'
    assert [one["id"] for one in api.get("/api/vehicles?type=wheelchair_van").json()["data"]] == [made.json()["id"]]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"liftType": "lift"}, "liftRatingLb"),
        ({"capacityConfigs": []}, "capacityConfigs"),
        ({"capacityConfigs": [{"name": "empty"}]}, "capacityConfigs[0]"),
        (
            {"capacityConfigs": [{"name": "a", "ambulatory": 1}, {"name": "a", "ambulatory": 2}]},
            "capacityConfigs[1].name",
        ),
        ({"maxChairWidthIn": "32"}, "maxChairWidthIn"),
        ({"status": "retired"}, "status"),
    ],
)
def test_vehicle_with_a_wrong_field_is_not_added(api: TokenClient, given: dict[str, Any], field: str) -> None:
    response = api.post("/api/vehicles", vehicle_body(**given))

    assert response.status_code == 400
    assert [one["field"] for one in response.json()["error"]["details"]] == [field]
    assert Vehicle.objects.count() == 0


def test_unit_number_is_used_once_in_a_fleet(api: TokenClient) -> None:
    body = vehicle_body()
    first = api.post("/api/vehicles", body)
    second = api.post("/api/vehicles", body | {"licensePlate": "CL 13"})

    assert (second.status_code, second.json()["error"]["code"]) == (409, "DUPLICATE_RESOURCE")
    assert second.json()["error"]["details"][0]["existingId"] == first.json()["id"]
    assert Vehicle.objects.count() == 1


@pytest.mark.parametrize("count", [1, 3])
def test_vehicle_list_asks_the_same_number_of_queries(
    api: TokenClient, django_assert_num_queries: Callable[..., Any], count: int
) -> None:
    for _ in range(count):
        fit_vehicle()

    with django_assert_num_queries(5):
        response = api.get("/api/vehicles")

    assert len(response.json()["data"]) == count


def test_newer_credential_replaces_the_older(api: TokenClient) -> None:
    driver = factories.DriverFactory.create()
    path = f"/api/drivers/{driver.pk}/credentials"
    soon = (timezone.now() + dt.timedelta(days=10)).date().isoformat()

    first = api.post(path, {"type": "driver_license", "number": "A1", "expiresOn": "2020-01-01"})
    second = api.post(path, {"type": "driver_license", "number": "B2", "expiresOn": soon})
    listed = api.get(path).json()["data"]

    assert (first.status_code, first.json()["status"], first.json()["blocking"]) == (201, "expired", True)
    assert (second.json()["status"], second.json()["number"]) == ("expiring", "B2")
    assert [(one["type"], one["status"]) for one in listed] == [
        ("driver_license", "expiring"),
        ("exclusion_check_oig", "missing"),
        ("background_check", "missing"),
        ("mvr", "missing"),
    ]
    assert list(Credential.objects.order_by("pk").values_list("number", "replaced")) == [("A1", True), ("B2", False)]


def test_credential_of_a_vehicle_is_none_of_a_driver(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    before = everything()

    wrong = [
        api.post(f"/api/drivers/{driver.pk}/credentials", {"type": "registration"}),
        api.post(f"/api/vehicles/{vehicle.pk}/credentials", {"type": "mvr"}),
        api.post(
            f"/api/vehicles/{vehicle.pk}/credentials",
            {"type": "insurance", "issuedOn": "2026-02-02", "expiresOn": "2026-02-01"},
        ),
    ]

    assert [one.status_code for one in wrong] == [400] * 3
    assert everything() == before


def test_credential_is_rejected_and_verified(api: TokenClient) -> None:
    vehicle = fit_vehicle()
    credential = Credential.objects.get(vehicle=vehicle, type="insurance")

    def status() -> str:
        listed = api.get(f"/api/vehicles/{vehicle.pk}/credentials").json()["data"]
        return next(str(one["status"]) for one in listed if one["type"] == "insurance")

    rejected = api.post(f"/api/credentials/{credential.pk}/reject", {"reason": "Unreadable"})
    after_rejection = status()
    verified = api.post(f"/api/credentials/{credential.pk}/verify")

    assert (rejected.status_code, verified.status_code) == (204, 204)
    assert (after_rejection, status()) == ("rejected", "valid")
    credential.refresh_from_db()
    assert credential.verified_by == f"token:{api.token.pk}"


def test_shift_is_planned_moved_and_cancelled(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    body = {
        "driverId": str(driver.pk),
        "vehicleId": str(vehicle.pk),
        "startsAt": "2026-12-01T12:00:00Z",
        "endsAt": "2026-12-01T20:00:00Z",
    }

    made = api.post("/api/shifts", body)
    path = f"/api/shifts/{made.json()['id']}"
    moved = api.patch(path, {"endsAt": "2026-12-01T21:00:00Z"}, HTTP_IF_MATCH='"1"')
    cancelled = api.patch(path, {"status": "cancelled"})
    again = api.post("/api/shifts", body)
    late = api.patch(path, {"endsAt": "2026-12-01T22:00:00Z"})

    assert (made.status_code, moved.json()["endsAt"], moved["ETag"]) == (201, "2026-12-01T21:00:00Z", '"2"')
    assert (cancelled.json()["status"], again.status_code) == ("cancelled", 201)
    assert (late.status_code, late.json()["error"]["code"]) == (422, "RULE_VIOLATION")
    assert api.get("/api/shifts?endsAfter=2026-12-01T20:30:00Z").json()["data"] == [cancelled.json()]


@pytest.mark.parametrize("taken", ["driver", "vehicle"])
def test_overlapping_shift_names_who_is_taken(api: TokenClient, taken: str) -> None:
    shift = factories.ShiftFactory.create()
    other = fit_pair(shift.provider)
    body = {
        "driverId": str(shift.driver_id if taken == "driver" else other[0].pk),
        "vehicleId": str(shift.vehicle_id if taken == "vehicle" else other[1].pk),
        "startsAt": (shift.ends_at - dt.timedelta(minutes=1)).isoformat(),
        "endsAt": (shift.ends_at + dt.timedelta(hours=1)).isoformat(),
    }
    before = everything()

    refused = api.post("/api/shifts", body)
    fits = api.post("/api/shifts", body | {"startsAt": shift.ends_at.isoformat()})

    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (409, "ASSIGNMENT_CONFLICT")
    assert [one["field"] for one in error["details"]] == [f"{taken}Id"]
    assert fits.status_code == 201
    assert len(everything()[3]) == len(before[3]) + 1


@pytest.mark.parametrize("count", [1, 3])
def test_shift_list_asks_the_same_number_of_queries(
    api: TokenClient, django_assert_num_queries: Callable[..., Any], count: int
) -> None:
    factories.ShiftFactory.create_batch(count)

    with django_assert_num_queries(2):
        response = api.get("/api/shifts")

    assert len(response.json()["data"]) == count


def test_fleet_of_another_provider_is_not_there() -> None:
    driver, vehicle = fit_pair()
    shift = factories.ShiftFactory.create(driver=driver, vehicle=vehicle)
    credential = Credential.objects.filter(driver=driver).first()
    assert credential is not None
    outsider = api_with(TokenRole.FULL_ACCESS, provider_ids=[factories.TransportProviderFactory.create().pk])
    before = everything()

    lists = [outsider.get(f"/api/{name}").json()["data"] for name in ("drivers", "vehicles", "shifts")]
    answers = [
        outsider.get(f"/api/drivers/{driver.pk}"),
        outsider.patch(f"/api/drivers/{driver.pk}", {"lastName": "X"}),
        outsider.post(f"/api/drivers/{driver.pk}/activation", {"activation": "suspended", "reason": "x"}),
        outsider.get(f"/api/drivers/{driver.pk}/credentials"),
        outsider.post(f"/api/drivers/{driver.pk}/credentials", {"type": "mvr"}),
        outsider.get(f"/api/vehicles/{vehicle.pk}"),
        outsider.patch(f"/api/vehicles/{vehicle.pk}", {"color": "red"}),
        outsider.post(f"/api/vehicles/{vehicle.pk}/status", {"status": "retired"}),
        outsider.get(f"/api/vehicles/{vehicle.pk}/credentials"),
        outsider.post(f"/api/credentials/{credential.pk}/verify"),
        outsider.post(f"/api/credentials/{credential.pk}/reject", {"reason": "x"}),
        outsider.get(f"/api/shifts/{shift.pk}"),
        outsider.patch(f"/api/shifts/{shift.pk}", {"status": "cancelled"}),
    ]

    assert lists == [[], [], []]
    assert [(one.status_code, one.json()["error"]["code"]) for one in answers] == [(404, "NOT_FOUND")] * 13
    assert everything() == before


def test_reader_changes_nothing() -> None:
    driver, vehicle = fit_pair()
    reader = api_with(TokenRole.DISPATCH_PARTNER)
    before = everything()

    answers = [
        reader.post("/api/drivers", {}),
        reader.patch(f"/api/drivers/{driver.pk}", {}),
        reader.post(f"/api/drivers/{driver.pk}/activation", {}),
        reader.post(f"/api/vehicles/{vehicle.pk}/status", {}),
        reader.post("/api/shifts", {}),
    ]

    assert [one.status_code for one in answers] == [403] * 5
    assert everything() == before


def test_suspension_answers_what_it_touches(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    ride = factories.RideFactory.create()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)

    response = api.post(
        f"/api/drivers/{driver.pk}/activation",
        {"activation": "suspended", "reason": "Complaint", "releaseFutureRides": True},
    )

    shown = response.json()
    assert response.status_code == 200, shown
    assert (shown["driverId"], shown["activation"], shown["version"]) == (str(driver.pk), "suspended", 2)
    assert shown["affectedRideIds"] == shown["releasedRideIds"] == [str(ride.pk)]


def test_activation_lists_what_is_absent(api: TokenClient) -> None:
    driver = factories.DriverFactory.create(activation="pending")

    response = api.post(f"/api/drivers/{driver.pk}/activation", {"activation": "active"})

    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (409, "CREDENTIALS_MISSING")
    assert [one["type"] for one in error["details"]] == [
        "driver_license",
        "exclusion_check_oig",
        "background_check",
        "mvr",
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"leave": [{}]}, "leave[0].startsAt"),
        ({"externalIds": [{"system": "hr"}]}, "externalIds[0].value"),
    ],
)
def test_parts_of_a_change_are_whole(api: TokenClient, body: dict[str, Any], field: str) -> None:
    driver = fit_driver()
    before = everything()

    response = api.patch(f"/api/drivers/{driver.pk}", body)

    assert response.status_code == 400, response.content
    assert field in [one["field"] for one in response.json()["error"]["details"]]
    assert everything() == before


def test_arrangement_of_a_vehicle_has_its_name(api: TokenClient) -> None:
    vehicle = fit_vehicle()
    before = everything()

    response = api.patch(f"/api/vehicles/{vehicle.pk}", {"capacityConfigs": [{"ambulatory": 1}]})

    assert response.status_code == 400, response.content
    assert everything() == before


@pytest.mark.parametrize(
    "given", [{"email": 7}, {"email": "nobody"}, {"photoUrl": "http://example.org/a"}, {"photoUrl": 1}]
)
def test_addresses_are_text_of_their_form(api: TokenClient, given: dict[str, Any]) -> None:
    response = api.post("/api/drivers", driver_body(**given))

    assert response.status_code == 400, response.content
    assert Driver.objects.count() == 0
