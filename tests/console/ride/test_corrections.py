"""Corrections on the ride page: an outcome recorded by mistake is undone; a second *Ready now* changes nothing."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides import labels
from apps.rides.models import Ride
from apps.rides.rules.guards import CORRECTION_WINDOW
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.reasons import CODES
from tests import factories
from tests.console.ride.test_ride_actions import WILL_CALL, _planner, _send
from tests.console.ride.test_ride_page import page_of
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW, PICKUP
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import traces

pytestmark = pytest.mark.django_db


@pytest.fixture
def supervisor(db: None) -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def _ended(status: RideStatus, **columns: Any) -> Ride:
    ride = ride_in(status, **columns)
    Ride.objects.filter(pk=ride.pk).update(status_changed_at=NOW)
    return Ride.objects.get(pk=ride.pk)


def test_ending_is_corrected_with_reason_and_history_has_both(supervisor: Client) -> None:
    ride = _ended(RideStatus.CANCELLED)
    back_to = ride.status_before_end
    before = traces(ride)

    without = _send(supervisor, ride, "correct")
    assert (without.status_code, list(without.context["correct"].errors)) == (422, ["note"])
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}
    done = _send(supervisor, ride, "correct", note="Wrong patient")

    assert told(done) == ["The outcome is corrected. The ride continues."]
    ride.refresh_from_db()
    assert (ride.status, ride.reason_code, ride.status_before_end) == (back_to, "", "")
    event = Event.objects.get(subject_id=ride.pk, type="ride.corrected")
    assert (event.occurred_at, event.data["endedAs"]) == (NOW, "cancelled")
    assert "Wrong patient" not in str(event.data)  # free text stays out of published events
    assert AuditEntry.objects.get(action="rides.status").reason == "Wrong patient"
    assert "Outcome corrected" in text_of(done)
    assert "it had ended as: canceled" in text_of(done)


def test_correction_is_offered_to_supervisors_within_window(supervisor: Client) -> None:
    ride = _ended(RideStatus.COMPLETED)
    goes_on = ride_in(RideStatus.ASSIGNED)

    seen = supervisor.get(page_of(ride))
    assert "correct" in seen.context["actions"]
    assert "The ride goes back to \N{LEFT DOUBLE QUOTATION MARK}On board\N{RIGHT DOUBLE QUOTATION MARK}." in text_of(
        seen
    )
    assert "correct" not in supervisor.get(page_of(goes_on)).context["actions"]
    assert "correct" not in visitor(UserRole.DISPATCHER).get(page_of(ride)).context["actions"]
    assert _send(visitor(UserRole.DISPATCHER), ride, "correct", note="x").status_code == 403
    with time_machine.travel(NOW + CORRECTION_WINDOW + dt.timedelta(seconds=1), tick=False):
        late = visitor(UserRole.DISPATCH_SUPERVISOR)
        assert "correct" not in late.get(page_of(ride)).context["actions"]
        refused = _send(late, ride, "correct", note="Wrong ride")
    assert refused.status_code == 422
    assert "Outcomes can be corrected for 72 hours after the end" in text_of(refused)
    assert Ride.objects.get(pk=ride.pk).status == "completed"


def test_second_correction_is_stale_and_active_has_no_ending(supervisor: Client) -> None:
    ride = _ended(RideStatus.CANCELLED)
    form = {"version": ride.version, "note": "Wrong patient"}

    first, second = (supervisor.post(page_of(ride, "correct/"), form) for _ in range(2))
    third = _send(supervisor, ride, "correct", note="Again")

    assert [one.status_code for one in (first, second, third)] == [302, 409, 422]
    assert Event.objects.filter(subject_id=ride.pk, type="ride.corrected").count() == 1


def test_crew_that_drives_another_ride_by_now_is_asked_about(supervisor: Client) -> None:
    ride = _ended(RideStatus.CANCELLED)
    other = factories.RideFactory.create(pickup_at=PICKUP)
    factories.put_driver_on(other, driver=ride.driver, vehicle=ride.vehicle)

    refused = _send(supervisor, ride, "correct", note="Wrong patient")
    assert refused.status_code == 422
    assert "Override" in text_of(refused)
    done = _send(supervisor, ride, "correct", note="Wrong patient", override="on", override_reason="Both fit")

    assert told(done) == ["The outcome is corrected. The ride continues."]
    assert AuditEntry.objects.filter(action="rides.status").latest("pk").reason == "Wrong patient; Both fit"


def test_w2_second_ready_press_on_ride_page_is_a_no_op() -> None:
    ride = factories.RideFactory.create(**WILL_CALL)
    planner = _planner(ride)
    form = {"version": ride.version}

    first = planner.post(page_of(ride, "ready/"), form, follow=True)
    before = traces(ride)
    second = planner.post(page_of(ride, "ready/"), form, follow=True)

    assert told(first) == ["Marked ready. Dispatch is notified."]
    assert told(second) == ["The ride is already marked ready."]
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}


def test_stale_ready_press_on_waiting_ride_is_refused() -> None:
    ride = factories.RideFactory.create(**WILL_CALL)

    answer = _planner(ride).post(page_of(ride, "ready/"), {"version": ride.version + 1})

    assert answer.status_code == 409
    assert Ride.objects.get(pk=ride.pk).ready_at is None


def test_built_in_reasons_have_words_and_others_are_spelled_out() -> None:
    built_in = {code for codes in CODES.values() for code in codes}

    assert set(labels.Reason.values) == built_in
    assert labels.reason_label("of_another_day") == "Of another day"
