"""Release of will-call rides, and its withdrawal."""

import datetime as dt
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.fleet.models import Driver, Vehicle
from apps.rides.models import Milestone, Ride, RideException
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment, will_call
from apps.rides.services.guards import GuardFailed
from apps.rides.services.milestones import MilestoneOutOfOrder
from lib.access import Principal
from lib.errors import NotFound
from tests import factories
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import ride_in

AT = factories.NOW + dt.timedelta(hours=4)
WAITING = {
    "will_call": True,
    "pickup_time_kind": "estimated",
    "will_call_expires_at": factories.NOW + dt.timedelta(hours=20),
}


def test_release_promises_a_pickup_within_the_facilitys_minutes(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED, facility__will_call_response_minutes=45, **WAITING)

    will_call.mark_ready(ride_id=ride.pk, ready_source="facility_portal", by=dispatcher, at=AT)

    ride.refresh_from_db()
    assert (ride.ready_at, ride.promised_pickup_by) == (AT, AT + dt.timedelta(minutes=45))
    assert [event.type for event in Event.objects.filter(subject_id=ride.pk)] == ["ride.ready"]


def test_second_release_changes_nothing(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED, **WAITING)
    will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT)
    first = Ride.objects.filter(pk=ride.pk).values().get()

    will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT + dt.timedelta(minutes=5))

    assert Ride.objects.filter(pk=ride.pk).values().get() == first
    assert Event.objects.filter(subject_id=ride.pk).count() == 1


@pytest.mark.parametrize("status", [RideStatus.EN_ROUTE, RideStatus.ARRIVED, RideStatus.IN_PROGRESS], ids=str)
def test_second_release_changes_nothing_once_driver_has_left(status: RideStatus, dispatcher: Principal) -> None:
    released = {"ready_at": AT, "ready_source": "phone", "promised_pickup_by": AT + dt.timedelta(hours=1)}
    ride = ride_in(status, **WAITING, **released)
    before = Ride.objects.filter(pk=ride.pk).values().get()

    will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT + dt.timedelta(minutes=5))

    assert Ride.objects.filter(pk=ride.pk).values().get() == before
    assert not Event.objects.filter(subject_id=ride.pk).exists()


def test_ended_ride_says_so_even_if_it_was_released(dispatcher: Principal) -> None:
    released = {"ready_at": AT, "ready_source": "phone", "promised_pickup_by": AT + dt.timedelta(hours=1)}
    ride = ride_in(RideStatus.CANCELLED, **WAITING, **released)

    with pytest.raises(will_call.NotReleasable):
        will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT)

    assert Event.objects.count() == 0


def test_retraction_gives_back_the_window_that_was_booked(dispatcher: Principal) -> None:
    clinic = factories.FacilityFactory.create(pickup_early_minutes=5, pickup_late_minutes=30)
    ride = ride_in(RideStatus.SCHEDULED, pickup_facility=clinic, **WAITING)
    will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT)

    will_call.retract_ready(ride_id=ride.pk, by=dispatcher, at=AT + dt.timedelta(minutes=25))

    ride.refresh_from_db()
    assert (ride.window_starts_at, ride.window_ends_at) == (
        ride.pickup_at - dt.timedelta(minutes=5),
        ride.pickup_at + dt.timedelta(minutes=30),
    )


def test_retraction_stops_the_clock_and_counts_the_delay(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED, **WAITING)
    will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT)

    will_call.retract_ready(ride_id=ride.pk, by=dispatcher, at=AT + dt.timedelta(minutes=25))

    ride.refresh_from_db()
    assert (ride.ready_at, ride.promised_pickup_by, ride.facility_delay_minutes) == (None, None, 25)
    assert Milestone.objects.get(ride=ride).voided


def test_firm_ride_has_nothing_to_release(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)

    with pytest.raises(will_call.NotWillCall):
        will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT)

    assert Event.objects.count() == 0


@pytest.mark.parametrize("status", [RideStatus.CANCELLED, RideStatus.REQUESTED], ids=str)
def test_ride_that_does_not_wait_is_not_released(status: RideStatus, dispatcher: Principal) -> None:
    ride = ride_in(status, **WAITING)

    with pytest.raises(will_call.NotReleasable):
        will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT)

    assert Ride.objects.get(pk=ride.pk).ready_at is None


def test_open_checklist_holds_a_discharge_back_until_overridden(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED, service_type="hospital_discharge", discharge={"checklist": {}}, **WAITING)

    with pytest.raises(GuardFailed):
        will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=AT)
    assert Ride.objects.get(pk=ride.pk).ready_at is None

    will_call.mark_ready(ride_id=ride.pk, override=True, override_reason="Order signed on paper.", by=dispatcher, at=AT)
    assert Ride.objects.get(pk=ride.pk).ready_at == AT


def test_release_in_the_future_is_refused(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED, **WAITING)

    with pytest.raises(MilestoneOutOfOrder):
        will_call.mark_ready(ride_id=ride.pk, ready_at=AT + dt.timedelta(minutes=10), by=dispatcher, at=AT)


def test_release_from_before_the_ride_is_refused(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED, **WAITING)
    long_ago = min(ride.requested_at, ride.pickup_at - dt.timedelta(days=1)) - dt.timedelta(seconds=1)

    with pytest.raises(MilestoneOutOfOrder) as refused:
        will_call.mark_ready(ride_id=ride.pk, ready_at=long_ago, by=dispatcher, at=AT)

    assert refused.value.details[0].field == "readyAt"
    assert Ride.objects.get(pk=ride.pk).version == ride.version


def test_outsider_cannot_release(outsider: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED, **WAITING)

    with pytest.raises(NotFound):
        will_call.mark_ready(ride_id=ride.pk, by=outsider, at=AT)

    assert Ride.objects.get(pk=ride.pk).ready_at is None


def on_the_road_at(crew: tuple[Driver, Vehicle], pickup_at: dt.datetime, by: Principal, **columns: Any) -> Ride:
    """Assign a crew to a ride of about an hour."""
    ride = factories.RideFactory.create(
        pickup_at=pickup_at,
        window_starts_at=pickup_at,
        window_ends_at=pickup_at + dt.timedelta(minutes=15),
        appointment_at=None,
        **columns,
    )
    driver, vehicle = crew
    assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=by, at=factories.NOW)
    ride.refresh_from_db()
    return ride


@pytest.mark.parametrize(("hours", "found"), [(0, ["SCHEDULE_CONFLICT"]), (8, None)], ids=["taken", "free"])
def test_release_names_the_drivers_other_ride_and_is_not_refused(
    hours: int, found: list[str] | None, dispatcher: Principal
) -> None:
    crew = fit_pair()
    waiting = on_the_road_at(crew, AT + dt.timedelta(hours=5), dispatcher, **WAITING)
    other = on_the_road_at(crew, AT + dt.timedelta(hours=hours), dispatcher)

    will_call.mark_ready(ride_id=waiting.pk, by=dispatcher, at=AT)

    ride = Ride.objects.get(pk=waiting.pk)
    assert (ride.ready_at, ride.status, ride.driver_id) == (AT, "assigned", other.driver_id)
    told = Event.objects.filter(subject_id=ride.pk).latest("sequence")
    assert (told.type, told.data.get("violations")) == ("ride.ready", found)
    entry = AuditEntry.objects.get(action="rides.ready")
    assert entry.details == ({"violations": found} if found else {})
    assert not RideException.objects.exists()


def test_conflict_from_before_the_release_is_not_repeated(dispatcher: Principal) -> None:
    crew = fit_pair()
    on_the_road_at(crew, AT, dispatcher)
    waiting = factories.RideFactory.create(pickup_at=AT, **WAITING)
    factories.put_driver_on(waiting, driver=crew[0], vehicle=crew[1])

    will_call.mark_ready(ride_id=waiting.pk, by=dispatcher, at=AT)

    assert Event.objects.get(type="ride.ready").data.get("violations") is None


def test_release_with_ineligible_driver_opens_exception(dispatcher: Principal) -> None:
    waiting = on_the_road_at(fit_pair(), AT + dt.timedelta(hours=5), dispatcher, **WAITING)
    Driver.objects.update(activation="inactive")

    will_call.mark_ready(ride_id=waiting.pk, by=dispatcher, at=AT)

    opened = RideException.objects.get()
    assert (opened.type, opened.detected_by, opened.details) == (
        "credential_lapse",
        "ready",
        {"violations": ["DRIVER_INACTIVE"]},
    )
    ride = Ride.objects.get(pk=waiting.pk)
    assert (ride.ready_at, ride.status, ride.driver_id) == (AT, "assigned", waiting.driver_id)
