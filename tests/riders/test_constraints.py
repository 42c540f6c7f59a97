"""The database enforces the choice lists, whichever code writes."""

from typing import Any

import pytest

from apps.riders.models import AccommodationProfile, Rider
from tests import factories
from tests.refused import constraint_against

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"oxygen_uses": True, "oxygen_source": "tap"}, "accommodation_oxygen_source_known"),
        ({"stair_equipment": "rope"}, "accommodation_stair_equipment_known"),
        ({"hearing": "odd"}, "accommodation_senses_known"),
        ({"vision": "odd"}, "accommodation_senses_known"),
        ({"cognition": "odd"}, "accommodation_senses_known"),
        ({"speech": "odd"}, "accommodation_senses_known"),
        ({"precautions": "rain"}, "accommodation_precautions_known"),
    ],
)
def test_profile_holds_known_words_alone(columns: dict[str, Any], constraint: str) -> None:
    factories.AccommodationProfileFactory.create()

    assert constraint_against(AccommodationProfile.objects.all(), columns) == constraint


def test_rider_asks_for_a_known_gender_alone() -> None:
    factories.RiderFactory.create()

    assert constraint_against(Rider.objects.all(), {"driver_gender_preference": "odd"}) == "rider_driver_gender_known"
