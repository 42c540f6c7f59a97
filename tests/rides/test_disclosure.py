"""Redaction of rides in the API's shape, field by field, also for fields that were not requested."""

from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.rides.rules.disclosure import disclosed, disclosure_of
from lib.access import Phi
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("shown", "seen"),
    [
        ({"id": "7", "status": "scheduled"}, {"id": "7", "status": "scheduled"}),
        (
            {"dropoff": {"facilityId": None, "name": "Home", "city": "Chicago", "state": "IL", "postalCode": "60622"}},
            {"dropoff": {"facilityId": None, "city": "Chicago", "state": "IL", "postalCode": "606"}},
        ),
        (
            {"accommodation": {"mobility": "wheelchair", "driverNotes": "x", "dispatcherNotes": "x"}},
            {"accommodation": {"mobility": "wheelchair"}},
        ),
        ({"notes": {"driver": "x", "dispatcher": "x", "facility": "x"}}, {}),
    ],
    ids=["ids", "stop", "needs", "notes"],
)
def test_field_asked_for_alone_is_judged_alone(shown: dict[str, Any], seen: dict[str, Any]) -> None:
    analyst = disclosure_of(factories.principal(UserRole.ANALYST, phi=Phi.NONE))

    assert disclosed(shown, analyst) == seen
