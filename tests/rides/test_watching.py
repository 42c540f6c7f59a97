"""Effects of the exception monitor in the database: opened, raised and resolved exceptions, and the next check time."""

import datetime as dt

import pytest

from apps.events.models import Event
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, editing, exceptions
from apps.rides.services import status_report as reporting
from lib.access import Principal
from tests import factories
from tests.rides.drafts import draft
from tests.rides.looks import HOUR, MINUTE, NOW, PICKUP, SECOND, WINDOW_END, fresh, released, standing, tick
from tests.rides.rides_in import DROPPED_OFF, ride_in
from tests.rides.status_calls import report_to
from tests.rides.traces import events_of, everything, exceptions_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    made: Rider = factories.RiderFactory.create(facility=hospital)
    return made


def test_late_pickup_opens_once_and_is_told(hospital: Facility) -> None:
    ride = ride_in(RideStatus.ASSIGNED, facility=hospital)
    late = WINDOW_END + SECOND

    assert tick(WINDOW_END) == 1
    assert exceptions_of(ride) == []
    assert (fresh(ride).version, fresh(ride).next_check_at) == (1, WINDOW_END + dt.timedelta(microseconds=1))
    assert tick(late) == 1
    before = everything()
    assert tick(late) == 0
    assert tick(late + SECOND) == 0

    assert everything() == before
    exception, row = RideException.objects.get(), fresh(ride)
    assert (exception.type, exception.severity, exception.status) == ("late_pickup", "warning", "open")
    assert (exception.opened_at, exception.opened_by, exception.detected_by) == (late, "system", "clock")
    assert (exception.due_at, exception.escalation_level) == (WINDOW_END + 60 * MINUTE, 1)
    assert (exception.trip_id, exception.rider_id, exception.facility_id) == (None, ride.rider_id, hospital.pk)
    assert exception.summary == "Late pickup"
    assert (row.version, row.open_exception_count, row.max_exception_severity) == (2, 1, "warning")
    assert (row.next_check_at, row.updated_at) == (late + 10 * MINUTE, late)  # then it is predicted again
    event = Event.objects.get()
    assert (event.type, event.sequence, event.actor, event.occurred_at) == ("ride.exception", 2, "system", late)
    assert (event.facility_id, event.provider_id) == (hospital.pk, row.provider_id)
    assert event.data == {
        "rideId": str(ride.pk),
        "status": "assigned",
        "previousStatus": "assigned",
        "pickupTime": "2026-11-20T20:00:00Z",
        "exception": {
            "id": str(exception.pk),
            "type": "late_pickup",
            "severity": "warning",
            "status": "open",
            "dueAt": "2026-11-20T21:15:00Z",
            "causeDriverId": str(row.driver_id),
        },
    }


def test_late_pickup_escalates_in_place_and_arrival_resolves_it(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE, departed_at=PICKUP)
    tick(WINDOW_END + SECOND)
    very_late = WINDOW_END + 60 * MINUTE

    tick(very_late)

    exception = RideException.objects.get(type="late_pickup")
    assert (exception.severity, exception.escalation_level, exception.version) == ("critical", 2, 2)
    assert (exception.opened_at, exception.updated_at, exception.due_at) == (WINDOW_END + SECOND, very_late, None)
    assert fresh(ride).max_exception_severity == "critical"
    arrived = report_to(RideStatus.ARRIVED, occurred_at=very_late + MINUTE)
    reporting.change_status(ride_id=ride.pk, report=arrived, by=dispatcher, at=very_late + MINUTE)
    tick(very_late + MINUTE)
    assert ("late_pickup", "resolved") in exceptions_of(ride)
    assert "late_pickup" not in standing(ride)


def test_acknowledged_exception_escalates_with_owner_unsnoozed(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    tick(WINDOW_END + SECOND)
    exception = RideException.objects.get()
    exceptions.acknowledge(exception_id=exception.pk, by=dispatcher, at=WINDOW_END + MINUTE)
    RideException.objects.update(snoozed_until=WINDOW_END + 5 * HOUR)

    tick(WINDOW_END + 60 * MINUTE)

    exception.refresh_from_db()
    assert (exception.status, exception.severity, exception.owner_id) == ("acknowledged", "critical", dispatcher.id)
    assert exception.snoozed_until is None
    assert standing(ride) == {"late_pickup": "critical"}


def test_what_is_for_information_is_noted() -> None:
    ride = ride_in(RideStatus.SCHEDULED, pickup_at=NOW + 30 * HOUR, service_date=dt.date(2026, 11, 21))

    tick(NOW)

    assert standing(ride) == {"unassigned_at_risk": "info"}
    assert events_of(ride) == ["ride.exception_noted"]
    assert fresh(ride).next_check_at == ride.pickup_at - 24 * HOUR


def test_driver_settles_what_a_ride_without_one_is_at_risk_of(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    tick(PICKUP - HOUR)
    assert standing(ride) == {"unassigned_at_risk": "critical"}

    factories.put_driver_on(ride)
    Ride.objects.filter(pk=ride.pk).update(
        next_check_at=PICKUP - HOUR
    )  # as the service writes it: see the property test
    tick(PICKUP - HOUR + SECOND)

    assert exceptions_of(ride) == [("unassigned_at_risk", "resolved")]
    settled = RideException.objects.get()
    assert (settled.resolved_by, settled.resolution_code, settled.closed_by_hand) == ("system", "rescheduled", False)
    assert events_of(ride) == ["ride.exception", "ride.exception_resolved"]
    assert (fresh(ride).open_exception_count, fresh(ride).max_exception_severity) == (0, "")


def test_ride_that_is_moved_is_late_no_more(dispatcher: Principal, hospital: Facility, rider: Rider) -> None:
    ride = booking.book(draft=draft(hospital, rider), by=dispatcher, at=NOW).ride
    tick(WINDOW_END + SECOND)
    assert standing(ride) == {"late_pickup": "warning", "unassigned_at_risk": "critical"}

    later = WINDOW_END + 10 * MINUTE
    editing.edit(ride_id=ride.pk, changes={"pickup_at": PICKUP + 20 * HOUR}, by=dispatcher, at=later)
    tick(later)

    assert standing(ride) == {"unassigned_at_risk": "warning"}
    row = RideException.objects.get(type="unassigned_at_risk")
    assert (row.escalation_level, row.due_at) == (2, PICKUP + 18 * HOUR)
    # A lower severity requires no action.
    assert events_of(ride)[-3:] == ["ride.rescheduled", "ride.exception_resolved", "ride.exception_noted"]


def test_resolved_exception_reopens_only_when_it_escalates(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    tick(WINDOW_END + SECOND)
    exception = RideException.objects.get()
    exceptions.resolve(
        exception_id=exception.pk, code=ResolutionCode.HANDLED_ELSEWHERE, by=dispatcher, at=WINDOW_END + MINUTE
    )

    tick(WINDOW_END + 2 * MINUTE)

    assert standing(ride) == {}
    assert fresh(ride).next_check_at == WINDOW_END + 12 * MINUTE
    tick(WINDOW_END + 60 * MINUTE)
    assert standing(ride) == {"late_pickup": "critical"}
    assert exceptions_of(ride) == [("late_pickup", "open"), ("late_pickup", "resolved")]


def test_resolved_exception_reopens_on_next_occurrence(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    tick(PICKUP - HOUR)
    exceptions.resolve(
        exception_id=RideException.objects.get().pk,
        code=ResolutionCode.FALSE_ALARM,
        dismiss=True,
        by=dispatcher,
        at=PICKUP - 50 * MINUTE,
    )
    tick(PICKUP - 40 * MINUTE)
    assert standing(ride) == {}

    Ride.objects.filter(pk=ride.pk).update(
        status_changed_at=PICKUP - 30 * MINUTE, next_check_at=NOW
    )  # given back by the driver
    tick(PICKUP - 30 * MINUTE)

    assert standing(ride) == {"unassigned_at_risk": "critical"}


def test_slipped_discharge_stays_so_until_the_patient_is_ready(dispatcher: Principal) -> None:
    ride = released(
        ready_at=NOW, service_type="hospital_discharge", discharge={"expectedReadyAt": "2026-11-20T16:00:00Z"}
    )
    Ride.objects.update(ready_at=None, ready_source="", promised_pickup_by=None)

    tick(NOW + HOUR)
    assert standing(ride) == {}
    tick(NOW + HOUR + SECOND)
    assert standing(ride) == {"discharge_slipped": "info"}
    Ride.objects.update(discharge={"expectedReadyAt": "2026-11-20T23:00:00Z"}, next_check_at=NOW)
    tick(NOW + HOUR + MINUTE)

    assert standing(ride) == {"discharge_slipped": "info"}


def test_no_show_expires_two_hours_after_the_ride_and_an_accident_stays(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.NO_SHOW)
    for type_ in (ExceptionType.RIDER_NO_SHOW, ExceptionType.ACCIDENT):
        exceptions.open_exception(ride, type_, by=dispatcher, at=PICKUP + HOUR, detected_by="T21")
    expires = DROPPED_OFF + 2 * HOUR

    tick(expires - SECOND)
    assert (set(standing(ride)), fresh(ride).next_check_at) == ({"rider_no_show", "accident"}, expires)
    before = fresh(ride).version
    tick(expires)

    row, exception = fresh(ride), RideException.objects.get(type="rider_no_show")
    assert (exception.status, exception.resolution_code, exception.resolved_by) == ("resolved", "expired", "system")
    assert (exception.resolved_at, exception.closed_by_hand) == (expires, False)
    assert standing(ride) == {"accident": "critical"}
    assert (row.open_exception_count, row.version, row.next_check_at) == (1, before + 1, None)
    assert Event.objects.filter(subject_id=ride.pk, type="ride.exception_resolved").count() == 1


def test_expired_credential_lapse_is_resolved_and_not_raised(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    exceptions.open_exception(ride, ExceptionType.CREDENTIAL_LAPSE, by=dispatcher, at=NOW, detected_by="crew")

    tick(WINDOW_END + 24 * HOUR)

    exception = RideException.objects.get()
    assert (exception.severity, exception.resolution_code) == ("warning", "expired")
    assert (fresh(ride).open_exception_count, fresh(ride).max_exception_severity) == (0, "")
