"""Forms of a rider: data, needs, and a hospital stay."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.recurring.models import Hold
from apps.riders import services
from apps.riders.models import AccommodationProfile, Rider
from lib.access import system
from tests import factories
from tests.console.riders.test_rider_page import address
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.recurring import cast

pytestmark = pytest.mark.django_db


def _posted(client: Client, rider: Rider, more: str, **changes: Any) -> Any:
    """Open the form and submit it with some fields changed."""
    form = client.get(address(rider, more)).context["form"]
    values = {name: form[name].value() for name in form.fields} | changes
    filled = {name: value for name, value in values.items() if value not in (None, False)}
    return client.post(address(rider, more), filled)


def _stored(rider: Rider) -> Rider:
    return Rider.objects.get(pk=rider.pk)


def test_edit_saves_what_changed_alone() -> None:
    facility = factories.FacilityFactory.create()
    driver = factories.DriverFactory.create()
    caregiver = {"name": "Cara", "phone": "+13125550132", "relation": "", "notify": ["ride.completed"]}
    home = factories.stop(name="", addressLine1="1 Elm St")
    rider = factories.RiderFactory.create(caregivers=[caregiver], home_address=home)
    desk = visitor(UserRole.DISPATCHER)

    response = _posted(
        desk,
        rider,
        "edit/",
        last_name="Kettleworth",
        phone_1_number="312-555-0140",
        phone_1_ext="7",
        phone_1_kind="work",
        caregiver_0_relation="daughter",
        emergency_name="Emil",
        emergency_phone="(312) 555-0141",
        home_line2="Apt 2",
        home_steps="4",
        excluded_0=str(driver.pk),
        facilities=[str(facility.pk)],
        sms_consent="granted",
    )

    assert response.headers["Location"] == address(rider)
    stored = _stored(rider)
    assert (stored.last_name, stored.version) == ("Kettleworth", rider.version + 1)
    assert stored.phones == [
        {"number": "+13125550111", "ext": "", "kind": "mobile"},
        {"number": "+13125550140", "ext": "7", "kind": "work"},
    ]
    assert stored.caregivers == [caregiver | {"relation": "daughter"}]
    assert stored.emergency_contact == {"name": "Emil", "phone": "+13125550141", "relation": ""}
    assert stored.home_address == home | {"addressLine2": "Apt 2", "steps": 4}
    assert stored.excluded_driver_ids == [driver.pk]
    assert list(stored.facilities.all()) == [facility]
    assert (stored.sms_consent, stored.sms_consent_at) == ("granted", NOW)


def test_saved_places_are_added_changed_and_removed() -> None:
    center = factories.FacilityFactory.create(name="Lakeview Dialysis")
    daughter = factories.stop(name="Daughter", addressLine1="9 Elm St", lat=41.9, lng=-87.6, steps=3)
    church = factories.stop(name="Church", addressLine1="2 Oak St", facilityId=str(center.pk))
    rider = factories.RiderFactory.create(saved_places=[daughter, church])
    desk = visitor(UserRole.DISPATCHER)
    assert "Daughter, 9 Elm St" in text_of(desk.get(address(rider)))

    _posted(
        desk,
        rider,
        "edit/",
        place_0_instructions="Ring twice",
        place_2_name="Gym",
        place_2_addressLine1="3 Ash St",
        place_2_city="Elgin",
    )
    kept, other, gym = _stored(rider).saved_places
    assert kept == daughter | {"instructions": "Ring twice"}
    assert other == church
    assert (gym["name"], gym["addressLine1"], gym["city"], gym["lat"]) == ("Gym", "3 Ash St", "Elgin", None)

    cleared = {f"place_0_{key}": "" for key in ("name", "instructions", "addressLine1", "city", "state", "postalCode")}
    _posted(desk, rider, "edit/", place_1_addressLine1="4 Fir St", **cleared)
    moved, _gym = _stored(rider).saved_places
    assert (moved["addressLine1"], moved["facilityId"], moved["lat"]) == ("4 Fir St", None, None)
    version = _stored(rider).version

    refused = _posted(desk, rider, "edit/", place_2_name="Shop")
    assert list(refused.context["form"].errors) == ["place_2_addressLine1", "place_2_city"]
    assert _stored(rider).version == version


def test_edit_without_a_change_stores_nothing() -> None:
    person = {"name": "Emil", "phone": "+442079460958", "relation": ""}
    rider = factories.RiderFactory.create(caregivers=[person | {"notify": []}], emergency_contact=person)
    desk = visitor(UserRole.DISPATCHER)
    form = desk.get(address(rider, "edit/")).context["form"]

    assert form["phone_0_number"].value() == "(312) 555-0111"
    assert form["emergency_phone"].value() == form["caregiver_0_phone"].value() == "+44 20 7946 0958"
    _posted(desk, rider, "edit/")
    assert _stored(rider).version == rider.version


def test_edit_removes_cleared_rows_address_and_contact() -> None:
    rider = factories.RiderFactory.create(
        home_address=factories.stop(name=""),
        emergency_contact={"name": "Emil", "phone": "+13125550141", "relation": ""},
    )
    home = dict.fromkeys(("home_line1", "home_line2", "home_city", "home_state", "home_postal_code"), "")

    _posted(
        visitor(UserRole.DISPATCHER),
        rider,
        "edit/",
        phone_0_number="",
        emergency_name="",
        emergency_phone="",
        home_steps="",
        **home,
    )

    stored = _stored(rider)
    assert (stored.phones, stored.home_address, stored.emergency_contact) == ([], None, None)


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"last_name": ""}, "last_name", "This field is required."),
        ({"phone_0_number": "12"}, "phone_0_number", "This is not a phone number."),
        ({"phone_1_ext": "7"}, "phone_1_number", "Enter the number, or clear the row."),
        ({"caregiver_0_relation": "son"}, "caregiver_0_name", "Enter the name, or clear the row."),
        ({"emergency_name": "Emil"}, "emergency_phone", "An emergency contact needs name and phone."),
        ({"home_city": "Chicago"}, "home_line1", "Required for an address."),
        ({"home_line1": "1 Elm St"}, "home_city", "is required with an address"),
        ({"status": "do_not_book"}, "status_reason", "is required with this status"),
        ({"date_of_birth": "2026-11-22"}, "date_of_birth", "must not be in the future"),
        ({"language": "English!"}, "language", "Enter the code of a language"),
    ],
)
def test_edit_refuses_at_the_field_and_stores_nothing(changes: dict[str, str], field: str, message: str) -> None:
    rider = factories.RiderFactory.create()

    response = _posted(visitor(UserRole.DISPATCHER), rider, "edit/", **changes)

    assert response.status_code == 422
    assert message in str(response.context["form"].errors[field])
    assert _stored(rider).version == rider.version


def test_edit_of_a_stale_page_is_refused_then_saved() -> None:
    rider = factories.RiderFactory.create()
    desk = visitor(UserRole.DISPATCHER)
    form = desk.get(address(rider, "edit/")).context["form"]
    values = {name: form[name].value() for name in form.fields} | {"preferred_name": "Ernie"}
    filled = {name: value for name, value in values.items() if value not in (None, False)}
    services.amend(rider_id=rider.pk, changes={"last_name": "Other"}, by=system(), at=NOW)

    refused = desk.post(address(rider, "edit/"), filled)

    assert refused.status_code == 422
    assert _stored(rider).preferred_name == ""
    again = {**filled, "version": refused.context["form"]["version"].value(), "last_name": "Other"}
    desk.post(address(rider, "edit/"), again)
    assert (_stored(rider).preferred_name, _stored(rider).last_name) == ("Ernie", "Other")


def test_status_that_forbids_upcoming_rides_warns() -> None:
    ride = factories.RideFactory.create()
    desk = visitor(UserRole.DISPATCHER)

    _posted(desk, ride.rider, "edit/", status="do_not_book", status_reason="Asked for it")

    assert told(desk.get(address(ride.rider)))[1].startswith("1 upcoming ride is not allowed by this status.")


def test_needs_are_saved_as_a_new_version_with_the_rides() -> None:
    ride = factories.RideFactory.create()
    factories.AccommodationProfileFactory.create(rider=ride.rider, return_mobility="stretcher", dispatcher_notes="Late")
    desk = visitor(UserRole.DISPATCHER)

    response = _posted(desk, ride.rider, "needs/", mobility="wheelchair", oxygen_uses="yes", oxygen_source="own_tank")

    assert response.headers["Location"] == address(ride.rider)
    profile = AccommodationProfile.objects.get(rider=ride.rider, current=True)
    assert (profile.number, profile.mobility, profile.return_mobility) == (2, "wheelchair", "stretcher")
    assert (profile.oxygen_source, profile.dispatcher_notes) == ("own_tank", "Late")
    assert told(desk.get(address(ride.rider))) == ["The needs are saved. 1 upcoming ride has them."]
    ride.refresh_from_db()
    assert ride.accommodation["mobility"] == "wheelchair"


def test_contradictory_needs_are_refused_at_the_field() -> None:
    rider = factories.RiderFactory.create()
    factories.AccommodationProfileFactory.create(rider=rider)

    response = _posted(visitor(UserRole.DISPATCHER), rider, "needs/", oxygen_liters="2")

    assert response.status_code == 422
    assert response.context["form"].errors
    assert AccommodationProfile.objects.filter(rider=rider).count() == 1


def test_hospital_stay_holds_the_chosen_orders() -> None:
    first = cast.order()
    second = cast.order(rider=first.rider)
    desk = visitor(UserRole.DISPATCHER)

    response = _posted(desk, first.rider, "stay/", from_date="2026-11-23", until="2026-11-29")

    assert response.headers["Location"] == address(first.rider)
    holds = {hold.standing_order_id: (hold.from_date, hold.until, hold.reason) for hold in Hold.objects.all()}
    days = (dt.date(2026, 11, 23), dt.date(2026, 11, 29), "hospital_stay")
    assert holds == {first.pk: days, second.pk: days}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"from_date": ""}, "from_date"),
        ({"from_date": "2026-11-23", "until": "2026-11-01"}, "until"),
        ({"orders": []}, "orders"),
        ({"orders": ["x:1"]}, "orders"),
    ],
)
def test_hospital_stay_refuses_at_the_field(changes: dict[str, Any], field: str) -> None:
    order = cast.order()

    response = _posted(visitor(UserRole.DISPATCHER), order.rider, "stay/", **changes)

    assert response.status_code == 422
    assert field in response.context["form"].errors
    assert not Hold.objects.exists()


def test_hospital_stay_without_orders_lists_other_rides() -> None:
    ride = factories.RideFactory.create()

    page = visitor(UserRole.DISPATCHER).get(address(ride.rider, "stay/")).content.decode()

    assert "The rider has no standing order to hold." in page
    assert f"/console/rides/{ride.pk}/" in page
