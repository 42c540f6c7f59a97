"""Instants on pages: in the zone of the page, in UTC for machines, and relative to now."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.console.templatetags.moments import ago, distance, minutes, moment, since
from tests.factories import NOW

CHICAGO = ZoneInfo("America/Chicago")


@pytest.mark.parametrize(
    ("shape", "text"), [("minute", "Fri, Nov 20, 09:00"), ("second", "Fri, Nov 20, 09:00:00"), ("clock", "09:00")]
)
def test_moment_is_written_in_the_zone_of_the_page(shape: str, text: str) -> None:
    with timezone.override(CHICAGO):
        assert moment(NOW, shape) == f'<time datetime="2026-11-20T15:00:00Z">{text}</time>'


def test_what_never_was_is_a_dash() -> None:
    dash = '<span class="muted">\N{EN DASH}</span>'

    assert [moment(None), ago(None), since(None)] == [dash] * 3


def test_distance_stands_with_its_clock_time() -> None:
    at = NOW - dt.timedelta(minutes=5)

    with timezone.override(CHICAGO):
        written = '<time datetime="2026-11-20T14:55:00Z">Fri, Nov 20, 08:55</time>'
        assert ago(at) == f'{written}, <span class="muted nowrap">5 min ago</span>'
        assert since(at) == f'5 min ago <span class="sub">{written}</span>'


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (3_600, "1 h ago"),
        (86_400, "1 day ago"),
        (172_800, "2 days ago"),
        (-1, "in a moment"),
        (-60, "in 1 min"),
        (-7_200, "in 2 h"),
        (-90_000, "in 1 day"),
    ],
)
def test_distance_is_said_in_its_largest_unit(seconds: int, words: str) -> None:
    assert distance(NOW - dt.timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 min"), (59, "59 min"), (60, "1 h"), (61, "1 h 1 min"), (3_600, "60 h")]
)
def test_length_of_time_is_said_in_hours_and_minutes(count: int, words: str) -> None:
    assert minutes(count) == words
