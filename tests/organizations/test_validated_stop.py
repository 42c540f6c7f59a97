"""Stops that name a facility or one of its entrances."""

import uuid
from typing import Any

import pytest

from apps.organizations import queries
from apps.organizations.models import Facility
from lib.access import Principal
from tests.factories import EntranceFactory, FacilityFactory


@pytest.mark.django_db
def test_stop_takes_the_address_of_its_facility(planner: Principal, hospital: Facility) -> None:
    door = EntranceFactory.create(facility=hospital)

    stop = queries.validated_stop(
        {"facilityId": hospital.pk, "entranceId": door.pk, "unit": "4 West"}, by=planner, path="pickup"
    )

    hospital.refresh_from_db()
    assert stop == {
        **queries.place_of(hospital),
        "entranceId": str(door.pk),
        "unit": "4 West",
    }
    assert (stop["addressLine1"], stop["lat"], stop["lng"]) == ("200 W Monroe St", 41.8809, -87.6338)


@pytest.mark.django_db
def test_stop_cannot_reference_foreign_facility_or_entrance(planner: Principal, hospital: Facility) -> None:
    other = FacilityFactory.create()
    door_of_other = EntranceFactory.create(facility=other)
    own = {"facilityId": hospital.pk}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"facilityId": other.pk}, "home.facilityId"),
        ({"facilityId": uuid.UUID(int=7)}, "home.facilityId"),
        ({**own, "entranceId": door_of_other.pk}, "home.entranceId"),
        ({**own, "entranceId": uuid.UUID(int=7)}, "home.entranceId"),
        ({"entranceId": door_of_other.pk, "addressLine1": "1 Elm", "city": "Cicero"}, "home.entranceId"),
        ({}, "home.addressLine1"),
    ]

    for given, field in cases:
        with pytest.raises(queries.StopUnusable) as refusal:
            queries.validated_stop(given, by=planner, path="home")
        assert refusal.value.details[0].field == field
        assert refusal.value.message.startswith(field)
