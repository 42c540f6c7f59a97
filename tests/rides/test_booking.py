"""From a draft to a ride: promised times, reviews, refusals."""

import datetime as dt
from typing import Any

import pytest
from django.conf import LazySettings

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import ExternalId, Facility
from apps.riders.models import Rider
from apps.rides.models import Ride, Trip
from apps.rides.rules.draft import ExternalName, Notes, Payment, ReturnLeg
from apps.rides.services import booking, legs
from lib.access import Principal
from lib.errors import DomainError, FieldRefused, InvalidInput, ScopeMissing
from tests import factories
from tests.rides.drafts import HOME, dialysis, draft

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


def fields_of(refusal: DomainError) -> list[str | None]:
    return [detail.field for detail in refusal.details]


def assert_nothing_booked() -> None:
    assert (Ride.objects.count(), Trip.objects.count(), Event.objects.count(), AuditEntry.objects.count()) == (0,) * 4


def test_booking_schedules_a_ride_when_nothing_stands_against_it(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    booked = booking.book(draft=draft(hospital, rider), by=planner, at=now)

    ride = Ride.objects.get()
    assert booked == booking.Booked(ride)
    assert (ride.status, ride.version, ride.review_reasons, ride.confirm_by) == ("scheduled", 1, [], None)
    assert (ride.facility_id, ride.pickup_facility_id, ride.dropoff_facility_id) == (hospital.pk, hospital.pk, None)
    assert (ride.timezone, ride.service_date) == ("America/Chicago", dt.date(2026, 11, 20))
    assert ride.window_starts_at == factories.PICKUP - dt.timedelta(minutes=15)
    assert ride.window_ends_at == ride.promised_pickup_by == factories.PICKUP + dt.timedelta(minutes=15)
    assert (ride.pickup["name"], ride.pickup["addressLine1"]) == (hospital.name, "200 W Monroe St")
    assert (ride.spaces_ambulatory, ride.spaces_wheelchair, ride.spaces_stretcher) == (1, 0, 0)
    assert (ride.scheduled_at, ride.requested_at, ride.created_at) == (now, now, now)


def test_booking_records_one_event_and_one_audit_entry(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    ride = booking.book(draft=draft(hospital, rider), by=planner, at=now).ride

    event, entry = Event.objects.get(), AuditEntry.objects.get()
    assert (event.type, event.subject_id, event.sequence, event.facility_id) == (
        "ride.scheduled",
        ride.pk,
        1,
        hospital.pk,
    )
    assert (entry.action, entry.subject_id, entry.rider_ids) == ("rides.book", ride.pk, [rider.pk])
    assert "Canary" not in str(event.data) + str(entry.details)


def test_booking_costs_nine_queries_and_a_savepoint(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(11):
        booking.book(draft=draft(hospital, rider), by=planner, at=now)


def test_ride_snapshots_the_profile_and_marks_its_overrides(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    factories.AccommodationProfileFactory.create(rider=rider, number=4, mobility="wheelchair", load_minutes=8)

    ride = booking.book(
        draft=draft(hospital, rider, accommodation={"serviceAnimal": True}, companions={"escorts": 1}),
        by=planner,
        at=now,
    ).ride

    assert (ride.accommodation_version, ride.accommodation["mobility"]) == (4, "wheelchair")
    assert ride.accommodation["overridden"] == ["serviceAnimal"]
    assert (ride.spaces_ambulatory, ride.spaces_wheelchair) == (1, 1)


@pytest.mark.parametrize(
    ("columns", "changes", "question"),
    [
        ({"booking_policy": "review"}, {}, "facility_review"),
        ({"lead_time_minutes": 360}, {}, "lead_time"),
        ({}, {"vehicle_type_requested": "stretcher_van"}, "no_fitting_vehicle"),
    ],
)
def test_booking_that_breaks_a_soft_rule_becomes_a_request(
    columns: dict[str, Any],
    changes: dict[str, Any],
    question: str,
    planner: Principal,
    now: dt.datetime,
    hospital: Facility,
    rider: Rider,
) -> None:
    Facility.objects.update(**columns) if columns else None
    factories.VehicleFactory.create()

    ride = booking.book(draft=draft(hospital, rider, **changes), by=planner, at=now).ride

    assert (ride.status, ride.review_reasons) == ("requested", [question])
    assert (ride.confirm_by, ride.scheduled_at) == (now + dt.timedelta(minutes=30), None)
    assert Event.objects.get().type == "ride.requested"


@pytest.mark.parametrize(
    ("payment", "questions"),
    [
        ({}, ["authorization_missing"]),
        ({"authorization_number": "A1", "authorization_expires_on": dt.date(2026, 11, 19)}, ["authorization_expired"]),
        ({"authorization_number": "A1", "authorization_expires_on": dt.date(2026, 11, 20)}, []),
    ],
)
def test_missing_payer_authorization_becomes_review_reason(
    payment: dict[str, Any],
    questions: list[str],
    hospital: Facility,
    rider: Rider,
    planner: Principal,
    now: dt.datetime,
) -> None:
    payer = factories.PayerFactory.create(authorization_required=True)

    ride = booking.book(
        draft=draft(hospital, rider, payment=Payment(payer_id=payer.pk, **payment)), by=planner, at=now
    ).ride

    assert ride.review_reasons == questions


@pytest.mark.parametrize(
    ("place", "questions"),
    [
        ({}, []),
        ({"lat": 42.8, "lng": -87.6}, ["service_area"]),
        ({"lat": None, "lng": None}, ["unknown_coordinates"]),
    ],
)
def test_stops_outside_the_service_area_raise_a_question(
    place: dict[str, Any],
    questions: list[str],
    hospital: Facility,
    rider: Rider,
    planner: Principal,
    now: dt.datetime,
    settings: LazySettings,
) -> None:
    settings.SERVICE_AREA = [41.88, -87.63, 40.0]

    ride = booking.book(draft=draft(hospital, rider, dropoff=HOME | place), by=planner, at=now).ride

    assert ride.review_reasons == questions


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pickup_at": factories.NOW - dt.timedelta(days=2)}, "pickupTime"),
        ({"pickup_at": factories.NOW + dt.timedelta(days=800)}, "pickupTime"),
        ({"appointment_at": factories.PICKUP}, "appointmentTime"),
        ({"scheduling_anchor": "appointment"}, "appointmentTime"),
        ({"service_type": "dialysis"}, "appointmentTime"),
        ({"dropoff": {"name": "nowhere"}}, "dropoff.addressLine1"),
        ({"service_type": "hospital_discharge"}, "discharge"),
        ({"accommodation": {"mobility": "stretcher"}, "vehicle_type_requested": "sedan"}, "vehicleTypeRequested"),
    ],
)
def test_broken_hard_rule_is_refused_by_field(
    changes: dict[str, Any], field: str, hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    with pytest.raises(FieldRefused) as refused:
        booking.book(draft=draft(hospital, rider, **changes), by=planner, at=now)

    assert fields_of(refused.value) == [field]
    assert_nothing_booked()


def test_discharge_names_every_key_it_lacks(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    asked = draft(hospital, rider, service_type="hospital_discharge", discharge={"unit": "4 West"})

    with pytest.raises(FieldRefused) as refused:
        booking.book(draft=asked, by=planner, at=now)

    assert fields_of(refused.value) == ["discharge.unitPhone", "discharge.planner"]
    assert_nothing_booked()


def test_discharge_is_time_critical_and_encrypts_access_codes(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    details = {
        "unit": "4 West",
        "unitPhone": "+13125550140",
        "planner": {"name": "Sam", "phone": "+13125550141"},
        "homeAccess": {"keyInfo": "canary-under-the-mat", "steps": 3},
    }

    ride = booking.book(
        draft=draft(
            hospital,
            rider,
            service_type="hospital_discharge",
            discharge=details,
            dropoff=HOME | {"accessCode": "canary-4711"},
        ),
        by=planner,
        at=now,
    ).ride

    ride.refresh_from_db()
    assert ride.discharge is not None
    assert (ride.priority, ride.discharge["expectedReadyAt"]) == ("time_critical", "2026-11-20T20:00:00Z")
    assert ride.discharge["homeAccess"] == {"steps": 3}
    assert "canary-" not in str(ride.discharge) + str(ride.dropoff)
    assert legs.opened_access(ride.dropoff_access) == {
        "accessCode": "canary-4711",
        "keyInfo": "canary-under-the-mat",
    }


def test_dialysis_with_a_way_back_makes_a_trip_of_two_legs(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    factories.AccommodationProfileFactory.create(rider=rider, return_mobility="wheelchair")

    booked = booking.book(draft=dialysis(hospital, rider, return_leg=ReturnLeg()), by=planner, at=now)

    there, back = booked.ride, booked.return_ride
    assert back is not None
    assert there.trip_id == back.trip_id is not None
    assert [(leg.leg_type, leg.leg_sequence) for leg in (there, back)] == [("outbound", 1), ("return", 2)]
    assert (there.priority, there.will_call, back.will_call) == ("life_sustaining", False, True)
    assert back.pickup_at == factories.PICKUP + HOUR + dt.timedelta(minutes=270)
    assert (back.pickup, back.dropoff) == (there.dropoff, there.pickup)
    assert (there.accommodation["mobility"], back.accommodation["mobility"]) == ("ambulatory", "wheelchair")
    assert back.will_call_expires_at == dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC)
    assert back.promised_pickup_by is None


def test_way_back_needs_its_time_where_none_follows(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    with pytest.raises(InvalidInput) as refused:
        booking.book(draft=draft(hospital, rider, return_leg=ReturnLeg()), by=planner, at=now)

    assert fields_of(refused.value) == ["returnLeg.pickupTime"]
    assert_nothing_booked()


def test_way_back_lies_after_the_way_there(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    back = ReturnLeg(pickup_at=factories.PICKUP)

    with pytest.raises(InvalidInput) as refused:
        booking.book(draft=draft(hospital, rider, return_leg=back), by=planner, at=now)

    assert fields_of(refused.value) == ["returnLeg.pickupTime"]
    assert_nothing_booked()


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "deceased"},
        {"status": "do_not_book"},
        {"status": "on_hold"},
        {"status": "on_hold", "status_from": dt.date(2026, 11, 20), "status_until": dt.date(2026, 11, 20)},
    ],
)
def test_rider_who_cannot_be_booked_is_refused(
    columns: dict[str, Any], hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    Rider.objects.update(**columns)

    with pytest.raises(booking.RiderNotBookable):
        booking.book(draft=draft(hospital, rider), by=planner, at=now)

    assert_nothing_booked()


def test_hold_counts_on_its_days_only(hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime) -> None:
    Rider.objects.update(status="on_hold", status_until=dt.date(2026, 11, 19))

    assert booking.book(draft=draft(hospital, rider), by=planner, at=now).ride.status == "scheduled"


def test_second_ride_at_the_same_time_needs_a_word(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    first = booking.book(draft=draft(hospital, rider), by=planner, at=now).ride
    again = draft(hospital, rider, pickup_at=factories.PICKUP + dt.timedelta(minutes=29))

    with pytest.raises(booking.OverlappingRide) as refused:
        booking.book(draft=again, by=planner, at=now)

    assert refused.value.details[0].also == {"existingId": str(first.pk)}
    assert list(Ride.objects.all()) == [first]


def test_overlap_is_booked_when_allowed_or_after_first_ride(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    booking.book(draft=draft(hospital, rider), by=planner, at=now)

    booking.book(draft=draft(hospital, rider, allow_duplicate=True), by=planner, at=now)
    later = draft(hospital, rider, pickup_at=factories.PICKUP + dt.timedelta(minutes=30))
    booking.book(draft=later, by=planner, at=now)

    assert Ride.objects.count() == 3


def test_client_reference_is_taken_once_per_client(hospital: Facility, rider: Rider, now: dt.datetime) -> None:
    client = factories.principal(client_id=factories.ApiClientFactory.create().pk)
    other = factories.principal(client_id=factories.ApiClientFactory.create().pk)
    first = booking.book(draft=draft(hospital, rider, client_reference="R-1"), by=client, at=now).ride
    again = draft(hospital, rider, client_reference="R-1", allow_duplicate=True)

    with pytest.raises(booking.ReferenceTaken) as refused:
        booking.book(draft=again, by=client, at=now)
    booking.book(draft=again, by=other, at=now)

    assert refused.value.details[0].also == {"existingId": str(first.pk)}
    assert Ride.objects.count() == 2


def test_external_names_and_payer_and_notes_are_kept(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    payer = factories.PayerFactory.create()

    ride = booking.book(
        draft=draft(
            hospital,
            rider,
            external_ids=(ExternalName("epic", "E-9", "order"),),
            payment=Payment(payer_id=payer.pk, member_id="canary-member"),
            notes=Notes("for the driver", "for dispatch", "for the desk"),
        ),
        by=planner,
        at=now,
    ).ride

    ride.refresh_from_db()
    assert ExternalId.objects.values_list("subject_id", "system", "value", "type").get() == (
        ride.pk,
        "epic",
        "E-9",
        "order",
    )
    assert (ride.payer_id, ride.payer_member_id) == (payer.pk, "canary-member")
    assert b"canary" not in bytes(ride.payer_member_id_encrypted or b"")
    assert (ride.driver_notes, ride.dispatcher_notes, ride.facility_notes) == (
        "for the driver",
        "for dispatch",
        "for the desk",
    )


def test_outsider_can_name_neither_facility_nor_rider(
    hospital: Facility, rider: Rider, outsider: Principal, now: dt.datetime
) -> None:
    own = Facility.objects.get(pk__in=outsider.facility_ids or ())
    theirs = factories.RiderFactory.create(facility=own)

    with pytest.raises(InvalidInput) as facility_refused:
        booking.book(draft=draft(hospital, rider, facility_id=hospital.pk), by=outsider, at=now)
    with pytest.raises(InvalidInput) as stop_refused:
        booking.book(draft=draft(hospital, theirs, facility_id=own.pk), by=outsider, at=now)
    with pytest.raises(InvalidInput) as rider_refused:
        booking.book(draft=draft(own, rider), by=outsider, at=now)

    refusals = [facility_refused.value, stop_refused.value, rider_refused.value]
    assert [fields_of(one) for one in refusals] == [["facilityId"], ["pickup.facilityId"], ["riderId"]]
    assert not any("Canary" in str(one) or hospital.name in str(one) for one in refusals)
    assert_nothing_booked()


def test_caller_without_scope_or_bound_to_provider_cannot_book(
    hospital: Facility, rider: Rider, now: dt.datetime
) -> None:
    fleet_admin = factories.principal(UserRole.FLEET_ADMIN)
    partner = factories.principal(provider_ids=frozenset({factories.TransportProviderFactory.create().pk}))

    with pytest.raises(ScopeMissing):
        booking.book(draft=draft(hospital, rider), by=fleet_admin, at=now)
    with pytest.raises(booking.BoundToProviders):
        booking.book(draft=draft(hospital, rider), by=partner, at=now)

    assert_nothing_booked()


def test_bulk_books_all_or_none(hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime) -> None:
    good = draft(hospital, rider)
    bad = draft(hospital, rider, pickup_at=factories.PICKUP + HOUR, appointment_at=factories.PICKUP)

    with pytest.raises(FieldRefused) as refused:
        booking.book_many(drafts=[good, bad], by=planner, at=now)

    assert fields_of(refused.value) == ["rides[1].appointmentTime"]
    assert_nothing_booked()


def test_bulk_per_item_books_what_can_be_booked(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    good = draft(hospital, rider)
    later = draft(hospital, rider, pickup_at=factories.PICKUP + HOUR)

    outcomes = booking.book_many(drafts=[good, good, later], per_item=True, by=planner, at=now)

    assert [type(one).__name__ for one in outcomes] == ["Booked", "OverlappingRide", "Booked"]
    assert Ride.objects.count() == 2


def test_bulk_refuses_more_than_a_transaction_should_hold(
    hospital: Facility, rider: Rider, planner: Principal, now: dt.datetime
) -> None:
    with pytest.raises(booking.TooManyRides):
        booking.book_many(drafts=[draft(hospital, rider)] * 501, by=planner, at=now)

    assert_nothing_booked()


@pytest.mark.parametrize(
    ("closes", "pickup_in", "minutes"),
    [
        ("17:30", 24 * HOUR, 30),
        ("09:10", 24 * HOUR, 20 * 60 + 20),  # ten minutes today, twenty from five o'clock tomorrow
        ("09:10", 5 * HOUR, 5 * 60),  # the pickup is earlier
        ("09:10", HOUR / 6, 30),
    ],
    ids=["open", "closing", "pickup before it opens", "pickup at once"],
)
def test_request_is_to_be_answered_while_the_facility_is_open(
    hospital: Facility,
    rider: Rider,
    planner: Principal,
    now: dt.datetime,
    closes: str,
    pickup_in: dt.timedelta,
    minutes: int,
) -> None:
    saturday = {"days": ["sat"], "opens": "05:00", "closes": "09:00"}
    hours = [{"days": ["fri"], "opens": "05:00", "closes": closes}, saturday]
    Facility.objects.update(booking_policy="review", hours=hours)

    ride = booking.book(draft=draft(hospital, rider, pickup_at=now + pickup_in), by=planner, at=now).ride

    assert ride.confirm_by == now + dt.timedelta(minutes=minutes)
