"""More capability never adds a violation, for any ride, driver and vehicle."""

import dataclasses
import datetime as dt
import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.fleet.rules.credentials import TYPES_OF, CredentialFacts, Subject
from apps.rides.rules.eligibility import CHECKS, violations
from apps.rides.rules.facts import (
    DriverFacts,
    RideNeeds,
    RideSlot,
    ShiftFact,
    Spaces,
    Span,
    VehicleFacts,
)
from lib.travel.places import Place

AT = dt.datetime(2026, 11, 20, 20, 0, tzinfo=dt.UTC)
TODAY = AT.date()
PROVIDERS = [uuid.UUID(int=1), uuid.UUID(int=2)]
DRIVER, VEHICLE, RIDE, RIDER, HELPER = (uuid.UUID(int=number) for number in range(3, 8))
QUALIFICATIONS = ["wheelchair_securement", "stretcher", "bariatric", "oxygen", "passenger_assist"]

places = st.none() | st.builds(Place, st.floats(41.5, 42.2), st.floats(-88.3, -87.5))
spaces = st.builds(Spaces, st.integers(0, 3), st.integers(0, 2), st.integers(0, 1))
starts = st.integers(-600, 600).map(lambda minutes: AT + dt.timedelta(minutes=minutes))
lengths = st.integers(1, 300).map(lambda minutes: dt.timedelta(minutes=minutes))
spans = st.builds(lambda start, length: Span(start, start + length), starts, lengths)


def credentials(subject: Subject) -> st.SearchStrategy[tuple[CredentialFacts, ...]]:
    one = st.builds(
        CredentialFacts,
        type=st.sampled_from(TYPES_OF[subject]),
        expires_on=st.none() | st.dates(TODAY - dt.timedelta(days=40), TODAY + dt.timedelta(days=40)),
        rejected=st.booleans(),
        blocking=st.booleans(),
        warn_days=st.just(30),
    )
    return st.lists(one, max_size=6, unique_by=lambda credential: credential.type).map(tuple)


def slots(numbers: range) -> st.SearchStrategy[tuple[RideSlot, ...]]:
    """Draw rides of one carrier, each at one time; carriers have separate numbers, since a ride has one plan."""
    one = st.builds(
        lambda span, ride, pickup, dropoff, driver, vehicle: RideSlot(
            ride, span, span.starts_at + dt.timedelta(minutes=15), pickup, dropoff, 5, 5, driver, vehicle
        ),
        spans,
        st.integers(numbers.start, numbers.stop).map(lambda number: uuid.UUID(int=number)),
        places,
        places,
        st.sampled_from([DRIVER, HELPER, None]),
        st.sampled_from([VEHICLE, None]),
    )
    return st.lists(one, max_size=4, unique_by=lambda slot: slot.ride_id).map(tuple)


needs = st.builds(
    RideNeeds,
    slot=st.builds(
        lambda pickup, dropoff: RideSlot(
            RIDE, Span(AT, AT + dt.timedelta(minutes=40)), AT + dt.timedelta(minutes=15), pickup, dropoff, 5, 5
        ),
        places,
        places,
    ),
    service_date=st.just(TODAY),
    rider_id=st.just(RIDER),
    spaces=spaces,
    in_chair=st.booleans(),
    on_stretcher=st.booleans(),
    bariatric=st.booleans(),
    chair_width_in=st.none() | st.floats(20, 45),
    combined_weight_lb=st.none() | st.integers(100, 1200),
    oxygen=st.booleans(),
    oxygen_mount=st.booleans(),
    ambulance=st.booleans(),
    steps=st.integers(0, 9),
    second_person=st.booleans(),
    excluded_driver_ids=st.frozensets(st.sampled_from([DRIVER, HELPER])),
    preferred_driver_ids=st.frozensets(st.sampled_from([DRIVER, HELPER])),
    driver_gender=st.sampled_from(["", "female", "male"]),
    language=st.sampled_from(["", "pl", "es"]),
)
drivers = st.builds(
    DriverFacts,
    id=st.just(DRIVER),
    provider_id=st.sampled_from(PROVIDERS),
    activation=st.sampled_from(["pending", "active", "suspended"]),
    credentials=credentials(Subject.DRIVER),
    qualifications=st.frozensets(st.sampled_from(QUALIFICATIONS)),
    excluded_rider_ids=st.frozensets(st.just(RIDER)),
    gender=st.sampled_from(["", "female", "male"]),
    languages=st.frozensets(st.sampled_from(["pl", "es", "en"])),
    shifts=st.lists(st.builds(ShiftFact, st.just(DRIVER), st.just(VEHICLE), spans), max_size=3).map(tuple),
    leave=st.lists(spans, max_size=2).map(tuple),
    slots=slots(range(100, 5_000)),
)
vehicles = st.builds(
    VehicleFacts,
    id=st.just(VEHICLE),
    provider_id=st.sampled_from(PROVIDERS),
    type=st.sampled_from(["sedan", "wheelchair_van", "stretcher_van", "bls_ambulance"]),
    status=st.sampled_from(["in_service", "maintenance"]),
    credentials=credentials(Subject.VEHICLE),
    configs=st.lists(spaces, max_size=3).map(tuple),
    lift_type=st.sampled_from(["none", "ramp", "lift"]),
    lift_rating_lb=st.none() | st.integers(300, 1000),
    max_chair_width_in=st.none() | st.floats(24, 40),
    oxygen_mount=st.booleans(),
    bariatric=st.booleans(),
    slots=slots(range(5_001, 10_000)),
)


def renewed(credentials: tuple[CredentialFacts, ...]) -> tuple[CredentialFacts, ...]:
    return tuple(dataclasses.replace(credential, expires_on=None, rejected=False) for credential in credentials)


def better_driver(driver: DriverFacts, ride: RideNeeds) -> list[DriverFacts]:
    """Improve the driver in one respect each."""
    return [
        dataclasses.replace(driver, activation="active"),
        dataclasses.replace(driver, credentials=renewed(driver.credentials)),
        dataclasses.replace(driver, qualifications=frozenset(QUALIFICATIONS)),
        dataclasses.replace(driver, excluded_rider_ids=frozenset()),
        dataclasses.replace(driver, languages=driver.languages | {"pl", "es"}),
        dataclasses.replace(driver, gender=ride.driver_gender or driver.gender),
        dataclasses.replace(driver, slots=driver.slots[1:]),
        dataclasses.replace(driver, leave=driver.leave[1:]),
        dataclasses.replace(driver, shifts=(*driver.shifts, ShiftFact(DRIVER, VEHICLE, ride.slot.span))),
    ]


def better_vehicle(vehicle: VehicleFacts) -> list[VehicleFacts]:
    return [
        dataclasses.replace(vehicle, status="in_service"),
        dataclasses.replace(vehicle, credentials=renewed(vehicle.credentials)),
        dataclasses.replace(vehicle, configs=(*vehicle.configs, Spaces(3, 2, 1))),
        dataclasses.replace(vehicle, oxygen_mount=True),
        dataclasses.replace(vehicle, bariatric=True),
        dataclasses.replace(vehicle, max_chair_width_in=max(45.0, vehicle.max_chair_width_in or 0)),
        dataclasses.replace(vehicle, lift_rating_lb=None if vehicle.lift_rating_lb is None else 1200),
        dataclasses.replace(vehicle, slots=vehicle.slots[1:]),
    ]


def found(
    ride: RideNeeds, driver: DriverFacts, vehicle: VehicleFacts, *helpers: DriverFacts
) -> set[tuple[str, object]]:
    return {(str(one.message), one.subject_id) for one in violations(ride, driver, vehicle, helpers)}


def counted(ride: RideNeeds, driver: DriverFacts, vehicle: VehicleFacts) -> dict[str, int]:
    codes = [one.code.value for one in violations(ride, driver, vehicle)]
    return {code.value: codes.count(code.value) for code in CHECKS}


@settings(max_examples=300)
@given(needs, drivers, vehicles)
def test_more_capability_never_adds_a_violation(ride: RideNeeds, driver: DriverFacts, vehicle: VehicleFacts) -> None:
    before = counted(ride, driver, vehicle)

    better = [
        *(counted(ride, better, vehicle) for better in better_driver(driver, ride)),
        *(counted(ride, driver, better) for better in better_vehicle(vehicle)),
    ]

    assert all(after[code] <= before[code] for after in better for code in before)


@settings(max_examples=200)
@given(needs, drivers, vehicles)
def test_fit_attendant_adds_nothing(ride: RideNeeds, driver: DriverFacts, vehicle: VehicleFacts) -> None:
    credentials = tuple(CredentialFacts(kind, None, False, True, 30) for kind in TYPES_OF[Subject.DRIVER])
    helper = DriverFacts(id=uuid.UUID(int=50), provider_id=driver.provider_id, credentials=credentials)

    before, after = found(ride, driver, vehicle), found(ride, driver, vehicle, helper)

    assert after <= before


@settings(max_examples=200)
@given(needs, drivers, vehicles)
def test_order_of_facts_does_not_matter(ride: RideNeeds, driver: DriverFacts, vehicle: VehicleFacts) -> None:
    turned = dataclasses.replace(
        driver, slots=driver.slots[::-1], shifts=driver.shifts[::-1], credentials=driver.credentials[::-1]
    )

    assert found(ride, turned, vehicle) == found(ride, driver, vehicle)
