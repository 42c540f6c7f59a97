"""Bulk booking: the rows equal those of single bookings, with a constant number of queries."""

import datetime as dt
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.events.models import Event
from apps.organizations.models import BookingPolicy, Facility
from apps.riders.models import Rider
from apps.rides.models import Ride, RideException, Trip
from apps.rides.rules.draft import Notes, Payment, ReturnLeg, RideDraft
from apps.rides.services import booking, legs, recurring_booking
from apps.rides.services.recurring_booking import LegSchedule, ServiceDay
from lib.access import Principal, system
from tests import factories
from tests.locks import wait_until_somebody_waits
from tests.rides.drafts import HOME, dialysis, draft
from tests.rides.sets import DAY, HOUR, book_set, booked_ids, both_ways, course_of, day_of, later

OFFSETS = (0, 1, 9, 33, 120)  # the last one is after the clock change in spring


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


def rows() -> dict[str, list[dict[str, Any]]]:
    """Return every written column, encrypted ones decrypted; ids of trips, rides, events, exceptions become indexes."""
    found: dict[str, list[dict[str, Any]]] = {
        "trips": [dict(row) for row in Trip.objects.order_by("pk").values()],
        "rides": [_opened(ride) for ride in Ride.objects.order_by("pk")],
        "exceptions": [dict(row) for row in RideException.objects.order_by("ride_id", "pk").values()],
        "events": [dict(row) for row in Event.objects.order_by("subject_id", "sequence").values()],
    }
    for event in found["events"]:
        del event["recorded_at"]  # set by the database's clock
    numbers = {str(row["id"]): f"{kind} {number}" for kind, many in found.items() for number, row in enumerate(many)}
    return {kind: [_numbered(row, numbers) for row in many] for kind, many in found.items()}


def _opened(ride: Ride) -> dict[str, Any]:
    columns = {
        name: value for name, value in vars(ride).items() if name != "_state" and not name.endswith("_encrypted")
    }
    opened = {name: getattr(ride, name) for name in ("pickup_access", "dropoff_access", "payer_member_id")}
    return columns | opened


def _numbered(value: Any, numbers: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _numbered(one, numbers) for key, one in value.items()}
    return numbers.get(str(value), value) if isinstance(value, UUID | str) else value


def one_by_one(drafts: Iterable[RideDraft], by: Principal) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of booking each draft separately; rolled back."""
    with transaction.atomic():
        for asked in drafts:
            booking.book(draft=asked, by=by, at=factories.NOW)
        written = rows()
        transaction.set_rollback(True)
    return written


def standing_dialysis(hospital: Facility, rider: Rider) -> RideDraft:
    """Outbound by appointment, wheelchair return on call; access codes, and an authorization that expires."""
    factories.AccommodationProfileFactory.create(rider=rider, number=4, return_mobility="wheelchair")
    door = factories.EntranceFactory.create(facility=hospital)
    payer = factories.PayerFactory.create(authorization_required=True)
    expires_on = factories.NOW.date() + 10 * DAY
    return dialysis(
        hospital,
        rider,
        pickup=HOME | {"accessCode": "canary-4711", "instructions": 'Ring twice.\nC:\\door "B"\t'},
        dropoff={"facilityId": str(hospital.pk), "entranceId": str(door.pk), "accessCode": "canary-0815"},
        pickup_at=factories.NOW + 14 * HOUR + dt.timedelta(minutes=45),  # 23:45 in Chicago
        appointment_at=factories.NOW + 16 * HOUR,
        scheduling_anchor="appointment",
        dialysis={"treatmentMinutes": 210},
        companions={"escorts": 1},
        accommodation={"oxygen": {"uses": True, "source": "portable"}},
        payment=Payment(payer.pk, "P-1", "A-9", expires_on, "canary-member"),
        notes=Notes("for the driver", "for dispatch", "for the desk"),
        requested_by={"userId": None, "name": "Canary Desk", "phone": "+13125550140", "role": "nurse"},
        return_leg=ReturnLeg(notes=Notes("wait inside")),
    )


def reviewed(hospital: Facility, rider: Rider) -> RideDraft:
    """Requested at a facility that reviews every booking during its opening hours."""
    Facility.objects.update(
        booking_policy=BookingPolicy.REVIEW, hours=[{"days": ["mon"], "opens": "08:00", "closes": "17:00"}]
    )
    return draft(hospital, rider, return_leg=ReturnLeg(pickup_at=factories.PICKUP + 3 * HOUR, will_call=True))


def short_notice(hospital: Facility, rider: Rider) -> RideDraft:
    """Less than the lead time ahead, on the first day only."""
    Facility.objects.update(lead_time_minutes=24 * 60)
    return draft(hospital, rider)


def too_late(hospital: Facility, rider: Rider) -> RideDraft:
    """Late from the start; the chair would be lost."""
    return dialysis(hospital, rider, appointment_at=factories.PICKUP + dt.timedelta(minutes=1), return_leg=ReturnLeg())


def going_home(hospital: Facility, rider: Rider) -> RideDraft:
    """A discharge whose receiving party accepts no patients after the first day."""
    details = {
        "unit": "4 West",
        "unitPhone": "+13125550140",
        "planner": {"name": "Sam", "phone": "+13125550141"},
        "homeAccess": {"keyInfo": "canary-under-the-mat", "steps": 3},
        "receiving": {"acceptBy": (factories.PICKUP + 6 * HOUR).isoformat()},
    }
    return draft(hospital, rider, service_type="hospital_discharge", discharge=details)


def nowhere_known(hospital: Facility, rider: Rider) -> RideDraft:
    """To a place without coordinates, permitted despite conflicts."""
    factories.RideFactory.create(facility=hospital, rider=rider)
    return draft(
        hospital,
        rider,
        dropoff=HOME | {"lat": None, "lng": None},
        appointment_at=factories.PICKUP + HOUR,
        allow_duplicate=True,
    )


@pytest.mark.parametrize(
    "journey",
    [standing_dialysis, reviewed, short_notice, too_late, going_home, nowhere_known],
    ids=lambda journey: journey.__name__,
)
def test_set_writes_what_booking_one_by_one_writes(journey: Any, hospital: Facility, rider: Rider) -> None:
    asked = journey(hospital, rider)
    client = factories.principal(client_id=factories.ApiClientFactory.create().pk, request_id="r-1")
    expected = one_by_one([later(asked, days) for days in OFFSETS], client)

    answers = book_set(asked, hospital, client, OFFSETS)

    assert rows() == expected
    made = Ride.objects.filter(client_id=client.client_id).order_by("pk")
    assert booked_ids(answers) == [ride.pk for ride in made]
    assert len(answers) == len(OFFSETS)


def test_journeys_of_the_comparison_differ_from_day_to_day(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    book_set(standing_dialysis(hospital, rider), hospital, planner, OFFSETS)

    there = Ride.objects.filter(leg_type="outbound").order_by("pickup_at")
    assert [ride.review_reasons for ride in there] == [[], [], [], *[["authorization_expired"]] * 2]
    assert [ride.status for ride in there] == [*["scheduled"] * 3, *["requested"] * 2]
    assert [(ride.service_date - factories.NOW.date()).days for ride in there] == [0, 1, 9, 33, 121]
    assert legs.opened_access(there[0].pickup_access) == {"accessCode": "canary-4711"}


def test_late_days_open_an_exception_and_the_others_none(hospital: Facility, rider: Rider, planner: Principal) -> None:
    course = course_of(too_late(hospital, rider), hospital, planner)
    appointments = [dt.timedelta(minutes=minutes) for minutes in (1, 60, 5)]
    days = [
        ServiceDay(course, [LegSchedule(factories.PICKUP + number * DAY, factories.PICKUP + number * DAY + after)])
        for number, after in enumerate(appointments)
    ]

    answers = recurring_booking.book_days(days, by=planner, at=factories.NOW)

    opened = RideException.objects.order_by("opened_at", "pk").values_list("ride_id", "type", "detected_by")
    first, _, last = booked_ids(answers)
    assert list(opened) == [(first, "late_to_appointment", "booking"), (last, "late_to_appointment", "booking")]
    assert Event.objects.filter(subject_id=first).order_by("sequence").values_list("type", flat=True)[1] == (
        "ride.exception"
    )


def test_will_call_returns_are_estimated_and_expire_that_day(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    answers = book_set(dialysis(hospital, rider, return_leg=ReturnLeg()), hospital, planner, [0, 120])

    backs = Ride.objects.filter(pk__in=booked_ids(answers), leg_type="return").order_by("pickup_at")
    assert [(ride.will_call, ride.pickup_time_kind, ride.promised_pickup_by) for ride in backs] == [
        (True, "estimated", None)
    ] * 2
    assert [ride.will_call_expires_at for ride in backs] == [
        dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC),
        dt.datetime(2027, 3, 21, 4, 59, tzinfo=dt.UTC),
    ]


def test_ride_holds_the_further_columns_of_its_day(hospital: Facility, rider: Rider, planner: Principal) -> None:
    asked = draft(hospital, rider)
    order_id = UUID(int=7)
    day = day_of(
        course_of(asked, hospital, planner),
        asked,
        standing_order_id=order_id,
        occurrence_key="2026-11-20/outbound",
        occurrence_state="shifted",
    )

    (ride_id,) = booked_ids(recurring_booking.book_days([day], by=planner, at=factories.NOW))

    ride = Ride.objects.get(pk=ride_id)
    assert (ride.standing_order_id, ride.occurrence_key, ride.occurrence_state) == (
        order_id,
        "2026-11-20/outbound",
        "shifted",
    )


def test_way_back_is_booked_alone_into_the_trip_that_is_named(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    asked = dialysis(hospital, rider, return_leg=ReturnLeg())
    course = course_of(asked, hospital, planner)
    trip = factories.TripFactory.create(rider=rider)
    back_at = both_ways(asked)[1].pickup_at
    days = [
        ServiceDay(course, [LegSchedule(back_at)], [1]),
        ServiceDay(course, [LegSchedule(back_at + DAY, also={"trip_id": trip.pk})], [1]),
    ]

    answers = recurring_booking.book_days(days, by=planner, at=factories.NOW)

    rides = Ride.objects.filter(pk__in=booked_ids(answers)).order_by("pickup_at")
    assert [(ride.leg_type, ride.leg_sequence, ride.trip_id) for ride in rides] == [
        ("return", 2, None),
        ("return", 2, trip.pk),
    ]
    assert list(Trip.objects.all()) == [trip]


def test_nothing_asked_is_nothing_booked(planner: Principal) -> None:
    assert recurring_booking.book_days([], by=planner, at=factories.NOW) == []


def test_queries_do_not_grow_with_riders_and_days(hospital: Facility, planner: Principal) -> None:
    riders = factories.RiderFactory.create_batch(3, facility=hospital)
    payer = factories.PayerFactory.create()
    asked = [dialysis(hospital, one, return_leg=ReturnLeg(), payment=Payment(payer.pk)) for one in riders]
    factories.VehicleFactory.create()
    counted = {}

    for orders, offsets in ((1, [0]), (3, range(1, 15))):
        with CaptureQueriesContext(connection) as queries:
            locked = recurring_booking.lock_riders(one.pk for one in riders[:orders])
            resources = recurring_booking.read_resources(
                [one for each in asked[:orders] for one in both_ways(each)], by=planner
            )
            courses = [
                recurring_booking.plan_rides(
                    both_ways(one),
                    rider=locked[one.rider_id],
                    profile=None,
                    owner=hospital,
                    resources=resources,
                    at=factories.NOW,
                )
                for one in asked[:orders]
                if one.rider_id
            ]
            days = [
                day_of(course, later(one, number))
                for course, one in zip(courses, asked[:orders], strict=True)
                for number in offsets
            ]
            booked = booked_ids(recurring_booking.book_days(days, by=planner, at=factories.NOW))
        counted[len(booked)] = len(queries)

    # Riders, facilities, payers, suitable vehicles; conflicting rides; trips, rides, events.
    assert counted == {2: 8, 84: 8}


def test_riders_are_locked_in_the_order_of_their_ids(rider: Rider) -> None:
    smaller = factories.RiderFactory.create(pk=UUID(int=5))

    with CaptureQueriesContext(connection) as queries:
        locked = recurring_booking.lock_riders([rider.pk, smaller.pk, rider.pk, UUID(int=1)])

    assert list(locked.items()) == [(smaller.pk, smaller), (rider.pk, rider)]
    assert len(queries) == 1


@pytest.mark.django_db(transaction=True)
def test_booking_waits_for_concurrent_series_and_sees_its_rides() -> None:
    hospital = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=hospital)
    asked = draft(hospital, rider)

    def book_one() -> None:
        try:
            booking.book(draft=asked, by=system(), at=factories.NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            course = course_of(asked, hospital, system())
            waiting = other.submit(book_one)
            wait_until_somebody_waits()
            (ride_id,) = booked_ids(recurring_booking.book_days([day_of(course, asked)], by=system(), at=factories.NOW))
        with pytest.raises(booking.OverlappingRide):
            waiting.result()

    assert Ride.objects.get().pk == ride_id
