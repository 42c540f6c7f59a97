"""Guards at their boundaries, without a database."""

import dataclasses
import datetime as dt

import pytest

from apps.rides.rules.guards import ContactAttempt, Facts, failed, no_show_wait_minutes
from apps.rides.rules.lifecycle import Guard

PICKUP = dt.datetime(2026, 11, 20, 20, 0, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


def facts(**changed: object) -> Facts:
    """A firm appointment ride of an ambulatory rider from home; the driver arrives on the minute."""
    base = Facts(
        at=PICKUP + 30 * MINUTE,
        pickup_at=PICKUP,
        window_ends_at=PICKUP + 15 * MINUTE,
        will_call=False,
        ready_at=None,
        promised_pickup_by=None,
        service_type="appointment",
        pickup_at_facility=False,
        mobility="ambulatory",
        oxygen_uses=False,
        handoff_required=False,
        discharge_checklist={},
        facility_wait_minutes=None,
        arrived_at=PICKUP,
        contact_attempts=(ContactAttempt(at=PICKUP + 4 * MINUTE, contacted="rider"),),
    )
    return dataclasses.replace(base, **changed)  # type: ignore[arg-type]  # the caller names fields


def fails(guard: Guard, given: Facts) -> bool:
    return bool(failed([guard], given))


@pytest.mark.parametrize(
    ("changed", "minutes"),
    [
        ({}, 5),
        ({"pickup_at_facility": True}, 10),
        ({"service_type": "hospital_discharge", "pickup_at_facility": True}, 15),
        ({"will_call": True}, 15),
        ({"will_call": True, "facility_wait_minutes": 3}, 3),
    ],
    ids=["home", "facility", "discharge", "will-call", "facility's own"],
)
def test_wait_before_a_no_show_depends_on_the_pickup(changed: dict[str, object], minutes: int) -> None:
    assert no_show_wait_minutes(facts(**changed)) == minutes


@pytest.mark.parametrize(
    ("arrived", "waited", "refused"),
    [(-10, 4, True), (-10, 5, False), (7, 11, True), (7, 12, False)],
    ids=["early, too short", "early, waited from pickup time", "late, too short", "late, waited from arrival"],
)
def test_firm_ride_waits_from_later_of_arrival_and_pickup_time(arrived: int, waited: int, refused: bool) -> None:
    given = facts(arrived_at=PICKUP + arrived * MINUTE, at=PICKUP + waited * MINUTE)

    assert fails(Guard.WAITED_LONG_ENOUGH, given) is refused


def test_released_will_call_waits_from_arrival() -> None:
    given = facts(will_call=True, arrived_at=PICKUP - 20 * MINUTE, at=PICKUP - 5 * MINUTE)

    assert not fails(Guard.WAITED_LONG_ENOUGH, given)


@pytest.mark.parametrize(("late", "refused"), [(15, False), (16, True)])
def test_vehicle_that_came_late_makes_no_no_show(late: int, refused: bool) -> None:
    assert fails(Guard.ARRIVED_IN_WINDOW, facts(arrived_at=PICKUP + late * MINUTE)) is refused


def test_promise_of_a_released_will_call_is_its_window() -> None:
    given = facts(will_call=True, promised_pickup_by=PICKUP + 40 * MINUTE, arrived_at=PICKUP + 40 * MINUTE)

    assert not fails(Guard.ARRIVED_IN_WINDOW, given)


@pytest.mark.parametrize(
    ("service_type", "contacted", "refused"),
    [
        ("appointment", [], True),
        ("appointment", ["rider"], False),
        ("dialysis", ["facility"], True),
        ("dialysis", ["rider", "rider"], True),
        ("dialysis", ["rider", "facility"], False),
        ("hospital_discharge", ["facility", "facility"], False),
    ],
)
def test_contact_is_tried_twice_for_those_who_must_not_be_missed(
    service_type: str, contacted: list[str], refused: bool
) -> None:
    attempts = tuple(ContactAttempt(at=PICKUP + MINUTE, contacted=whom) for whom in contacted)

    assert fails(Guard.CONTACT_ATTEMPTED, facts(service_type=service_type, contact_attempts=attempts)) is refused


def test_contact_attempt_after_the_no_show_does_not_count() -> None:
    later = ContactAttempt(at=PICKUP + 31 * MINUTE, contacted="rider")

    assert fails(Guard.CONTACT_ATTEMPTED, facts(contact_attempts=(later,)))


@pytest.mark.parametrize(
    ("checklist", "oxygen", "refused"),
    [
        ({}, False, True),
        ({"orderSigned": True}, False, False),
        ({"orderSigned": True, "oxygenDelivered": None}, True, True),
        ({"orderSigned": True, "oxygenDelivered": True}, True, False),
    ],
)
def test_discharge_waits_for_order_and_oxygen(checklist: dict[str, object], oxygen: bool, refused: bool) -> None:
    given = facts(service_type="hospital_discharge", discharge_checklist=checklist, oxygen_uses=oxygen)

    assert fails(Guard.DISCHARGE_CHECKLIST, given) is refused


def test_checklist_is_not_asked_again_after_the_release() -> None:
    given = facts(service_type="hospital_discharge", will_call=True, ready_at=PICKUP)

    assert not fails(Guard.DISCHARGE_CHECKLIST, given)


@pytest.mark.parametrize(("hours", "refused"), [(72, False), (73, True)])
def test_ending_can_be_corrected_for_three_days(hours: int, refused: bool) -> None:
    given = facts(ended_at=PICKUP, at=PICKUP + dt.timedelta(hours=hours))

    assert fails(Guard.CORRECTION_WINDOW_OPEN, given) is refused


def test_all_failures_are_named_at_once() -> None:
    given = facts(will_call=True, vehicle_in_service=False, invalid_credentials=("driver's license",))

    assert [failure.guard for failure in failed(Guard, given)] == [
        Guard.WILL_CALL_RELEASED,
        Guard.CREDENTIALS_VALID,
        Guard.VEHICLE_IN_SERVICE,
        Guard.RIDER_LOCATION_KNOWN,
    ]


def test_nobody_has_waited_without_an_arrival() -> None:
    (failure,) = failed([Guard.WAITED_LONG_ENOUGH], facts(arrived_at=None))

    assert str(failure.message) == "Log the arrival at the pickup first."


def test_call_before_the_arrival_does_not_count() -> None:
    calls = (ContactAttempt(at=PICKUP - MINUTE, contacted="rider"),)

    assert fails(Guard.CONTACT_ATTEMPTED, facts(contact_attempts=calls))
    assert not fails(Guard.CONTACT_ATTEMPTED, facts(contact_attempts=calls, arrived_at=PICKUP - MINUTE))
