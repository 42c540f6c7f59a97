"""Retry times of deliveries: the table, exact within its jitter."""

from datetime import timedelta
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.webhooks.rules.schedule import ATTEMPTS, DELAYS, TEST_ATTEMPTS, delay_after

ROLLS = st.floats(0, 1)


def test_the_schedule_is_the_published_one() -> None:
    since_first = [str(moment) for moment in accumulate(DELAYS)]

    assert ATTEMPTS == 13
    assert since_first == [
        "0:00:10",
        "0:00:40",
        "0:02:40",
        "0:07:40",
        "0:22:40",
        "0:52:40",
        "1:52:40",
        "4:52:40",
        "10:52:40",
        "22:52:40",
        "1 day, 22:52:40",
        "2 days, 22:52:40",
    ]


@given(attempt=st.integers(1, 12), roll=ROLLS)
def test_each_wait_stays_within_a_fifth_of_its_delay(attempt: int, roll: float) -> None:
    wait = delay_after(attempt, roll=roll, retry_after=None)

    assert wait is not None
    assert 0.8 <= wait / DELAYS[attempt - 1] <= 1.2


def test_the_dice_reach_both_ends_of_the_jitter() -> None:
    assert delay_after(1, roll=0.0, retry_after=None) == timedelta(seconds=8)
    assert delay_after(1, roll=0.5, retry_after=None) == timedelta(seconds=10)
    assert delay_after(1, roll=1.0, retry_after=None) == timedelta(seconds=12)


def test_after_the_last_attempt_there_is_no_other() -> None:
    assert delay_after(13, roll=0.5, retry_after=timedelta(hours=1)) is None
    assert delay_after(TEST_ATTEMPTS, of=TEST_ATTEMPTS, roll=0.5, retry_after=None) is None


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        (timedelta(seconds=3), timedelta(seconds=10)),  # never sooner than the schedule
        (timedelta(minutes=7), timedelta(minutes=7)),
        (timedelta(days=9), timedelta(hours=24)),  # never longer than a day
    ],
)
def test_a_receiver_may_ask_for_a_longer_wait(asked: timedelta, waits: timedelta) -> None:
    assert delay_after(1, roll=0.5, retry_after=asked) == waits
