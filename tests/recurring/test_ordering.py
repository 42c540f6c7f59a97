"""From a request to a standing order with all rides booked within its horizon."""

import datetime as dt
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.recurring.models import Occurrence, StandingOrder, Terms
from apps.recurring.services import create_order
from apps.riders.models import Rider
from apps.rides.models import Ride, Trip
from apps.rides.rules.draft import Payment
from lib.access import Principal, system
from lib.errors import DomainError, FieldRefused, InvalidInput, NotFound, ScopeMissing
from tests import factories
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY
from tests.rides.drafts import HOME

CHICAGO = ZoneInfo("America/Chicago")
ELM = {**HOME, "addressLine1": "9 W Elm St", "lat": 41.9, "lng": -87.64}

pytestmark = pytest.mark.django_db


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def rider(centre: Facility) -> Rider:
    return factories.RiderFactory.create(facility=centre)


def test_order_books_every_leg_of_every_date_within_its_horizon(centre: Facility, rider: Rider) -> None:
    made = cast.order(centre, rider)

    there, back = cast.rides(made, leg_type="outbound"), cast.rides(made, leg_type="return")
    assert [ride.service_date for ride in there] == [ride.service_date for ride in back] == DATES
    assert {ride.appointment_at.astimezone(CHICAGO).time() for ride in there if ride.appointment_at} == {
        dt.time(10, 30)
    }
    assert {ride.pickup_at.astimezone(CHICAGO).time() for ride in back} == {dt.time(15)}  # four and a half hours later
    assert {(ride.status, ride.service_type, ride.priority) for ride in there} == {
        ("scheduled", "dialysis", "life_sustaining")
    }
    assert {(ride.will_call, ride.pickup_time_kind) for ride in back} == {(True, "estimated")}
    assert Trip.objects.count() == len(DATES)
    assert {one.trip_id for one in there} == {one.trip_id for one in back}
    assert made.generated_through == dt.date(2026, 12, 18)
    assert cast.marks(made) == {"generated": 24}


def test_pickup_leaves_time_for_drive_boarding_and_early_arrival(centre: Facility, rider: Rider) -> None:
    made = cast.order(centre, rider)

    row = Terms.objects.get(standing_order=made)
    ride = cast.rides(made)[0]
    assert ride.appointment_at is not None
    assert row.lead_minutes % 5 == 0
    assert ride.estimated_minutes is not None
    assert row.lead_minutes - 5 < ride.estimated_minutes + 2 * 3 + row.arrive_early_minutes <= row.lead_minutes
    assert ride.appointment_at - ride.pickup_at == dt.timedelta(minutes=row.lead_minutes)


def test_every_ride_is_told_of_and_the_order_once(centre: Facility, rider: Rider) -> None:
    made = cast.order(centre, rider)

    told = list(Event.objects.values_list("type", flat=True))
    assert sorted(set(told)) == ["ride.scheduled", "standing_order.created"]
    assert (told.count("ride.scheduled"), told.count("standing_order.created")) == (24, 1)
    of_order = Event.objects.get(type="standing_order.created")
    assert (of_order.subject_id, of_order.sequence, of_order.facility_id) == (made.pk, 1, centre.pk)
    assert "Canary" not in str(list(Event.objects.values_list("data", flat=True)))
    trail = {entry.action: entry for entry in AuditEntry.objects.all()}
    assert sorted(trail) == ["standing_orders.order", "standing_orders.reconcile"]
    assert trail["standing_orders.reconcile"].details == {"created": 24}
    assert trail["standing_orders.reconcile"].rider_ids == [rider.pk]


def test_rides_obey_the_rules_of_booking(rider: Rider) -> None:
    reviewing = cast.dialysis_centre(booking_policy="review")

    made = cast.order(reviewing, rider)

    assert {(ride.status, tuple(ride.review_reasons)) for ride in cast.rides(made)} == {
        ("requested", ("facility_review",))
    }
    assert all(ride.confirm_by for ride in cast.rides(made))


@pytest.mark.parametrize(
    ("mode", "legs", "will_call"), [("will_call", 24, {True}), ("scheduled", 24, {False}), ("none", 12, set())]
)
def test_way_back_is_by_will_call_scheduled_or_none(mode: str, legs: int, will_call: set[bool]) -> None:
    made = cast.order(of={"return_mode": mode})

    assert len(cast.rides(made)) == legs
    assert {ride.will_call for ride in cast.rides(made, leg_type="return")} == will_call


def test_way_back_at_a_wall_time_of_its_own_and_in_a_wheelchair() -> None:
    made = cast.order(
        of={"return_mode": "scheduled", "return_time": dt.time(16), "return_mobility": "wheelchair_manual"}
    )

    back = cast.rides(made, leg_type="return")
    assert {ride.pickup_at.astimezone(CHICAGO).time() for ride in back} == {dt.time(16)}
    assert {ride.accommodation["mobility"] for ride in back} == {"wheelchair_manual"}
    assert {ride.accommodation["mobility"] for ride in cast.rides(made, leg_type="outbound")} == {"ambulatory"}


def test_door_codes_are_sealed_and_reach_both_ways() -> None:
    made = cast.order(of={"pickup": {**HOME, "accessCode": "4711"}})

    row = Terms.objects.get(standing_order=made)
    assert (row.pickup_access, "accessCode" in row.pickup) == ("4711", False)
    assert {ride.pickup_access for ride in cast.rides(made, leg_type="outbound")} == {'{"accessCode":"4711"}'}
    assert {ride.dropoff_access for ride in cast.rides(made, leg_type="return")} == {'{"accessCode":"4711"}'}


def test_return_trip_ends_at_its_stop_without_foreign_code() -> None:
    made = cast.order(of={"pickup": {**HOME, "accessCode": "4711"}, "return_dropoff": ELM})

    row = Terms.objects.get(standing_order=made)
    back = cast.rides(made, leg_type="return")
    assert (row.return_dropoff and row.return_dropoff["addressLine1"], row.return_dropoff_access) == ("9 W Elm St", "")
    assert {(ride.dropoff["addressLine1"], ride.dropoff["lat"]) for ride in back} == {("9 W Elm St", 41.9)}
    assert {ride.dropoff_access for ride in back} == {""}
    assert {ride.pickup["addressLine1"] for ride in cast.rides(made, leg_type="outbound")} == {HOME["addressLine1"]}


def test_return_access_code_is_encrypted_and_only_on_its_rides() -> None:
    made = cast.order(of={"return_dropoff": {**ELM, "accessCode": "2007"}})

    row = Terms.objects.get(standing_order=made)
    assert (row.return_dropoff_access, "accessCode" in (row.return_dropoff or {})) == ("2007", False)
    assert {ride.dropoff_access for ride in cast.rides(made, leg_type="return")} == {'{"accessCode":"2007"}'}
    assert {ride.pickup_access for ride in cast.rides(made, leg_type="outbound")} == {""}


def test_way_there_begins_at_home_where_nothing_else_is_said(centre: Facility) -> None:
    rider = factories.RiderFactory.create(facility=centre, home_address=factories.stop(**HOME))

    made = cast.order(centre, rider, of={"pickup": {}})

    assert {ride.pickup["addressLine1"] for ride in cast.rides(made, leg_type="outbound")} == {HOME["addressLine1"]}


def test_order_starting_beyond_booking_range_waits(centre: Facility, rider: Rider) -> None:
    made = cast.order(centre, rider, start_date=NOW.date() + dt.timedelta(days=731), of={"days_of_week": (3,)})

    assert (made.status, cast.rides(made)) == ("active", [])


def test_draft_books_nothing() -> None:
    made = cast.order(is_draft=True)

    assert (made.status, cast.rides(made)) == ("draft", [])


def test_order_of_the_past_books_what_lies_ahead() -> None:
    made = cast.order(start_date=MONDAY - dt.timedelta(days=28))

    assert {ride.service_date for ride in cast.rides(made)} == {*DATES, dt.date(2026, 11, 20)}


@pytest.mark.parametrize(
    ("of", "changes", "field"),
    [
        ({"days_of_week": ()}, {}, "pattern.daysOfWeek"),
        ({"days_of_week": (0, 0)}, {}, "pattern.daysOfWeek"),
        ({"days_of_week": (7,)}, {}, "pattern.daysOfWeek"),
        ({"interval_weeks": 13}, {}, "pattern.intervalWeeks"),
        ({"treatment_minutes": 961}, {}, "treatmentMinutes"),
        ({"pickup_time": dt.time(10, 30)}, {}, "outbound.pickupTime"),
        ({"pickup_time": dt.time(4, 29)}, {}, "outbound.pickupTime"),
        ({"return_time": dt.time(16)}, {}, "return.pickupTime"),
        ({"return_mode": "scheduled", "return_time": dt.time(10, 30)}, {}, "return.pickupTime"),
        ({"pickup": HOME | {"lat": None, "lng": None}}, {}, "outbound.pickupTime"),
        ({"pickup": {}}, {}, "outbound.pickup"),
        ({"pickup": {"addressLine1": "1 A St"}}, {"of": {"pickup_time": dt.time(9)}}, "outbound.pickup.city"),
        ({"return_dropoff": {"addressLine1": "1 A St"}}, {}, "return.dropoff.city"),
        ({"return_dropoff": {"accessCode": "4711"}}, {}, "return.dropoff.addressLine1"),
        ({"return_dropoff": {"facilityId": str(UUID(int=7))}}, {}, "return.dropoff.facilityId"),
        (
            {"accommodation": {"mobility": "stretcher"}},
            {"vehicle_type_requested": "sedan"},
            "vehicleType",
        ),
        ({}, {"service_type": "hospital_discharge"}, "serviceType"),
        ({}, {"start_date": dt.date(2025, 11, 18)}, "startDate"),
        ({}, {"start_date": dt.date(2028, 11, 21)}, "startDate"),
        ({}, {"end_date": MONDAY - dt.timedelta(days=1)}, "endDate"),
        ({}, {"payment": Payment(authorization_expires_on=MONDAY - dt.timedelta(days=1))}, "authorizationEndsOn"),
        ({}, {"generation_horizon_days": 91}, "generationHorizonDays"),
        ({}, {"preferred_driver_ids": (MONDAY,)}, "preferredDriverIds"),
    ],
)
def test_invalid_order_is_refused_by_field_and_not_saved(
    centre: Facility, rider: Rider, of: dict[str, Any], changes: dict[str, Any], field: str
) -> None:
    changes = dict(changes)
    of = of | changes.pop("of", {})
    if "preferred_driver_ids" in changes:
        changes["preferred_driver_ids"] = (rider.pk,)

    with pytest.raises((FieldRefused, InvalidInput)) as refused:
        create_order.create(rider_id=rider.pk, draft=cast.draft(centre, of=of, **changes), by=system(), at=NOW)

    assert field in [detail.field for detail in refused.value.details]
    tables = (StandingOrder, Terms, Occurrence, Ride, Event, AuditEntry)
    assert [model.objects.count() for model in tables] == [0] * 6


def test_pickup_time_of_ones_own_needs_no_coordinates(centre: Facility, rider: Rider) -> None:
    made = cast.order(centre, rider, of={"pickup": HOME | {"lat": None, "lng": None}, "pickup_time": dt.time(9, 40)})

    assert {ride.pickup_at.astimezone(CHICAGO).time() for ride in cast.rides(made, leg_type="outbound")} == {
        dt.time(9, 40)
    }


def _of(by: Principal, centre: Facility, rider: Rider) -> type[DomainError]:
    with pytest.raises(DomainError) as refused:
        create_order.create(rider_id=rider.pk, draft=cast.draft(centre), by=by, at=NOW)
    return type(refused.value)


def test_only_who_arranges_schedules_in_reach_may_order(centre: Facility, rider: Rider) -> None:
    elsewhere = factories.FacilityFactory.create()
    here = frozenset({centre.pk})

    assert _of(factories.principal(UserRole.ANALYST), centre, rider) is ScopeMissing
    assert _of(factories.principal(provider_ids=frozenset()), centre, rider) is NotFound
    assert _of(factories.principal(facility_ids=frozenset({elsewhere.pk})), centre, rider) is NotFound
    assert _of(factories.principal(facility_ids=here), elsewhere, rider) is InvalidInput
    assert cast.order(centre, rider, by=factories.principal(facility_ids=here)).client_id is None
