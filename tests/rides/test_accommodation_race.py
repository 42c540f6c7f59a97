"""A ride booked while the rider's needs change gets the new needs, in either order."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from apps.riders import services
from apps.riders.models import AccommodationProfile, Rider
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
    """Book, start the change before the booking commits, and return the final mobility of the ride."""
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
def test_without_the_riders_lock_first_it_keeps_the_old_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: rides are selected before the rider's row is locked."""
    look, lock = accommodation_change._locked, services.set_accommodation
    seen: list[Ride] = []

    def too_early(*, rider_id: UUID, **said: Any) -> AccommodationProfile:
        seen.extend(look(rider_id))
        return lock(rider_id=rider_id, **said)

    monkeypatch.setattr(services, "set_accommodation", too_early)
    monkeypatch.setattr(accommodation_change, "_locked", lambda rider_id: seen)

    assert book_while_needs_change() == "ambulatory"
