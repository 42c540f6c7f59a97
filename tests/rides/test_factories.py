"""Rows of the factories satisfy the database's constraints."""

import pytest
from django.db import IntegrityError

from tests import factories


@pytest.mark.django_db
def test_assigned_ride_satisfies_the_constraints() -> None:
    ride = factories.RideFactory.create()

    assignment = factories.put_driver_on(ride)

    assert (ride.status, ride.assignment_id) == ("assigned", assignment.pk)


@pytest.mark.django_db
def test_driver_cannot_be_in_two_shifts_at_once() -> None:
    shift = factories.ShiftFactory.create()

    with pytest.raises(IntegrityError, match="shift_driver_once"):
        factories.ShiftFactory.create(driver=shift.driver)
