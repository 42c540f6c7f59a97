"""Collapsible parts of the series editor: entrances, drop-off, needs, companions and preferred drivers."""

import datetime as dt
import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Driver
from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder, Terms
from apps.recurring.services import edit_order
from apps.riders.models import Rider
from lib.access import system
from lib.ids import uuid7
from tests import factories
from tests.console.recurring.visiting import BASE, change_series, page_of
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY
from tests.rides.drafts import HOME

pytestmark = pytest.mark.django_db

TOLD: dict[str, Any] = {"by": system(), "at": NOW}
CODED = {**HOME, "accessCode": "gate 8812#"}
ELSEWHERE = {"dropoff_at": "typed", "dropoff_address_line1": "7 Oak St", "dropoff_city": "Chicago"}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def rider(centre: Facility) -> Rider:
    place = {**HOME, "name": "Daughter", "addressLine1": "9 Elm St"}
    return factories.RiderFactory.create(facility=centre, home_address=HOME, saved_places=[place])


@pytest.fixture
def desk(db: None) -> Client:
    return visitor(UserRole.DISPATCHER)


@pytest.fixture
def planner(centre: Facility) -> Client:
    client = visitor(UserRole.PLANNER)
    User.objects.get(role=UserRole.PLANNER).facilities.set([centre])
    return client


def _add(client: Client, centre: Facility, rider: Rider, **more: Any) -> Any:
    asked = {
        "key": str(uuid7()),
        "facility": str(centre.pk),
        "service_type": "dialysis",
        "start_date": str(MONDAY),
        "days": ["0", "2", "4"],
        "interval_weeks": "1",
        "chair_time": "10:30",
        "pickup_from": "home",
        "dropoff_at": "facility",
        "return_mode": "will_call",
        "horizon_days": "28",
    }
    return client.post(f"{BASE}add/?rider={rider.pk}", asked | more, follow=True)


def _folds(response: Any) -> dict[str, tuple[bool, str]]:
    """Return the collapsible parts by title: whether each is open, and its summary."""
    found = re.findall(
        r'<details class="fold"[^>]*?( open)?><summary>([^<]*) <span class="says">([^<]*)<', response.content.decode()
    )
    return {title: (bool(is_open), says) for is_open, title, says in found}


def _form_of(client: Client, order: StandingOrder) -> Any:
    return client.get(page_of(order, "change/")).context["form"]


def test_new_order_takes_everything_that_is_folded_away(centre: Facility, rider: Rider, desk: Client) -> None:
    first, second = factories.DriverFactory.create(), factories.DriverFactory.create()

    _add(
        desk,
        centre,
        rider,
        access_code="gate 8812#",
        dropoff_access_code="ward 9",
        mobility="wheelchair",
        chair_width_in="26.5",
        oxygen_uses="yes",
        oxygen_liters="2",
        second_person="no",
        equipment="walker,  cane ,",
        needs_for_drivers="Slow on the ramp",
        needs_for_dispatchers="Call the daughter",
        escorts="1",
        animal_along="on",
        driver_0=str(second.pk),
        driver_2=str(first.pk),
        **ELSEWHERE,
        pickup_time="09:30",
    )

    order, terms = StandingOrder.objects.get(), Terms.objects.get()
    assert (terms.pickup_access, terms.dropoff_access) == ("gate 8812#", "ward 9")
    assert (terms.dropoff["addressLine1"], terms.dropoff["facilityId"]) == ("7 Oak St", None)
    assert terms.accommodation == {
        "mobility": "wheelchair",
        "chair": {"widthIn": 26.5},
        "oxygen": {"uses": True, "litersPerMinute": 2.0},
        "stairs": {"secondPerson": False},
        "equipment": ["walker", "cane"],
        "driverNotes": "Slow on the ramp",
        "dispatcherNotes": "Call the daughter",
    }
    assert terms.companions == {"escorts": 1, "serviceAnimal": True}
    assert order.preferred_driver_ids == [second.pk, first.pk]


def test_new_order_that_says_nothing_of_them_has_nothing_of_them(centre: Facility, rider: Rider, desk: Client) -> None:
    _add(desk, centre, rider)

    order, terms = StandingOrder.objects.get(), Terms.objects.get()
    assert (terms.accommodation, terms.companions, order.preferred_driver_ids) == ({}, {}, [])
    assert (terms.pickup_access, terms.dropoff_access) == ("", "")
    assert terms.dropoff["facilityId"] == str(centre.pk)


def test_folded_parts_say_what_is_set_and_stay_folded(centre: Facility, rider: Rider, desk: Client) -> None:
    driver = factories.DriverFactory.create(first_name="Marek", last_name="Zelinski")
    bare = cast.order(centre, rider)
    full = cast.order(
        centre,
        of={
            "pickup": CODED,
            "dropoff": {"facilityId": None, "name": "Annex", "addressLine1": "7 Oak St", "city": "Chicago"},
            "pickup_time": dt.time(9, 30),
            "return_dropoff": {**HOME, "name": "", "addressLine1": "9 Elm St", "accessCode": "bell 3"},
            "accommodation": {"mobility": "wheelchair", "loadMinutes": 12, "oxygen": {"uses": False}},
            "companions": {"escorts": 2, "serviceAnimal": True},
        },
        preferred_driver_ids=(driver.pk,),
    )

    assert _folds(desk.get(page_of(bare, "change/"))) == {
        "Door code at the pickup": (False, "none"),
        "Drop-off": (False, "As it is: Lakeview Dialysis, 200 W Monroe St, Chicago"),
        "Return destination": (False, "Same as pickup"),
        "Needs on these rides": (False, "as the rider's profile has them"),
        "Companions": (False, "none"),
        "Preferred drivers": (False, "none"),
    }
    assert _folds(desk.get(page_of(full, "change/"))) == {
        "Door code at the pickup": (False, "set"),
        "Drop-off": (False, "As it is: Annex, 7 Oak St, Chicago"),
        "Return destination": (False, "As it is: 9 Elm St, Chicago, with a door code"),
        "Needs on these rides": (False, "Mobility, Oxygen, Getting in, minutes: 12"),
        "Companions": (False, "Number of companions: 2, A service animal"),
        "Preferred drivers": (False, "Zelinski, Marek"),
    }


@pytest.mark.parametrize(
    ("changes", "title", "wrong"),
    [
        ({"access_code": "x" * 201}, "Door code at the pickup", ["access_code"]),
        ({"dropoff_at": "typed"}, "Drop-off", ["dropoff_address_line1", "dropoff_city"]),
        ({"dropoff_at": "home"}, "Drop-off", ["dropoff_at"]),
        ({"dropoff_access_code": "x" * 201}, "Drop-off", ["dropoff_access_code"]),
        ({"return_to": "typed", "return_city": "Chicago"}, "Return destination", ["return_address_line1"]),
        ({"return_access_code": "bell 3"}, "Return destination", ["return_access_code"]),
        (
            {"return_to": "typed", "return_address_line1": "5 Oak", "return_city": "C" * 101},
            "Return destination",
            ["return_city"],
        ),
        ({"mobility": "flying"}, "Needs on these rides", ["mobility"]),
        ({"equipment": "x" * 51}, "Needs on these rides", ["equipment"]),
        ({"oxygen_liters": "2"}, "Needs on these rides", ["oxygen_liters"]),  # a rule of booking
        ({"escorts": "10"}, "Companions", ["escorts"]),
        ({"driver_1": "nobody"}, "Preferred drivers", ["driver_1"]),
    ],
)
def test_refused_form_opens_invalid_section_with_typed_values(
    centre: Facility, rider: Rider, desk: Client, changes: dict[str, Any], title: str, wrong: list[str]
) -> None:
    response = _add(desk, centre, rider, needs_for_drivers="Slow on the ramp", **changes)

    assert response.status_code == 422
    assert list(response.context["form"].errors) == wrong
    assert [name for name, (is_open, _) in _folds(response).items() if is_open] == [title]
    assert "Slow on the ramp" in response.content.decode()
    assert not StandingOrder.objects.exists()


def test_equipment_is_twenty_pieces_at_most(centre: Facility, rider: Rider, desk: Client) -> None:
    response = _add(desk, centre, rider, equipment=",".join("x" * 21))

    assert response.context["form"].errors == {"equipment": ["At most 20, of 50 characters each."]}


def test_driver_is_chosen_once(centre: Facility, rider: Rider, desk: Client) -> None:
    driver = factories.DriverFactory.create()

    response = _add(desk, centre, rider, driver_0=str(driver.pk), driver_2=str(driver.pk))

    assert response.context["form"].errors == {"driver_2": ["This driver is already selected above."]}


def test_code_is_shown_to_those_who_dispatch_and_changed_by_them(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider, of={"pickup": CODED})

    shown = desk.get(page_of(order, "change/"))
    change_series(desk, order)
    kept = Terms.objects.get().pickup_access
    change_series(desk, order, access_code="gate 77")
    changed = Terms.objects.get().pickup_access
    change_series(desk, order, access_code="")

    assert 'value="gate 8812#"' in shown.content.decode()
    assert (kept, changed, Terms.objects.get().pickup_access) == ("gate 8812#", "gate 77", "")
    assert Terms.objects.get().pickup["addressLine1"] == HOME["addressLine1"]


def test_planner_never_sees_code_but_can_replace_or_remove_it(centre: Facility, rider: Rider, planner: Client) -> None:
    order = cast.order(centre, rider, of={"pickup": CODED})

    shown = planner.get(page_of(order, "change/"))
    change_series(planner, order, chair_time="11:00")
    kept = Terms.objects.get().pickup_access
    refused = change_series(planner, order, chair_time="")
    change_series(planner, order, access_code="gate 77")
    changed = Terms.objects.get().pickup_access
    change_series(planner, order, no_code="on")

    for response in (shown, refused):
        assert "8812" not in response.content.decode()
        assert _folds(response)["Door code at the pickup"] == (False, "set")
    assert "There is one, which only dispatchers and drivers see." in text_of(shown)
    assert (kept, changed, Terms.objects.get().pickup_access) == ("gate 8812#", "gate 77", "")


def test_code_that_a_planner_wants_removed_is_said_to_go(centre: Facility, rider: Rider, planner: Client) -> None:
    order = cast.order(centre, rider, of={"pickup": CODED})

    refused = change_series(planner, order, chair_time="", no_code="on")

    assert _folds(refused)["Door code at the pickup"] == (False, "none")


@pytest.mark.parametrize(("typed", "stored"), [({}, ""), ({"access_code": "bell 3"}, "bell 3")])
def test_new_address_does_not_inherit_the_old_access_code(
    centre: Facility, rider: Rider, desk: Client, typed: dict[str, str], stored: str
) -> None:
    order = cast.order(centre, rider, of={"pickup": CODED})

    change_series(desk, order, pickup_from="saved-0", **typed)

    terms = Terms.objects.get()
    assert (terms.pickup["addressLine1"], terms.pickup_access) == ("9 Elm St", stored)


def test_later_terms_retain_their_address_and_get_the_code(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)
    later = MONDAY + dt.timedelta(days=7)
    elsewhere = {**HOME, "addressLine1": "9 Elm St"}
    edit_order.change(order_id=order.pk, terms={"pickup": elsewhere}, from_date=later, **TOLD)

    change_series(desk, order, access_code="bell 3")

    rows = Terms.objects.order_by("from_date")
    assert [(row.pickup["addressLine1"], row.pickup_access) for row in rows] == [
        (HOME["addressLine1"], "bell 3"),
        ("9 Elm St", "bell 3"),
    ]


def test_drop_off_is_typed_kept_and_brought_back_to_the_facility(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)

    change_series(desk, order, pickup_time="09:30", **ELSEWHERE)
    typed = Terms.objects.get().dropoff
    change_series(desk, order, chair_time="11:00")
    kept = Terms.objects.get().dropoff
    change_series(desk, order, dropoff_at="facility")

    assert (typed["addressLine1"], typed["facilityId"]) == ("7 Oak St", None)
    assert kept == typed
    assert Terms.objects.get().dropoff["facilityId"] == str(centre.pk)
    assert Terms.objects.get().dropoff["addressLine1"] == centre.address_line1


def test_needs_change_key_by_key_and_what_has_no_field_stays(centre: Facility, rider: Rider, desk: Client) -> None:
    there = {
        "mobility": "wheelchair",
        "returnMobility": "stretcher",
        "chair": {"widthIn": 26.5, "weightLb": 45},
        "oxygen": {"uses": True},
    }
    order = cast.order(centre, rider, of={"accommodation": there, "companions": {"escorts": 0, "serviceAnimal": False}})

    change_series(desk, order)
    untouched = StandingOrder.objects.get().version
    change_series(desk, order, mobility="", chair_weight_lb="50", oxygen_uses="", child_seat="no", escorts="1")

    terms = Terms.objects.get()
    assert untouched == 1
    assert terms.accommodation == {
        "returnMobility": "stretcher",
        "chair": {"widthIn": 26.5, "weightLb": 50},
        "childSeat": False,
    }
    assert terms.companions == {"escorts": 1, "serviceAnimal": False}


def test_oxygen_of_the_profile_is_left_at_home(centre: Facility, rider: Rider, desk: Client) -> None:
    factories.AccommodationProfileFactory.create(rider=rider, oxygen_uses=True, oxygen_liters_per_minute=2)
    order = cast.order(centre, rider)

    change_series(desk, order, oxygen_uses="no")

    assert Terms.objects.get().accommodation == {"oxygen": {"uses": False}}
    assert {ride.accommodation["oxygen"]["litersPerMinute"] for ride in cast.rides(order)} == {None}


def test_fields_say_what_the_profile_has(centre: Facility, rider: Rider, desk: Client) -> None:
    factories.AccommodationProfileFactory.create(
        rider=rider, mobility="wheelchair_power", rider_weight_lb=160, equipment=["walker"], service_animal=True
    )
    order = cast.order(centre, rider)

    page = text_of(desk.get(page_of(order, "change/")))

    assert "From profile: Power wheelchair" in page
    assert "From profile: Yes" in page
    assert "If blank, from profile: 160." in page
    assert "Separate with commas. If blank, from profile: walker." in page


def test_dispatcher_notes_are_hidden_from_planners_and_remain(centre: Facility, rider: Rider, planner: Client) -> None:
    order = cast.order(centre, rider, of={"accommodation": {"dispatcherNotes": "Secret one"}})
    StandingOrder.objects.update(dispatcher_notes="Secret two")

    pages = [planner.get(page_of(order, more)).content.decode() for more in ("", "change/")]
    change_series(planner, order, driver_notes="Ring")

    assert [page for page in pages if "Secret" in page] == []
    order.refresh_from_db()
    assert (order.driver_notes, order.dispatcher_notes) == ("Ring", "Secret two")
    assert Terms.objects.get().accommodation == {"dispatcherNotes": "Secret one"}


def test_drivers_are_listed_by_name_first_name_for_planners(
    centre: Facility, rider: Rider, desk: Client, planner: Client
) -> None:
    van = factories.VehicleFactory.create(license_plate="CNR 17")
    with_van = factories.DriverFactory.create(first_name="Marek", last_name="Zelinski", default_vehicle=van)
    without = factories.DriverFactory.create(first_name="Ann", last_name="Abbot")
    factories.DriverFactory.create(last_name="Gone", activation="pending")
    order = cast.order(centre, rider)

    desk_sees, planner_sees = (
        [str(name) for _pk, name in _form_of(client, order).fields["driver_0"].choices] for client in (desk, planner)
    )

    assert desk_sees == ["None", "Abbot, Ann", "Zelinski, Marek"]
    assert planner_sees == ["None", f"Ann …{str(without.pk)[-4:]}", "Marek, CNR 17"]
    assert with_van.pk != without.pk


def test_drivers_change_their_order_and_one_field_is_to_spare(centre: Facility, rider: Rider, desk: Client) -> None:
    drivers = [factories.DriverFactory.create() for _ in range(3)]
    order = cast.order(centre, rider, preferred_driver_ids=tuple(one.pk for one in drivers))
    Driver.objects.filter(pk=drivers[2].pk).update(activation="pending")

    fields = [name for name in _form_of(desk, order).fields if name.startswith("driver_") and name[-1].isdigit()]
    change_series(desk, order, driver_0=str(drivers[1].pk), driver_1=str(drivers[0].pk))

    order.refresh_from_db()
    assert fields == ["driver_0", "driver_1", "driver_2", "driver_3"]
    assert order.preferred_driver_ids == [drivers[1].pk, drivers[0].pk, drivers[2].pk]


def test_driver_who_is_no_more_is_kept_without_a_name(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)
    lost = uuid7()
    StandingOrder.objects.update(preferred_driver_ids=[lost])

    page = desk.get(page_of(order, "change/"))

    assert _folds(page)["Preferred drivers"] == (False, "A driver outside your access")


def test_way_back_ends_elsewhere_is_kept_and_brought_back(centre: Facility, rider: Rider, desk: Client) -> None:
    _add(desk, centre, rider, return_to="saved-0", return_access_code="bell 3")
    order, made = StandingOrder.objects.get(), Terms.objects.get()

    change_series(desk, order, return_access_code="bell 4")
    changed = Terms.objects.get()
    change_series(desk, order, return_to="beginning")

    assert made.return_dropoff is not None
    assert (made.return_dropoff["addressLine1"], made.return_dropoff_access) == ("9 Elm St", "bell 3")
    assert (changed.return_dropoff, changed.return_dropoff_access) == (made.return_dropoff, "bell 4")
    assert (Terms.objects.get().return_dropoff, Terms.objects.get().return_dropoff_access) == (None, "")


def test_later_terms_keep_where_their_way_back_ends(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)
    later = MONDAY + dt.timedelta(days=7)
    edit_order.change(order_id=order.pk, terms={"return_dropoff": rider.saved_places[0]}, from_date=later, **TOLD)

    change_series(desk, order, chair_time="11:00")

    ends = [row.return_dropoff for row in Terms.objects.order_by("from_date")]
    assert [end and end["addressLine1"] for end in ends] == [None, "9 Elm St"]
