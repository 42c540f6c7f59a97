"""The examples of the published document are valid requests."""

import pytest

from apps.organizations.api.serializers import FacilityIn
from apps.riders.api.serializers import RiderSearchIn
from apps.riders.schemas.accommodation import AccommodationIn
from apps.riders.schemas.rider_input import RiderChangeIn, RiderIn
from tests.callers import TokenClient
from tests.riders.requests import URL


@pytest.mark.django_db
def test_examples_are_accepted_one_after_the_other(api: TokenClient) -> None:
    made = api.post(URL, RiderIn.example)
    rider = made["Location"]

    statuses = [
        made.status_code,
        api.patch(rider, RiderChangeIn.example).status_code,
        api.put(f"{rider}/accommodation", AccommodationIn.example).status_code,
        api.post("/api/facilities", FacilityIn.example).status_code,
    ]
    found = api.post(f"{URL}/search", RiderSearchIn.example).json()["data"]

    assert statuses == [201, 200, 200, 201]
    assert [one["id"] for one in found] == [made.json()["id"]]
    assert found[0]["homeAddress"]["unit"] == "2B"
