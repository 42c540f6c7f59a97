"""A ride for now is due when it was requested, not at a pickup time that had passed by then."""

import pytest
from django.db import connection

from apps.reporting.rules.facts import facts_of
from apps.reporting.rules.measures import MEASURES
from tests.reporting import legs

pytestmark = pytest.mark.django_db


def measured(leg: legs.Leg) -> tuple[float, bool]:
    """Return the lead time and whether the pickup was on time."""
    legs.write(leg, legs.cast())
    facts = facts_of("SELECT * FROM rides_ride")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {MEASURES['lead_time'].sql}, {MEASURES['arrived_on_time'].sql} FROM ({facts}) facts"  # noqa: S608
        )
        lead_time, is_on_time = cursor.fetchone()
    return float(lead_time), bool(is_on_time)


@pytest.mark.parametrize(("arrived", "is_on_time"), [(25, True), (26, False)])
def test_ride_for_now_is_measured_from_its_request(arrived: int, is_on_time: bool) -> None:
    assert measured(legs.Leg(20, requested=-10, arrived=arrived, boarded=arrived, delivered=60, dropped=65)) == (
        0,
        is_on_time,
    )


def test_ride_requested_ahead_is_measured_from_its_pickup_time() -> None:
    assert measured(legs.Leg(20, requested=60, arrived=16, boarded=16, delivered=60, dropped=65)) == (60, False)
