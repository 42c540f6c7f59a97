"""The database enforces the choice lists, whichever code writes."""

from typing import Any

import pytest

from apps.fleet.models import Credential, Driver
from tests import factories
from tests.refused import constraint_against

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"gender": "odd"}, "driver_gender_known"),
        ({"qualifications": ["stretcher", "flying"]}, "driver_qualifications_known"),
        ({"last_heading": 360}, "driver_heading_in_degrees"),
        ({"last_heading": -1}, "driver_heading_in_degrees"),
        ({"last_speed_mph": -1}, "driver_speed_not_negative"),
    ],
)
def test_driver_holds_known_values_alone(columns: dict[str, Any], constraint: str) -> None:
    factories.DriverFactory.create()

    assert constraint_against(Driver.objects.all(), columns) == constraint


def test_credential_is_one_of_its_owner() -> None:
    driver, vehicle = factories.DriverFactory.create(), factories.VehicleFactory.create()
    factories.CredentialFactory.create(driver=driver)
    factories.CredentialFactory.create(driver=None, vehicle=vehicle, type="registration")
    credentials = Credential.objects

    assert (
        constraint_against(credentials.filter(driver=driver), {"type": "insurance"}) == "credential_type_of_its_subject"
    )
    assert constraint_against(credentials.filter(vehicle=vehicle), {"type": "mvr"}) == "credential_type_of_its_subject"
