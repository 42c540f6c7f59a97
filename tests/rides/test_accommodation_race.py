"""A ride booked while the rider's needs change gets the new ones, whoever comes first."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from apps.riders import services
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.services import accommodation_change, booking
from lib.access import system
from tests import factories
from tests.locks import wait_until_somebody_waits
from tests.rides.drafts import draft


def change(rider_id: UUID) -> None:
    try:
        accommodation_change.change_accommodation(
            rider_id=rider_id, needs={"mobility": "wheelchair"}, by=system(), at=factories.NOW
        )
    finally:
        connection.close()


def book_while_needs_change() -> str:
    """Book, let the change begin before the booking commits, and answer the mobility the ride ends up with."""
    facility = factories.FacilityFactory.create()
    person = {"first_name": "Orla", "last_name": "Canary", "facility_ids": [facility.pk]}
    rider: Rider = services.register(draft=person, by=system(), at=factories.NOW).rider
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            booked = booking.book(draft=draft(facility, rider), by=system(), at=factories.NOW)
            changing = other.submit(change, rider.pk)
            wait_until_somebody_waits()
        changing.result()
    return str(Ride.objects.get(pk=booked.ride.pk).accommodation["mobility"])


@pytest.mark.django_db(transaction=True)
def test_ride_booked_meanwhile_takes_the_new_needs_over() -> None:
    assert book_while_needs_change() == "wheelchair"


@pytest.mark.django_db(transaction=True)
def test_without_the_second_look_it_keeps_the_old_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: rides looked for once, before the rider's row is locked."""
    look, looks = accommodation_change._locked, []

    def once(rider_id: UUID, **besides: Any) -> list[Ride]:
        looks.append(rider_id)
        return look(rider_id, **besides) if len(looks) == 1 else []

    monkeypatch.setattr(accommodation_change, "_locked", once)

    assert book_while_needs_change() == "ambulatory"
