"""Riders of the booking form: found riders, new riders, and none outside the data scope."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import ExternalId, Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from tests import factories
from tests.console.booking.desk import BOOK, book, desk_of, sent
from tests.console.visits import text_of, told, visitor
from tests.rides.drafts import HOME

pytestmark = pytest.mark.django_db


# Search


def test_rider_is_offered_by_name_id_phone_and_birth_date(desk: Client, grace: Rider) -> None:
    ExternalId.objects.create(subject_type="rider", subject_id=grace.pk, system="epic", value="E1004471")

    for said in ("wal", "grace w", "E1004471", "312 555 0111", "1951-04-02"):
        response = desk.post(f"{BOOK}riders/", {"q": said})
        assert f'data-value="{grace.pk}"' in response.content.decode(), said
        assert (
            "<strong>Walsh, Grace</strong> <span>04/02/1951 (age 75) · E1004471 · Ambulatory · Chicago</span>"
            in response.content.decode()
        )

    exact, similar = (desk.post(f"{BOOK}riders/", {"q": text}).content.decode() for text in ("walsh", "wlash"))
    assert f'data-value="{grace.pk}"' in similar
    assert ["No exact match. Similar names:" in page for page in (exact, similar)] == [False, True]
    assert ["data-similar" in page for page in (exact, similar)] == [False, True]

    trail = AuditEntry.objects.filter(action="riders.search", rider_ids=[grace.pk]).order_by("pk")
    assert [entry.details["criteria"] for entry in trail] == [
        ["name"],
        ["name"],
        ["external_id"],
        ["phone"],
        ["date_of_birth"],
        ["name"],
        ["name"],
    ]


@pytest.mark.parametrize("said", ["", "w", "nobody", "77", "312 555 0000", "2001-01-01", "a\0b", "," * 200])
def test_nobody_is_offered_where_nobody_is_meant(desk: Client, grace: Rider, said: str) -> None:
    response = desk.post(f"{BOOK}riders/", {"q": said})

    assert "No riders found." in response.content.decode()
    assert "data-value" not in response.content.decode()
    assert AuditEntry.objects.get(action="riders.search").rider_ids == []


def test_eight_are_offered_and_it_is_said_that_there_are_more(desk: Client, hospital: Facility) -> None:
    for number in range(9):
        factories.RiderFactory.create(facility=hospital, last_name=f"Same{number}", status="inactive")

    page = desk.post(f"{BOOK}riders/", {"q": "same"}).content.decode()

    assert (page.count("data-value"), page.count("Inactive") + page.count("inactive")) == (8, 8)
    assert "There are more." in page


@pytest.mark.parametrize("riders", [1, 3])
def test_offers_cost_the_same_however_many(
    desk: Client, hospital: Facility, riders: int, django_assert_num_queries: Any
) -> None:
    for _ in range(riders):
        factories.RiderFactory.create(facility=hospital, last_name="Same")

    with django_assert_num_queries(8):
        desk.post(f"{BOOK}riders/", {"q": "same"})


def test_rider_is_found_chosen_and_let_go_without_script(desk: Client, grace: Rider) -> None:
    typed = sent(desk, clock="1430", q="wal")

    found = desk.post(BOOK, typed)
    chosen = desk.post(BOOK, typed | {"do": f"pick:{grace.pk}"})
    gone = desk.post(BOOK, typed | {"rider": str(grace.pk), "do": "forget"})

    assert (found.status_code, found.context["form"]["clock"].value()) == (200, "1430")
    assert f'value="pick:{grace.pk}"' in found.content.decode()
    assert (chosen.context["desk"].rider.rider, chosen.context["form"]["clock"].value()) == (grace, "1430")
    assert "Walsh, Grace 04/02/1951 (age 75) · Ambulatory · Home, 1418 N Canary Ave, Chicago" in text_of(chosen)
    assert (gone.context["desk"].rider, gone.context["form"]["clock"].value()) == (None, "1430")
    assert Ride.objects.count() == 0


def test_search_that_finds_nobody_says_so(desk: Client) -> None:
    assert "No riders found." in text_of(desk.post(BOOK, sent(desk, q="xyz") | {"do": "find"}))


def test_empty_form_asks_for_everything_and_keeps_what_was_typed(desk: Client) -> None:
    response = desk.post(BOOK, sent(desk, driver_notes="Ring twice."))

    errors = response.context["form"].errors
    assert (response.status_code, Ride.objects.count()) == (422, 0)
    assert errors == {"q": ["Choose a rider from the list, or add a new rider."], "clock": ["Enter a time."]}
    assert "Fix 2 fields" in text_of(response)
    assert response.context["form"]["driver_notes"].value() == "Ring twice."


# A new rider


NEW: dict[str, Any] = {
    "is_new": "1",
    "first_name": "Orla",
    "last_name": "Doe",
    "birth_date": "1951-04-02",
    "phone": "(312) 555-0140",
    "home_line1": "9 Elm St",
    "home_city": "Chicago",
}


def test_new_rider_is_registered_with_the_booking(desk: Client, hospital: Facility) -> None:
    shown = desk.post(BOOK, sent(desk, clock="1430") | {"do": "new"})
    response = book(desk, clock="1430", dropoff_at="home", mobility="wheelchair", **NEW)

    rider, ride = Rider.objects.get(), Ride.objects.get()
    assert shown.context["form"].fields["first_name"].widget.attrs["autofocus"]
    assert "The ride is booked." in told(response)[0]
    assert (rider.first_name, rider.last_name, str(rider.date_of_birth)) == ("Orla", "Doe", "1951-04-02")
    assert rider.phones == [{"number": "+13125550140", "ext": "", "kind": "other"}]
    assert rider.home_address is not None
    assert rider.home_address["addressLine1"] == ride.dropoff["addressLine1"] == "9 Elm St"
    assert list(rider.facilities.all()) == [hospital]
    assert rider.accommodation_profiles.get().mobility == ride.accommodation["mobility"] == "wheelchair"


def test_new_rider_may_have_neither_phone_nor_home(desk: Client) -> None:
    nobody = NEW | {"phone": "", "home_line1": "", "home_city": "", "birth_date": ""}
    book(desk, clock="1430", dropoff_at="typed", dropoff_address_line1="1 Main St", dropoff_city="Joliet", **nobody)

    rider = Rider.objects.get()
    assert (rider.phones, rider.home_address, rider.date_of_birth) == ([], None, None)
    assert Ride.objects.get().dropoff["city"] == "Joliet"


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"first_name": "", "last_name": ""}, ["first_name", "last_name"]),
        ({"home_city": ""}, ["home_city"]),
        ({"home_line1": ""}, ["home_line1"]),
        ({"phone": "x"}, ["phone"]),
        ({"birth_date": "2027-01-01"}, ["birth_date"]),
        ({"home_line1": "x" * 201}, ["home_line1"]),
    ],
)
def test_new_rider_who_is_half_said_is_refused(desk: Client, changes: dict[str, str], wrong: list[str]) -> None:
    response = book(desk, clock="1430", dropoff_at="home", **(NEW | changes))

    assert list(response.context["form"].errors) == wrong
    assert (response.status_code, Rider.objects.count(), Ride.objects.count()) == (422, 0, 0)


def test_namesake_is_shown_before_somebody_is_added_twice(desk: Client, hospital: Facility) -> None:
    known = factories.RiderFactory.create(facility=hospital, first_name="Orla", last_name="Doe", home_address=HOME)

    refused = book(desk, clock="1430", dropoff_at="home", **NEW)

    assert list(refused.context["form"].errors) == ["somebody_else"]
    assert f'value="pick:{known.pk}"' in refused.content.decode()
    assert AuditEntry.objects.get(action="riders.read").rider_ids == [known.pk]
    assert Rider.objects.count() == 1

    chosen = desk.post(BOOK, refused.context["form"].data.dict() | {"do": f"pick:{known.pk}"})
    book(desk, clock="1430", dropoff_at="home", somebody_else="on", **NEW)

    assert (desk_of(chosen).rider.rider, desk_of(chosen).is_new) == (known, False)
    assert Rider.objects.count() == 2


def test_search_for_a_known_rider_takes_the_new_one_back(desk: Client) -> None:
    response = desk.post(BOOK, sent(desk, clock="1430", **NEW) | {"do": "known"})

    assert not desk_of(response).is_new


# Permissions and data scope


def test_planner_of_other_facility_gets_no_rider_or_facility(grace: Rider, hospital: Facility) -> None:
    planner = visitor(UserRole.PLANNER)
    User.objects.get().facilities.set([factories.FacilityFactory.create()])

    form = sent(planner, clock="1430")
    for path in (f"?rider={grace.pk}", "?rider=x", f"?facility={hospital.pk}", "?facility="):
        assert planner.get(f"{BOOK}{path}").status_code == 404, path
    for changed in ({"rider": str(grace.pk)}, {"facility": str(hospital.pk)}, {"do": f"pick:{grace.pk}"}):
        assert planner.post(BOOK, form | changed).status_code == 404, changed
        assert planner.post(f"{BOOK}check/", form | changed).status_code == (200 if "do" in changed else 404), changed
    assert "data-value" not in planner.post(f"{BOOK}riders/", {"q": "walsh"}).content.decode()
    assert Ride.objects.count() == 0


def test_facility_out_of_reach_is_no_place_to_ride_to(desk: Client, grace: Rider) -> None:
    other = factories.FacilityFactory.create()

    response = book(desk, f"?rider={grace.pk}", clock="1430", dropoff_at=f"at-{other.pk}")

    assert list(response.context["form"].errors) == ["dropoff_at"]
    assert Ride.objects.count() == 0


@pytest.mark.parametrize("role", [UserRole.ADMIN, UserRole.FLEET_ADMIN, UserRole.ANALYST, UserRole.AUDITOR])
def test_who_does_not_book_is_told_so(role: UserRole) -> None:
    client = visitor(role)

    assert client.get(BOOK).status_code == 403
    assert [client.post(f"{BOOK}{page}").status_code for page in ("", "riders/", "check/")] == [403] * 3


def test_fragments_are_asked_for_by_post_alone(desk: Client) -> None:
    assert [desk.get(f"{BOOK}{page}").status_code for page in ("riders/", "check/")] == [405, 405]


@pytest.mark.parametrize("rides", [1, 3])
def test_page_costs_the_same_however_many_rides_there_are(
    desk: Client, hospital: Facility, grace: Rider, rides: int, django_assert_num_queries: Any
) -> None:
    for _ in range(rides):
        factories.RideFactory.create(facility=hospital, rider=grace)

    with django_assert_num_queries(15):
        desk.get(f"{BOOK}?rider={grace.pk}")
