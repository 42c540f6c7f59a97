"""Changes to existing rides."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import ExternalId, Facility, Payer
from apps.riders.models import Rider
from apps.rides.models import Ride, RideException
from apps.rides.rules.draft import ExternalName, Payment
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, edit_checks, editing, legs, ride_changes
from lib.access import Principal
from lib.errors import FieldRefused, InvalidInput, NotFound, ScopeMissing, StaleVersion
from tests import factories
from tests.rides.drafts import HOME, draft

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


@pytest.fixture
def ride(hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime) -> Ride:
    return booking.book(draft=draft(hospital, rider), by=planner, at=now).ride


def state_of(ride: Ride) -> dict[str, Any]:
    return {**Ride.objects.filter(pk=ride.pk).values().get()}


def amend(ride: Ride, by: Principal, /, **changes: Any) -> Ride:
    return editing.edit(ride_id=ride.pk, changes=changes, by=by, at=factories.NOW)


def test_new_pickup_time_moves_everything_that_follows(ride: Ride, planner: Principal) -> None:
    later = factories.PICKUP + 24 * HOUR

    amended = amend(ride, planner, pickup_at=later)

    ride.refresh_from_db()
    assert amended.version == ride.version == 2
    assert (ride.pickup_at, ride.service_date) == (later, dt.date(2026, 11, 21))
    assert ride.window_ends_at == ride.promised_pickup_by == later + dt.timedelta(minutes=15)
    event = Event.objects.get(sequence=2)
    assert (event.type, event.data["previousPickupTime"]) == ("ride.rescheduled", "2026-11-20T20:00:00Z")
    assert AuditEntry.objects.get(action="rides.amend").details == {"fields": ["pickupTime"]}


def test_other_changes_are_an_update_that_names_the_fields_only(ride: Ride, planner: Principal) -> None:
    amend(ride, planner, notes={"driver": "canary note"}, companions={"escorts": 2})

    ride.refresh_from_db()
    assert (ride.driver_notes, ride.companions, ride.spaces_ambulatory) == ("canary note", {"escorts": 2}, 3)
    event = Event.objects.get(sequence=2)
    assert (event.type, event.data["changed"]) == ("ride.updated", ["notes", "companions"])
    assert "canary" not in str(event.data) + str(AuditEntry.objects.get(action="rides.amend").details)


def test_what_stays_the_same_is_no_change(ride: Ride, planner: Principal) -> None:
    before = state_of(ride)

    amend(ride, planner, pickup_at=ride.pickup_at, notes={"driver": ""}, dropoff={"city": "Chicago"})

    assert state_of(ride) == before
    assert Event.objects.count() == 1


def test_stop_merges_by_key_and_new_address_drops_coordinates(ride: Ride, planner: Principal) -> None:
    amend(ride, planner, dropoff={"instructions": "side door", "contact": {"name": "Ida"}})
    amend(ride, planner, dropoff={"contact": {"phone": "+13125550177"}})
    ride.refresh_from_db()
    assert (ride.dropoff["addressLine1"], ride.dropoff["lat"]) == (HOME["addressLine1"], HOME["lat"])
    assert ride.dropoff["contact"] == {"name": "Ida", "phone": "+13125550177", "ext": "", "role": ""}

    amend(ride, planner, dropoff={"addressLine1": "9 Elm St"})

    ride.refresh_from_db()
    assert (ride.dropoff["addressLine1"], ride.dropoff["lat"], ride.estimated_minutes) == ("9 Elm St", None, None)
    assert ride.dropoff["instructions"] == "side door"


def test_needs_of_one_ride_change_and_are_marked(ride: Ride, planner: Principal) -> None:
    amend(ride, planner, accommodation={"mobility": "wheelchair"})
    amend(ride, planner, accommodation={"serviceAnimal": True})

    ride.refresh_from_db()
    assert ride.accommodation["overridden"] == ["mobility", "serviceAnimal", "loadMinutes", "unloadMinutes"]
    assert (ride.spaces_ambulatory, ride.spaces_wheelchair) == (0, 1)


def test_codes_of_doors_are_replaced_apart(ride: Ride, planner: Principal) -> None:
    amend(ride, planner, dropoff={"accessCode": "1"}, pickup={"accessCode": "2"})
    amend(ride, planner, dropoff={"accessCode": "3"})

    ride.refresh_from_db()
    opened = [legs.opened_access(text) for text in (ride.pickup_access, ride.dropoff_access)]
    assert opened == [{"accessCode": "2"}, {"accessCode": "3"}]

    amend(ride, planner, dropoff={"accessCode": ""})

    ride.refresh_from_db()
    assert ride.dropoff_access_encrypted is None


def test_code_of_a_door_that_is_given_once_more_changes_nothing(ride: Ride, planner: Principal) -> None:
    amend(ride, planner, pickup={"accessCode": "1"})
    ride.refresh_from_db()

    amend(ride, planner, pickup={"accessCode": "1"}, dropoff={"accessCode": ""})

    assert Ride.objects.get(pk=ride.pk).version == ride.version


def test_external_names_are_replaced(ride: Ride, planner: Principal) -> None:
    amend(ride, planner, external_ids=(ExternalName("epic", "1"), ExternalName("epic", "2")))
    amend(ride, planner, external_ids=(ExternalName("epic", "2"),))

    assert list(ExternalId.objects.values_list("value", flat=True)) == ["2"]
    assert Event.objects.filter(type="ride.updated").count() == 2


def test_broken_rule_changes_nothing(ride: Ride, planner: Principal, hospital: Facility) -> None:
    before = state_of(ride)

    with pytest.raises(FieldRefused):
        amend(ride, planner, appointment_at=factories.PICKUP)
    with pytest.raises(FieldRefused):
        amend(ride, planner, service_type="hospital_discharge")
    with pytest.raises(InvalidInput):
        amend(ride, planner, dropoff={"facilityId": str(factories.FacilityFactory.create().pk)})
    with pytest.raises(StaleVersion):
        editing.edit(ride_id=ride.pk, changes={}, expected_version=7, by=planner, at=factories.NOW)

    assert state_of(ride) == before
    assert Event.objects.count() == 1


def test_outsider_finds_no_ride(ride: Ride, outsider: Principal) -> None:
    before = state_of(ride)

    with pytest.raises(NotFound):
        amend(ride, outsider, notes={"driver": "x"})

    assert state_of(ride) == before


def test_ride_cannot_move_onto_another_of_the_rider(
    ride: Ride, hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    other = booking.book(draft=draft(hospital, rider, pickup_at=factories.PICKUP + 3 * HOUR), by=planner, at=now).ride
    before = state_of(ride)

    with pytest.raises(booking.OverlappingRide):
        amend(ride, planner, pickup_at=other.pickup_at)

    assert state_of(ride) == before


def test_planner_may_change_until_a_driver_is_en_route(ride: Ride, planner: Principal, dispatcher: Principal) -> None:
    factories.put_driver_on(ride)
    amend(ride, planner, notes={"driver": "x"})
    assert state_of(ride)["driver_notes"] == "x"
    Ride.objects.update(status="en_route", departed_at=factories.NOW)
    before = state_of(ride)

    with pytest.raises(ScopeMissing):
        amend(ride, planner, notes={"driver": "y"})
    assert state_of(ride) == before

    amend(ride, dispatcher, notes={"driver": "y"})
    assert state_of(ride)["driver_notes"] == "y"


@pytest.mark.parametrize("status", list(RideStatus))
def test_each_status_lets_its_own_fields_change(status: RideStatus, dispatcher: Principal) -> None:
    ride = Ride(status=status)

    for name in edit_checks.EDITABLE[RideStatus.SCHEDULED]:
        allowed = name in edit_checks.EDITABLE[status]
        if allowed:
            edit_checks.require_editable(ride, {name: None}, dispatcher)
        else:
            with pytest.raises(edit_checks.FieldLocked) as refused:
                edit_checks.require_editable(ride, {name: None}, dispatcher)
            assert [detail.field for detail in refused.value.details] == [edit_checks.wire_name(name)]


def test_unmet_change_opens_exception_and_reverting_resolves_it(ride: Ride, dispatcher: Principal) -> None:
    driver = factories.DriverFactory.create()
    vehicle = factories.VehicleFactory.create(provider=driver.provider)
    for type_ in ("driver_license", "exclusion_check_oig", "background_check", "mvr"):
        factories.CredentialFactory.create(driver=driver, type=type_)
    for type_ in ("registration", "insurance", "inspection"):
        factories.CredentialFactory.create(driver=None, vehicle=vehicle, type=type_)
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)

    amend(ride, dispatcher, accommodation={"mobility": "stretcher"})

    exception = RideException.objects.get()
    assert (exception.type, exception.severity, exception.status) == ("accommodation_mismatch", "critical", "open")
    assert "VEHICLE_NOT_SUITABLE" in exception.details["violations"]
    ride.refresh_from_db()
    assert (ride.status, ride.open_exception_count, ride.version) == ("assigned", 1, 3)

    amend(ride, dispatcher, accommodation={"mobility": "ambulatory"})

    exception.refresh_from_db()
    assert exception.status == "resolved"


def test_released_leg_keeps_the_promise_it_was_given(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    ride = booking.book(draft=draft(hospital, rider, will_call=True), by=planner, at=now).ride
    promised = now + HOUR
    Ride.objects.filter(pk=ride.pk).update(ready_at=now, ready_source="phone", promised_pickup_by=promised)

    amend(ride, planner, dropoff={"addressLine1": "9 Elm St"})
    with pytest.raises(edit_checks.AlreadyReleased):
        amend(ride, planner, will_call=False)

    ride.refresh_from_db()
    assert (ride.promised_pickup_by, ride.will_call) == (promised, True)


def test_reached_ride_keeps_the_promise_by_which_it_was_on_time(
    hospital: Facility, rider: Rider, dispatcher: Principal, now: dt.datetime
) -> None:
    due = {"appointment_at": factories.PICKUP + HOUR, "scheduling_anchor": "appointment"}
    booked = booking.book(draft=draft(hospital, rider, **due), by=dispatcher, at=now).ride
    factories.put_driver_on(booked)
    Ride.objects.filter(pk=booked.pk).update(status="arrived", arrived_pickup_at=booked.window_ends_at)

    amend(booked, dispatcher, dropoff={"addressLine1": "9 Elm St", "lat": 42.2, "lng": -88.4})

    after = Ride.objects.get(pk=booked.pk)
    assert (after.window_starts_at, after.window_ends_at) == (booked.window_starts_at, booked.window_ends_at)
    assert after.dropoff["addressLine1"] == "9 Elm St"


def test_change_that_changes_nothing_answers_what_is_stored(ride: Ride, planner: Principal) -> None:
    Facility.objects.update(pickup_late_minutes=45)

    answered = amend(ride, planner, pickup_at=ride.pickup_at)

    stored = Ride.objects.get(pk=ride.pk)
    assert (answered.window_ends_at, answered.version) == (stored.window_ends_at, 1)


def test_payer_that_no_longer_pays_stays_on_its_rides(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    payer = factories.PayerFactory.create()
    booked = booking.book(draft=draft(hospital, rider, payment=Payment(payer_id=payer.pk)), by=planner, at=now).ride
    Payer.objects.update(active=False)

    amend(booked, planner, payment={"authorization_number": "A-2"})

    booked.refresh_from_db()
    assert (booked.payer_id, booked.authorization_number) == (payer.pk, "A-2")


def test_request_has_its_questions_asked_again(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    Facility.objects.update(lead_time_minutes=600)
    ride = booking.book(draft=draft(hospital, rider), by=planner, at=now).ride
    assert (ride.status, ride.review_reasons) == ("requested", ["lead_time"])

    amend(ride, planner, pickup_at=factories.PICKUP + 24 * HOUR)

    ride.refresh_from_db()
    assert (ride.status, ride.review_reasons) == ("requested", [])


def test_caller_who_cannot_book_cannot_change(ride: Ride) -> None:
    before = state_of(ride)

    with pytest.raises(ScopeMissing):
        amend(ride, factories.principal(UserRole.ANALYST), notes={"driver": "x"})

    assert state_of(ride) == before


@pytest.mark.parametrize(
    ("changes", "event", "state"),
    [
        ({"pickup_at": factories.PICKUP + HOUR}, ("ride.rescheduled", ["pickupTime", "occurrenceState"]), "customized"),
        ({"notes": {"driver": "x"}}, ("ride.updated", ["notes", "occurrenceState"]), "customized"),
        ({"external_ids": (ExternalName("epic", "1"),)}, ("ride.updated", ["externalIds"]), "as_generated"),
    ],
)
def test_person_changes_customize_series_ride_but_not_its_names(
    ride: Ride, planner: Principal, changes: dict[str, Any], event: tuple[str, list[str]], state: str
) -> None:
    Ride.objects.update(occurrence_key="1:2026-11-20:outbound", occurrence_state="as_generated")

    amend(ride, planner, **changes)

    ride.refresh_from_db()
    told = Event.objects.get(sequence=2)
    assert ((told.type, told.data["changed"]), ride.occurrence_state) == (event, state)
    assert AuditEntry.objects.get(action="rides.amend").details == {"fields": event[1]}


def test_series_gives_its_own_word_and_a_ride_of_its_own_none(ride: Ride, planner: Principal) -> None:
    def shift(by: dt.timedelta) -> str:
        moved = {"pickup_at": factories.PICKUP + by}
        options = editing.EditOptions(occurrence_state="shifted")
        amended = editing.edit(ride_id=ride.pk, changes=moved, options=options, by=planner, at=factories.NOW)
        return amended.occurrence_state

    assert shift(HOUR) == ""

    Ride.objects.update(occurrence_key="1:2026-11-20:outbound", occurrence_state="as_generated")
    assert shift(HOUR) == "as_generated"  # nothing is different

    assert (shift(2 * HOUR), shift(3 * HOUR)) == ("shifted", "shifted")
    assert state_of(ride)["occurrence_state"] == "shifted"
    changed = [data["changed"] for data in Event.objects.order_by("sequence").values_list("data", flat=True)[1:]]
    assert changed == [["pickupTime"], ["pickupTime", "occurrenceState"], ["pickupTime"]]


def test_null_removes_and_objects_merge() -> None:
    before = {"a": 1, "b": {"c": 2, "d": 3}, "e": None}

    assert ride_changes.merge(before, {"a": None, "b": {"c": None, "x": 4}, "f": [1]}) == {
        "b": {"d": 3, "x": 4},
        "e": None,
        "f": [1],
    }
