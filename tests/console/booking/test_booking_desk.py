"""Booking form: a ride is booked once, with the rider, places and times of the form."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.console.booking.views import ride_address
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from tests import factories
from tests.console.booking.desk import BOOK, book, desk_of, sent
from tests.console.visits import text_of, told, visitor
from tests.rides.drafts import HOME

NO_PHONE = "This is not a phone number. Write it like (201) 555-0123, without an extension."

pytestmark = pytest.mark.django_db


def _at(hour: int, minute: int = 0, *, day: int = 20) -> dt.datetime:
    """Return an instant from a local time in Chicago."""
    return dt.datetime(2026, 11, day, 6, tzinfo=dt.UTC) + dt.timedelta(hours=hour, minutes=minute)


def test_discharge_of_a_known_rider_takes_a_time_alone(desk: Client, hospital: Facility, grace: Rider) -> None:
    response = book(desk, f"?rider={grace.pk}", clock="1430")

    ride = Ride.objects.get()
    assert (ride.rider, ride.facility, ride.pickup_facility) == (grace, hospital, hospital)
    assert (ride.service_type, ride.pickup_at, ride.status) == ("hospital_discharge", _at(14, 30), "scheduled")
    assert ride.dropoff["addressLine1"] == HOME["addressLine1"]
    assert ride.discharge == {
        "unit": "4 West",
        "unitPhone": "+13125550140",
        "planner": {"name": "Pat Planner"},
        "expectedReadyAt": "2026-11-20T20:30:00Z",
    }
    assert ride.requested_by == {"userId": str(User.objects.get().pk), "name": "Pat Planner", "role": "planner"}
    assert [said.split(" <a")[0] for said in told(response)] == ["The ride is booked."]
    assert str(ride.pk) in told(response)[0]
    assert desk.get(ride_address(ride.pk)).status_code == 200


def test_form_that_is_sent_twice_books_once(desk: Client, grace: Rider) -> None:
    form = sent(desk, f"?rider={grace.pk}", clock="1430")
    desk.post(BOOK, form, follow=True)

    again = desk.post(BOOK, form, follow=True)

    assert Ride.objects.count() == 1
    assert [said.split(" <a")[0] for said in told(again)] == ["This ride was booked already."]
    assert AuditEntry.objects.filter(action="rides.book").count() == 1


def test_appointment_is_on_time_and_return_trip_is_will_call(desk: Client, hospital: Facility, grace: Rider) -> None:
    response = book(desk, f"?rider={grace.pk}&for=appointment", clock="2:30p", driver_notes="Ring twice.")

    out, back = Ride.objects.order_by("leg_sequence")
    # 3.4 road miles take 11 minutes; 3 to board, 3 to leave, 15 early: 32, rounded up to 35.
    assert (out.pickup_at, out.appointment_at, out.scheduling_anchor) == (_at(13, 55), _at(14, 30), "appointment")
    assert (out.dropoff_facility, out.driver_notes) == (hospital, "Ring twice.")
    assert (back.pickup_at, back.will_call, back.pickup_facility) == (_at(15, 30), True, hospital)
    assert "The ride and the return trip are booked." in told(response)[0]


@pytest.mark.parametrize(
    ("asked", "pickups", "will_calls"),
    [
        ({"for": "dialysis", "clock": "10:30"}, [(9, 55), (15, 0)], [False, True]),
        (
            {"for": "appointment", "clock": "14:30", "way_back": "at_time", "back_clock": "16:00"},
            [(13, 55), (16, 0)],
            [0, 0],
        ),
        ({"for": "appointment", "clock": "14:30", "way_back": "none", "pickup_clock": "13:00"}, [(13, 0)], [False]),
        (
            {"for": "appointment", "when": "pickup", "clock": "14:30", "back_clock": "1630"},
            [(14, 30), (16, 30)],
            [0, 1],
        ),
        ({"for": "transfer", "when": "will_call", "clock": "noon", "dropoff_at": "saved-0"}, [(12, 0)], [True]),
        ({"for": "other", "clock": "+45", "dropoff_at": "saved-0"}, [(9, 45)], [False]),
        ({"for": "discharge", "clock": "now"}, [(9, 0)], [False]),
    ],
)
def test_times_are_meant_as_the_form_says(
    desk: Client, grace: Rider, asked: dict[str, Any], pickups: list[tuple[int, int]], will_calls: list[bool]
) -> None:
    book(desk, f"?rider={grace.pk}&for={asked.pop('for')}", **asked)

    rides = Ride.objects.order_by("leg_sequence")
    assert [ride.pickup_at for ride in rides] == [_at(*clock) for clock in pickups]
    assert [ride.will_call for ride in rides] == will_calls


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({}, {"clock": "Enter a time."}),
        ({"clock": "25:00"}, {"clock": "Enter a time such as 14:30, 2:30p, +45 or now."}),
        ({"clock": "+45", "day": "2026-11-21"}, {"clock": "A time counted from now works only for today."}),
        (
            {"clock": "2:30", "day": "2027-03-14"},
            {"clock": "There is no 02:30 on that day: the clocks go forward."},
        ),
        (
            {"clock": "1:30", "day": "2027-11-07"},
            {"clock": "01:30 occurs twice on that day: choose one of the two."},
        ),
        ({"clock": "1430", "day": ""}, {"day": "This field is required."}),
        ({"clock": "1430", "way_back": "at_time"}, {"back_clock": "Enter a time."}),
        (
            {"clock": "1430", "way_back": "at_time", "back_clock": "x"},
            {"back_clock": "Enter a time such as 14:30, 2:30p, +45 or now."},
        ),
        (
            {"clock": "25:00", "when": "arrive", "way_back": "will_call"},
            {"clock": "Enter a time such as 14:30, 2:30p, +45 or now."},
        ),
        ({"clock": "1430", "way_back": "will_call"}, {"back_clock": "Enter an approximate time."}),
        (
            {"clock": "1430", "way_back": "will_call", "back_clock": "1630"},
            {"way_back": "A hospital discharge has no return leg."},
        ),
        (
            {"clock": "1430", "unit": "", "unit_phone": "4 West"},
            {
                "unit": "Required for a discharge.",
                "unit_phone": NO_PHONE,
            },
        ),
        (
            {"clock": "1430", "unit_phone": "", "planner_name": ""},
            {"unit_phone": "Required for a discharge.", "planner_name": "Required for a discharge."},
        ),
        (
            {"clock": "1430", "dropoff_at": "typed", "dropoff_city": "Chicago"},
            {"dropoff_address_line1": "Required for another address."},
        ),
        ({"clock": "1430", "day": "2026-11-18"}, {"clock": "Time has passed. Enter a time that is still to come."}),
        ({"clock": "1430", "escorts": "12"}, {"escorts": "Ensure this value is less than or equal to 9."}),
    ],
)
def test_invalid_booking_shows_field_errors_and_books_nothing(
    desk: Client, grace: Rider, asked: dict[str, Any], wrong: dict[str, str]
) -> None:
    response = book(desk, f"?rider={grace.pk}", **({"driver_notes": "Ring twice."} | asked))

    form = response.context["form"]
    assert (response.status_code, Ride.objects.count()) == (422, 0)
    assert {name: said[0] for name, said in form.errors.items()} == wrong
    assert form["driver_notes"].value() == "Ring twice."


def test_appointment_without_coordinates_takes_pickup_time(desk: Client, grace: Rider) -> None:
    typed = {"dropoff_at": "typed", "dropoff_address_line1": "1 Main St", "dropoff_city": "Joliet", "way_back": "none"}
    refused = book(desk, f"?rider={grace.pk}&for=appointment", clock="1430", **typed)

    assert list(refused.context["form"].errors) == ["pickup_clock"]

    book(desk, f"?rider={grace.pk}&for=appointment", clock="1430", pickup_clock="1300", **typed)

    assert Ride.objects.get().pickup_at == _at(13)


@pytest.mark.parametrize(("which", "hour"), [("first", 6), ("second", 7)])
def test_hour_that_comes_twice_is_the_one_that_was_said(desk: Client, grace: Rider, which: str, hour: int) -> None:
    book(desk, f"?rider={grace.pk}", clock="1:30", day="2027-11-07", which=which)

    assert Ride.objects.get().pickup_at == dt.datetime(2027, 11, 7, hour, 30, tzinfo=dt.UTC)


def test_which_of_two_hours_is_asked_where_there_are_two(desk: Client, grace: Rider) -> None:
    assert "which of the two" not in text_of(desk.get(f"{BOOK}?rider={grace.pk}"))
    assert "The first The second" in text_of(book(desk, f"?rider={grace.pk}", clock="1:30", day="2027-11-07"))


def test_second_ride_at_a_time_is_booked_on_purpose_alone(desk: Client, grace: Rider) -> None:
    book(desk, f"?rider={grace.pk}", clock="1430")

    shown = desk.get(f"{BOOK}?rider={grace.pk}")
    refused = book(desk, f"?rider={grace.pk}", clock="1440")

    assert "Already booked on Fri, Nov 20: Fri, Nov 20, 14:30 CT (Scheduled)" in text_of(shown)
    assert list(refused.context["form"].errors) == ["allow_duplicate"]
    assert Ride.objects.count() == 1

    form = refused.context["form"].data.dict()
    desk.post(BOOK, form | {"allow_duplicate": "on"})

    assert Ride.objects.count() == 2


def test_rider_who_is_not_to_be_booked_is_refused(desk: Client, grace: Rider) -> None:
    Rider.objects.update(status="do_not_book", status_reason="Unpaid")

    shown = desk.get(f"{BOOK}?rider={grace.pk}")
    refused = book(desk, f"?rider={grace.pk}", clock="1430")

    assert "The rider is not to be booked." in text_of(shown)
    assert refused.context["form"].errors == {"q": ["The rider is not to be booked."]}
    assert Ride.objects.count() == 0


def test_questions_of_a_dispatcher_are_told(desk: Client, hospital: Facility, grace: Rider) -> None:
    Facility.objects.update(booking_policy="review", lead_time_minutes=600)

    response = book(desk, f"?rider={grace.pk}", clock="1430")

    assert Ride.objects.get().status == "requested"
    assert told(response)[1] == (
        "A dispatcher has to confirm it. The facility reviews every booking. "
        "The pickup is sooner than the facility's lead time allows."
    )


def test_unit_that_asked_last_is_offered_again(desk: Client, hospital: Facility, grace: Rider) -> None:
    book(desk, f"?rider={grace.pk}", clock="1430", unit="ICU", unit_phone="(312) 555-0177")

    form = desk.get(BOOK).context["form"]

    assert (form["unit"].value(), form["unit_phone"].value()) == ("ICU", "(312) 555-0177")


def test_needs_notes_payer_and_particulars_reach_the_ride(hospital: Facility, grace: Rider) -> None:
    dispatcher = visitor(UserRole.DISPATCHER)
    payer = factories.PayerFactory.create()

    book(
        dispatcher,
        f"?rider={grace.pk}&facility={hospital.pk}",
        clock="1430",
        mobility="wheelchair",
        oxygen_uses="yes",
        escorts="1",
        second_person="yes",
        dispatcher_notes="Slow.",
        facility_notes="Bring the chart.",
        dropoff_access_code="1234#",
        payer=str(payer.pk),
        authorization_number="A-7",
        room="412",
        meet_at="bedside",
        destination_kind="home",
        planner_phone="312 555 0177",
    )

    ride = Ride.objects.get()
    assert ride.accommodation["overridden"] == ["mobility", "oxygen", "stairs", "loadMinutes", "unloadMinutes"]
    assert (ride.spaces_wheelchair, ride.spaces_ambulatory, ride.companions) == (1, 1, {"escorts": 1})
    assert (ride.dispatcher_notes, ride.facility_notes) == ("Slow.", "Bring the chart.")
    assert (ride.payer, ride.authorization_number) == (payer, "A-7")
    assert ride.dropoff_access == '{"accessCode":"1234#"}'
    assert ride.discharge is not None
    assert {key: ride.discharge[key] for key in ("room", "meetAt", "destinationKind")} == {
        "room": "412",
        "meetAt": "bedside",
        "destinationKind": "home",
    }
    assert ride.discharge["planner"]["phone"] == "+13125550177"


def test_planner_sees_no_notes_of_dispatchers(desk: Client) -> None:
    form = desk.get(BOOK).context["form"]

    assert "dispatcher_notes" not in form.fields
    assert "needs_for_dispatchers" not in form.fields


def test_dispatcher_may_book_for_no_facility_at_all(hospital: Facility, grace: Rider) -> None:
    dispatcher = visitor(UserRole.DISPATCHER)

    book(dispatcher, f"?rider={grace.pk}&facility=&for=other", clock="1430", dropoff_at="saved-0")

    assert Ride.objects.get().facility is None
    assert desk_of(dispatcher.get(f"{BOOK}?facility=")).preset_key == "appointment"


# Effects of the reason and of the facility


def test_reason_sets_places_time_and_way_back_and_keeps_the_rest(desk: Client, grace: Rider) -> None:
    typed = sent(desk, f"?rider={grace.pk}", clock="1430", driver_notes="Ring twice.")

    form = desk.post(BOOK, typed | {"do": "preset:dialysis"}).context["form"]

    shown = {
        name: form[name].value() for name in ("when", "way_back", "pickup_from", "dropoff_at", "clock", "driver_notes")
    }
    assert shown == {
        "when": "arrive",
        "way_back": "will_call",
        "pickup_from": "home",
        "dropoff_at": "facility",
        "clock": "1430",
        "driver_notes": "Ring twice.",
    }


def test_address_that_was_typed_outlives_another_reason(desk: Client, grace: Rider) -> None:
    typed = sent(desk, f"?rider={grace.pk}", dropoff_at="typed", dropoff_address_line1="1 Main St")

    form = desk.post(BOOK, typed | {"do": "preset:other"}).context["form"]

    assert (form["dropoff_at"].value(), form["dropoff_address_line1"].value()) == ("typed", "1 Main St")


def test_another_facility_brings_its_own_unit_and_zone(desk: Client, grace: Rider) -> None:
    east = factories.FacilityFactory.create(name="Zeta Clinic", kind="clinic", timezone="America/New_York")
    factories.ContactFactory.create(facility=east, role="unit", name="Ward 3", phone="+12125550133")
    User.objects.get().facilities.add(east)
    typed = sent(desk, f"?rider={grace.pk}", clock="1430")
    other = typed | {"do": "facility", "facility": str(east.pk)}

    shown = desk.post(BOOK, other)

    assert "Times are in Eastern Time." in text_of(shown)
    assert shown.context["form"]["unit"].value() == "Ward 3"
    assert desk_of(desk.get(f"{BOOK}?facility={east.pk}")).preset_key == "appointment"

    desk.post(BOOK, other | {"do": ""} | {"unit": "Ward 3", "unit_phone": "+12125550133"})

    assert Ride.objects.get().pickup_at == _at(13, 30)


def test_facility_without_a_unit_leaves_it_empty(desk: Client, hospital: Facility) -> None:
    hospital.contacts.all().delete()

    assert not desk.get(BOOK).context["form"]["unit"].value()


def test_rider_without_a_home_is_asked_where_they_go(desk: Client, grace: Rider) -> None:
    Rider.objects.update(home_address=None)

    assert desk.get(f"{BOOK}?rider={grace.pk}").context["form"]["dropoff_at"].value() == "typed"


def test_place_of_a_rider_at_a_facility_out_of_reach_is_refused(desk: Client, grace: Rider) -> None:
    other = factories.FacilityFactory.create()
    Rider.objects.update(saved_places=[{"name": "Clinic", "facilityId": str(other.pk)}])

    response = book(desk, f"?rider={grace.pk}&for=appointment", clock="1430", dropoff_at="saved-0")

    assert response.context["form"].non_field_errors() == ["There is no such facility."]
    assert Ride.objects.count() == 0


# Preview


def test_form_is_looked_at_before_it_is_sent(desk: Client, grace: Rider) -> None:
    Facility.objects.update(booking_policy="review")

    ahead = text_of(desk.post(f"{BOOK}check/", sent(desk, f"?rider={grace.pk}", clock="1430")))

    assert ahead.startswith("Fri, Nov 20, 14:30 CT , in 5 h Pickup")
    assert "Pickup window 14:15 \N{EN DASH} 14:45" in ahead
    assert "Needs dispatcher approval: The facility reviews every booking." in ahead
    assert (Ride.objects.count(), AuditEntry.objects.filter(action="riders.read", rider_ids=[grace.pk]).count()) == (
        0,
        2,
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"clock": "25:00"}, "Enter a time such as 14:30, 2:30p, +45 or now."),
        ({"clock": ""}, "Enter a time to see the promised pickup."),
        ({"clock": "1430", "when": "will_call"}, "Promised when the rider is marked ready."),
        ({"clock": "1430", "day": ""}, "Enter a time to see the promised pickup."),
    ],
)
def test_look_ahead_says_what_it_can(desk: Client, grace: Rider, asked: dict[str, str], said: str) -> None:
    assert said in text_of(desk.post(f"{BOOK}check/", sent(desk, f"?rider={grace.pk}", **asked)))


def test_look_ahead_names_what_stands_against_the_ride(desk: Client, grace: Rider) -> None:
    book(desk, f"?rider={grace.pk}", clock="1430")
    form = sent(desk, f"?rider={grace.pk}", clock="1440")

    beside = text_of(desk.post(f"{BOOK}check/", form))
    Rider.objects.update(status="deceased")
    barred = text_of(desk.post(f"{BOOK}check/", form))

    assert "The rider has a ride at this time." in beside
    assert "The rider's record says that they have died." in barred


def test_refusal_that_is_foreseen_names_fields_as_the_page_does(desk: Client, grace: Rider) -> None:
    form = sent(desk, f"?rider={grace.pk}", clock="1430", day="2026-11-18")

    ahead = text_of(desk.post(f"{BOOK}check/", form))
    looked = desk.post(BOOK, form | {"do": "look"})

    assert "Time has passed. Enter a time that is still to come." in ahead
    assert (looked.status_code, list(looked.context["form"].errors)) == (422, ["clock"])


def test_look_ahead_without_a_rider_shows_the_time(desk: Client) -> None:
    ahead = text_of(desk.post(f"{BOOK}check/", sent(desk, clock="1430")))

    assert "Fri, Nov 20, 14:30 CT" in ahead
    assert "Select a rider" in ahead


def test_look_ahead_has_a_button_of_its_own(desk: Client, grace: Rider) -> None:
    response = desk.post(BOOK, sent(desk, f"?rider={grace.pk}", clock="1430") | {"do": "look"})

    assert response.status_code == 200
    assert "Pickup window 14:15 \N{EN DASH} 14:45" in text_of(response)
    assert Ride.objects.count() == 0


def test_ride_is_repeated_with_its_places_needs_and_notes(desk: Client, grace: Rider) -> None:
    asked = {
        "clock": "1430",
        "way_back": "none",
        "mobility": "wheelchair",
        "escorts": "2",
        "driver_notes": "Ring twice.",
    }
    typed = {
        "dropoff_at": "typed",
        "dropoff_address_line1": "1 Main St",
        "dropoff_city": "Joliet",
        "pickup_clock": "13:00",
    }
    book(desk, f"?rider={grace.pk}&for=appointment", **asked, **typed)
    before = Ride.objects.get()

    shown = desk.get(f"{BOOK}?repeat={before.pk}")
    book(desk, f"?repeat={before.pk}", clock="1430", pickup_clock="1300", day="2026-11-23")

    assert desk_of(shown).preset_key == "appointment"
    assert not shown.context["form"]["clock"].value()
    again = Ride.objects.exclude(pk=before.pk).get()
    assert again.pickup_at == before.pickup_at + dt.timedelta(days=3)
    same = ("rider", "facility", "service_type", "pickup", "dropoff", "accommodation", "companions", "driver_notes")
    assert [getattr(again, name) for name in same] == [getattr(before, name) for name in same]


@pytest.mark.parametrize(
    ("of", "shown"),
    [
        ({"for": "discharge"}, {"when": "pickup", "pickup_from": "facility", "dropoff_at": "home", "way_back": "none"}),
        (
            {"for": "other", "when": "will_call", "dropoff_at": "saved-0"},
            {"when": "will_call", "dropoff_at": "saved-0"},
        ),
        ({"for": "appointment"}, {"when": "arrive", "way_back": "will_call", "dropoff_at": "facility"}),
    ],
)
def test_repeated_ride_is_for_the_same_reason(
    desk: Client, grace: Rider, of: dict[str, str], shown: dict[str, str]
) -> None:
    book(desk, f"?rider={grace.pk}&for={of['for']}", clock="1430", **of)
    ride = Ride.objects.get(leg_sequence=1)

    form = desk.get(f"{BOOK}?repeat={ride.pk}").context["form"]

    assert {name: form[name].value() for name in shown} == shown


def test_ride_that_is_not_there_is_not_repeated(desk: Client) -> None:
    assert [desk.get(f"{BOOK}?repeat={ride}").status_code for ride in ("x", factories.RideFactory.create().pk)] == [
        404,
        404,
    ]


def test_ride_of_nobody_in_reach_is_not_repeated(desk: Client, hospital: Facility) -> None:
    ride = factories.RideFactory.create(facility=hospital, rider_known_to_facility=False)

    assert desk.get(f"{BOOK}?repeat={ride.pk}").status_code == 404


def test_look_ahead_counts_the_vehicles_that_are_free_then(desk: Client, grace: Rider) -> None:
    form = sent(desk, f"?rider={grace.pk}", clock="1430")
    nobody = text_of(desk.post(f"{BOOK}check/", form))
    factories.ShiftFactory.create()

    assert "on shift" not in nobody
    assert "1 of 1 suitable vehicle on shift is free then." in text_of(desk.post(f"{BOOK}check/", form))


# Times that have passed: it is 09:00


@pytest.mark.parametrize(
    ("typed", "pickup_at"),
    [
        ("5", _at(17)),
        ("5:30", _at(17, 30)),
        ("830", _at(20, 30)),
        ("845", _at(8, 45)),
        ("9", _at(9)),
        ("10", _at(10)),
    ],
)
def test_time_without_am_or_pm_is_the_next_one(desk: Client, grace: Rider, typed: str, pickup_at: dt.datetime) -> None:
    book(desk, f"?rider={grace.pk}", clock=typed)

    assert Ride.objects.get().pickup_at == pickup_at


def test_five_typed_at_1051_means_this_afternoon(grace: Rider, hospital: Facility) -> None:
    about = f"?rider={grace.pk}&facility={hospital.pk}"
    with time_machine.travel(_at(10, 51), tick=False):
        client = visitor(UserRole.DISPATCHER)
        ahead = text_of(client.post(f"{BOOK}check/", sent(client, about, clock="5")))
        book(client, about, clock="5")

    assert "17:00" in ahead
    assert "05:00" not in ahead
    assert Ride.objects.get().pickup_at == _at(17)


def test_time_of_another_day_stays_in_the_morning(desk: Client, grace: Rider) -> None:
    book(desk, f"?rider={grace.pk}", clock="5", day="2026-11-21")

    assert Ride.objects.get().pickup_at == _at(5, day=21)


@pytest.mark.parametrize("typed", ["05:00", "5a", "0844"])
def test_morning_that_has_passed_is_refused(desk: Client, grace: Rider, typed: str) -> None:
    response = book(desk, f"?rider={grace.pk}", clock=typed)

    assert response.context["form"].errors == {"clock": ["Time has passed. Enter a time that is still to come."]}
    assert Ride.objects.count() == 0


def test_return_time_follows_the_same_rule(desk: Client, grace: Rider) -> None:
    book(desk, f"?rider={grace.pk}&for=other", clock="1430", way_back="at_time", back_clock="5", dropoff_at="facility")

    assert Ride.objects.get(leg_sequence=2).pickup_at == _at(17)


def test_ride_for_now_promises_a_time_from_now(desk: Client, grace: Rider) -> None:
    ahead = text_of(desk.post(f"{BOOK}check/", sent(desk, f"?rider={grace.pk}", clock="now")))
    book(desk, f"?rider={grace.pk}", clock="now")

    ride = Ride.objects.get()
    assert "Pickup by about 09:15 No driver is free now: this is the facility's usual time." in ahead
    assert (ride.window_starts_at, ride.window_ends_at, ride.promised_pickup_by) == (_at(9), _at(9, 15), _at(9, 15))


@pytest.mark.parametrize("role", [UserRole.DISPATCHER, UserRole.DISPATCH_SUPERVISOR])
def test_desk_records_a_ride_after_the_fact(grace: Rider, hospital: Facility, role: UserRole) -> None:
    client = visitor(role)
    about = f"?rider={grace.pk}&facility={hospital.pk}"

    refused = book(client, about, clock="07:00")
    response = book(client, about, clock="7", after_the_fact="on")

    assert refused.context["form"].errors["after_the_fact"] == [
        "If the ride has already taken place, check “Already took place”."
    ]
    ride = Ride.objects.get()
    assert (ride.after_the_fact, ride.pickup_at, ride.promised_pickup_by) == (True, _at(7), None)
    assert "The ride is recorded. Assign its driver and log its times on its page." in told(response)[0]
    page = text_of(client.get(ride_address(ride.pk)))
    assert page.count("Recorded after the fact") == 1
    assert "recorded after the fact" in page


def test_planner_cannot_record_after_the_fact(desk: Client, grace: Rider) -> None:
    assert "after_the_fact" not in desk.get(f"{BOOK}?rider={grace.pk}").context["form"].fields

    book(desk, f"?rider={grace.pk}", clock="07:00", after_the_fact="on")

    assert Ride.objects.count() == 0
