"""Labels of time zones."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from django.utils.translation import override

from apps.organizations.zones import known_zones
from lib import zone_labels

WINTER, SUMMER = dt.datetime(2026, 11, 20, 15, tzinfo=dt.UTC), dt.datetime(2026, 7, 1, 15, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("zone", "short", "long"),
    [
        ("America/Chicago", "CT", "Central Time"),
        ("America/Indiana/Knox", "CT", "Central Time"),
        ("America/Phoenix", "MST", "Arizona Time"),
        ("Pacific/Honolulu", "HST", "Hawaii Time"),
        ("Asia/Dubai", "GMT+4", "Dubai time"),
        ("Asia/Kathmandu", "GMT+5:45", "Kathmandu time"),
        ("America/Sao_Paulo", "GMT-3", "Sao Paulo time"),
        ("UTC", "UTC", "UTC"),
    ],
)
def test_zones_have_the_names_that_people_use(zone: str, short: str, long: str) -> None:
    for at in (WINTER, SUMMER):
        assert zone_labels.short(at.astimezone(ZoneInfo(zone))) == zone_labels.short_name(zone, at) == short
    assert zone_labels.long_name(zone) == long


def test_no_zone_is_labeled_by_its_iana_name_or_digits() -> None:
    for zone in known_zones() - {"UTC"}:
        labels = (zone_labels.long_name(zone), *(zone_labels.short_name(zone, at) for at in (WINTER, SUMMER)))
        assert not [label for label in labels if "/" in label or "_" in label or label[0] in "+-"]


def test_hour_that_comes_twice_has_two_labels() -> None:
    both = [dt.datetime(2026, 11, 1, 1, 30, fold=fold, tzinfo=ZoneInfo("America/Chicago")) for fold in (0, 1)]

    assert [zone_labels.short(local) for local in both] == ["CDT", "CST"]


def test_options_with_one_name_are_told_apart_by_city() -> None:
    zones = ["America/Indiana/Knox", "America/Denver", "America/Chicago"]

    assert zone_labels.choices(zones, iana=False) == [
        ("America/Chicago", "Central Time (Chicago)"),
        ("America/Indiana/Knox", "Central Time (Knox)"),
        ("America/Denver", "Mountain Time"),
    ]
    assert ("America/Denver", "Mountain Time (America/Denver)") in zone_labels.choices(zones, iana=True)
    with override("es"):
        assert zone_labels.choices(["America/Denver"], iana=False) == [("America/Denver", "Hora de la Montaña")]
