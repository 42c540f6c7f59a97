"""Wrong details of a discharge can be removed."""

from typing import Any

import pytest

from apps.rides.models import Ride
from tests import factories
from tests.callers import TokenClient

pytestmark = pytest.mark.django_db

KEPT = {"unit": "4 West", "unitPhone": "+13125550140", "planner": {"name": "Pat Example"}}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"room": ""}, {"room": "", "bed": "B", "chargeNursePhone": "+13125550142"}),
        ({"bed": "", "chargeNursePhone": None}, {"room": "12", "bed": ""}),
    ],
)
def test_detail_is_emptied_by_a_merge_patch(change: dict[str, Any], left: dict[str, Any], api: TokenClient) -> None:
    told = {**KEPT, "room": "12", "bed": "B", "chargeNursePhone": "+13125550142"}
    ride = factories.RideFactory.create(service_type="hospital_discharge", discharge=told)

    response = api.patch(f"/api/rides/{ride.pk}", {"discharge": change})

    stored = Ride.objects.get().discharge
    assert response.status_code == 200
    assert stored is not None
    assert {key: value for key, value in stored.items() if key != "expectedReadyAt"} == {**KEPT, **left}


def test_certification_valid_until_date_is_stored_as_sent(api: TokenClient) -> None:
    ride = factories.RideFactory.create(service_type="hospital_discharge", discharge=KEPT)
    pcs = {"required": True, "onFile": True, "validUntil": "2027-01-31"}

    response = api.patch(f"/api/rides/{ride.pk}", {"discharge": {"pcs": pcs}})

    stored = Ride.objects.get().discharge
    assert response.status_code == 200
    assert stored is not None
    assert stored["pcs"] == response.json()["discharge"]["pcs"] == pcs
