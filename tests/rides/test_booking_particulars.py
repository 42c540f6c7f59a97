"""Details of bookings and amendments: preserved data, required fields, and permissions."""

import datetime as dt
from typing import Any

import pytest
from django.db import IntegrityError

from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.rules.draft import Payment, ReturnLeg
from apps.rides.services import (
    booking,
    editing,
    legs,
    listing,
)
from lib.access import Principal, system
from lib.constraints import constraint_of
from lib.errors import InvalidInput
from lib.ids import uuid7
from tests import factories
from tests.fleet.crew import fit_vehicle
from tests.rides.drafts import HOME, dialysis, draft
from tests.rides.traces import events_of

HOUR = dt.timedelta(hours=1)
ELSEWHERE = {**HOME, "addressLine1": "9 Elm St"}


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


def refused_field(booked: Any, by: Principal) -> str | None:
    with pytest.raises(InvalidInput) as refusal:
        booking.book(draft=booked, by=by, at=factories.NOW)
    assert Ride.objects.count() == 0
    return refusal.value.details[0].field


def test_discharge_has_no_way_back(hospital: Facility, rider: Rider, planner: Principal) -> None:
    details = {"unit": "4 West", "unitPhone": "+13125550140", "planner": {"name": "Pat Example"}}
    asked = draft(
        hospital, rider, service_type="hospital_discharge", discharge=details, return_leg=ReturnLeg(pickup_at=None)
    )

    assert refused_field(asked, planner) == "returnLeg"


@pytest.mark.parametrize(
    ("on_the_way_back", "mobility"), [({}, "wheelchair"), ({"mobility": "ambulatory"}, "ambulatory")]
)
def test_rider_who_comes_back_weaker_says_so_once(
    on_the_way_back: dict[str, str], mobility: str, hospital: Facility, rider: Rider, planner: Principal
) -> None:
    needs = {"returnMobility": "wheelchair"}
    asked = dialysis(hospital, rider, accommodation=needs, return_leg=ReturnLeg(accommodation=on_the_way_back))

    booked = booking.book(draft=asked, by=planner, at=factories.NOW)

    assert booked.return_ride is not None
    assert (booked.ride.accommodation["mobility"], booked.return_ride.accommodation["mobility"]) == (
        "ambulatory",
        mobility,
    )


@pytest.mark.parametrize("reach", [2, 1], ids=["of two", "of one that is gone"])
def test_caller_bound_to_no_certain_facility_names_one(reach: int, hospital: Facility, rider: Rider) -> None:
    ids = {1: {uuid7()}, 2: {hospital.pk, factories.FacilityFactory.create().pk}}[reach]
    planner = factories.principal(facility_ids=frozenset(ids))

    assert refused_field(draft(hospital, rider, pickup=HOME, dropoff=ELSEWHERE), planner) == "facilityId"


def test_ride_without_facility_uses_default_service_levels(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    asked = draft(hospital, rider, pickup=HOME, dropoff=ELSEWHERE)

    ride = booking.book(draft=asked, by=dispatcher, at=factories.NOW).ride

    assert (ride.facility, ride.window_ends_at) == (None, factories.PICKUP + dt.timedelta(minutes=15))


def test_payer_who_no_longer_pays_is_refused(hospital: Facility, rider: Rider, planner: Principal) -> None:
    payer = factories.PayerFactory.create(active=False)

    assert refused_field(draft(hospital, rider, payment=Payment(payer_id=payer.pk)), planner) == "payer.payerId"


@pytest.mark.parametrize(("bariatric", "questions"), [(False, ["no_fitting_vehicle"]), (True, [])])
def test_heavy_rider_waits_for_a_vehicle_built_for_it(
    bariatric: bool, questions: list[str], hospital: Facility, rider: Rider, planner: Principal
) -> None:
    fit_vehicle(bariatric=bariatric)

    ride = booking.book(
        draft=draft(hospital, rider, accommodation={"riderWeightLb": 420}), by=planner, at=factories.NOW
    ).ride

    assert ride.review_reasons == questions


def test_other_constraint_is_not_reported_as_taken_reference(hospital: Facility, rider: Rider) -> None:
    ride = factories.RideFactory.build(
        facility=hospital,
        rider=rider,
        client_reference="R-1",
        window_starts_at=factories.PICKUP + HOUR,
        window_ends_at=factories.PICKUP,
    )

    with pytest.raises(IntegrityError) as refusal:
        booking._save_once(ride, path="clientReference")

    assert constraint_of(refusal.value) == "ride_window_forward"


def test_ride_with_an_id_of_the_callers_own_is_booked_once(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    key = uuid7()
    ride = booking.book(draft=draft(hospital, rider), ride_id=key, by=planner, at=factories.NOW).ride

    with pytest.raises(booking.BookedAlready):
        booking.book(draft=draft(hospital, rider), ride_id=key, by=planner, at=factories.NOW)

    assert (ride.pk, Ride.objects.count()) == (key, 1)


def test_row_decides_between_two_bookings_with_one_id_at_a_time(hospital: Facility, rider: Rider) -> None:
    first = factories.RideFactory.create(facility=hospital, rider=rider)
    second = factories.RideFactory.build(id=first.pk, facility=hospital, rider=rider, driver_notes="Second.")

    with pytest.raises(booking.BookedAlready):
        booking._save_once(second, path="", may_be_there=True)

    assert Ride.objects.get().driver_notes == ""


def test_second_ride_of_an_hour_is_moved_there_on_purpose_alone(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    booking.book(draft=draft(hospital, rider), by=planner, at=factories.NOW)
    ride = booking.book(
        draft=draft(hospital, rider, pickup_at=factories.PICKUP + 24 * HOUR), by=planner, at=factories.NOW
    ).ride
    moved: dict[str, Any] = {
        "ride_id": ride.pk,
        "changes": {"pickup_at": factories.PICKUP},
        "by": planner,
        "at": factories.NOW,
    }

    with pytest.raises(booking.OverlappingRide):
        editing.edit(**moved)
    amended = editing.edit(**moved, options=editing.EditOptions(allow_duplicate=True))

    assert (amended.pickup_at, amended.version) == (factories.PICKUP, 3)
    assert events_of(ride) == ["ride.scheduled", "ride.rescheduled", "ride.exception"]


@pytest.mark.parametrize(("told", "kept"), [("M-77", "M-77"), (None, "")])
def test_membership_of_the_payer_is_replaced_sealed(
    told: str | None, kept: str, hospital: Facility, rider: Rider, planner: Principal
) -> None:
    payment = Payment(payer_id=factories.PayerFactory.create().pk, member_id="M-1")
    ride = booking.book(draft=draft(hospital, rider, payment=payment), by=planner, at=factories.NOW).ride

    editing.edit(ride_id=ride.pk, changes={"payment": {"member_id": told}}, by=planner, at=factories.NOW)

    ride.refresh_from_db()
    assert (ride.payer_member_id, ride.version) == (kept, 2)
    assert b"M-77" not in bytes(ride.payer_member_id_encrypted or b"")


def test_stop_changed_to_an_address_drops_the_facility(hospital: Facility, rider: Rider, planner: Principal) -> None:
    asked = draft(hospital, rider, pickup=HOME, dropoff={"facilityId": str(hospital.pk)})
    ride = booking.book(draft=asked, by=planner, at=factories.NOW).ride

    editing.edit(
        ride_id=ride.pk,
        changes={"dropoff": {"facilityId": None, **ELSEWHERE, "name": "Daughter"}},
        by=planner,
        at=factories.NOW,
    )

    ride.refresh_from_db()
    assert (ride.dropoff_facility_id, ride.dropoff["name"], ride.dropoff["addressLine1"]) == (
        None,
        "Daughter",
        "9 Elm St",
    )
    assert (ride.dropoff["lat"], ride.dropoff.get("facilityId")) == (HOME["lat"], None)


@pytest.mark.parametrize("ready", [None, "2026-11-20T18:30:00Z"])
def test_discharge_is_ready_when_it_is_said_to_be_or_picked_up(
    ready: str | None, hospital: Facility, rider: Rider
) -> None:
    given = {"unit": "4 West", **({"expectedReadyAt": ready} if ready else {})}

    asked = draft(hospital, rider, service_type="hospital_discharge", discharge=given)
    kept = legs.discharge_of(asked, asked.pickup_at)

    assert kept == {"unit": "4 West", "expectedReadyAt": ready or "2026-11-20T20:00:00Z"}


def test_reference_search_for_people_covers_every_client(dispatcher: Principal) -> None:
    clients = factories.ApiClientFactory.create_batch(2)
    rides = [factories.RideFactory.create(client=client, client_reference="R-1") for client in clients]
    factories.RideFactory.create(client_reference="R-2")
    engine = factories.principal(kind="token", client_id=clients[0].pk)

    found = [_references(by) for by in (dispatcher, engine, system())]

    both = {str(ride.pk) for ride in rides}
    assert found == [both, {str(rides[0].pk)}, both]


def _references(by: Principal) -> set[Any]:
    asked = listing.RideListQuery({"client_reference": "R-1"}, "pickupTime", 10, ("id",))
    return {str(row["id"]) for row in listing.list_rides(query=asked, by=by, at=factories.NOW).rows}
