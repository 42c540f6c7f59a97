"""A rider inside a ride request is written like any rider; callers who may only book must name an existing rider."""

import dataclasses
import datetime as dt

import pytest

from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.services import booking
from lib.access import Principal
from lib.errors import ScopeMissing
from lib.scopes import Scope
from tests import factories
from tests.rides.drafts import draft

INLINE = {"first_name": "Orla", "last_name": "Canary"}


@pytest.fixture
def booker(planner: Principal) -> Principal:
    return dataclasses.replace(planner, scopes=planner.scopes - {Scope.RIDERS_WRITE})


def test_inline_rider_needs_the_right_to_write_riders(
    hospital: Facility, planner: Principal, booker: Principal, now: dt.datetime
) -> None:
    inline = dataclasses.replace(draft(hospital, factories.RiderFactory.build()), rider_id=None, rider=INLINE)

    with pytest.raises(ScopeMissing) as refused:
        booking.book(draft=inline, by=booker, at=now)
    assert refused.value.details[0].also == {"requiredScope": "riders:write"}
    assert (Rider.objects.count(), Ride.objects.count(), AuditEntry.objects.count()) == (0, 0, 0)

    assert booking.book(draft=inline, by=planner, at=now).ride.rider.last_name == "Canary"


def test_rider_who_is_there_needs_no_more_than_the_right_to_book(
    hospital: Facility, booker: Principal, now: dt.datetime
) -> None:
    rider = factories.RiderFactory.create(facility=hospital)

    assert booking.book(draft=draft(hospital, rider), by=booker, at=now).ride.rider_id == rider.pk
