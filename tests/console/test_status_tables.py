"""Every table of statuses has an entry for every status."""

from collections.abc import Collection

import pytest

from apps.console.board import labels as board_labels
from apps.console.recurring import labels as recurring_labels
from apps.console.ride import labels as ride_labels
from apps.console.shell import home
from apps.reporting.queries import daily
from apps.rides import labels
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import OPEN, TERMINAL, RideStatus


@pytest.mark.parametrize(
    "table",
    [labels.STATUSES, labels.STORED_STATUSES, ride_labels.STATUSES, daily.STATUSES],
    ids=["labels", "stored labels", "badges", "daily summary"],
)
def test_table_has_every_status(table: Collection[str]) -> None:
    assert set(table) == set(RideStatus)


@pytest.mark.parametrize("status", sorted(OPEN))
def test_board_has_a_state_of_every_open_status(status: RideStatus) -> None:
    assert board_labels.state_of(Ride(status=status, will_call=False))


def test_legs_have_a_badge_of_every_status() -> None:
    # A canceled ride has the badge of the canceled leg.
    assert set(recurring_labels.OPEN_RIDES) == OPEN
    assert set(recurring_labels.ENDED_RIDES) == TERMINAL - {RideStatus.CANCELLED}


def test_home_marks_only_statuses() -> None:
    assert set(home.EDGES) <= set(RideStatus)
