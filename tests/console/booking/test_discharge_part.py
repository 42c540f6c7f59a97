"""Details of a discharge at booking: its entrance, the receiving party, and the checklist."""

from typing import Any

import pytest
from django.test import Client

from apps.console.booking.discharge_fields import ITEMS
from apps.console.ride import labels as ride_labels
from apps.organizations.models import Entrance, Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from tests import factories
from tests.console.booking.desk import BOOK, book, sent
from tests.console.visits import text_of

NO_PHONE = "This is not a phone number. Write it like (201) 555-0123, without an extension."

pytestmark = pytest.mark.django_db


@pytest.fixture
def door(hospital: Facility) -> Entrance:
    return Entrance.objects.create(facility=hospital, name="East lobby")


def _details() -> dict[str, Any]:
    return Ride.objects.get().discharge or {}


def test_every_line_of_the_checklist_can_be_ticked() -> None:
    assert list(ITEMS.values()) == list(ride_labels.CHECKLIST)
    assert list(ITEMS)[:2] == ["item_order_signed", "item_meds_in_hand"]


def test_door_who_receives_and_what_is_there_reach_the_ride(desk: Client, grace: Rider, door: Entrance) -> None:
    book(
        desk,
        f"?rider={grace.pk}",
        clock="1430",
        entrance=str(door.pk),
        receiving_name="Sunrise Care",
        receiving_phone="312 555 0188",
        receiving_by="17:00",
        item_order_signed="on",
        item_paperwork="on",
    )

    details = _details()
    assert details["pickupEntranceId"] == str(door.pk)
    assert Ride.objects.get().pickup["entranceId"] == str(door.pk)  # where drivers see it
    assert details["receiving"] == {
        "name": "Sunrise Care",
        "phone": "+13125550188",
        "acceptBy": "2026-11-20T23:00:00Z",
    }
    assert details["checklist"] == {"orderSigned": True, "paperwork": True}
    assert "East lobby" in text_of(desk.get(f"/console/rides/{Ride.objects.get().pk}/"))


def test_what_is_not_said_is_not_there(desk: Client, grace: Rider, door: Entrance) -> None:
    book(desk, f"?rider={grace.pk}", clock="1430")

    assert not {"pickupEntranceId", "receiving", "checklist"} & set(_details())


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({"receiving_by": "25:00"}, {"receiving_by": "Enter a time such as 14:30, 2:30p, +45 or now."}),
        (
            {"receiving_phone": "?"},
            {"receiving_phone": NO_PHONE},
        ),
        (
            {"entrance": "door", "pickup_from": "saved-0"},
            {"entrance": "This entrance belongs to the facility, but the pickup is somewhere else."},
        ),
    ],
)
def test_what_is_wrong_of_it_unfolds_it(
    desk: Client, grace: Rider, door: Entrance, asked: dict[str, str], wrong: dict[str, str]
) -> None:
    given = {name: str(door.pk) if value == "door" else value for name, value in asked.items()}
    response = book(desk, f"?rider={grace.pk}", clock="1430", **given)

    form = response.context["form"]
    assert {name: said[0] for name, said in form.errors.items()} == wrong
    assert form.more_discharge_has_errors
    assert Ride.objects.count() == 0


def test_door_of_another_facility_is_none_of_the_choices(desk: Client, grace: Rider, door: Entrance) -> None:
    theirs = Entrance.objects.create(facility=factories.FacilityFactory.create(), name="Theirs")

    response = book(desk, f"?rider={grace.pk}", clock="1430", entrance=str(theirs.pk))

    assert list(response.context["form"].errors) == ["entrance"]
    assert "Theirs" not in text_of(desk.get(BOOK))


def test_entrance_removed_meanwhile_is_refused_by_its_field(
    desk: Client, grace: Rider, door: Entrance, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = sent(desk, f"?rider={grace.pk}", clock="1430", entrance=str(door.pk))
    monkeypatch.setattr("apps.rides.services.legs.bookings.entrances_of", lambda _named: {})

    response = desk.post(BOOK, form)

    assert list(response.context["form"].errors) == ["entrance"]


def test_what_is_filled_in_is_said_while_it_is_folded_away(desk: Client, grace: Rider, door: Entrance) -> None:
    form = sent(desk, f"?rider={grace.pk}", entrance=str(door.pk), receiving_name="Sunrise", item_belongings="on")

    shown = desk.post(BOOK, form | {"do": "look"})

    assert "Entrance, receiving contact, checklist East lobby, Sunrise, Belongings" in text_of(shown)
    assert shown.context["form"].more_discharge_has_errors is False


def test_another_reason_or_facility_asks_for_no_door_of_this_one(
    desk: Client, hospital: Facility, grace: Rider, door: Entrance
) -> None:
    typed = sent(desk, f"?rider={grace.pk}", entrance=str(door.pk))
    other = factories.FacilityFactory.create(name="Zeta Hospital")
    Entrance.objects.create(facility=other, name="North door")
    hospital.members.first().facilities.add(other)  # type: ignore[union-attr]  # the row exists

    dialysis = desk.post(BOOK, typed | {"do": "preset:dialysis"})
    moved = desk.post(BOOK, typed | {"do": "facility", "facility": str(other.pk)})

    assert "East lobby" not in text_of(dialysis)
    assert "North door" in text_of(moved)
    assert moved.context["form"]["entrance"].value() in (None, "")
