"""Encryption context of encrypted values."""

import pytest
from cryptography.exceptions import InvalidTag
from django.db import models

from apps.riders.models import Rider
from apps.rides.models import Ride
from lib.crypto import aad, decrypt, encrypt


def test_value_opens_where_it_was_sealed() -> None:
    encrypted = encrypt("4711", aad=aad(Ride, "pickup_access", 1))

    assert aad(Ride, "pickup_access", 1) == "rides_ride.pickup_access.1"
    assert decrypt(encrypted, aad=aad(Ride, "pickup_access", 1)) == "4711"


@pytest.mark.parametrize(
    ("model", "name", "pk"), [(Rider, "pickup_access", 1), (Ride, "dropoff_access", 1), (Ride, "pickup_access", 2)]
)
def test_value_of_another_table_column_or_row_does_not_open(model: type[models.Model], name: str, pk: int) -> None:
    encrypted = encrypt("4711", aad=aad(Ride, "pickup_access", 1))

    with pytest.raises(InvalidTag):
        decrypt(encrypted, aad=aad(model, name, pk))
