"""Every check of an assignment, at its boundaries, over plain facts: no database."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

import pytest
from django.utils.translation import override

from apps.fleet.rules.credentials import BLOCKING_BY_DEFAULT, CredentialFacts, Subject
from apps.rides.rules.eligibility import CHECKS, ViolationCode, ViolationKind, violations
from apps.rides.rules.facts import (
    DriverFacts,
    RideNeeds,
    RideSlot,
    ShiftFact,
    Spaces,
    Span,
    VehicleFacts,
)
from lib.travel.places import METERS_PER_MILE, Place
from lib.travel.times import GreatCircleTimes

PROVIDER, OTHER_PROVIDER, RIDER, RIDE, DRIVER, VEHICLE = (uuid.UUID(int=number) for number in range(1, 7))
AT = dt.datetime(2026, 11, 20, 20, 0, tzinfo=dt.UTC)
TODAY = dt.date(2026, 11, 20)
LOOP, OHARE, NAPERVILLE = Place(41.8809, -87.6338), Place(41.9786, -87.9048), Place(41.7508, -88.1535)

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)


def credential(type: str, **given: Any) -> CredentialFacts:
    known: dict[str, Any] = {"expires_on": None, "rejected": False, "blocking": True, "warn_days": 30}
    return CredentialFacts(type=type, **(known | given))


CREDENTIALS = {
    subject: tuple(credential(kind) for kind in sorted(kinds)) for subject, kinds in BLOCKING_BY_DEFAULT.items()
}


def slot(starts_at: dt.datetime = AT, minutes: int = 30, **given: Any) -> RideSlot:
    known: dict[str, Any] = {
        "ride_id": RIDE,
        "span": Span(starts_at, starts_at + dt.timedelta(minutes=minutes)),
        "latest_pickup_at": starts_at + 15 * MINUTE,
        "pickup": LOOP,
        "dropoff": LOOP,
    }
    return RideSlot(**(known | given))


def needs(**given: Any) -> RideNeeds:
    known: dict[str, Any] = {
        "slot": slot(),
        "service_date": TODAY,
        "rider_id": RIDER,
        "spaces": Spaces(ambulatory=1),
    }
    return RideNeeds(**(known | given))


def driver(**given: Any) -> DriverFacts:
    known: dict[str, Any] = {"id": DRIVER, "provider_id": PROVIDER, "credentials": CREDENTIALS[Subject.DRIVER]}
    return DriverFacts(**(known | given))


def vehicle(**given: Any) -> VehicleFacts:
    known: dict[str, Any] = {
        "id": VEHICLE,
        "provider_id": PROVIDER,
        "type": "wheelchair_van",
        "credentials": CREDENTIALS[Subject.VEHICLE],
        "configs": (Spaces(ambulatory=4), Spaces(ambulatory=2, wheelchair=1)),
        "lift_type": "lift",
        "lift_rating_lb": 800,
        "max_chair_width_in": 34.0,
    }
    return VehicleFacts(**(known | given))


def codes(
    ride: RideNeeds, who: DriverFacts | None = None, what: VehicleFacts | None = None, *attendants: DriverFacts
) -> list[str]:
    return [one.code.value for one in violations(ride, who or driver(), what or vehicle(), attendants)]


def test_nothing_stands_against_a_fitting_pair() -> None:
    assert violations(needs(), driver(), vehicle()) == []


def test_every_code_has_its_check_and_its_kind() -> None:
    soft = {"SCHEDULE_CONFLICT", "OUTSIDE_SHIFT", "PREFERENCE_UNMET", "RIDE_TIME_EXCEEDED"}

    kinds = {code.value: kind for code, (kind, _) in CHECKS.items()}

    assert set(kinds) == set(ViolationCode)
    assert {code for code, kind in kinds.items() if kind is ViolationKind.SOFT} == soft


@pytest.mark.parametrize("activation", ["pending", "suspended", "inactive"])
def test_only_active_drivers_drive(activation: str) -> None:
    assert codes(needs(), driver(activation=activation)) == ["DRIVER_INACTIVE"]


@pytest.mark.parametrize("status", ["out_of_service", "maintenance", "retired"])
def test_vehicle_has_to_be_in_service(status: str) -> None:
    assert codes(needs(), what=vehicle(status=status)) == ["VEHICLE_OUT_OF_SERVICE"]


def test_vehicle_and_driver_are_of_one_provider() -> None:
    assert codes(needs(), what=vehicle(provider_id=OTHER_PROVIDER)) == ["PROVIDER_MISMATCH"]


@pytest.mark.parametrize(
    ("expires_on", "found"),
    [
        (None, []),
        (TODAY + dt.timedelta(days=1), []),
        (TODAY, []),
        (TODAY - dt.timedelta(days=1), ["CREDENTIAL_INVALID"]),
    ],
)
def test_credential_holds_until_the_end_of_its_last_day(expires_on: dt.date | None, found: list[str]) -> None:
    others = tuple(one for one in CREDENTIALS[Subject.DRIVER] if one.type != "driver_license")

    licensed = driver(credentials=(*others, credential("driver_license", expires_on=expires_on)))

    assert codes(needs(), licensed) == found


@pytest.mark.parametrize(
    ("subject", "changed", "found"),
    [
        (Subject.DRIVER, {"type": "driver_license", "rejected": True}, 1),
        (Subject.DRIVER, {"type": "driver_license", "rejected": True, "blocking": False}, 0),
        (Subject.DRIVER, {"type": "tb_test", "rejected": True, "blocking": False}, 0),
        (Subject.DRIVER, {"type": "tb_test", "rejected": True, "blocking": True}, 1),
        (Subject.VEHICLE, {"type": "insurance", "expires_on": TODAY - dt.timedelta(days=1)}, 1),
        (Subject.VEHICLE, {"type": "state_permit", "expires_on": TODAY, "blocking": True}, 0),
    ],
)
def test_credential_blocks_as_it_says_itself(subject: Subject, changed: dict[str, Any], found: int) -> None:
    changed_credential = credential(**changed)
    credentials = (*(one for one in CREDENTIALS[subject] if one.type != changed_credential.type), changed_credential)
    who = driver(credentials=credentials) if subject is Subject.DRIVER else driver()
    what = vehicle(credentials=credentials) if subject is Subject.VEHICLE else vehicle()

    assert codes(needs(), who, what) == ["CREDENTIAL_INVALID"] * found


def test_lapsed_credentials_are_listed_with_type_and_day() -> None:
    kept = tuple(one for one in CREDENTIALS[Subject.DRIVER] if one.type not in {"driver_license", "mvr"})
    credentials = (*kept, credential("driver_license", expires_on=dt.date(2026, 11, 19)))

    with override("es"):  # violations are also returned by the API: readers format them in their own language
        found = violations(needs(), driver(credentials=credentials), vehicle())

    assert [(str(one.message), one.subject_id) for one in found] == [
        ("Driver: driver's license expires on Nov 19, 2026, before the day of the ride.", DRIVER),
        ("Driver: motor vehicle record is missing.", DRIVER),
    ]


def test_rejected_credential_is_said_to_be() -> None:
    kept = tuple(one for one in CREDENTIALS[Subject.VEHICLE] if one.type != "insurance")

    found = violations(needs(), driver(), vehicle(credentials=(*kept, credential("insurance", rejected=True))))

    assert [str(one.message) for one in found] == ["Vehicle: insurance is rejected."]


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        (Spaces(ambulatory=4), True),
        (Spaces(ambulatory=5), False),
        (Spaces(ambulatory=2, wheelchair=1), True),
        (Spaces(ambulatory=3, wheelchair=1), False),  # either configuration holds one half, neither holds both
        (Spaces(wheelchair=2), False),
        (Spaces(stretcher=1), False),
    ],
)
def test_arrangements_of_a_vehicle_are_alternatives(asked: Spaces, fits: bool) -> None:
    assert codes(needs(spaces=asked)) == ([] if fits else ["VEHICLE_NOT_SUITABLE"])


IN_CHAIR = {"in_chair": True, "spaces": Spaces(wheelchair=1)}


@pytest.mark.parametrize(
    ("asked", "given", "fits"),
    [
        ({"combined_weight_lb": 800}, {}, True),
        ({"combined_weight_lb": 801}, {}, False),
        ({"combined_weight_lb": None}, {}, True),
        ({"chair_width_in": 34.0}, {}, True),
        ({"chair_width_in": 34.5}, {}, False),
        ({"chair_width_in": 30.0}, {"max_chair_width_in": None}, True),
        ({"chair_width_in": 30.5}, {"max_chair_width_in": None}, False),
        ({}, {"lift_type": "none", "lift_rating_lb": None}, False),
        ({}, {"lift_type": "ramp"}, True),
    ],
)
def test_chair_has_to_get_in(asked: dict[str, Any], given: dict[str, Any], fits: bool) -> None:
    trained = driver(qualifications=frozenset({"wheelchair_securement"}))

    assert codes(needs(**IN_CHAIR, **asked), trained, vehicle(**given)) == ([] if fits else ["VEHICLE_NOT_SUITABLE"])


def test_walking_rider_needs_no_lift_whatever_the_weight() -> None:
    assert codes(needs(combined_weight_lb=900), what=vehicle(lift_type="none", lift_rating_lb=None)) == []


@pytest.mark.parametrize(("mount", "found"), [(True, []), (False, ["VEHICLE_NOT_SUITABLE"])])
def test_oxygen_tank_needs_a_mount(mount: bool, found: list[str]) -> None:
    trained = driver(qualifications=frozenset({"oxygen"}))

    assert codes(needs(oxygen=True, oxygen_mount=True), trained, vehicle(oxygen_mount=mount)) == found


@pytest.mark.parametrize(("type", "found"), [("bls_ambulance", []), ("stretcher_van", ["VEHICLE_NOT_SUITABLE"])])
def test_ambulance_is_not_replaced_by_a_van(type: str, found: list[str]) -> None:
    assert codes(needs(ambulance=True), what=vehicle(type=type)) == found


def test_driver_without_a_vehicle_cannot_drive() -> None:
    found = violations(needs(), driver(), None)

    assert [(one.code, one.subject_id) for one in found] == [(ViolationCode.VEHICLE_NOT_SUITABLE, DRIVER)]


@pytest.mark.parametrize(
    ("asked", "qualification"),
    [
        (IN_CHAIR, "wheelchair_securement"),
        ({"on_stretcher": True}, "stretcher"),
        ({"bariatric": True}, "bariatric"),
        ({"oxygen": True}, "oxygen"),
    ],
)
def test_each_need_asks_for_its_training(asked: dict[str, Any], qualification: str) -> None:
    helper = driver(id=uuid.UUID(int=77))
    ride = needs(**asked)

    trained = codes(ride, driver(qualifications=frozenset({qualification})), vehicle(bariatric=True), helper)
    untrained = codes(ride, driver(), vehicle(bariatric=True), helper)

    assert (trained, untrained) == ([], ["DRIVER_NOT_QUALIFIED"])


def test_exclusion_counts_either_way() -> None:
    by_rider = codes(needs(excluded_driver_ids=frozenset({DRIVER})))
    by_driver = codes(needs(), driver(excluded_rider_ids=frozenset({RIDER})))

    assert by_rider == by_driver == ["PAIRING_EXCLUDED"]


def test_excluded_attendant_counts_too() -> None:
    helper = driver(id=uuid.UUID(int=77), excluded_rider_ids=frozenset({RIDER}))

    assert codes(needs(), driver(), vehicle(), helper) == ["PAIRING_EXCLUDED"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"steps": 3}, []),
        ({"steps": 4}, ["ATTENDANT_REQUIRED"]),
        ({"second_person": True}, ["ATTENDANT_REQUIRED"]),
        ({"on_stretcher": True}, ["ATTENDANT_REQUIRED"]),
        ({"bariatric": True}, ["ATTENDANT_REQUIRED"]),
    ],
)
def test_second_person_is_asked_for(asked: dict[str, Any], found: list[str]) -> None:
    trained = driver(qualifications=frozenset({"stretcher", "bariatric"}))
    helper = driver(id=uuid.UUID(int=77))

    alone = codes(needs(**asked), trained)
    together = codes(needs(**asked), trained, vehicle(), helper)

    assert (alone, together) == (found, [])


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"activation": "suspended"}, ["DRIVER_INACTIVE"]),
        ({"provider_id": OTHER_PROVIDER}, ["PROVIDER_MISMATCH"]),
        ({"credentials": ()}, ["CREDENTIAL_INVALID", "CREDENTIAL_INVALID"]),  # exclusion and background check
    ],
)
def test_attendant_has_to_be_fit_for_it(given: dict[str, Any], found: list[str]) -> None:
    assert codes(needs(), driver(), vehicle(), driver(id=uuid.UUID(int=77), **given)) == found


OTHER_RIDE = uuid.UUID(int=99)
NEEDED = GreatCircleTimes().between(OHARE, LOOP, None).seconds / 60


@pytest.mark.parametrize(
    ("minutes_between", "found"),
    [(NEEDED + 0.1, []), (NEEDED - 0.1, ["SCHEDULE_CONFLICT"])],
)
def test_next_pickup_has_to_be_in_reach(minutes_between: float, found: list[str]) -> None:
    ends_at = AT - dt.timedelta(minutes=minutes_between)
    before = slot(ends_at - HOUR, 60, ride_id=OTHER_RIDE, dropoff=OHARE, driver_id=DRIVER)

    assert codes(needs(), driver(slots=(before,))) == found


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (slot(AT - 30 * MINUTE, 30, ride_id=OTHER_RIDE), []),
        (slot(AT - 30 * MINUTE, 31, ride_id=OTHER_RIDE), ["SCHEDULE_CONFLICT"]),
        (slot(AT + 30 * MINUTE, 30, ride_id=OTHER_RIDE), []),
        (slot(AT + 29 * MINUTE, 30, ride_id=OTHER_RIDE), ["SCHEDULE_CONFLICT"]),
        (slot(AT + 30 * MINUTE, 30, ride_id=OTHER_RIDE, pickup=NAPERVILLE), ["SCHEDULE_CONFLICT"]),
        (slot(AT + 30 * MINUTE, 30, ride_id=OTHER_RIDE, pickup=None), []),
    ],
)
def test_two_rides_of_one_driver_must_not_meet(other: RideSlot, found: list[str]) -> None:
    taken = driver(slots=(dataclasses.replace(other, driver_id=DRIVER),))

    assert codes(needs(), taken) == found


def test_gap_of_a_minute_with_four_miles_to_drive_is_a_conflict() -> None:
    # 4 road miles take 13 minutes; the window of the pickup would have allowed 16.
    away = Place(LOOP.lat + 4 * METERS_PER_MILE / 1.3 / 111_195, LOOP.lng)
    other = slot(AT - 31 * MINUTE, 30, ride_id=OTHER_RIDE, dropoff=away, driver_id=DRIVER)

    (found,) = violations(needs(), driver(slots=(other,)), vehicle())

    assert (found.kind, found.subject_id) == (ViolationKind.SOFT, OTHER_RIDE)
    assert str(found.message) == "The driver needs 13 min to drive from the ride before and has 1."


@pytest.mark.parametrize(("overdue", "found"), [(True, []), (False, ["SCHEDULE_CONFLICT"])])
def test_rider_on_board_is_no_conflict_for_an_overdue_ride(overdue: bool, found: list[str]) -> None:
    on_board = slot(AT - 10 * MINUTE, 30, ride_id=OTHER_RIDE, driver_id=DRIVER, on_board=True)

    assert codes(needs(overdue=overdue), driver(slots=(on_board,))) == found


def test_driver_and_vehicle_conflict_with_one_ride_is_one_error() -> None:
    other = slot(ride_id=OTHER_RIDE, driver_id=DRIVER, vehicle_id=VEHICLE)

    found = violations(needs(), driver(slots=(other,)), vehicle(slots=(other,)))

    assert [(str(one.message), one.subject_id) for one in found] == [
        ("The driver has another ride at that time.", OTHER_RIDE)
    ]


def test_vehicle_in_another_drivers_shift_is_a_conflict() -> None:
    shift = ShiftFact(uuid.UUID(int=55), VEHICLE, Span(AT - HOUR, AT + HOUR))

    assert codes(needs(), what=vehicle(shifts=(shift,))) == ["SCHEDULE_CONFLICT"]


@pytest.mark.parametrize(
    ("spans", "found"),
    [
        ([], []),  # without shifts
        ([(0, 30)], []),
        ([(1, 30)], ["OUTSIDE_SHIFT"]),
        ([(0, 29)], ["OUTSIDE_SHIFT"]),
        ([(-60, -30), (-10, 40)], []),
    ],
)
def test_ride_lies_inside_a_shift(spans: list[tuple[int, int]], found: list[str]) -> None:
    shifts = tuple(ShiftFact(DRIVER, VEHICLE, Span(AT + start * MINUTE, AT + end * MINUTE)) for start, end in spans)

    assert codes(needs(), driver(shifts=shifts)) == found


def test_leave_is_outside_shift_even_inside_one() -> None:
    away = Span(AT + 29 * MINUTE, AT + HOUR)
    shift = ShiftFact(DRIVER, VEHICLE, Span(AT - HOUR, AT + 2 * HOUR))

    assert codes(needs(), driver(shifts=(shift,), leave=(away,))) == ["OUTSIDE_SHIFT"]


@pytest.mark.parametrize(
    ("first_at", "found"),
    [
        (AT + 30 * MINUTE - 15 * HOUR, []),
        (AT + 29 * MINUTE - 15 * HOUR, ["OUTSIDE_SHIFT"]),
    ],
)
def test_duty_ends_after_fifteen_hours(first_at: dt.datetime, found: list[str]) -> None:
    day = [slot(first_at + number * 4 * HOUR, 30, ride_id=uuid.UUID(int=100 + number)) for number in range(4)]

    assert codes(needs(), driver(slots=tuple(day))) == found


def test_rest_of_eight_hours_ends_the_duty() -> None:
    yesterday = slot(AT - 20 * HOUR, 12 * 60 - 1, ride_id=OTHER_RIDE)

    assert codes(needs(), driver(slots=(yesterday,))) == []


@pytest.mark.parametrize(
    ("asked", "given", "found"),
    [
        ({"preferred_driver_ids": frozenset({DRIVER})}, {}, []),
        ({"preferred_driver_ids": frozenset({OTHER_RIDE})}, {}, ["PREFERENCE_UNMET"]),
        ({"driver_gender": "female"}, {"gender": "female"}, []),
        ({"driver_gender": "female"}, {"gender": ""}, ["PREFERENCE_UNMET"]),
        ({"language": "pl"}, {"languages": frozenset({"pl", "en"})}, []),
        ({"language": "pl"}, {"languages": frozenset({"en"})}, ["PREFERENCE_UNMET"]),
        ({"language": "pl", "driver_gender": "female"}, {}, ["PREFERENCE_UNMET"] * 2),
    ],
)
def test_preferences_are_told_one_by_one(asked: dict[str, Any], given: dict[str, Any], found: list[str]) -> None:
    assert codes(needs(**asked), driver(**given)) == found


@pytest.mark.parametrize(
    ("pickup", "dropoff", "found"),
    [
        (LOOP, LOOP, ["SCHEDULE_CONFLICT"]),
        # Both ride to Naperville directly: an hour's ride may last two.
        (LOOP, NAPERVILLE, ["SCHEDULE_CONFLICT"]),
        # The other rider boards in Naperville and rides to O'Hare, and this one rides around the corner.
        (NAPERVILLE, OHARE, ["SCHEDULE_CONFLICT", "RIDE_TIME_EXCEEDED"]),
    ],
)
def test_shared_riders_stay_within_their_time_on_board(pickup: Place, dropoff: Place, found: list[str]) -> None:
    other = slot(AT + MINUTE, ride_id=OTHER_RIDE, driver_id=DRIVER, vehicle_id=VEHICLE, pickup=pickup, dropoff=dropoff)

    assert codes(needs(), driver(slots=(other,)), vehicle(slots=(other,))) == found


def test_everything_is_told_at_once_hard_ones_first() -> None:
    ride = needs(
        **IN_CHAIR,
        steps=9,
        driver_gender="female",
        excluded_driver_ids=frozenset({DRIVER}),
        combined_weight_lb=900,
    )
    busy = driver(activation="suspended", credentials=(), slots=(slot(ride_id=OTHER_RIDE, driver_id=DRIVER),))

    found = violations(ride, busy, vehicle(status="retired", lift_rating_lb=600))

    assert [one.code.value for one in found] == [
        "DRIVER_INACTIVE",
        "VEHICLE_OUT_OF_SERVICE",
        *["CREDENTIAL_INVALID"] * 4,
        "VEHICLE_NOT_SUITABLE",
        "DRIVER_NOT_QUALIFIED",
        "PAIRING_EXCLUDED",
        "ATTENDANT_REQUIRED",
        "SCHEDULE_CONFLICT",
        "PREFERENCE_UNMET",
    ]
    assert [one.kind for one in found] == [ViolationKind.HARD] * 10 + [ViolationKind.SOFT] * 2
