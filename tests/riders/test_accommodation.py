"""Needs of riders: their schema, and the values computed from them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.riders.models import AccommodationProfile
from apps.riders.rules import accommodation
from apps.riders.rules.accommodation import Spaces
from apps.riders.rules.needs import AssistLevel, Mobility, OxygenSource, Precautions, Severity
from tests.factories import NOW

EMPTY: dict[str, Any] = {
    "mobility": "ambulatory",
    "returnMobility": None,
    "assistLevel": "door_to_door",
    "handoffRequired": False,
    "mustNotBeLeftAlone": False,
    "chair": {"widthIn": None, "weightLb": None, "provide": False},
    "riderWeightLb": None,
    "combinedWeightLb": None,
    "bariatric": False,
    "oxygen": {"uses": False, "litersPerMinute": None, "source": None},
    "stairs": {"home": 0, "equipment": "none", "secondPerson": False},
    "serviceAnimal": False,
    "childSeat": False,
    "hearing": "none",
    "vision": "none",
    "cognition": "none",
    "speech": "none",
    "precautions": "none",
    "loadMinutes": 3,
    "unloadMinutes": 3,
    "equipment": [],
    "driverNotes": "",
    "dispatcherNotes": "",
}

_severity = st.sampled_from(Severity.values)
_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
_pounds = st.none() | st.integers(0, 2000)


def _tenths(highest: int) -> st.SearchStrategy[float | None]:
    return st.none() | st.integers(0, highest * 10).map(lambda tenths: tenths / 10)


_oxygen = st.just({"uses": False}) | st.fixed_dictionaries(
    {
        "uses": st.just(True),
        "litersPerMinute": _tenths(15),
        "source": st.none() | st.sampled_from(OxygenSource.values),
    }
)
NEEDS = st.fixed_dictionaries(
    {},
    optional={
        "mobility": st.sampled_from(Mobility.values),
        "returnMobility": st.none() | st.sampled_from(Mobility.values),
        "assistLevel": st.sampled_from(AssistLevel.values),
        "handoffRequired": st.booleans(),
        "mustNotBeLeftAlone": st.booleans(),
        "chair": st.none()
        | st.fixed_dictionaries({}, optional={"widthIn": _tenths(60), "weightLb": _pounds, "provide": st.booleans()}),
        "riderWeightLb": _pounds,
        "oxygen": _oxygen,
        "stairs": st.fixed_dictionaries(
            {},
            optional={
                "home": st.integers(0, 100),
                "equipment": st.sampled_from(["none", "ramp", "stair_chair"]),
                "secondPerson": st.booleans(),
            },
        ),
        "serviceAnimal": st.booleans(),
        "childSeat": st.booleans(),
        "hearing": _severity,
        "vision": _severity,
        "cognition": _severity,
        "speech": _severity,
        "precautions": st.sampled_from(Precautions.values),
        "loadMinutes": st.none() | st.integers(0, 120),
        "unloadMinutes": st.none() | st.integers(0, 120),
        "equipment": st.lists(_text, max_size=3),
        "driverNotes": _text,
        "dispatcherNotes": _text,
    },
)


def test_shape_of_a_rider_without_needs_has_every_key() -> None:
    assert accommodation.complete({}) == EMPTY
    assert tuple(accommodation.complete({})) == accommodation.KEYS == tuple(EMPTY)


@given(NEEDS)
def test_shape_survives_a_profile_and_json(needs: dict[str, Any]) -> None:
    shape = accommodation.complete(needs)

    profile = AccommodationProfile(number=1, recorded_at=NOW, **accommodation.columns(shape))

    assert json.loads(json.dumps(accommodation.snapshot(profile))) == shape
    assert accommodation.complete(shape) == shape
    assert accommodation.overridden(shape, {}) == shape


def test_null_is_the_same_as_left_out() -> None:
    nulls = dict.fromkeys(accommodation.KEYS)
    nested = {"chair": {"provide": None}, "oxygen": {"uses": None}, "stairs": {"home": None, "equipment": None}}

    assert accommodation.complete(nulls) == EMPTY
    assert accommodation.complete({**nulls, **nested}) == EMPTY


def test_shape_shares_nothing_with_what_it_was_made_from() -> None:
    needs: dict[str, Any] = {"equipment": ["walker"], "chair": {"weightLb": 40}}
    shape = accommodation.complete(needs)

    shape["equipment"].append("cane")
    shape["chair"]["weightLb"] = 1

    assert needs == {"equipment": ["walker"], "chair": {"weightLb": 40}}
    assert accommodation.complete({})["equipment"] == []


@pytest.mark.parametrize(
    ("mobility", "minutes"),
    [
        ("ambulatory", 3),
        ("ambulatory_assist", 3),
        ("wheelchair_transfer", 8),
        ("wheelchair", 8),
        ("wheelchair_power", 8),
        ("wheelchair_bariatric", 8),
        ("recliner_chair", 8),
        ("stretcher", 15),
        ("stretcher_bariatric", 15),
    ],
)
def test_load_minutes_follow_mobility_unless_given(mobility: str, minutes: int) -> None:
    shape = accommodation.complete({"mobility": mobility, "unloadMinutes": 21})

    assert (shape["loadMinutes"], shape["unloadMinutes"]) == (minutes, 21)


def test_load_minutes_are_known_for_every_mobility() -> None:
    assert {accommodation.default_load_minutes(mobility) for mobility in Mobility.values} == {3, 8, 15}


@pytest.mark.parametrize(
    ("rider", "chair", "combined"), [(None, None, None), (None, 60, None), (150, None, 150), (150, 60, 210)]
)
def test_combined_weight_adds_what_is_known(rider: int | None, chair: int | None, combined: int | None) -> None:
    shape = accommodation.complete({"riderWeightLb": rider, "chair": {"weightLb": chair}})

    assert shape["combinedWeightLb"] == combined


@pytest.mark.parametrize(
    ("needs", "bariatric"),
    [
        ({"riderWeightLb": 300}, False),
        ({"riderWeightLb": 301}, True),
        ({"chair": {"widthIn": 32}}, False),
        ({"chair": {"widthIn": 32.1}}, True),
        ({"riderWeightLb": 299, "chair": {"weightLb": 500}}, False),
        ({"riderWeightLb": 300, "chair": {"weightLb": 500}}, True),
        ({"chair": {"weightLb": 900}}, False),  # no rider is known to sit in it
        ({"mobility": "wheelchair_bariatric"}, True),
        ({"mobility": "stretcher_bariatric"}, True),
        ({"mobility": "stretcher"}, False),
        ({"bariatric": True, "combinedWeightLb": 999}, False),  # computed, not taken
    ],
)
def test_bariatric_rule_holds_at_its_edges(needs: dict[str, Any], bariatric: bool) -> None:
    assert accommodation.complete(needs)["bariatric"] is bariatric


@pytest.mark.parametrize(
    ("mobility", "companions", "expected"),
    [
        ("ambulatory", None, Spaces(1, 0, 0)),
        ("ambulatory_assist", {}, Spaces(1, 0, 0)),
        ("wheelchair_transfer", {}, Spaces(1, 0, 0)),
        ("wheelchair", {}, Spaces(0, 1, 0)),
        ("recliner_chair", {}, Spaces(0, 1, 0)),
        ("stretcher", {}, Spaces(0, 0, 1)),
        ("stretcher_bariatric", {"escorts": 1}, Spaces(1, 0, 1)),
        (
            "wheelchair_power",
            {"escorts": 1, "attendantsProvided": 2, "children": 3, "serviceAnimal": True},
            Spaces(7, 1, 0),
        ),
        ("ambulatory", {"escorts": None, "serviceAnimal": False}, Spaces(1, 0, 0)),
    ],
)
def test_spaces_count_the_rider_and_everyone_who_comes(
    mobility: str, companions: dict[str, Any] | None, expected: Spaces
) -> None:
    assert accommodation.spaces(mobility, companions) == expected


def test_override_merges_objects_and_works_the_rest_out_again() -> None:
    shape = accommodation.complete(
        {
            "mobility": "ambulatory",
            "riderWeightLb": 280,
            "chair": {"widthIn": 24, "weightLb": 40},
            "driverNotes": "Slow.",
        }
    )

    changed = accommodation.overridden(shape, {"mobility": "wheelchair", "chair": {"weightLb": 520}})

    assert changed == {
        **shape,
        "mobility": "wheelchair",
        "chair": {"widthIn": 24.0, "weightLb": 520, "provide": False},
        "combinedWeightLb": 800,
        "bariatric": True,
        "loadMinutes": 8,
        "unloadMinutes": 8,
    }


def test_override_keeps_load_minutes_that_somebody_set() -> None:
    shape = accommodation.complete({"loadMinutes": 12, "unloadMinutes": 4})

    changed = accommodation.overridden(shape, {"mobility": "stretcher", "unloadMinutes": 5})

    assert (changed["loadMinutes"], changed["unloadMinutes"]) == (12, 5)


def test_override_with_null_returns_to_the_default() -> None:
    shape = accommodation.complete({"mobility": "wheelchair", "chair": {"widthIn": 40}, "riderWeightLb": 200})

    changed = accommodation.overridden(shape, {"chair": None, "riderWeightLb": None, "mobility": None})

    assert changed == EMPTY


def test_override_without_oxygen_clears_its_details() -> None:
    shape = accommodation.complete({"oxygen": {"uses": True, "litersPerMinute": 2, "source": "own_tank"}})

    without = accommodation.overridden(shape, {"oxygen": {"uses": False}})
    contrary = accommodation.overridden(shape, {"oxygen": {"uses": False, "litersPerMinute": 3}})

    assert without["oxygen"] == {"uses": False, "litersPerMinute": None, "source": None}
    assert [one.field for one in accommodation.problems(contrary)] == ["accommodation.oxygen.litersPerMinute"]


def test_return_mobility_that_is_the_same_is_said_by_null() -> None:
    shape = accommodation.complete({"mobility": "wheelchair", "returnMobility": "wheelchair"})

    assert shape["returnMobility"] is None


def test_problems_name_oxygen_details_without_oxygen() -> None:
    shape = accommodation.complete({"oxygen": {"litersPerMinute": 2, "source": "own_tank"}})

    found = [problem.field for problem in accommodation.problems(shape)]

    assert found == ["accommodation.oxygen.litersPerMinute", "accommodation.oxygen.source"]
    assert accommodation.problems(accommodation.complete({})) == []
    assert accommodation.problems({**shape, "oxygen": {**shape["oxygen"], "uses": True}}) == []
