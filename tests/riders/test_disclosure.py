"""Fields of a rider by PHI level."""

import pytest

from apps.riders.api.serializers import RiderOut
from apps.riders.rules import accommodation, disclosure
from apps.riders.schemas.accommodation import AccommodationIn, AccommodationOut
from apps.riders.schemas.rider_input import RiderIn
from lib.access import Phi


def test_every_field_of_a_rider_has_a_level() -> None:
    assert set(RiderOut().fields) == set(disclosure.FIELDS)
    assert set(RiderIn().fields) <= set(disclosure.FIELDS)


def test_accommodation_has_the_same_keys_in_out_and_in_the_rules() -> None:
    assert tuple(AccommodationOut().fields) == accommodation.KEYS
    assert tuple(AccommodationIn().fields) == tuple(
        key for key in accommodation.KEYS if key not in accommodation.COMPUTED
    )


def test_levels_see_what_the_table_says() -> None:
    none, limited, full = (disclosure.visible_fields(phi) for phi in Phi)

    assert none == {"id", "status", "mobility", "facilityIds", "version", "createdAt", "updatedAt"}
    assert limited - none == {
        "externalIds",
        "firstName",
        "lastName",
        "preferredName",
        "medicaidId",
        "memberId",
        "verified",
    }
    assert full == set(disclosure.FIELDS)


@pytest.mark.parametrize(
    ("phi", "fields", "refused"),
    [
        (Phi.NONE, ["id", "status"], []),
        (Phi.NONE, ["id", "lastName", "phones"], ["lastName", "phones"]),
        (Phi.LIMITED, ["lastName", "medicaidId"], []),
        (Phi.LIMITED, ["phones"], ["phones"]),
        (Phi.FULL, list(disclosure.FIELDS), []),
        (Phi.NONE, ["unheardOf"], []),
    ],
)
def test_fields_above_the_level_are_refused_by_name(phi: Phi, fields: list[str], refused: list[str]) -> None:
    try:
        disclosure.require(phi, fields)
        named: list[str | None] = []
    except disclosure.PhiNotPermitted as refusal:
        named = [detail.field for detail in refusal.details]

    assert named == refused


def test_refusal_says_which_level_it_takes() -> None:
    with pytest.raises(disclosure.PhiNotPermitted) as refusal:
        disclosure.require(Phi.NONE, ["phones", "lastName"])

    assert [detail.also for detail in refusal.value.details] == [
        {"requiredPhiLevel": "full"},
        {"requiredPhiLevel": "limited"},
    ]
    assert refusal.value.code.name == "PHI_NOT_PERMITTED"


def test_masked_codes_are_partly_shown_and_need_full_to_write() -> None:
    disclosure.require(Phi.LIMITED, ["medicaidId"])
    with pytest.raises(disclosure.PhiNotPermitted):
        disclosure.require_to_write(Phi.LIMITED, ["medicaidId"])
    disclosure.require_to_write(Phi.FULL, ["medicaidId"])

    assert disclosure.masked("IL44719925", Phi.FULL) == "IL44719925"
    assert disclosure.masked("IL44719925", Phi.LIMITED) == "••••9925"
    assert disclosure.masked("M-12345", Phi.LIMITED) == "••••"  # the end of a short code is most of it
    assert disclosure.masked("", Phi.LIMITED) == ""


def test_needs_below_full_say_how_somebody_moves_and_no_more() -> None:
    shape = accommodation.complete({"mobility": "stretcher", "driverNotes": "Canary"})

    assert disclosure.accommodation(shape, Phi.FULL) == shape
    assert disclosure.accommodation(shape, Phi.LIMITED) == {"mobility": "stretcher"}
