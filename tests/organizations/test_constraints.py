"""Coordinates are a point on the globe or null, whichever code writes."""

from typing import Any

import pytest

from apps.organizations.models import Entrance, Facility, HomeBase
from tests import factories
from tests.refused import constraint_against

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "columns",
    [{"lat": 41, "lng": None}, {"lat": None, "lng": -87}, {"lat": 91, "lng": 0}, {"lat": 0, "lng": -181}],
    ids=["no longitude", "no latitude", "north of the pole", "around the world"],
)
def test_place_off_the_globe_is_refused(columns: dict[str, Any]) -> None:
    entrance = factories.EntranceFactory.create()
    HomeBase.objects.create(provider=factories.TransportProviderFactory.create(), name="Garage", address_line1="1 Road")

    assert constraint_against(Facility.objects.filter(pk=entrance.facility_id), columns) == "facility_on_the_globe"
    assert constraint_against(Entrance.objects.all(), columns) == "entrance_on_the_globe"
    assert constraint_against(HomeBase.objects.all(), columns) == "home_base_on_the_globe"
