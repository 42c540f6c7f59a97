"""Actions on the ride page: by permission, at the version that was read, with a reason if required."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.rides.models import Assignment, Milestone, Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.ride.test_ride_page import page_of
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW, PICKUP
from tests.rides.drafts import draft
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import traces

pytestmark = pytest.mark.django_db

ACTIONS = (
    *("ready", "unready", "confirm", "cancel", "no-show", "unfulfilled", "unassign", "notes", "moment"),
    *("link", "unlink", "reinstate"),
)
WILL_CALL = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": PICKUP + dt.timedelta(hours=9)}


@pytest.fixture
def desk(db: None) -> Client:
    client = Client()
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk"))
    return client


def _planner(ride: Ride) -> Client:
    person = factories.UserFactory.create(role=UserRole.PLANNER)
    assert ride.facility is not None
    person.facilities.add(ride.facility)
    client = Client()
    sign_in(client, person)
    return client


def _send(client: Client, ride: Ride, action: str, **form: Any) -> Any:
    """Submit a form of the current page; follow to the next page."""
    version = Ride.objects.get(pk=ride.pk).version
    return client.post(page_of(ride, f"{action}/"), {"version": version} | form, follow=True)


def test_r2_cancel_needs_reason_and_history_has_user_and_time(desk: Client) -> None:
    ride = factories.RideFactory.create()
    before = traces(ride)

    without = _send(desk, ride, "cancel")
    assert without.status_code == 422
    assert without.context["cancel"].errors == {"reason_code": ["This field is required."]}
    note_missing = _send(desk, ride, "cancel", reason_code="other")
    assert (note_missing.status_code, list(note_missing.context["cancel"].errors)) == (422, ["note"])
    after = traces(ride)
    assert after | {"audit": 0} == before | {"audit": 0}

    done = _send(desk, ride, "cancel", reason_code="rider_ill")

    assert told(done) == ["The ride is canceled."]
    event = Event.objects.get(subject_id=ride.pk, type="ride.cancelled")
    assert (event.occurred_at, event.data["reasonCode"]) == (NOW, "rider_ill")
    assert "Fri, Nov 20, 09:00:00 Canceled Dana Desk" in text_of(done)


def test_stale_page_returns_409_with_changes_and_saves_nothing(desk: Client) -> None:
    facility = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=facility)
    ride = booking.book(draft=draft(facility, rider), by=system(), at=NOW).ride
    _send(desk, ride, "notes", driver="Ring twice", facility="", dispatcher="")
    before = traces(ride)

    for form in ({"reason_code": "rider_ill"}, {}):
        response = desk.post(page_of(ride, "cancel/"), {"version": 1} | form)
        assert response.status_code == 409
        assert "What changed since you opened the page Changed" in text_of(response)
        assert ", Dana Desk, changed: notes" in text_of(response)
        assert response.context["cancel"]["version"].value() == "2"
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}


def test_forms_without_right_or_out_of_reach_change_nothing() -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    stranger = factories.UserFactory.create(role=UserRole.PLANNER)
    stranger.facilities.add(factories.FacilityFactory.create())
    elsewhere = Client()
    sign_in(elsewhere, stranger)
    before = traces(ride)

    for action in ACTIONS:
        form = {"reason_code": "rider_ill", "type": "departed"}
        assert _send(visitor(UserRole.AUDITOR), ride, action, **form).status_code == 403, action
        assert _send(elsewhere, ride, action, **form).status_code in (403, 404), action
        assert desk_get(ride, action) == 405, action
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}
    under_way = ride_in(RideStatus.EN_ROUTE)
    before = traces(under_way)
    assert _send(_planner(under_way), under_way, "notes", driver="x").status_code == 403
    assert traces(under_way) | {"audit": 0} == before | {"audit": 0}


def desk_get(ride: Ride, action: str) -> int:
    return visitor(UserRole.DISPATCHER).get(page_of(ride, f"{action}/")).status_code


def test_planner_releases_a_will_call_and_takes_it_back() -> None:
    ride = factories.RideFactory.create(**WILL_CALL)
    planner = _planner(ride)

    assert told(_send(planner, ride, "ready")) == ["Marked ready. Dispatch is notified."]
    ride.refresh_from_db()
    assert (ride.ready_at, ride.ready_source) == (NOW, "facility_portal")
    assert told(_send(planner, ride, "unready")) == ["The ride is no longer marked ready."]
    ride.refresh_from_db()
    assert ride.ready_at is None


def test_open_checklist_gives_way_to_dispatch_with_a_reason(desk: Client) -> None:
    ride = factories.RideFactory.create(service_type="hospital_discharge", discharge={"checklist": {}}, **WILL_CALL)
    before = traces(ride)

    refused = _send(desk, ride, "ready")
    assert refused.status_code == 422
    assert "Checklist: the discharge order is not signed." in text_of(refused)
    assert "Override" in text_of(refused)
    assert "Override" not in text_of(_send(_planner(ride), ride, "ready"))
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}

    unsaid = _send(desk, ride, "ready", override="on")
    assert unsaid.status_code == 422
    assert list(unsaid.context["ready"].errors) == ["override_reason"]
    done = _send(desk, ride, "ready", override="on", override_reason="Signed on paper")

    assert told(done) == ["Marked ready. Dispatch is notified."]
    assert "overridden: discharge checklist" in text_of(done)


def test_request_is_confirmed_and_overlap_needs_a_reason(desk: Client) -> None:
    facility = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=facility)
    ride = factories.RideFactory.create(facility=facility, rider=rider, status="requested", scheduled_at=None)
    factories.AccommodationProfileFactory.create(rider=rider)
    factories.RideFactory.create(facility=facility, rider=rider)

    refused = _send(desk, ride, "confirm")
    assert refused.status_code == 422
    assert "Override" in text_of(refused)
    done = _send(desk, ride, "confirm", override="on", override_reason="Two visits")

    assert told(done) == ["The ride is confirmed."]
    assert Ride.objects.get(pk=ride.pk).status == "scheduled"


def test_driver_is_taken_off_with_a_reason(desk: Client) -> None:
    ride = ride_in(RideStatus.ASSIGNED)

    assert _send(desk, ride, "unassign").status_code == 422
    done = _send(desk, ride, "unassign", reason_code="replanned")

    assert told(done) == ["The driver is unassigned. The ride waits for another driver."]
    assert Ride.objects.get(pk=ride.pk).status == "scheduled"
    assert Assignment.objects.get(ride=ride).end_reason == "replanned"


def test_reasons_offered_are_those_that_the_step_may_have(desk: Client) -> None:
    arrived = desk.get(page_of(ride_in(RideStatus.ARRIVED))).context
    on_board = desk.get(page_of(ride_in(RideStatus.IN_PROGRESS))).context
    waiting = desk.get(page_of(factories.RideFactory.create())).context

    def codes(form: Any) -> list[str]:
        return [code for code, _label in form.fields["reason_code"].choices if code]

    assert codes(arrived["unassign"]) == ["accommodation_mismatch", "vehicle_breakdown"]
    assert "outside_service_area" not in codes(arrived["unfulfilled"])
    assert codes(on_board["unfulfilled"]) == ["aborted_medical_emergency", "aborted_safety", "returned_to_origin"]
    assert "rider_location" in on_board["unfulfilled"].fields
    assert "aborted_safety" not in codes(waiting["unfulfilled"])


def test_ride_breaks_off_and_a_rider_does_not_come() -> None:
    on_board, arrived = ride_in(RideStatus.IN_PROGRESS), ride_in(RideStatus.ARRIVED)
    called = {"type": "contact_attempt", "source": "sms", "actor": "system", "contacted": "rider"}
    Milestone.objects.create(ride=arrived, occurred_at=PICKUP, **called)

    with time_machine.travel(PICKUP + dt.timedelta(minutes=20), tick=False):
        desk = visitor(UserRole.DISPATCHER)
        lost = _send(desk, on_board, "unfulfilled", reason_code="aborted_safety")
        aborted = _send(desk, on_board, "unfulfilled", reason_code="aborted_safety", rider_location="At the clinic")
        missed = _send(desk, arrived, "no-show", reason_code="rider_not_at_pickup")

    assert list(lost.context["unfulfilled"].errors) == ["rider_location"]
    assert told(aborted) == ["Marked as missed trip."]
    assert told(missed) == ["The no-show is recorded."]
    assert [Ride.objects.get(pk=one.pk).status for one in (on_board, arrived)] == ["unfulfilled", "no_show"]


def test_notes_keep_each_reader_apart(desk: Client) -> None:
    ride = factories.RideFactory.create(dispatcher_notes="Pays late")

    done = _send(_planner(ride), ride, "notes", driver="Ring twice", facility="", dispatcher="Written over")
    assert told(done) == ["The notes are saved."]
    ride.refresh_from_db()
    assert (ride.driver_notes, ride.dispatcher_notes) == ("Ring twice", "Pays late")
    _send(desk, ride, "notes", driver="", facility="Mask", dispatcher="Pays now")
    ride.refresh_from_db()
    assert (ride.driver_notes, ride.facility_notes, ride.dispatcher_notes) == ("", "Mask", "Pays now")


def test_moments_are_entered_by_hand_in_the_zone_of_the_ride(desk: Client) -> None:
    ride = ride_in(RideStatus.ASSIGNED, pickup_at=NOW, window_ends_at=NOW + dt.timedelta(minutes=15))

    steps: tuple[dict[str, str], ...] = (
        {"type": "departed", "occurred_at": "2026-11-20T08:30"},
        {"type": "arrived_pickup", "occurred_at": "2026-11-20T08:40"},
        {"type": "departed", "occurred_at": "2026-11-20T08:35"},
        {"type": "contact_attempt", "contacted": "rider", "note": "No answer"},
        {"type": "boarded", "occurred_at": "2026-11-20T08:45"},
        {"type": "arrived_dropoff", "occurred_at": "2026-11-20T08:55"},
        {"type": "dropped_off"},
    )
    for step in steps:
        assert told(_send(desk, ride, "moment", **step)) == ["The time is logged."], step

    ride.refresh_from_db()
    assert ride.status == "completed"
    clock = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)
    assert (ride.departed_at, ride.dropped_off_at) == (clock + dt.timedelta(minutes=35), NOW)
    said = Milestone.objects.filter(ride=ride, type="departed").order_by("recorded_at", "pk")
    assert [(one.source, one.voided, one.edited) for one in said] == [
        ("dispatcher_manual", True, False),
        ("dispatcher_manual", False, True),
    ]


def test_moments_that_cannot_be_are_refused_by_their_field(desk: Client) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    before = traces(ride)

    unknown = _send(desk, ride, "moment", type="dropped_off")
    future = _send(desk, ride, "moment", type="departed", occurred_at="2026-11-20T23:00")
    twice = _send(desk, ride, "moment", type="departed", occurred_at="2026-11-01T01:30")

    assert (unknown.status_code, list(unknown.context["moment"].errors)) == (422, ["type"])
    assert future.context["moment"].errors == {"occurred_at": ["When is more than two minutes in the future."]}
    assert list(twice.context["moment"].errors) == ["occurred_at"]  # the clocks went back: the time is ambiguous
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}


def test_ended_ride_offers_nothing_but_notes(desk: Client) -> None:
    ride = ride_in(RideStatus.CANCELLED)

    assert desk.get(page_of(ride)).context["actions"] == {"notes", "reinstate"}
    assert desk.get(page_of(ride)).context["assign_url"] == ""
