"""A ride of an order is re-opened while the order creates a replacement: one of them stays."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from apps.recurring.services import hold_order
from apps.recurring.services.create_order import OrderResult
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import status_report
from lib.access import system
from tests import factories
from tests.factories import NOW
from tests.locks import wait_until_somebody_waits
from tests.recurring import cast
from tests.recurring.cast import DATES, both


@pytest.mark.parametrize("status", [RideStatus.SCHEDULED, RideStatus.ASSIGNED])
@pytest.mark.django_db(transaction=True)
def test_resume_waits_for_a_ride_that_is_being_reopened(status: RideStatus) -> None:
    order = cast.order()
    ride = cast.rides(order, leg_type="outbound")[2]
    if status is RideStatus.ASSIGNED:
        factories.put_driver_on(ride)
    reopened = StatusReport(status, source="phone", note="The hold was a mistake.")
    held: dict[str, Any] = {"order_id": order.pk, "from_date": DATES[2], "by": system(), "at": NOW}
    hold_order.hold(until=None, reason="travel", **held)

    def resume() -> OrderResult:
        try:
            return hold_order.resume(**held)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            status_report.change_status(ride_id=ride.pk, report=reopened, by=system(), at=NOW)
            resuming = other.submit(resume)
            wait_until_somebody_waits()
        resumed = resuming.result(timeout=20)

    assert resumed.result.refused == {}
    assert len(resumed.result.created) == 2 * len(DATES[2:]) - 1
    assert cast.live(order) == both(DATES)
    assert Ride.objects.get(pk=ride.pk).status == status
