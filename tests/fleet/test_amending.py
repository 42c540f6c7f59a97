"""Changes of drivers, vehicles and credentials: atomic, recorded once, and protected from lost updates."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.fleet.models import CapacityConfig, Credential, Driver, Leave, Shift, Vehicle
from apps.fleet.rules.credentials import Subject
from apps.fleet.services import credentials, shifts, vehicles
from apps.organizations.models import ExternalId
from lib.access import system
from lib.constraints import constraint_of
from lib.errors import InvalidInput, NotFound
from tests import factories
from tests.callers import TokenClient, api_with
from tests.fleet.crew import fit_driver, fit_vehicle
from tests.locks import wait_until_somebody_waits

NAME = {"system": "hr", "value": "77", "type": ""}
AWAY = {"startsAt": "2026-12-24T06:00:00Z", "endsAt": "2026-12-27T06:00:00Z", "reason": "holiday"}


def everything() -> list[Any]:
    kinds = (Driver, Vehicle, CapacityConfig, Credential, Leave, Shift, ExternalId)
    return [list(model._default_manager.order_by("pk").values()) for model in kinds]


@pytest.mark.django_db
def test_license_leave_and_names_change_under_one_version(api: TokenClient) -> None:
    driver = fit_driver()
    Leave.objects.create(driver=driver, starts_at=factories.NOW, ends_at=factories.PICKUP)
    changes = {"licenseNumber": "D400-1", "leave": [AWAY], "externalIds": [NAME]}

    response = api.patch(f"/api/drivers/{driver.pk}", changes, HTTP_IF_MATCH='"1"')

    shown = response.json()
    assert (response.status_code, shown["version"]) == (200, 2), shown
    assert {key: shown[key] for key in changes} == changes
    assert Driver.objects.get().license_number == "D400-1"
    entry = AuditEntry.objects.get(action="drivers.amend")
    assert entry.details == {"changed": ["external_ids", "leave", "license_number"]}


@pytest.mark.django_db
def test_vehicle_takes_a_name_under_a_new_version(api: TokenClient) -> None:
    vehicle = fit_vehicle()

    response = api.patch(f"/api/vehicles/{vehicle.pk}", {"externalIds": [NAME]}, HTTP_IF_MATCH='"1"')

    assert (response.status_code, response.json()["externalIds"], response["ETag"]) == (200, [NAME], '"2"')
    assert AuditEntry.objects.get(action="vehicles.amend").details == {"changed": ["external_ids"]}


@pytest.mark.django_db
def test_vehicle_is_not_changed_from_an_older_copy(api: TokenClient) -> None:
    vehicle = fit_vehicle()
    before = everything()

    response = api.patch(f"/api/vehicles/{vehicle.pk}", {"licensePlate": "CL 1"}, HTTP_IF_MATCH='"7"')

    assert (response.status_code, response.json()["error"]["code"]) == (412, "PRECONDITION_FAILED")
    assert everything() == before


@pytest.mark.django_db
def test_duplicate_driver_name_is_refused(api: TokenClient) -> None:
    holder, driver = fit_driver(), fit_driver()
    api.patch(f"/api/drivers/{holder.pk}", {"externalIds": [NAME]})
    neighbour = api_with(TokenRole.FULL_ACCESS, provider_ids=[driver.provider_id])
    before = everything()

    answers = [caller.patch(f"/api/drivers/{driver.pk}", {"externalIds": [NAME]}) for caller in (api, neighbour)]

    errors = [one.json()["error"] for one in answers]
    assert [(one.status_code, error["code"]) for one, error in zip(answers, errors, strict=True)] == [
        (409, "DUPLICATE_RESOURCE")
    ] * 2
    assert [error["details"][0].get("existingId") for error in errors] == [str(holder.pk), None]
    assert everything() == before


@pytest.mark.django_db
def test_vehicle_is_arranged_in_one_way_at_least() -> None:
    vehicle = fit_vehicle()
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        vehicles.amend(
            vehicle_id=vehicle.pk,
            changes={"capacity_configs": []},
            expected_version=None,
            by=system(),
            at=factories.NOW,
        )

    assert refusal.value.details[0].field == "capacityConfigs"
    assert everything() == before


@pytest.mark.django_db
def test_credential_is_not_rejected_without_a_reason() -> None:
    credential = Credential.objects.filter(driver=fit_driver()).first()
    assert credential is not None
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        credentials.reject(credential_id=credential.pk, reason=" ", by=system(), at=factories.NOW)

    assert refusal.value.details[0].field == "reason"
    assert everything() == before


@pytest.mark.django_db(transaction=True)
def test_credential_replaced_meanwhile_is_not_rejected() -> None:
    driver = factories.DriverFactory.create()
    filed: dict[str, Any] = {
        "subject": Subject.DRIVER,
        "subject_id": driver.pk,
        "type": "mvr",
        "by": system(),
        "at": factories.NOW,
    }
    older = credentials.file(**filed, details={"number": "1"})

    def reject() -> None:
        try:
            credentials.reject(credential_id=older.pk, reason="Unreadable", by=system(), at=factories.NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            credentials.file(**filed, details={"number": "2"})
            rejecting = other.submit(reject)
            wait_until_somebody_waits()
        failure = rejecting.exception(timeout=20)

    assert isinstance(failure, NotFound)
    assert list(Credential.objects.order_by("pk").values_list("number", "replaced", "rejected")) == [
        ("1", True, False),
        ("2", False, False),
    ]


@pytest.mark.django_db
def test_other_refusals_of_the_database_are_not_taken_for_ours() -> None:
    vehicle, shift = fit_vehicle(), factories.ShiftFactory.create()
    unchecked: dict[str, Any] = {"expected_version": None, "by": system(), "at": factories.NOW}

    with pytest.raises(IntegrityError) as negative:
        vehicles.amend(vehicle_id=vehicle.pk, changes={"lift_rating_lb": -1}, **unchecked)
    with pytest.raises(IntegrityError) as unknown:
        shifts.amend(shift_id=shift.pk, changes={"status": "lost"}, **unchecked)

    assert constraint_of(negative.value) == "fleet_vehicle_lift_rating_lb_check"
    assert constraint_of(unknown.value) == "shift_status_known"
