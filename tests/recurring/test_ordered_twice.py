"""The same request for a standing order twice, concurrently and later."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from apps.recurring.models import StandingOrder
from apps.recurring.services import create_order
from lib.access import system
from lib.ids import uuid7
from tests import factories
from tests.factories import NOW
from tests.locks import wait_until_somebody_waits
from tests.recurring import cast


@pytest.mark.django_db(transaction=True)
def test_wish_that_comes_twice_at_once_makes_one_order() -> None:
    centre, key = cast.dialysis_centre(), uuid7()
    rider = factories.RiderFactory.create(facility=centre)

    def order() -> str:
        try:
            create_order.create(rider_id=rider.pk, draft=cast.draft(centre), order_id=key, by=system(), at=NOW)
        except create_order.OrderExists:
            return "made already"
        finally:
            connection.close()
        return "made"

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            create_order.create(rider_id=rider.pk, draft=cast.draft(centre), order_id=key, by=system(), at=NOW)
            second = other.submit(order)
            wait_until_somebody_waits()
        assert second.result(timeout=20) == "made already"

    assert StandingOrder.objects.get().pk == key
