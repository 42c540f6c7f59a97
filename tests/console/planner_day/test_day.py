"""A facility's day: access, the section of each ride, and planner actions."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import exceptions, status_report
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.console.exceptions.test_answers import DISCHARGE
from tests.console.exceptions.test_desk import planner_of
from tests.console.ride.test_ride_actions import WILL_CALL
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW, PICKUP
from tests.rides.looks import HOUR, MINUTE, released
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import traces

pytestmark = pytest.mark.django_db

BASE = "/console/day/"
DRIVEN = {"boarded_at": NOW, "dropped_off_at": NOW + 30 * MINUTE, "status_before_end": "in_progress"}
ACTIONS = ("ready", "unready", "answer", "tick")


@pytest.fixture
def ward(db: None) -> Facility:
    return factories.FacilityFactory.create(name="St. Brigid Hospital")


COMPLETE = {"orderSigned": True, "medsInHand": True, "belongings": True, "paperwork": True}


def _discharge(ward: Facility, **more: Any) -> Ride:
    """Create a will-call discharge with a complete checklist, unless its checklist differs."""
    details = {"checklist": COMPLETE, "room": "417"} | more.pop("details", {})
    rider = factories.RiderFactory.create(facility=ward, first_name="Orla", last_name="Abernathy")
    factories.AccommodationProfileFactory.create(rider=rider)
    given: dict[str, Any] = {
        "facility": ward,
        "rider": rider,
        "service_type": "hospital_discharge",
        "discharge": {**DISCHARGE, **details},
        **WILL_CALL,
    }
    return factories.RideFactory.create(**(given | more))


def _opened(ride: Ride, type_: ExceptionType, **details: Any) -> None:
    given: dict[str, Any] = {"by": system(), "at": NOW, "detected_by": "test", "details": details}
    with transaction.atomic():
        exceptions.open_exception(locked(ride.pk, system()), type_, **given)


def _asking(ward: Facility, **columns: Any) -> Ride:
    ride = _discharge(ward, **columns)
    _opened(ride, ExceptionType.NO_DRIVER_AVAILABLE, told=["dispatcher", "planner"])
    return ride


def _stands(response: Any) -> dict[str, list[Any]]:
    return {one["name"]: [row["ride"].pk for row in one["rows"]] for one in response.context["sections"]}


def _send(client: Client, ride: Ride, action: str, **form: Any) -> Any:
    version = Ride.objects.get(pk=ride.pk).version
    return client.post(f"{BASE}{ride.pk}/{action}/", {"version": version} | form, follow=True)


def _without_audit(ride: Ride) -> dict[str, Any]:
    return traces(ride) | {"audit": 0}


def test_rides_stand_in_the_order_in_which_a_planner_works(ward: Facility) -> None:
    asking, waiting = _asking(ward), _discharge(ward)
    early = _discharge(ward, pickup_at=PICKUP - HOUR)
    ready = released(facility=ward)
    moving = ride_in(RideStatus.EN_ROUTE, facility=ward, pickup_at=PICKUP + HOUR)
    late = factories.RideFactory.create(facility=ward, pickup_at=NOW - 16 * MINUTE)
    planned = factories.RideFactory.create(facility=ward)
    questioned = factories.RideFactory.create(facility=ward, pickup_at=PICKUP + HOUR)
    _opened(questioned, ExceptionType.RETURN_LEG_AT_RISK)
    done = [ride_in(status, facility=ward) for status in (RideStatus.COMPLETED, RideStatus.CANCELLED)]

    seen = planner_of(ward).get(BASE)

    assert _stands(seen) == {
        "needs": [asking.pk, questioned.pk],
        "waiting": [early.pk, waiting.pk],
        "moving": [late.pk, ready.pk, moving.pk],
        "others": [planned.pk],
        "done": [one.pk for one in done],
    }
    assert "St. Brigid Hospital, Fri, Nov 20, 2026" in text_of(seen)
    assert "is the return trip still needed?" in text_of(seen)
    assert "<title>Facility rides" in seen.content.decode()


def test_part_is_the_list_alone_and_looks_leave_rows(ward: Facility) -> None:
    ride = _discharge(ward)
    planner = planner_of(ward)

    part = planner.get(f"{BASE}list/").content.decode()

    assert part.startswith('<div id="day-list" data-live-url="/console/day/list/" data-live-on="ride exception">')
    assert "Abernathy, Orla" in part
    row = AuditEntry.objects.get(action="rides.day")
    assert (row.subject_id, row.rider_ids, row.facility_id, row.phi, row.details) == (
        ward.pk,
        [ride.rider_id],
        ward.pk,
        "full",
        {"day": "2026-11-20"},
    )


@pytest.mark.parametrize("role", [UserRole.AUDITOR, UserRole.FLEET_ADMIN, UserRole.ANALYST, UserRole.ADMIN])
def test_whoever_does_not_book_has_no_day(ward: Facility, role: UserRole) -> None:
    ride = _discharge(ward)
    before = _without_audit(ride)
    client = visitor(role)

    assert [client.get(BASE + path).status_code for path in ("", "list/")] == [403, 403]
    assert [_send(client, ride, action).status_code for action in ACTIONS] == [403] * 4
    assert _without_audit(ride) == before


def test_other_facilities_are_not_there(ward: Facility) -> None:
    theirs = _discharge(factories.FacilityFactory.create())
    before = _without_audit(theirs)
    planner = planner_of(ward)

    assert _stands(planner.get(BASE)) == {}
    assert [planner.get(f"{BASE}?facility={one}").status_code for one in (theirs.facility_id, "9", ward.pk)] == [
        404,
        404,
        200,
    ]
    forms: dict[str, dict[str, str]] = {"answer": {"answer": "wait"}, "tick": {"tick": "paperwork"}}
    assert [_send(planner, theirs, action, **forms.get(action, {})).status_code for action in ACTIONS] == [404] * 4
    assert _send(planner, theirs, "tick").status_code == 404
    assert _without_audit(theirs) == before


def test_planner_without_a_facility_is_told_so() -> None:
    seen = planner_of(None).get(BASE)

    assert "You belong to no facility yet." in text_of(seen)
    assert planner_of(None).get(f"{BASE}list/").status_code == 200


def test_facility_is_chosen_among_several_and_kept(ward: Facility) -> None:
    other = factories.FacilityFactory.create(name="Zion Hospital")
    ride = _discharge(other)
    planner = planner_of(ward)
    assert 'id="day-facility"' not in planner.get(BASE).content.decode()
    desk = visitor(UserRole.DISPATCHER)

    assert _stands(desk.get(BASE)) == {}
    seen = desk.get(f"{BASE}?facility={other.pk}&day=2026-11-20")
    done = desk.post(
        f"{BASE}{ride.pk}/ready/?facility={other.pk}&day=2026-11-20", {"version": ride.version}, follow=True
    )

    assert _stands(seen) == {"waiting": [ride.pk]}
    assert 'id="day-facility"' in seen.content.decode()
    assert done.redirect_chain == [(f"{BASE}?facility={other.pk}&day=2026-11-20", 302)]
    assert Ride.objects.get(pk=ride.pk).ready_source == "phone"


def test_day_is_the_facilitys_own(ward: Facility) -> None:
    Facility.objects.filter(pk=ward.pk).update(timezone="America/Denver")
    last = dt.datetime(2026, 11, 21, 6, 59, tzinfo=dt.UTC)  # 23:59 in Denver, 00:59 on the 21st in Chicago
    ours = factories.RideFactory.create(facility=ward, pickup_at=last)
    tomorrows = factories.RideFactory.create(facility=ward, pickup_at=last + MINUTE)
    planner = planner_of(ward)

    assert _stands(planner.get(BASE)) == {"others": [ours.pk]}
    assert "23:59" in text_of(planner.get(BASE))
    next_day = planner.get(f"{BASE}?day=2026-11-21")
    assert _stands(next_day) == {"others": [tomorrows.pk]}
    assert (next_day.context["previous_url"], next_day.context["today"]) == (f"{BASE}?day=2026-11-20", BASE)
    assert _stands(planner.get(f"{BASE}?day=2026-11-22")) == {}
    for odd in ("soon", "0001-01-01"):
        assert _stands(planner.get(f"{BASE}?day={odd}")) == {"others": [ours.pk]}


@pytest.mark.parametrize(("day", "hours"), [(dt.date(2026, 3, 8), 23), (dt.date(2026, 11, 1), 25)])
def test_day_is_whole_when_clocks_change(ward: Facility, day: dt.date, hours: int) -> None:
    begins = dt.datetime(day.year, day.month, day.day, 6 if hours == 23 else 5, tzinfo=dt.UTC)  # midnight in Chicago
    ends = begins + hours * HOUR
    first, last = (factories.RideFactory.create(facility=ward, pickup_at=at) for at in (begins, ends - MINUTE))
    for at in (begins - MINUTE, ends):
        factories.RideFactory.create(facility=ward, pickup_at=at)

    seen = planner_of(ward).get(f"{BASE}?day={day}")

    assert _stands(seen) == {"moving": [first.pk, last.pk]}
    assert "00:00" in text_of(seen)
    assert "23:59" in text_of(seen)


def test_rides_of_yesterday_that_are_not_over_are_todays(ward: Facility) -> None:
    at = dt.datetime(2026, 11, 20, 5, 30, tzinfo=dt.UTC)  # 23:30 on the 19th
    night = ride_in(RideStatus.ASSIGNED, facility=ward, pickup_at=at)
    ride_in(RideStatus.CANCELLED, facility=ward, pickup_at=at)
    planner = planner_of(ward)

    assert _stands(planner.get(BASE)) == {"moving": [night.pk]}
    assert _stands(planner.get(f"{BASE}?day=2026-11-20")) == {"moving": [night.pk]}
    assert len(_stands(planner.get(f"{BASE}?day=2026-11-19"))) == 2


def test_w2_ready_releases_and_the_second_press_changes_nothing(ward: Facility) -> None:
    ride = _discharge(ward)
    planner = planner_of(ward)
    form = {"version": ride.version}

    first = planner.post(f"{BASE}{ride.pk}/ready/", form, follow=True)
    before = traces(ride)
    second = planner.post(f"{BASE}{ride.pk}/ready/", form, follow=True)

    assert told(first) == ["Marked ready. Dispatch is notified."]
    assert (before["row"]["ready_at"], before["row"]["ready_source"]) == (NOW, "facility_portal")
    assert _stands(first) == {"moving": [ride.pk]}
    assert told(second) == ["The ride is already marked ready."]
    assert _without_audit(ride) == before | {"audit": 0}
    assert told(_send(planner, ride, "unready")) == ["The ride is no longer marked ready."]
    assert Ride.objects.get(pk=ride.pk).ready_at is None


def test_stale_press_is_refused_and_may_be_given_again(ward: Facility) -> None:
    ride = _discharge(ward)
    planner = planner_of(ward)
    before = _without_audit(ride)

    answers = [
        planner.post(f"{BASE}{ride.pk}/{action}/", {"version": ride.version + 1} | form)
        for action, form in (("ready", {}), ("unready", {}), ("answer", {"answer": "wait"}), ("tick", {}))
    ]

    assert [one.status_code for one in answers] == [409] * 4
    assert "Someone else changed it." in text_of(answers[0])
    assert _without_audit(ride) == before


def test_open_checklist_holds_a_patient_back_until_it_is_ticked(ward: Facility) -> None:
    ride = _discharge(ward, details={"checklist": {"paperwork": False}})
    planner = planner_of(ward)
    before = _without_audit(ride)

    refused = _send(planner, ride, "ready")
    assert (refused.status_code, _without_audit(ride)) == (422, before)
    assert "Checklist: the discharge order is not signed. Complete it first." in text_of(refused)
    assert "Required before departure: Order signed." in text_of(refused)
    assert "4 open" in text_of(refused)
    assert "Override" not in text_of(refused)

    assert told(_send(planner, ride, "tick", tick="orderSigned")) == ["The checklist is saved."]
    assert told(_send(planner, ride, "tick", tick="paperwork")) == ["The checklist is saved."]
    assert told(_send(planner, ride, "tick", untick="paperwork")) == ["The checklist is saved."]
    assert (Ride.objects.get(pk=ride.pk).discharge or {})["checklist"] == {"orderSigned": True, "paperwork": False}
    asked = _send(planner, ride, "ready")
    assert (asked.status_code, Ride.objects.get(pk=ride.pk).ready_at) == (422, None)
    question = "Still open on the checklist: Medication in hand, Belongings, Paperwork. Is the rider ready anyway?"
    assert question in text_of(asked)
    assert "Mark ready anyway" in text_of(asked)
    assert told(_send(planner, ride, "ready", confirmed="on")) == ["Marked ready. Dispatch is notified."]


def test_ready_asks_on_the_ride_page_too(ward: Facility) -> None:
    ride = _discharge(ward, details={"checklist": {"orderSigned": True}})
    desk, address = visitor(UserRole.DISPATCHER), f"/console/rides/{ride.pk}/ready/"

    asked = desk.post(address, {"version": ride.version})

    assert asked.status_code == 422
    assert "Mark ready anyway" in text_of(asked)
    assert Ride.objects.get(pk=ride.pk).ready_at is None
    desk.post(address, {"version": ride.version, "confirmed": "on"})
    assert Ride.objects.get(pk=ride.pk).ready_at == NOW


def test_dispatch_overrides_an_open_checklist_with_a_reason(ward: Facility) -> None:
    ride = _discharge(ward, details={"checklist": None})
    desk = visitor(UserRole.DISPATCHER)

    refused = _send(desk, ride, "ready")
    assert refused.status_code == 422
    assert "Override" in text_of(refused)
    assert told(_send(desk, ride, "ready", override="on", override_reason="Signed on paper")) == [
        "Marked ready. Dispatch is notified."
    ]


@pytest.mark.parametrize("form", [{}, {"tick": "paperwork", "untick": "paperwork"}, {"tick": "keyInfo"}])
def test_tick_is_of_one_line(ward: Facility, form: dict[str, str]) -> None:
    ride = _discharge(ward)
    before = _without_audit(ride)

    refused = _send(planner_of(ward), ride, "tick", **form)

    assert (refused.status_code, _without_audit(ride)) == (422, before)


def test_planner_completes_the_checklist_after_a_driver_is_assigned(ward: Facility) -> None:
    ride = _discharge(ward, details={"checklist": {}})
    factories.put_driver_on(ride)
    planner = planner_of(ward)

    assert f"tick-{ride.pk}" in planner.get(BASE).content.decode()
    assert told(_send(planner, ride, "tick", tick="orderSigned")) == ["The checklist is saved."]
    assert (Ride.objects.get(pk=ride.pk).discharge or {})["checklist"] == {"orderSigned": True}


def test_answers_of_the_ladder_are_given_from_the_day(ward: Facility) -> None:
    ride = _asking(ward)
    planner = planner_of(ward)
    assert "Unassigned: what should happen?" in text_of(planner.get(BASE))
    before = _without_audit(ride)

    unsaid = _send(planner, ride, "answer", answer="change_mode")
    assert (unsaid.status_code, _without_audit(ride)) == (422, before)
    assert f'href="#answer-{ride.pk}_mobility"' in unsaid.content.decode()
    done = _send(planner, ride, "answer", answer="change_mode", mobility="wheelchair")

    assert told(done) == ["Dispatch is notified."]
    assert RideException.objects.get(ride=ride).details["answer"] == "change_mode"
    assert Ride.objects.get(pk=ride.pk).accommodation["mobility"] == "wheelchair"
    assert _stands(done) == {"waiting": [ride.pk]}
    assert "Answered: another mode, 09:00" in text_of(done)


def _moving(ward: Facility, status: RideStatus, **columns: Any) -> Ride:
    ride = released(NOW - 10 * MINUTE, status=RideStatus.SCHEDULED, facility=ward)
    factories.put_driver_on(ride)
    Ride.objects.filter(pk=ride.pk).update(status=status.value, **columns)
    return ride


def test_estimate_is_told_with_its_age_and_never_invented(ward: Facility) -> None:
    ride = _moving(ward, RideStatus.EN_ROUTE)
    planner = planner_of(ward)
    driver = Ride.objects.select_related("vehicle").get(pk=ride.pk).vehicle
    assert driver is not None
    unknown = text_of(planner.get(BASE))

    said = StatusReport(status=RideStatus.EN_ROUTE, source="driver_app", eta_pickup=NOW + 61 * MINUTE)
    status_report.change_status(ride_id=ride.pk, report=said, by=system(), at=NOW)
    with time_machine.travel(NOW + 4 * MINUTE, tick=False):
        expected = text_of(planner.get(BASE))
    with time_machine.travel(NOW + 65 * MINUTE, tick=False):
        passed = text_of(planner_of(ward).get(BASE))

    assert f"Marek, {driver.license_plate} Pickup by 09:50 no arrival time reported yet" in unknown
    assert "Expected 10:01 (in 57 min) reported 4 min ago pickup by 09:50 predicted 11 min late" in expected
    assert "Was expected 10:01 reported 1 h ago pickup by 09:50" in passed
    assert "15 min late" in passed


@pytest.mark.parametrize(
    ("status", "columns", "said"),
    [
        (RideStatus.ASSIGNED, {}, "Pickup by 09:50 the driver has not departed"),
        (RideStatus.COMPLETED, DRIVEN, "Dropped off 09:30"),
        (RideStatus.ARRIVED, {"arrived_pickup_at": NOW}, "Vehicle waiting since 09:00"),
        (RideStatus.IN_PROGRESS, {"boarded_at": NOW}, "On board since 09:00"),
        (
            RideStatus.IN_PROGRESS,
            {"boarded_at": NOW, "estimated_minutes": 20},
            "On board since 09:00 arrives about 09:20 (estimated from the drive time)",
        ),
    ],
)
def test_what_is_known_of_the_vehicle_is_said(
    ward: Facility, status: RideStatus, columns: dict[str, Any], said: str
) -> None:
    _moving(ward, status, **columns)

    assert said in text_of(planner_of(ward).get(BASE))


def test_ride_without_a_driver_says_so(ward: Facility) -> None:
    released(facility=ward)
    factories.RideFactory.create(facility=ward, status="requested", scheduled_at=None)
    _discharge(ward)

    seen = text_of(planner_of(ward).get(BASE))

    assert "Pickup by 10:00 unassigned" in seen
    assert "Pickup by 14:15 not confirmed yet" in seen
    assert "A pickup time is promised once the rider is ready." in seen
    assert "4 West, room 417" in seen


def test_discharge_clocks_are_shown_against_targets(ward: Facility) -> None:
    Facility.objects.filter(pk=ward.pk).update(discharge_target_minutes=30, discharge_max_minutes=90)
    details = {"dischargeOrderAt": "2026-11-20T13:00:00Z", "expectedReadyAt": "2026-11-20T14:00:00Z"}
    ready = {"ready_at": NOW - 50 * MINUTE, "ready_source": "phone", "promised_pickup_by": NOW + 10 * MINUTE}
    waiting = _discharge(ward, details=details)
    _opened(waiting, ExceptionType.DISCHARGE_SLIPPED)
    _discharge(ward, details=details, pickup_at=PICKUP + MINUTE, **ready)
    _discharge(ward, details=details, pickup_at=PICKUP + 2 * MINUTE, **(ready | {"ready_at": NOW - 95 * MINUTE}))

    seen = text_of(planner_of(ward).get(BASE))

    assert "Later than expected" in seen
    assert "Order to ready 2 h so far" in seen
    assert (
        "Order to ready 1 h 10 min Ready to on board 50 min so far past the target · target 30, at most 90 min" in seen
    )
    assert "Ready to on board 1 h 35 min so far past the limit · target 30, at most 90 min" in seen


@pytest.mark.parametrize("many", [1, 3])
def test_day_takes_as_many_queries_however_many_rides(
    ward: Facility, many: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _number in range(many):
        _asking(ward)
        _discharge(ward)
        _moving(ward, RideStatus.EN_ROUTE, eta_pickup_at=NOW + 9 * MINUTE)
        factories.RideFactory.create(facility=ward)
        ride_in(RideStatus.COMPLETED, facility=ward)
    planner = planner_of(ward)

    with django_assert_num_queries(10):  # 4 of every page; facilities, facility, rides, exceptions, estimates, audit
        seen = planner.get(BASE)

    assert [len(rows) for rows in _stands(seen).values()] == [many] * 5


def test_driver_delayed_elsewhere_is_forecast_late_with_reason(ward: Facility) -> None:
    """No ETA was reported; another facility's ride occupies the driver until after the pickup."""
    here = ride_in(RideStatus.ASSIGNED, facility=ward, pickup_at=PICKUP + HOUR)
    before = factories.RideFactory.create(pickup_at=PICKUP, estimated_minutes=30)
    factories.put_driver_on(before, driver=here.driver, vehicle=here.vehicle)
    planner = planner_of(ward)
    assert "Expected about" not in text_of(planner.get(BASE))
    Ride.objects.filter(pk=before.pk).update(eta_pickup_at=PICKUP + HOUR)

    said = text_of(planner.get(BASE))

    assert "planned 15:00; predicted from the driver's earlier rides" in said
    assert "Expected about 15:" in said
    assert "the driver has not departed" not in said
    assert before.rider.last_name not in said.replace(here.rider.last_name, "")


def test_driver_without_earlier_ride_gets_no_forecast(ward: Facility) -> None:
    ride_in(RideStatus.ASSIGNED, facility=ward, pickup_at=NOW - 20 * MINUTE)

    said = text_of(planner_of(ward).get(BASE))

    assert "Expected about" not in said
    assert "the driver has not departed" in said
