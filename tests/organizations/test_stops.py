"""Stops: one schema for every place of a ride."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.organizations.rules import stops

EMPTY = {
    "facilityId": None,
    "name": "",
    "addressLine1": "",
    "addressLine2": "",
    "city": "",
    "state": "",
    "postalCode": "",
    "lat": None,
    "lng": None,
    "entranceId": None,
    "entranceText": "",
    "unit": "",
    "room": "",
    "instructions": "",
    "contact": None,
    "steps": 0,
    "elevator": False,
    "stairEquipment": "none",
    "loadMinutes": None,
}
ID = UUID("01935f00-0000-7000-8000-000000000001")
HOME = {"addressLine1": "1418 N Canary Ave", "city": "Chicago", "state": "IL", "postalCode": "60622"}


def test_normal_stop_has_every_key_in_order() -> None:
    assert stops.normal({}) == EMPTY
    assert tuple(stops.normal({})) == stops.KEYS == tuple(EMPTY)
    assert stops.normal(dict.fromkeys(EMPTY)) == EMPTY


def test_normal_stop_rounds_coordinates_and_completes_contact() -> None:
    stop = stops.normal(
        {
            "facilityId": ID,
            "entranceId": str(ID),
            "lat": Decimal("41.88090049"),
            "lng": -87.63380051,
            "contact": {"name": "Front desk", "ext": None},
        }
    )

    assert stop == {
        **EMPTY,
        "facilityId": str(ID),
        "entranceId": str(ID),
        "lat": 41.8809,
        "lng": -87.633801,
        "contact": {"name": "Front desk", "phone": "", "ext": "", "role": ""},
    }


def test_access_code_is_read_apart_and_never_stays_in_the_stop() -> None:
    given_stop = {**HOME, "accessCode": "gate 4417#"}

    assert "4417" not in str(stops.normal(given_stop))
    assert stops.access_code(given_stop) == "gate 4417#"
    assert stops.access_code(HOME) == ""


@given(st.dictionaries(st.sampled_from(["name", "unit", "room", "city", "instructions"]), st.text(max_size=10)))
def test_normal_form_is_reached_in_one_step(given_stop: dict[str, Any]) -> None:
    stop = stops.normal(given_stop)

    assert stops.normal(stop) == stop


def test_stop_at_facility_takes_its_address_plus_own_details() -> None:
    place = stops.normal({**HOME, "name": "St. Brigid", "lat": 41.9, "lng": -87.6, "facilityId": ID})

    stop = stops.at_facility(stops.normal({"facilityId": ID, "unit": "4 West", "room": "412"}), place)

    assert stop == {**place, "unit": "4 West", "room": "412"}


def test_stop_with_an_address_of_its_own_keeps_all_of_it() -> None:
    place = stops.normal({**HOME, "name": "St. Brigid", "lat": 41.9, "lng": -87.6})
    annex = stops.normal({"facilityId": ID, "addressLine1": "9 Annex Way", "city": "Cicero"})

    assert stops.at_facility(annex, place) == annex


AT_HOME = stops.normal(
    {**HOME, "lat": 41.9, "lng": -87.6, "unit": "2", "contact": {"name": "Ann", "phone": "+13125550100"}}
)
AT_DIALYSIS = stops.normal({**HOME, "name": "Lakeview", "facilityId": ID, "entranceId": ID, "lat": 41.9, "lng": -87.6})


@pytest.mark.parametrize(
    ("stop", "changes", "different"),
    [
        (AT_HOME, {}, {}),
        (AT_HOME, {"unit": "3", "name": "Mum"}, {"unit": "3", "name": "Mum"}),
        (AT_HOME, {"unit": None}, {"unit": ""}),
        (
            AT_HOME,
            {"contact": {"ext": "5"}},
            {"contact": {"name": "Ann", "phone": "+13125550100", "ext": "5", "role": ""}},
        ),
        (AT_HOME, {"contact": None}, {"contact": None}),
        (AT_HOME, {"city": "Chicago"}, {}),
        (AT_HOME, {"city": "Cicero"}, {"city": "Cicero", "lat": None, "lng": None}),
        (AT_HOME, {"addressLine1": "9 Elm", "lat": 1, "lng": 2}, {"addressLine1": "9 Elm", "lat": 1.0, "lng": 2.0}),
        (
            AT_DIALYSIS,
            {"facilityId": None, "addressLine1": "9 Elm", "city": "Cicero"},
            {
                "facilityId": None,
                "entranceId": None,
                "name": "",
                "addressLine1": "9 Elm",
                "city": "Cicero",
                "state": "",
                "postalCode": "",
                "lat": None,
                "lng": None,
            },
        ),
    ],
)
def test_merge_preserves_omitted_and_drops_stale_place_fields(
    stop: dict[str, Any], changes: dict[str, Any], different: dict[str, Any]
) -> None:
    assert stops.normal(stops.merged(stop, changes)) == {**stop, **different}


def test_merge_into_nothing_is_the_stop_itself() -> None:
    assert stops.normal(stops.merged({}, HOME)) == stops.normal(HOME)


@pytest.mark.parametrize(
    ("given_stop", "fields"),
    [
        (HOME, []),
        ({"lat": 41.9, "lng": -87.6}, []),
        ({}, ["addressLine1"]),
        ({"addressLine1": "1418 N Canary Ave"}, ["city"]),
        ({"lat": 41.9}, ["addressLine1", "lng"]),
        ({**HOME, "lng": -87.6}, ["lat"]),
        ({**HOME, "entranceId": ID}, ["entranceId"]),
        ({**HOME, "entranceId": ID, "facilityId": ID}, []),
        ({**HOME, "contact": {"phone": "312 555 0100"}}, ["contact.phone"]),
        ({**HOME, "contact": {"phone": "+13125550100"}}, []),
        ({**HOME, "contact": {"name": "Front desk"}}, []),
    ],
)
def test_problems_name_the_field(given_stop: dict[str, Any], fields: list[str]) -> None:
    found = [problem.field for problem in stops.problems(stops.normal(given_stop), path="pickup")]

    assert found == [f"pickup.{field}" for field in fields]


@pytest.mark.parametrize(
    ("phone", "valid"),
    [
        ("+13125550100", True),
        ("+49301234", True),
        ("+1312555", True),
        ("+131255", False),
        ("+1234567890123456", False),
        ("+03125550100", False),
        ("13125550100", False),
        ("+1 312 555 0100", False),
        ("+13125550100\n", False),
        ("+1312555010\N{ARABIC-INDIC DIGIT ZERO}", False),
        ("", False),
    ],
)
def test_phone_is_e164_or_not(phone: str, valid: bool) -> None:
    assert stops.is_e164(phone) is valid
