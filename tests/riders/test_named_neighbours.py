"""References between riders and drivers: only to existing rows within the caller's data scope."""

import dataclasses
import uuid
from typing import Any

import pytest

from apps.fleet.models import Driver
from apps.fleet.services import drivers
from apps.organizations.models import Facility
from apps.riders import services as riders
from apps.riders.models import Rider
from lib.access import Principal
from lib.errors import DomainError, FieldRefused
from tests import factories

pytestmark = pytest.mark.django_db

PERSON = {"first_name": "Orla", "last_name": "Canary"}
NOBODY = uuid.UUID(int=99)


def places(refusal: DomainError) -> list[tuple[str | None, str]]:
    return [(detail.field, detail.code) for detail in refusal.details]


@pytest.mark.parametrize("name", ["preferred_driver_ids", "excluded_driver_ids"])
def test_rider_names_drivers_that_are_there(hospital: Facility, planner: Principal, now: Any, name: str) -> None:
    driver = factories.DriverFactory.create()
    rider = riders.register(draft={**PERSON, name: [driver.pk]}, by=planner, at=now).rider
    wire = {"preferred_driver_ids": "preferredDriverIds", "excluded_driver_ids": "excludedDriverIds"}[name]

    with pytest.raises(FieldRefused) as registered:
        riders.register(draft={**PERSON, name: [NOBODY]}, by=planner, at=now)
    with pytest.raises(FieldRefused) as amended:
        riders.amend(rider_id=rider.pk, changes={name: [driver.pk, NOBODY]}, by=planner, at=now)

    assert (places(registered.value), places(amended.value)) == (
        [(f"{wire}[0]", "unknown")],
        [(f"{wire}[1]", "unknown")],
    )
    assert [getattr(one, name) for one in Rider.objects.all()] == [[driver.pk]]


def test_those_named_before_stay_whoever_sends_them_again(hospital: Facility, planner: Principal, now: Any) -> None:
    rider = factories.RiderFactory.create(facility=hospital, excluded_driver_ids=[NOBODY])
    driver = factories.DriverFactory.create()

    riders.amend(rider_id=rider.pk, changes={"excluded_driver_ids": [NOBODY, driver.pk]}, by=planner, at=now)

    assert Rider.objects.get().excluded_driver_ids == [NOBODY, driver.pk]


def test_driver_excludes_riders_whom_the_caller_reaches(supervisor: Principal, now: Any) -> None:
    driver = factories.DriverFactory.create()
    ours, other = factories.RideFactory.create(), factories.RideFactory.create()
    factories.put_driver_on(ours, driver=driver)
    fleet = dataclasses.replace(supervisor, provider_ids=frozenset({driver.provider_id}))
    common: dict[str, Any] = {"driver_id": driver.pk, "expected_version": None, "at": now}

    drivers.amend(changes={"excluded_rider_ids": [ours.rider_id]}, by=fleet, **common)
    with pytest.raises(FieldRefused) as refused:
        drivers.amend(changes={"excluded_rider_ids": [ours.rider_id, other.rider_id]}, by=fleet, **common)
    assert places(refused.value) == [("excludedRiderIds[1]", "unknown")]
    assert Driver.objects.get().excluded_rider_ids == [ours.rider_id]

    drivers.amend(changes={"excluded_rider_ids": [other.rider_id]}, by=supervisor, **common)
    assert Driver.objects.get().excluded_rider_ids == [other.rider_id]


def test_driver_is_not_hired_with_riders_that_are_not_there(supervisor: Principal, now: Any) -> None:
    provider = factories.TransportProviderFactory.create()
    given = {**PERSON, "phone": "+13125550122", "excluded_rider_ids": [NOBODY]}

    with pytest.raises(FieldRefused):
        drivers.hire(provider_id=provider.pk, fields=given, by=supervisor, at=now)

    assert not Driver.objects.exists()
