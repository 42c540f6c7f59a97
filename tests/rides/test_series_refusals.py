"""Refusals of bulk booking: whole days, for the reasons that refuse a single booking."""

import datetime as dt
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride, Trip
from apps.rides.rules.draft import ExternalName, Payment, ReturnLeg
from apps.rides.services import booking, recurring_booking
from apps.rides.services.recurring_booking import LegSchedule, Refused, ServiceDay
from lib.access import Principal
from lib.errors import Code, FieldRefused, InvalidInput, ScopeMissing
from lib.scopes import Scope
from tests import factories
from tests.rides.drafts import dialysis, draft
from tests.rides.sets import DAY, HOUR, book_set, booked_ids, course_of, day_of


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


def test_day_that_overlaps_an_earlier_ride_is_refused_as_a_whole(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    asked = draft(hospital, rider, return_leg=ReturnLeg(pickup_at=factories.PICKUP + 2 * HOUR))
    in_the_way = factories.RideFactory.create(
        facility=hospital, rider=rider, pickup_at=factories.PICKUP + DAY + 2 * HOUR - dt.timedelta(minutes=29)
    )

    answers = book_set(asked, hospital, planner, [0, 1, 2])

    assert answers[1] == Refused(Code.DUPLICATE_RIDE, "The rider has a ride at this time.", in_the_way.pk)
    made = booked_ids([answers[0], answers[2]])
    assert set(Ride.objects.values_list("pk", flat=True)) == {in_the_way.pk, *made}
    assert (len(made), Trip.objects.count(), Event.objects.count()) == (4, 2, 4)


@pytest.mark.parametrize(("minutes", "refused"), [(-30, False), (-29, True), (0, True), (29, True), (30, False)])
def test_days_of_one_call_are_in_each_others_way(
    minutes: int, refused: bool, hospital: Facility, rider: Rider, planner: Principal
) -> None:
    asked = draft(hospital, rider)
    course = course_of(asked, hospital, planner)
    near = replace(asked, pickup_at=factories.PICKUP + dt.timedelta(minutes=minutes))

    first, second = recurring_booking.book_days(
        [day_of(course, one) for one in (asked, near)], by=planner, at=factories.NOW
    )

    assert isinstance(first, tuple)
    assert isinstance(second, Refused) == refused
    if isinstance(second, Refused):
        assert (second.code, second.existing_id) == (Code.DUPLICATE_RIDE, first[0])


def test_refused_day_is_in_nobodys_way(hospital: Facility, rider: Rider, planner: Principal) -> None:
    asked = draft(hospital, rider, return_leg=ReturnLeg(pickup_at=factories.PICKUP + 4 * HOUR))
    course = course_of(asked, hospital, planner)
    in_the_way = factories.RideFactory.create(facility=hospital, rider=rider, pickup_at=factories.PICKUP + 4 * HOUR)
    alone = ServiceDay(course, [LegSchedule(factories.PICKUP)])

    refused, booked = recurring_booking.book_days([day_of(course, asked), alone], by=planner, at=factories.NOW)

    assert isinstance(refused, Refused)
    assert booked_ids([booked]) == list(Ride.objects.exclude(pk=in_the_way.pk).values_list("pk", flat=True))


def test_irrelevant_rides_do_not_block_the_series(hospital: Facility, rider: Rider, planner: Principal) -> None:
    other = factories.RiderFactory.create(facility=hospital)
    factories.RideFactory.create(facility=hospital, rider=other)
    factories.RideFactory.create(rider=rider)
    factories.RideFactory.create(
        facility=hospital,
        rider=rider,
        status="cancelled",
        reason_code="rider_cancelled",
        fault="rider",
        ended_by="system",
        cancellation_timing="advance",
        status_before_end="scheduled",
    )

    assert len(booked_ids(book_set(draft(hospital, rider), hospital, planner))) == 1


@pytest.mark.parametrize(
    ("columns", "booked"),
    [
        ({"status": "deceased"}, [False, False, False]),
        ({"status": "do_not_book"}, [False, False, False]),
        ({"status": "on_hold", "status_from": dt.date(2026, 11, 21), "status_until": dt.date(2026, 11, 21)}, [1, 0, 1]),
        ({"status": "inactive"}, [True, True, True]),
    ],
)
def test_rider_is_refused_on_days_when_booking_refuses_them(
    columns: dict[str, Any], booked: list[bool], hospital: Facility, rider: Rider, planner: Principal
) -> None:
    Rider.objects.update(**columns)

    answers = book_set(draft(hospital, rider), hospital, planner, [0, 1, 2])

    assert [isinstance(one, tuple) for one in answers] == booked
    assert {one.code for one in answers if isinstance(one, Refused)} <= {Code.RIDER_NOT_BOOKABLE}
    assert Ride.objects.count() == sum(booked)


def test_day_that_breaks_a_hard_rule_of_times_is_refused(hospital: Facility, rider: Rider, planner: Principal) -> None:
    asked = dialysis(hospital, rider, return_leg=ReturnLeg())
    course = course_of(asked, hospital, planner)
    at = factories.PICKUP
    times = [
        [LegSchedule(at - 2 * DAY, at)],
        [LegSchedule(at + 800 * DAY, at + 801 * DAY)],
        [LegSchedule(at, at)],
        [LegSchedule(at)],
        [LegSchedule(at, at + HOUR), LegSchedule(at + HOUR)],
    ]

    answers = recurring_booking.book_days([ServiceDay(course, one) for one in times], by=planner, at=factories.NOW)

    assert [(answer.code, str(answer.message)) for answer in answers if isinstance(answer, Refused)] == [
        (Code.PICKUP_IN_PAST, "pickupTime has passed. Enter a time that is still to come."),
        (Code.VALIDATION_ERROR, "pickupTime is more than two years ahead."),
        (Code.VALIDATION_ERROR, "appointmentTime must be after pickupTime."),
        (Code.VALIDATION_ERROR, "A dialysis ride needs the chair time as appointmentTime."),
        (Code.VALIDATION_ERROR, "The return trip must be after the outbound trip."),
    ]
    assert (Ride.objects.count(), Trip.objects.count(), Event.objects.count()) == (0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "refusal", "field"),
    [
        ({"dropoff": {"name": "nowhere"}}, FieldRefused, "dropoff.addressLine1"),
        ({"appointment_at": factories.PICKUP}, FieldRefused, "appointmentTime"),
        ({"pickup": {"facilityId": str(UUID(int=1))}}, InvalidInput, "pickup.facilityId"),
        ({"payment": Payment(payer_id=UUID(int=1))}, InvalidInput, "payer.payerId"),
    ],
)
def test_course_is_refused_where_booking_refuses_its_draft(
    changes: dict[str, Any],
    refusal: type[FieldRefused | InvalidInput],
    field: str,
    hospital: Facility,
    rider: Rider,
    planner: Principal,
) -> None:
    with pytest.raises(refusal) as refused:
        course_of(draft(hospital, rider, **changes), hospital, planner)

    assert [detail.field for detail in refused.value.details] == [field]


def test_names_of_the_way_back_are_those_of_booking(hospital: Facility, rider: Rider, planner: Principal) -> None:
    back = ReturnLeg(pickup_at=factories.PICKUP + 2 * HOUR, dropoff={"name": "nowhere"})

    with pytest.raises(FieldRefused) as refused:
        course_of(draft(hospital, rider, return_leg=back), hospital, planner)

    assert [detail.field for detail in refused.value.details] == ["returnLeg.dropoff.addressLine1"]


@pytest.mark.parametrize("names", [{"client_reference": "R-1"}, {"external_ids": (ExternalName("epic", "E-9"),)}])
def test_name_of_one_ride_does_not_fit_an_order(
    names: dict[str, Any], hospital: Facility, rider: Rider, planner: Principal
) -> None:
    with pytest.raises(ValueError, match="names one ride"):
        course_of(draft(hospital, rider, **names), hospital, planner)


def test_caller_who_may_not_book_one_ride_books_no_set(hospital: Facility, rider: Rider, planner: Principal) -> None:
    asked = draft(hospital, rider)
    course = course_of(asked, hospital, planner)
    reader = replace(planner, scopes=planner.scopes - {Scope.RIDES_WRITE})
    partner = factories.principal(UserRole.DISPATCHER, provider_ids=frozenset({UUID(int=1)}))

    with pytest.raises(ScopeMissing):
        recurring_booking.book_days([day_of(course, asked)], by=reader, at=factories.NOW)
    with pytest.raises(booking.BoundToProviders):
        recurring_booking.book_days([day_of(course, asked)], by=partner, at=factories.NOW)

    assert not Ride.objects.exists()
