"""Data of a driver change: a known reason, and a rider on board only if there is one."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from apps.rides.models import Assignment, ReasonCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import Place
from apps.rides.services import assignment
from apps.rides.services.assignment import Handover
from lib.access import Principal
from lib.errors import DomainError, FieldRefused, InvalidInput
from tests.factories import NOW, PICKUP
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import ride_in
from tests.rides.traces import everything, exceptions_of

pytestmark = pytest.mark.django_db

PLACE = Place(lat=Decimal("41.947000"), lng=Decimal("-87.730000"))


@pytest.mark.parametrize(
    ("handover", "more", "refusal", "fields"),
    [
        (Handover(reason_code="banana"), {}, InvalidInput, ["reasonCode"]),
        (Handover(reason_code="other"), {}, InvalidInput, ["note"]),
        (
            Handover(rider_location="At the door", place=PLACE, miles=Decimal(0)),
            {},
            FieldRefused,
            ["riderLocation", "location", "milesDriven"],
        ),
        (Handover(), {"respond_by": PICKUP + dt.timedelta(hours=1)}, InvalidInput, ["respondBy"]),
    ],
    ids=["unknown reason", "no note", "nobody on board", "no offer"],
)
@pytest.mark.parametrize("status", [RideStatus.SCHEDULED, RideStatus.ASSIGNED, RideStatus.ARRIVED], ids=str)
def test_handover_says_nothing_that_would_be_lost(
    status: RideStatus,
    handover: Handover,
    more: dict[str, Any],
    refusal: type[DomainError],
    fields: list[str],
    dispatcher: Principal,
) -> None:
    ride = ride_in(status)
    driver, vehicle = fit_pair()
    before = everything()

    with pytest.raises(refusal) as refused:
        assignment.assign(
            ride_id=ride.pk,
            driver_id=driver.pk,
            vehicle_id=vehicle.pk,
            handover=handover,
            by=dispatcher,
            at=NOW,
            **more,
        )

    assert [detail.field for detail in refused.value.details] == fields
    assert everything() == before


@pytest.mark.parametrize("status", [RideStatus.ARRIVED, RideStatus.IN_PROGRESS], ids=str)
def test_reason_of_the_operator_opens_what_it_stands_for(status: RideStatus, dispatcher: Principal) -> None:
    ReasonCode.objects.create(
        reason_list="unassign", code="flat_tyre", label="Flat tyre", parent_code="vehicle_breakdown"
    )
    ride = ride_in(status)
    old = Assignment.objects.get()
    driver, vehicle = fit_pair()
    on_board: dict[str, Any] = (
        {"rider_location": "Shoulder of I-90", "place": PLACE} if status is RideStatus.IN_PROGRESS else {}
    )

    assignment.assign(
        ride_id=ride.pk,
        driver_id=driver.pk,
        vehicle_id=vehicle.pk,
        handover=Handover(reason_code="flat_tyre", **on_board),
        by=dispatcher,
        at=PICKUP,
    )

    old.refresh_from_db()
    assert old.end_reason == "flat_tyre"
    assert exceptions_of(ride) == [("vehicle_breakdown", "open")]
