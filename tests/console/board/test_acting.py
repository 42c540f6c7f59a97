"""Actions on the board: as full pages, and as page fragments."""

import datetime as dt
import json
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Driver
from apps.rides.models import Assignment, ReasonCode, Ride
from apps.rides.queries import reason_codes
from apps.rides.rules.lifecycle import ReasonList, RideStatus
from lib.ids import uuid7
from tests import factories
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.rides.looks import released
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

BOARD = "/console/board/"
HTMX = {"HX-Request": "true"}
HOUR = dt.timedelta(hours=1)
MINUTE = dt.timedelta(minutes=1)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


@pytest.fixture
def ride() -> Ride:
    return factories.RideFactory.create()


def able(**columns: Any) -> Driver:
    """A driver with credentials and a vehicle."""
    driver = factories.DriverFactory.create(**columns)
    vehicle = factories.VehicleFactory.create(provider=driver.provider)
    factories.file_credentials(driver, vehicle)
    driver.default_vehicle = vehicle
    driver.save()
    return driver


def at(ride: Ride, act: str = "") -> str:
    return f"{BOARD}rides/{ride.pk}/{act}"


def event(response: Any, name: str = "carelane:done") -> dict[str, Any]:
    assert response["HX-Reswap"] == "none"
    found: dict[str, Any] = json.loads(response["HX-Trigger"])[name]
    return found


def _not_met(ride: Ride) -> None:
    ended = {"reason_code": "rider_not_at_pickup", "fault": "rider", "ended_by": "system"}
    Ride.objects.filter(pk=ride.pk).update(status="no_show", status_before_end="arrived", **ended)


def test_a_ride_says_what_it_is_and_what_can_be_done(desk: Client, ride: Ride) -> None:
    page = desk.get(at(ride))

    said = text_of(page)
    assert "Ride 14:00 · " in said
    assert "Hospital → Home Assign… Edit Open the ride Status Unassigned" in said
    assert AuditEntry.objects.get(action="rides.read").subject_id == ride.pk
    fragment = desk.get(at(ride), headers=HTMX).content.decode()
    assert "<main" not in fragment
    assert "<h1" not in fragment


def test_released_ride_shows_when_its_rider_was_ready(desk: Client) -> None:
    ride = released(NOW - HOUR / 3)

    assert f"08:40 {ride.rider.last_name}" in text_of(desk.get(BOARD))
    assert f"Ride 08:40 · {ride.rider.last_name}" in text_of(desk.get(at(ride)))


def test_ride_under_way_is_reassigned_and_an_ended_one_is_not(desk: Client, ride: Ride) -> None:
    factories.put_driver_on(ride, driver=able())
    driven = text_of(desk.get(at(ride)))
    _not_met(ride)

    over = text_of(desk.get(at(ride)))

    assert "Reassign… Unassign…" in driven
    assert "Give to another" not in over
    assert "Status No-show" in over


def test_candidates_have_reasons_and_others_conflicts(desk: Client, ride: Ride) -> None:
    able(last_name="Fitting")
    factories.DriverFactory.create(last_name="Credentialless")

    page = desk.get(at(ride, "assign/"))

    said = text_of(page)
    assert "Marek Fitting" in said
    assert "Location not known, so that no arrival is predicted" in said
    assert "1 without valid credentials Marek Credentialless" in said
    assert AuditEntry.objects.filter(action="rides.candidates", subject_id=ride.pk).count() == 1


def test_assigning_by_a_plain_form_needs_no_script(desk: Client, ride: Ride) -> None:
    """B11."""
    driver = able()

    answer = desk.post(at(ride, "assign/"), {"driver_id": driver.pk, "version": 1}, follow=True)

    ride.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.vehicle_id) == ("assigned", driver.pk, driver.default_vehicle_id)
    assert told(answer) == [f"Assigned to {driver.last_name}, Marek."]


def test_an_assignment_says_how_to_take_it_back(desk: Client, ride: Ride) -> None:
    """B3: the server's part."""
    driver = able()

    done = event(desk.post(at(ride, "assign/"), {"driver_id": driver.pk, "version": 1}, headers=HTMX))
    undone = event(desk.post(done["undo"]["url"], done["undo"]["values"], headers=HTMX))

    ride.refresh_from_db()
    assert (ride.status, ride.driver_id) == ("scheduled", None)
    again = event(desk.post(undone["undo"]["url"], undone["undo"]["values"], headers=HTMX))
    ride.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.vehicle_id) == ("assigned", driver.pk, driver.default_vehicle_id)
    assert (done["ride"], again["ride"]) == (str(ride.pk), str(ride.pk))


def test_giving_a_ride_to_another_is_taken_back_to_the_first(desk: Client, ride: Ride) -> None:
    first, second = able(), able()
    desk.post(at(ride, "assign/"), {"driver_id": first.pk, "version": 1})
    ride.refresh_from_db()

    done = event(desk.post(at(ride, "assign/"), {"driver_id": second.pk, "version": ride.version}, headers=HTMX))
    event(desk.post(done["undo"]["url"], done["undo"]["values"], headers=HTMX))

    ride.refresh_from_db()
    assert (ride.driver_id, ride.vehicle_id) == (first.pk, first.default_vehicle_id)


def test_a_stale_copy_is_refused_and_overwrites_nothing(desk: Client, ride: Ride) -> None:
    """B5: the server's part."""
    first, second = able(), able()
    desk.post(at(ride, "assign/"), {"driver_id": first.pk, "version": 1})

    stale = desk.post(at(ride, "assign/"), {"driver_id": second.pk, "version": 1}, headers=HTMX)
    off = desk.post(at(ride, "unassign/"), {"reason_code": "replanned", "version": 1}, headers=HTMX)
    plain = desk.post(at(ride, "assign/"), {"driver_id": second.pk, "version": 1}, follow=True)

    assert (stale.status_code, off.status_code) == (409, 409)
    assert event(stale, "carelane:refused")["message"].startswith("Someone else changed this ride")
    assert told(plain)[-1].startswith("Someone else changed")
    ride.refresh_from_db()
    assert ride.driver_id == first.pk


def test_van_without_stretcher_position_is_refused(desk: Client) -> None:
    """B6: hard violations refuse the assignment, and are named."""
    ride = factories.RideFactory.create(spaces_ambulatory=0, spaces_stretcher=1)
    driver = able()

    answer = desk.post(
        at(ride, "assign/"),
        {"driver_id": driver.pk, "version": 1, "override_reason": "I say so"},
        headers=HTMX,
    )

    assert answer.status_code == 422
    said = text_of(answer)
    assert "Conflicts with this driver" in said
    assert "The vehicle has no configuration for 1 stretcher." in said
    assert "Override and assign" not in said
    assert "This ride needs two people." in said
    ride.refresh_from_db()
    assert (ride.status, ride.version, Assignment.objects.count()) == ("scheduled", 1, 0)


def test_a_soft_rule_gives_way_to_a_reason(desk: Client, ride: Ride) -> None:
    driver = able()
    factories.ShiftFactory.create(
        driver=driver, vehicle=driver.default_vehicle, starts_at=NOW - 3 * HOUR, ends_at=NOW - HOUR
    )
    asked = {"driver_id": driver.pk, "version": 1}

    refused = desk.post(at(ride, "assign/"), asked, headers=HTMX)

    said = text_of(refused)
    assert refused.status_code == 422
    assert "Outside the driver's shift" in said
    assert "Override reason" in said
    event(desk.post(at(ride, "assign/"), asked | {"override_reason": "Family asked for her"}, headers=HTMX))
    row = Assignment.objects.get()
    assert (row.overridden, row.override_reason) == (["OUTSIDE_SHIFT"], "Family asked for her")


def test_a_second_person_is_named_with_the_driver(desk: Client) -> None:
    ride = factories.RideFactory.create(spaces_ambulatory=0, spaces_stretcher=1)
    driver = able(qualifications=["stretcher"])
    vehicle = factories.VehicleFactory.create(
        provider=driver.provider, type="stretcher_van", capacity={"ambulatory": 1, "wheelchair": 0, "stretcher": 1}
    )
    second = able(provider=driver.provider)
    factories.file_credentials(driver, vehicle)

    event(
        desk.post(
            at(ride, "assign/"),
            {"driver_id": driver.pk, "vehicle_id": vehicle.pk, "attendant_id": second.pk, "version": 1},
            headers=HTMX,
        )
    )

    ride.refresh_from_db()
    assert (ride.driver_id, ride.vehicle_id, ride.attendant_ids) == (driver.pk, vehicle.pk, [second.pk])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "Choose a driver."),
        ({"driver_id": "somebody"}, "Enter a valid UUID."),
        ({"driver_id": uuid7()}, "There is no such driver."),
    ],
)
def test_who_is_nobody_is_refused_with_words(desk: Client, ride: Ride, given: dict[str, Any], says: str) -> None:
    answer = desk.post(at(ride, "assign/"), {"version": 1, **given})

    assert (answer.status_code, says in text_of(answer)) == (422, True)
    assert Assignment.objects.count() == 0


def test_a_driver_without_a_vehicle_is_refused_with_words(desk: Client, ride: Ride) -> None:
    answer = desk.post(at(ride, "assign/"), {"version": 1, "driver_id": factories.DriverFactory.create().pk})

    assert (answer.status_code, "has no vehicle at that time" in text_of(answer)) == (422, True)


def test_what_is_over_is_not_assigned(desk: Client, ride: Ride) -> None:
    driver = able()
    factories.put_driver_on(ride, driver=driver)
    _not_met(ride)

    answer = desk.post(at(ride, "assign/"), {"driver_id": driver.pk, "version": 1}, headers=HTMX)

    assert (answer.status_code, event(answer, "carelane:refused")["message"]) == (
        409,
        "The ride ended as a no-show. To change that, correct its ending.",
    )


def test_taking_off_says_why(desk: Client, ride: Ride) -> None:
    driver = able()
    factories.put_driver_on(ride, driver=driver)
    form = desk.get(at(ride, "unassign/"))

    refused = desk.post(at(ride, "unassign/"), {"reason_code": "other", "version": ride.version})
    unknown = desk.post(at(ride, "unassign/"), {"reason_code": "boredom", "version": ride.version})
    ride.refresh_from_db()
    assert (refused.status_code, unknown.status_code, ride.driver_id) == (422, 422, driver.pk)
    assert "Note" in text_of(refused)

    done = desk.post(at(ride, "unassign/"), {"reason_code": "driver_ill", "version": ride.version}, follow=True)

    ride.refresh_from_db()
    assert (ride.status, ride.driver_id, told(done)) == ("scheduled", None, ["The ride waits for a driver."])
    assert "Unassign the driver" in text_of(form)


def test_taking_off_where_nobody_drives_changes_nothing(desk: Client, ride: Ride) -> None:
    done = event(desk.post(at(ride, "unassign/"), {"reason_code": "replanned", "version": 1}, headers=HTMX))

    ride.refresh_from_db()
    assert (done["undo"], ride.version) == (None, 1)


def test_a_will_call_is_released_once(desk: Client) -> None:
    """W1 and W2: the server's part."""
    ride = factories.RideFactory.create(
        will_call=True, pickup_time_kind="estimated", will_call_expires_at=NOW + 9 * HOUR
    )

    done = event(desk.post(at(ride, "ready/"), headers=HTMX))
    ride.refresh_from_db()
    version = ride.version
    again = desk.post(at(ride, "ready/"), follow=True)

    ride.refresh_from_db()
    assert (ride.ready_at, ride.ready_source, ride.version) == (NOW, "phone", version)
    assert done["message"] == told(again)[0] == "The rider is marked ready."


@pytest.mark.parametrize(
    ("ticked", "text", "answer"),
    [
        ({"orderSigned": True}, "Is the rider ready anyway?", {"confirmed": "on"}),
        ({}, "the discharge order is not signed", {"override": "on", "override_reason": "The ward insists."}),
    ],
    ids=["open items", "a required item"],
)
def test_ready_now_asks_about_an_open_checklist(
    desk: Client, ticked: dict[str, bool], text: str, answer: dict[str, str]
) -> None:
    details = {"unit": "4 West", "unitPhone": "+13125550140", "planner": {"name": "Pat"}, "checklist": ticked}
    ride = factories.RideFactory.create(
        service_type="hospital_discharge",
        discharge=details,
        will_call=True,
        pickup_time_kind="estimated",
        will_call_expires_at=NOW + 9 * HOUR,
    )

    question = desk.post(at(ride, "ready/"), headers=HTMX)
    ride.refresh_from_db()
    before = ride.ready_at
    done = event(desk.post(at(ride, "ready/"), {"version": ride.version, **answer}, headers=HTMX))

    ride.refresh_from_db()
    assert (question.status_code, before, ride.ready_at) == (422, None, NOW)
    assert text in text_of(question)
    assert "Mark ready anyway" in text_of(question)
    assert done["message"] == "The rider is marked ready."


def test_a_ride_with_a_firm_time_is_not_released(desk: Client, ride: Ride) -> None:
    answer = desk.post(at(ride, "ready/"), headers=HTMX)

    assert answer.status_code == 422
    assert "fixed pickup time" in event(answer, "carelane:refused")["message"]
    ride.refresh_from_db()
    assert ride.ready_at is None


def test_what_is_not_there_is_not_found(desk: Client) -> None:
    nowhere = f"{BOARD}rides/{uuid7()}/"

    assert desk.get(nowhere).status_code == 404
    for act in ("assign/", "unassign/"):
        assert (desk.get(nowhere + act).status_code, desk.post(nowhere + act).status_code) == (404, 404)
    assert desk.post(nowhere + "ready/").status_code == 404
    assert desk.post(f"{BOARD}drivers/{uuid7()}/break/").status_code == 404


def test_the_operators_own_reasons_are_offered(db: None) -> None:
    own = {"reason_list": "unassign", "parent_code": "vehicle_breakdown"}
    ReasonCode.objects.create(code="flat_tyre", label="Flat tyre", **own)
    ReasonCode.objects.create(code="old", label="Old", active=False, **own)

    offered = reason_codes.offered(ReasonList.UNASSIGN)

    assert offered[0] == ("driver_declined", "Driver declined")
    assert offered[-2:] == [("flat_tyre", "Flat tyre"), ("other", "Other")]


def _on_board() -> Ride:
    return ride_in(RideStatus.IN_PROGRESS)


def test_rider_on_board_is_handed_over_at_a_place(desk: Client) -> None:
    ride, other = _on_board(), able(first_name="Otto", last_name="Other")
    first = Assignment.objects.get()
    page = desk.get(at(ride, "hand-over/"))
    assert "Hand over to another driver" in text_of(page)
    assert [value for value, _label in page.context["form"].fields["place"].choices] == ["address"]
    assert f"/console/board/rides/{ride.pk}/hand-over/" in desk.get(f"/console/rides/{ride.pk}/").content.decode()
    assert f"/console/board/rides/{ride.pk}/hand-over/" in desk.get(at(ride)).content.decode()
    form = {"driver_id": str(other.pk), "version": ride.version, "place": "address", "reason_code": "vehicle_breakdown"}

    nowhere = desk.post(at(ride, "hand-over/"), form)
    assert (nowhere.status_code, list(nowhere.context["form"].errors)) == (422, ["rider_location"])
    stale = desk.post(at(ride, "hand-over/"), form | {"rider_location": "Gas station", "version": 0}, headers=HTMX)
    assert stale.status_code == 409
    assert Assignment.objects.get().pk == first.pk
    where = {"rider_location": "Gas station at I-290", "miles_driven": "4.5", "override_reason": "Nearest"}
    done = desk.post(at(ride, "hand-over/"), form | where, headers=HTMX)

    assert done.status_code == 200, text_of(done)
    assert event(done)["undo"] is None
    ride.refresh_from_db()
    first.refresh_from_db()
    assert (ride.driver_id, ride.status) == (other.pk, "in_progress")
    assert (first.status, first.ended_at, str(first.miles_attributed)) == ("superseded", NOW, "4.50")
    assert Assignment.objects.get(status="accepted").started_at == NOW
    assert ride.dispatcher_notes.endswith("Transferred at: Gas station at I-290")


def test_rider_on_board_is_handed_over_where_the_vehicle_is(desk: Client) -> None:
    ride, other = _on_board(), able()
    assert ride.driver is not None
    where = {"last_lat": "41.947000", "last_lng": "-87.730000"}
    Driver.objects.filter(pk=ride.driver.pk).update(last_located_at=NOW - 2 * MINUTE, **where)
    page = desk.get(at(ride, "hand-over/"))
    assert "Where the vehicle is now, as reported 2 minutes ago" in text_of(page)
    assert page.context["form"]["place"].value() == "position"
    form = {
        "driver_id": str(other.pk),
        "version": ride.version,
        "place": "position",
        "reason_code": "vehicle_breakdown",
    }

    done = desk.post(at(ride, "hand-over/"), form | {"override_reason": "Nearest"})

    ride.refresh_from_db()
    assert (done.status_code, ride.driver_id) == (302, other.pk)
    assert ride.dispatcher_notes.endswith("Transferred at: 41.94700, -87.73000")
    Driver.objects.filter(pk=other.pk).update(last_located_at=NOW - 6 * MINUTE, **where)
    assert "Where the vehicle is now" not in text_of(desk.get(at(ride, "hand-over/")))


def test_only_a_rider_on_board_is_handed_over(desk: Client, ride: Ride) -> None:
    form = {
        "driver_id": str(able().pk),
        "version": ride.version,
        "place": "address",
        "reason_code": "vehicle_breakdown",
    }

    refused = desk.post(at(ride, "hand-over/"), form | {"rider_location": "Here"}, headers=HTMX)

    assert refused.status_code == 409
    assert not Assignment.objects.exists()
    assert visitor(UserRole.PLANNER).get(at(ride, "hand-over/")).status_code == 403
