"""Predicted pickups against the simulator's truth: half an hour ahead, they are nearer to it than the plan.

A pickup is when the rider is on board and the vehicle leaves: a driver who comes early waits for the planned time.
"""

import datetime as dt
from statistics import median
from uuid import UUID

import pytest

from apps.demo import simulator
from apps.demo.loading import DayRange
from apps.fleet.models import Driver
from apps.rides.models import Ride
from apps.rides.queries.driver_timelines import driver_timelines
from apps.rides.queries.ride_needs import loading_minutes
from tests.demo.demo_days import loaded

pytestmark = [pytest.mark.django_db, pytest.mark.untraced]
MORNING = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)
STEP = dt.timedelta(minutes=5)
AHEAD = dt.timedelta(minutes=30)


def test_pickups_are_predicted_half_an_hour_ahead() -> None:
    arrivals: dict[tuple[UUID, dt.datetime], dt.datetime] = {}
    with loaded(MORNING, DayRange(past=0, future=0)):
        driver_ids = list(Driver.objects.values_list("pk", flat=True))
        for number in range(1, 26):
            at = MORNING + number * STEP
            simulator.play(at=at)
            for timeline in driver_timelines(driver_ids, at=at, until=at + dt.timedelta(hours=2)).values():
                for ride in timeline.rides:
                    if ride.pickup_at is not None:
                        arrivals[ride.ride_id, at] = ride.pickup_at
        errors = []
        for picked_up in Ride.objects.filter(boarded_at__gt=MORNING + AHEAD + STEP):
            assert picked_up.boarded_at is not None
            at = MORNING + (picked_up.boarded_at - AHEAD - MORNING) // STEP * STEP
            if (picked_up.pk, at) in arrivals:
                boarding = dt.timedelta(minutes=loading_minutes(picked_up))
                of_prediction = abs(arrivals[picked_up.pk, at] + boarding - picked_up.boarded_at)
                of_plan = abs(picked_up.pickup_at + boarding - picked_up.boarded_at)
                errors.append((of_prediction / STEP * 5, of_plan / STEP * 5))

    by_prediction, by_plan = (median(column) for column in zip(*errors, strict=True))
    # docs/benchmarks.md has the figures.
    assert len(errors) > 30
    assert by_prediction <= 6
    assert by_prediction <= 0.5 * by_plan
