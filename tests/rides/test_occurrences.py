"""Rides of a series: one open ride per occurrence, whichever code writes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from apps.accounts.rules.roles import UserRole
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import corrections
from apps.rides.services import status_report as service
from lib.access import Principal, system
from lib.constraints import constraint_of
from lib.errors import Code, Detail
from tests import factories
from tests.locks import wait_until_somebody_waits
from tests.refused import constraint_against
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import AT, report_to, traces

KEY = "01937b2e-0c11-7d42-8a57-31f0c2b4d6e8:2026-11-20:outbound"
REOPEN: dict[str, Any] = {"report": report_to(RideStatus.ASSIGNED, note="The hold was a mistake."), "at": AT}


@pytest.mark.parametrize(
    ("first", "refused"),
    [(RideStatus.CANCELLED, False), *((one, True) for one in RideStatus if one is not RideStatus.CANCELLED)],
    ids=str,
)
def test_ride_of_a_series_has_a_successor_once_it_was_called_off(
    first: RideStatus, refused: bool, dispatcher: Principal
) -> None:
    ride_in(first, occurrence_key=KEY)
    second = ride_in(RideStatus.SCHEDULED)
    successor = Ride.objects.filter(pk=second.pk)

    if refused:
        assert constraint_against(successor, {"occurrence_key": KEY}) == "ride_occurrence_once_live"
    else:
        assert successor.update(occurrence_key=KEY) == 1


def test_cancelled_ride_cannot_reopen_while_successor_is_active(supervisor: Principal) -> None:
    ride = ride_in(RideStatus.CANCELLED, occurrence_key=KEY)
    successor = ride_in(RideStatus.SCHEDULED, occurrence_key=KEY)
    before = traces(ride)

    with pytest.raises(corrections.OccurrenceTaken) as refused:
        service.change_status(ride_id=ride.pk, by=supervisor, **REOPEN)

    message = "The standing order has a replacement for this ride. Cancel the replacement first."
    assert (refused.value.code, refused.value.message) == (Code.RULE_VIOLATION, message)
    also = {"existingId": str(successor.pk)}
    assert refused.value.details == [
        Detail(field="status", code="occurrence_taken", message=refused.value.text, also=also)
    ]
    assert traces(ride) == before

    cancelled = report_to(RideStatus.CANCELLED, reason_code="booking_error")
    service.change_status(ride_id=successor.pk, report=cancelled, by=supervisor, at=factories.NOW)
    assert service.change_status(ride_id=ride.pk, by=supervisor, **REOPEN).status == "assigned"


def test_successor_out_of_reach_is_not_named(db: None) -> None:
    ride = ride_in(RideStatus.CANCELLED, occurrence_key=KEY)
    ride_in(RideStatus.SCHEDULED, occurrence_key=KEY)
    near = factories.principal(UserRole.DISPATCH_SUPERVISOR, facility_ids=frozenset({ride.facility_id}))

    with pytest.raises(corrections.OccurrenceTaken) as refused:
        service.change_status(ride_id=ride.pk, by=near, **REOPEN)

    assert refused.value.details[0].also == {}


def test_other_refusals_of_the_database_pass(supervisor: Principal) -> None:
    ride = ride_in(RideStatus.CANCELLED, occurrence_key=KEY)
    Ride.objects.filter(pk=ride.pk).update(driver=None)

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        service.change_status(ride_id=ride.pk, by=supervisor, **REOPEN)

    assert constraint_of(refused.value) == "ride_underway_has_driver_and_vehicle"


@pytest.mark.django_db(transaction=True)
def test_reopening_waits_for_successor_that_is_being_created() -> None:
    ride = ride_in(RideStatus.CANCELLED, occurrence_key=KEY)
    successor = ride_in(RideStatus.SCHEDULED)

    def reopen() -> None:
        try:
            service.change_status(ride_id=ride.pk, by=system(), **REOPEN)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            Ride.objects.filter(pk=successor.pk).update(occurrence_key=KEY)
            reopening = other.submit(reopen)
            wait_until_somebody_waits()
        with pytest.raises(corrections.OccurrenceTaken):
            reopening.result(timeout=20)
