"""Planner decisions while no driver is available: one click each, recorded, and visible on the exceptions desk."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.services import exceptions, leg_decisions
from apps.rides.services.leg_decisions import Answer
from apps.rides.services.status import locked
from lib.access import system
from lib.errors import ScopeMissing
from tests import factories
from tests.console.exceptions.test_desk import BASE, planner_of
from tests.console.ride.test_ride_page import page_of
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.rides.status_calls import traces

pytestmark = pytest.mark.django_db


HOUR = dt.timedelta(hours=1)
WILL_CALL = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": NOW + 9 * HOUR}
DISCHARGE = {"unit": "4 West", "unitPhone": "+13125550141", "planner": {"name": "Pia", "phone": "+13125550142"}}


def _asking(**details: Any) -> Ride:
    ride = factories.RideFactory.create(service_type="hospital_discharge", discharge=DISCHARGE, version=1)
    factories.AccommodationProfileFactory.create(rider=ride.rider)
    exceptions.open_exception(
        locked(ride.pk, system()),
        ExceptionType.NO_DRIVER_AVAILABLE,
        by=system(),
        at=NOW,
        detected_by="test",
        details=details,
    )
    return Ride.objects.get(pk=ride.pk)


@pytest.mark.parametrize(("said", "words"), [("wait", "wait"), ("split", "split the ride")])
def test_answer_is_recorded_and_read_at_the_desk(said: str, words: str) -> None:
    ride = _asking(told=["dispatcher", "planner"])
    planner = planner_of(ride.facility)
    assert "Unassigned: what should happen?" in text_of(planner.get(page_of(ride)))

    done = planner.post(page_of(ride, "answer/"), {"version": ride.version, "answer": said}, follow=True)

    assert told(done) == ["Dispatch is notified."]
    event = Event.objects.filter(subject_id=ride.pk).latest("sequence")
    assert (event.type, event.data["changed"], event.data["answer"]) == ("ride.updated", ["answer"], said)
    one = RideException.objects.get(ride=ride)
    assert one.details == {"told": ["dispatcher", "planner"], "answer": said, "answeredAt": "2026-11-20T15:00:00Z"}
    assert AuditEntry.objects.get(action="rides.answer").details == {"answer": said}
    desk = visitor(UserRole.DISPATCHER)
    for path in (BASE, f"{BASE}{one.pk}/", page_of(ride)):
        assert words in text_of(desk.get(path)).lower(), path


def test_another_mode_changes_the_ride_and_keeps_it() -> None:
    ride = _asking(told=["dispatcher", "planner"])
    planner = planner_of(ride.facility)
    before = traces(ride)
    form = {"version": ride.version, "answer": "change_mode"}

    unsaid = planner.post(page_of(ride, "answer/"), form)
    assert (unsaid.status_code, list(unsaid.context["answer"].errors)) == (422, ["mobility"])
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}
    done = planner.post(page_of(ride, "answer/"), form | {"mobility": "wheelchair"}, follow=True)

    assert told(done) == ["Dispatch is notified."]
    changed = Ride.objects.get(pk=ride.pk)
    assert (changed.accommodation["mobility"], changed.spaces_wheelchair) == ("wheelchair", 1)
    assert RideException.objects.get(ride=ride).details["answer"] == "change_mode"


def test_answer_without_question_or_right_changes_nothing() -> None:
    quiet, asking = _asking(), _asking(told=["dispatcher", "planner"])
    before = [traces(quiet), traces(asking)]
    form = {"version": quiet.version, "answer": "wait"}

    refused = planner_of(quiet.facility).post(page_of(quiet, "answer/"), form)
    stale = planner_of(asking.facility).post(page_of(asking, "answer/"), form | {"version": 1})
    denied = visitor(UserRole.AUDITOR).post(page_of(asking, "answer/"), form)

    assert (refused.status_code, stale.status_code, denied.status_code) == (422, 409, 403)
    assert "No decision about this ride is pending." in text_of(refused)
    assert "Unassigned: what should happen?" not in text_of(refused)
    assert [one | {"audit": 0} for one in (traces(quiet), traces(asking))] == [one | {"audit": 0} for one in before]


def test_service_asks_for_the_right_under_the_lock() -> None:
    ride = _asking(told=["dispatcher", "planner"])
    before = traces(ride)

    with pytest.raises(ScopeMissing):
        leg_decisions.answer(ride_id=ride.pk, answer=Answer.WAIT, by=factories.principal(UserRole.AUDITOR), at=NOW)

    assert traces(ride) == before


def test_split_leads_dispatch_to_a_second_ride_that_is_filled_in() -> None:
    ride = _asking(told=["dispatcher", "planner"])
    one, desk = RideException.objects.get(ride=ride), visitor(UserRole.DISPATCHER)
    before = text_of(desk.get(f"{BASE}{one.pk}/"))
    planner_of(ride.facility).post(page_of(ride, "answer/"), {"version": ride.version, "answer": "split"})

    page = desk.get(f"{BASE}{one.pk}/")
    address = f"/console/book/?repeat={ride.pk}&beside=on"
    auditor = visitor(UserRole.AUDITOR).get(f"{BASE}{one.pk}/")

    assert "Book the second ride" not in before
    assert f'href="{address.replace("&", "&amp;")}"' in page.content.decode()
    assert "Book the second ride" not in text_of(auditor)
    form = desk.get(address).context["form"]
    shown = {name: form[name].value() for name in ("day", "clock", "when", "way_back", "unit", "planner_name")}
    assert shown == {
        "day": dt.date(2026, 11, 20),
        "clock": "14:00",
        "when": "pickup",
        "way_back": "none",
        "unit": "4 West",
        "planner_name": "Pia",
    }


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"pickup_at": NOW - dt.timedelta(minutes=5)}, ("pickup", "now")),
        (
            {
                "scheduling_anchor": "appointment",
                "appointment_at": NOW + dt.timedelta(hours=6),
                "service_type": "appointment",
                "discharge": None,
            },
            ("arrive", "15:00"),
        ),
        ({**WILL_CALL, "ready_at": NOW, "ready_source": "phone", "promised_pickup_by": NOW + HOUR}, ("pickup", "now")),
    ],
)
def test_second_ride_has_same_time_and_now_for_ready_rider(changes: dict[str, Any], shown: tuple[str, str]) -> None:
    ride = _asking(told=["dispatcher", "planner"])
    Ride.objects.filter(pk=ride.pk).update(**changes)

    form = visitor(UserRole.DISPATCHER).get(f"/console/book/?repeat={ride.pk}&beside=on").context["form"]

    assert (form["when"].value(), form["clock"].value()) == shown
