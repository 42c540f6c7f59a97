"""The return trip from dialysis is rescheduled if the outbound leg was late."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport
from apps.rides.services import status_report as service
from lib.access import Principal, system
from tests import factories
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import report_to

pytestmark = pytest.mark.django_db

CHAIR = factories.PICKUP + dt.timedelta(minutes=30)
PLANNED = CHAIR + dt.timedelta(minutes=240)  # 210 of treatment, 30 until the rider is ready
MINUTE = dt.timedelta(minutes=1)
WILL_CALL = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": PLANNED + 300 * MINUTE}


def _journey(*, will_call: bool = True, **back: Any) -> tuple[Ride, Ride]:
    """Return a rider on board to the chair, and the return leg."""
    there = ride_in(
        RideStatus.IN_PROGRESS,
        leg_type="outbound",
        service_type="dialysis",
        appointment_at=CHAIR,
        dialysis={"treatmentMinutes": 210, "postTreatmentMinutes": 30},
    )
    usual: dict[str, Any] = {"leg_type": "return", "leg_sequence": 2, "service_type": "dialysis", "pickup_at": PLANNED}
    usual |= {"facility": there.facility, "rider": there.rider} | (WILL_CALL if will_call else {})
    way_back = factories.RideFactory.create(**(usual | back))
    trip = factories.TripFactory.create(rider=there.rider)
    Ride.objects.filter(pk__in=[there.pk, way_back.pk]).update(trip=trip)
    there.refresh_from_db()
    return there, way_back


def _arrive(ride: Ride, late: int, *, by: Principal | None = None) -> None:
    reached = CHAIR + late * MINUTE
    moment = MilestoneReport(type="arrived_dropoff", occurred_at=reached)
    said = report_to(RideStatus.IN_PROGRESS, milestones=(moment,))
    service.change_status(ride_id=ride.pk, report=said, by=by or system(), at=reached)


def _complete(ride: Ride, late: int) -> None:
    reached = CHAIR + late * MINUTE
    service.change_status(ride_id=ride.pk, report=report_to(RideStatus.COMPLETED), by=system(), at=reached)


def _moves(ride: Ride) -> list[Any]:
    return list(Event.objects.filter(subject_id=ride.pk, type="ride.rescheduled").values_list("data", flat=True))


@pytest.mark.parametrize("will_call", [True, False])
def test_way_back_begins_when_the_treatment_is_over(will_call: bool) -> None:
    there, back = _journey(will_call=will_call)
    assignment = factories.put_driver_on(back)
    driver = factories.principal(UserRole.DISPATCHER, provider_ids=frozenset({there.provider_id}))

    _arrive(there, 40, by=driver)
    _complete(there, 43)

    back.refresh_from_db()
    assert back.pickup_at == PLANNED + 40 * MINUTE
    assert back.window_starts_at <= back.pickup_at <= back.window_ends_at
    assert (back.status, back.assignment_id, back.version) == ("assigned", assignment.pk, 2)
    (told,) = _moves(back)
    assert told["changed"] == ["pickupTime"]
    assert told["previousPickupTime"] == PLANNED.isoformat().replace("+00:00", "Z")
    assert AuditEntry.objects.get(action="rides.amend").subject_id == back.pk


def test_late_delivery_alone_reschedules_the_return_trip() -> None:
    there, back = _journey()

    _complete(there, 25)

    back.refresh_from_db()
    assert back.pickup_at == PLANNED + 25 * MINUTE


@pytest.mark.parametrize(
    ("late", "columns"),
    [
        (-10, {}),
        (4, {}),
        (40, {"ready_at": CHAIR, "ready_source": "phone", "promised_pickup_by": PLANNED}),
        (40, {"pickup_at": PLANNED + 60 * MINUTE}),
        (40, {"leg_sequence": 1}),
    ],
    ids=["in time", "hardly late", "released", "planned for later", "no way back"],
)
def test_way_back_stays_where_nothing_moves_it(late: int, columns: dict[str, Any]) -> None:
    there, back = _journey(**columns)
    before = back.pickup_at

    _arrive(there, late)

    back.refresh_from_db()
    assert (back.pickup_at, _moves(back)) == (before, [])


def test_other_rides_than_to_dialysis_move_nothing() -> None:
    there, back = _journey()
    Ride.objects.filter(pk=there.pk).update(service_type="appointment")

    _complete(there, 40)

    back.refresh_from_db()
    assert back.pickup_at == PLANNED
