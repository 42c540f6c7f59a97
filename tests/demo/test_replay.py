"""Predicted pickups against the simulator's truth: half an hour ahead, they are nearer to it than the plan."""

import datetime as dt
from statistics import median
from uuid import UUID

import pytest

from apps.demo import simulator
from apps.demo.loading import DayRange
from apps.fleet.models import Driver
from apps.rides.models import Ride
from apps.rides.queries.driver_timelines import driver_timelines
from tests.demo.demo_days import loaded

pytestmark = [pytest.mark.django_db, pytest.mark.untraced]
MORNING = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)
STEP = dt.timedelta(minutes=5)
AHEAD = dt.timedelta(minutes=30)


def test_pickups_are_predicted_half_an_hour_ahead() -> None:
    predictions: dict[tuple[UUID, dt.datetime], dt.datetime] = {}
    with loaded(MORNING, DayRange(past=0, future=0)):
        driver_ids = list(Driver.objects.values_list("pk", flat=True))
        for number in range(1, 22):
            at = MORNING + number * STEP
            simulator.play(at=at)
            for timeline in driver_timelines(driver_ids, at=at, until=at + dt.timedelta(hours=2)).values():
                for ride in timeline.rides:
                    if ride.pickup_at is not None:
                        predictions[ride.ride_id, at] = ride.pickup_at
        arrivals = Ride.objects.filter(arrived_pickup_at__gt=MORNING + AHEAD + STEP, driver__isnull=False)
        errors = []
        for ride_id, planned, arrived in arrivals.values_list("pk", "pickup_at", "arrived_pickup_at"):
            assert arrived is not None
            at = MORNING + (arrived - AHEAD - MORNING) // STEP * STEP
            if (ride_id, at) in predictions:
                predicted = predictions[ride_id, at]
                errors.append((abs(predicted - arrived) / STEP * 5, abs(planned - arrived) / STEP * 5))

    of_prediction, of_plan = (median(column) for column in zip(*errors, strict=True))
    # docs/benchmarks.md has the figures; half of the error of the plan is the goal.
    assert len(errors) > 30
    assert of_prediction <= 6
    assert of_prediction < 0.8 * of_plan
