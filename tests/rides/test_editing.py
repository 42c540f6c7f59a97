"""Edits with what follows from them: the driver, later legs, the preview and the history."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.fleet.models import Driver, Vehicle
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Assignment, Ride, RideChange
from apps.rides.queries import rides as ride_queries
from apps.rides.rules.change_values import FieldChange, field_changes
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, editing
from apps.rides.services.edit_checks import ChangeQuestioned
from apps.rides.services.editing import CrewAction, CrewChoice, EditOptions
from apps.rides.services.eligibility_checks import AssignmentRejected, Override
from lib.access import Phi, Principal
from lib.errors import FieldRefused, InvalidInput, ScopeMissing
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.fleet.crew import fit_pair
from tests.rides.drafts import draft
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import traces

HOUR = dt.timedelta(hours=1)
HALF = dt.timedelta(minutes=30)
NOW = factories.NOW
WHY = Override(requested=True, reason="The clinic asked for it.")
UNASSIGN = EditOptions(crew=CrewChoice(CrewAction.UNASSIGN))


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


@pytest.fixture
def ride(hospital: Facility, rider: Rider, planner: Principal) -> Ride:
    return booking.book(draft=draft(hospital, rider), by=planner, at=NOW).ride


@pytest.fixture
def crew(ride: Ride) -> tuple[Driver, Vehicle]:
    """Assign the ride to a driver who has another ride three hours later."""
    driver, vehicle = fit_pair()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    other = factories.RideFactory.create(pickup_at=factories.PICKUP + 3 * HOUR)
    factories.put_driver_on(other, driver=driver, vehicle=vehicle)
    return driver, vehicle


def both_legs(hospital: Facility, rider: Rider, by: Principal) -> tuple[Ride, Ride]:
    asked = draft(hospital, rider, return_leg=ReturnLeg(pickup_at=factories.PICKUP + 3 * HOUR))
    booked = booking.book(draft=asked, by=by, at=NOW)
    assert booked.return_ride is not None
    return booked.ride, booked.return_ride


def edit(ride: Ride, by: Principal, options: EditOptions | None = None, /, **changes: Any) -> Ride:
    return editing.edit(ride_id=ride.pk, changes=changes, options=options or EditOptions(), by=by, at=NOW)


def preview(ride: Ride, by: Principal, options: EditOptions | None = None, /, **changes: Any) -> editing.EditPreview:
    return editing.preview(ride_id=ride.pk, changes=changes, options=options or EditOptions(), by=by, at=NOW)


def reassigned_to(driver: Driver, **more: Any) -> EditOptions:
    choice = CrewChoice(CrewAction.REASSIGN, driver.pk, driver.default_vehicle_id)
    return EditOptions(crew=choice, **more)


def types_since(ride: Ride, sequence: int) -> list[str]:
    events = Event.objects.filter(subject_id=ride.pk, sequence__gt=sequence).order_by("sequence")
    return list(events.values_list("type", flat=True))


CONFLICT = {"pickup_at": factories.PICKUP + 3 * HOUR}


@pytest.mark.usefixtures("crew")
def test_driver_is_unassigned_with_the_edit_in_one_audit_entry(ride: Ride, dispatcher: Principal) -> None:
    seen = preview(ride, dispatcher, UNASSIGN, **CONFLICT)
    before = ride.version

    edit(ride, dispatcher, UNASSIGN, **CONFLICT)

    ride.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.pickup_at) == ("scheduled", None, CONFLICT["pickup_at"])
    assert types_since(ride, before) == ["ride.rescheduled", "ride.driver_unassigned"]
    assert seen.events == [(ride.pk, "ride.rescheduled"), (ride.pk, "ride.driver_unassigned")]
    entry = AuditEntry.objects.exclude(action="rides.book").get()
    assert (entry.action, entry.details) == ("rides.amend", {"fields": ["pickupTime"], "assignment": "unassign"})


@pytest.mark.usefixtures("crew")
def test_ride_is_reassigned_with_the_edit(ride: Ride, dispatcher: Principal) -> None:
    driver, _ = fit_pair()
    options = reassigned_to(driver)
    seen = preview(ride, dispatcher, options, **CONFLICT)
    before = ride.version

    edit(ride, dispatcher, options, **CONFLICT)

    ride.refresh_from_db()
    assert (ride.status, ride.driver_id) == ("assigned", driver.pk)
    types = ["ride.rescheduled", "ride.driver_unassigned", "ride.driver_assigned"]
    assert types_since(ride, before) == types
    assert seen.events == [(ride.pk, type_) for type_ in types]
    assert seen.violations == []
    assert AuditEntry.objects.exclude(action="rides.book").count() == 1


@pytest.mark.usefixtures("crew")
def test_new_driver_is_checked_and_may_be_overridden(ride: Ride, dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    busy = factories.RideFactory.create(pickup_at=factories.PICKUP)
    factories.put_driver_on(busy, driver=driver, vehicle=vehicle)
    before = traces(ride)

    with pytest.raises(AssignmentRejected):
        edit(ride, dispatcher, reassigned_to(driver), notes={"driver": "x"})
    assert traces(ride) == before
    seen = preview(ride, dispatcher, reassigned_to(driver), notes={"driver": "x"})
    assert [violation.code.value for violation in seen.violations] == ["SCHEDULE_CONFLICT"]
    assert traces(ride) == before

    edit(ride, dispatcher, reassigned_to(driver, override=WHY), notes={"driver": "x"})
    row = Assignment.objects.get(ride=ride, status="accepted")
    assert (row.driver_id, row.overridden, row.override_reason) == (driver.pk, ["SCHEDULE_CONFLICT"], WHY.reason)


def test_planner_moves_an_assigned_ride_and_lets_go_of_a_driver_in_conflict(
    ride: Ride, crew: tuple[Driver, Vehicle], planner: Principal
) -> None:
    edit(ride, planner, pickup_at=factories.PICKUP + HALF)
    before = traces(ride)

    with pytest.raises(ChangeQuestioned):
        edit(ride, planner, **CONFLICT)
    with pytest.raises(ScopeMissing):  # the driver is free then
        edit(ride, planner, UNASSIGN, pickup_at=factories.PICKUP)
    with pytest.raises(ScopeMissing):
        edit(ride, planner, reassigned_to(crew[0]), **CONFLICT)
    assert traces(ride) == before

    edit(ride, planner, UNASSIGN, **CONFLICT)
    assert Ride.objects.get(pk=ride.pk).status == "scheduled"


@pytest.mark.parametrize(
    ("status", "choice", "field"),
    [
        (RideStatus.SCHEDULED, CrewAction.UNASSIGN, "assignment.action"),
        (RideStatus.ARRIVED, CrewAction.UNASSIGN, "assignment.action"),
        (RideStatus.IN_PROGRESS, CrewAction.REASSIGN, "assignment.action"),
        (RideStatus.ASSIGNED, CrewAction.REASSIGN, "assignment.driverId"),
    ],
)
def test_choice_that_is_not_possible_names_its_field(
    status: RideStatus, choice: CrewAction, field: str, dispatcher: Principal
) -> None:
    ride = ride_in(status)
    before = traces(ride)

    with pytest.raises(FieldRefused) as refused:
        edit(ride, dispatcher, EditOptions(crew=CrewChoice(choice)), notes={"driver": "x"})

    assert refused.value.details[0].field == field
    assert traces(ride) == before


@pytest.mark.usefixtures("crew")
def test_unknown_driver_is_named(ride: Ride, dispatcher: Principal) -> None:
    options = EditOptions(crew=CrewChoice(CrewAction.REASSIGN, rider_id(), rider_id()))

    with pytest.raises(InvalidInput) as refused:
        edit(ride, dispatcher, options, notes={"driver": "x"})

    assert refused.value.details[0].field == "assignment.driverId"


def rider_id() -> Any:
    return factories.RiderFactory.create().pk


def test_return_leg_moves_along_in_both_directions(hospital: Facility, rider: Rider, planner: Principal) -> None:
    there, back = both_legs(hospital, rider, planner)
    along = EditOptions(move_return=True)

    seen = preview(there, planner, pickup_at=there.pickup_at + 2 * HOUR)
    assert [(leg.ride.pk, leg.pickup_at, leg.is_moved) for leg in seen.later_legs] == [
        (back.pk, back.pickup_at + 2 * HOUR, False)
    ]
    with pytest.raises(FieldRefused):  # the return leg would come first
        edit(there, planner, pickup_at=there.pickup_at + 4 * HOUR)

    edit(there, planner, along, pickup_at=there.pickup_at + 4 * HOUR)
    there.refresh_from_db()
    back.refresh_from_db()
    assert (there.pickup_at, back.pickup_at) == (factories.PICKUP + 4 * HOUR, factories.PICKUP + 7 * HOUR)
    assert types_since(back, 1) == ["ride.rescheduled"]

    edit(there, planner, along, pickup_at=factories.PICKUP)
    assert Ride.objects.get(pk=back.pk).pickup_at == factories.PICKUP + 3 * HOUR


def test_return_leg_moves_by_the_appointment_if_there_is_one(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    there, back = both_legs(hospital, rider, planner)
    edit(there, planner, appointment_at=there.pickup_at + HOUR)

    edit(there, planner, EditOptions(move_return=True), appointment_at=there.pickup_at + HOUR + HALF)

    assert Ride.objects.get(pk=back.pk).pickup_at == factories.PICKUP + 3 * HOUR + HALF


def test_driver_of_the_return_leg_who_is_not_free_is_unassigned_unless_overridden(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    there, back = both_legs(hospital, rider, dispatcher)
    driver, vehicle = fit_pair()
    factories.put_driver_on(back, driver=driver, vehicle=vehicle)
    other = factories.RideFactory.create(pickup_at=factories.PICKUP + 6 * HOUR)
    factories.put_driver_on(other, driver=driver, vehicle=vehicle)
    later = {"pickup_at": there.pickup_at + 3 * HOUR}

    seen = preview(there, dispatcher, EditOptions(move_return=True), **later)
    assert [leg.loses_driver for leg in seen.later_legs] == [True]
    assert seen.events == [
        (back.pk, "ride.rescheduled"),
        (there.pk, "ride.rescheduled"),
        (back.pk, "ride.driver_unassigned"),
    ]

    edit(there, dispatcher, EditOptions(move_return=True), **later)
    assert Ride.objects.get(pk=back.pk).status == "scheduled"

    factories.put_driver_on(back, driver=driver, vehicle=vehicle)
    edit(there, dispatcher, EditOptions(move_return=True), pickup_at=factories.PICKUP)
    edit(there, dispatcher, EditOptions(move_return=True, override=WHY), **later)
    assert Ride.objects.get(pk=back.pk).status == "assigned"


def test_one_driver_of_both_legs_has_no_conflict_with_himself(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    there, back = both_legs(hospital, rider, dispatcher)
    driver, vehicle = fit_pair()
    factories.put_driver_on(there, driver=driver, vehicle=vehicle)
    factories.put_driver_on(back, driver=driver, vehicle=vehicle)

    edit(there, dispatcher, EditOptions(move_return=True), pickup_at=there.pickup_at + 3 * HOUR)

    assert set(Ride.objects.filter(trip=there.trip).values_list("status", flat=True)) == {"assigned"}


def test_preview_stores_nothing_and_says_what_follows(
    ride: Ride, crew: tuple[Driver, Vehicle], dispatcher: Principal
) -> None:
    best, _ = fit_pair()
    Facility.objects.update(lead_time_minutes=600)
    before = (traces(ride), RideChange.objects.count())

    seen = preview(ride, dispatcher, **CONFLICT)
    sooner = preview(ride, dispatcher, pickup_at=NOW + 4 * HOUR)

    assert (traces(ride), RideChange.objects.count()) == before
    assert [violation.code.value for violation in seen.violations] == ["SCHEDULE_CONFLICT"]
    assert (seen.changed, seen.best.driver_id if seen.best else None) == (["pickupTime"], best.pk)
    assert seen.ride.promised_pickup_by == CONFLICT["pickup_at"] + dt.timedelta(minutes=15)
    assert (seen.questions, [detail.code for detail in sooner.questions]) == ([], ["lead_time"])
    assert (sooner.violations, sooner.best) == ([], None)


def test_history_has_values_by_phi_level(ride: Ride, planner: Principal) -> None:
    moved = edit(
        ride,
        planner,
        pickup_at=ride.pickup_at + HALF,
        dropoff={"addressLine1": "9 Elm St", "accessCode": "canary"},
        notes={"driver": "Ring twice."},
    )

    entry = next(entry for entry in ride_queries.timeline(moved) if entry.sequence == moved.version)
    assert entry.values is not None
    full = {item.field: item for item in field_changes(entry.values, disclosure_of(planner))}
    assert full["pickupTime"] == FieldChange("pickupTime", "2026-11-20T20:00:00Z", "2026-11-20T20:30:00Z")
    assert full["notes.driver"] == FieldChange("notes.driver", None, "Ring twice.")
    assert full["dropoff.addressLine1"].after == "9 Elm St"
    assert full["dropoff.accessCode"] == FieldChange("dropoff.accessCode", None, None)
    hidden = field_changes(entry.values, disclosure_of(factories.principal(phi=Phi.NONE)))
    assert {item.field for item in hidden} == {"pickupTime", "dropoff.accessCode"}
    stored = RideChange.objects.get()
    assert b"Elm" not in bytes(stored.values_encrypted)
    assert "canary" not in stored.values
    assert "Elm" not in str([*Event.objects.values("data"), *AuditEntry.objects.values("details")])


def test_api_previews_and_then_makes_the_change(api: TokenClient, ride: Ride, crew: tuple[Driver, Vehicle]) -> None:
    best, best_vehicle = fit_pair()
    path, later = f"/api/rides/{ride.pk}", {"pickupTime": "2026-11-20T23:00:00Z"}
    version = Ride.objects.get(pk=ride.pk).version

    seen = api.patch(f"{path}?preview=true", later, headers={"If-Match": f'"{version}"'})

    assert seen.status_code == 200
    assert seen.json() == {
        "rideId": str(ride.pk),
        "changed": ["pickupTime"],
        "changes": [{"field": "pickupTime", "before": "2026-11-20T20:00:00Z", "after": "2026-11-20T23:00:00Z"}],
        "pickupTime": "2026-11-20T23:00:00Z",
        "pickupWindow": {"start": "2026-11-20T22:45:00Z", "end": "2026-11-20T23:15:00Z"},
        "promisedPickupBy": "2026-11-20T23:15:00Z",
        "driver": {
            "driverId": str(crew[0].pk),
            "fits": False,
            "violations": seen.json()["driver"]["violations"],
            "best": {
                "driverId": str(best.pk),
                "vehicleId": str(best_vehicle.pk),
                "driverName": f"{best.first_name} {best.last_name}",
            },
        },
        "returnLegs": [],
        "overlappingRideIds": [],
        "approval": {"required": False, "reasons": []},
        "events": [{"rideId": str(ride.pk), "type": "ride.rescheduled"}],
    }
    assert [item["code"] for item in seen.json()["driver"]["violations"]] == ["SCHEDULE_CONFLICT"]
    assert Ride.objects.get(pk=ride.pk).version == version
    assert error_of(api.patch(path, later))["code"] == "RULE_VIOLATION"

    best_choice = {"action": "reassign", "driverId": str(best.pk), "vehicleId": str(best_vehicle.pk)}
    changed = api.patch(path, later | {"assignment": best_choice, "moveReturnLeg": True}).json()
    assert (changed["driverId"], changed["pickupTime"]) == (str(best.pk), later["pickupTime"])
    lines = api.get(f"{path}/timeline").json()["data"]
    (line,) = [line for line in lines if line["type"] == "ride.rescheduled"]
    assert line["changes"] == seen.json()["changes"]
    unassigned = error_of(api.patch(path, {"assignment": {"action": "vanish"}}))
    assert unassigned["details"][0]["field"] == "assignment.action"


def test_planning_system_edits_an_assigned_ride(ride: Ride, crew: tuple[Driver, Vehicle]) -> None:
    api = api_with(TokenRole.EHR_INTEGRATOR)

    changed = api.patch(f"/api/rides/{ride.pk}", {"notes": {"driver": "Ring twice."}})

    assert (changed.status_code, changed.json()["status"]) == (200, "assigned")
    Ride.objects.filter(pk=ride.pk).update(status="en_route", departed_at=NOW)
    assert error_of(api.patch(f"/api/rides/{ride.pk}", {"notes": {"driver": "x"}}))["code"] == "INSUFFICIENT_SCOPE"
