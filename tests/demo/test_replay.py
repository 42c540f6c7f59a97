"""Predicted pickups against the simulator's truth: half an hour ahead, they are nearer to it than the plan.

A pickup is when the rider is on board and the vehicle leaves.  Of the plan, that is the planned time and the minutes of
boarding; a driver who comes early boards the rider before and leaves at the planned time.
"""

import datetime as dt
from statistics import mean, median
from uuid import UUID

import pytest

from apps.demo import simulator
from apps.demo.loading import DayRange
from apps.fleet.models import Driver
from apps.rides.models import Ride
from apps.rides.queries.driver_timelines import driver_timelines
from apps.rides.queries.ride_needs import loading_minutes
from tests.demo.demo_days import loaded

pytestmark = [pytest.mark.django_db, pytest.mark.untraced, pytest.mark.nightly]
MORNING = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
STEP = 5 * MINUTE
AHEAD = 30 * MINUTE


def test_pickups_are_predicted_half_an_hour_ahead() -> None:
    boardings: dict[tuple[UUID, dt.datetime], dt.datetime] = {}
    with loaded(MORNING, DayRange(past=0, future=0)):
        driver_ids = list(Driver.objects.values_list("pk", flat=True))
        for number in range(1, 26):
            at = MORNING + number * STEP
            simulator.play(at=at)
            for timeline in driver_timelines(driver_ids, at=at, until=at + dt.timedelta(hours=2)).values():
                for ride in timeline.rides:
                    if ride.boarded_at is not None:
                        boardings[ride.ride_id, at] = ride.boarded_at
        errors = []
        for picked_up in Ride.objects.filter(boarded_at__gt=MORNING + AHEAD + STEP):
            assert picked_up.boarded_at is not None
            at = MORNING + (picked_up.boarded_at - AHEAD - MORNING) // STEP * STEP
            if (picked_up.pk, at) in boardings:
                plan = picked_up.pickup_at + dt.timedelta(minutes=loading_minutes(picked_up))
                predicted = abs(boardings[picked_up.pk, at] - picked_up.boarded_at)
                planned = abs(plan - picked_up.boarded_at)
                errors.append((predicted / MINUTE, planned / MINUTE))

    of_prediction, of_plan = zip(*errors, strict=True)
    print(  # noqa: T201 - figures for docs/benchmarks.md
        f"\n{len(errors)} pickups: median {median(of_prediction):.1f} against {median(of_plan):.1f} min of the plan,"
        f" mean {mean(of_prediction):.1f} against {mean(of_plan):.1f}"
    )
    assert len(errors) > 30
    assert median(of_prediction) <= 6
    assert median(of_prediction) <= 0.5 * median(of_plan)
    assert mean(of_prediction) <= 0.6 * mean(of_plan)
