"""Rides that were there before the clock looked at any: the migration lets it look at those it has to do with."""

import datetime as dt
import importlib
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.rides.models import Ride
from apps.rides.queries import watched
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.watch_rules import first_look
from apps.rides.services import watching
from lib.access import system
from tests import factories
from tests.locks import wait_until_somebody_waits
from tests.rides.rides_in import ride_in

HOUR = dt.timedelta(hours=1)
fill: Any = importlib.import_module("apps.rides.migrations.0013_rides_to_watch").fill


def run_fill() -> None:
    fill(None, SimpleNamespace(connection=connection))


@pytest.mark.real_clock
@pytest.mark.django_db
def test_rides_that_are_there_are_looked_at_early_enough_and_ended_ones_are_not() -> None:
    now = timezone.now()
    soon, far = now + HOUR, now + 240 * HOUR
    times = [{"pickup_at": at, "window_starts_at": at, "window_ends_at": at} for at in (soon, far)]
    open_rides = [
        ride_in(status, **when)
        for when in times
        for status in (RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED)
    ]
    open_rides.append(ride_in(RideStatus.IN_PROGRESS))
    lacking = ride_in(RideStatus.COMPLETED, missing_documents=["odometer_end"], pickup_at=now - 48 * HOUR,
                      window_starts_at=now - 48 * HOUR, window_ends_at=now - 47 * HOUR)  # fmt: skip
    ended = [ride_in(status) for status in (RideStatus.COMPLETED, RideStatus.CANCELLED, RideStatus.NO_SHOW)]
    long_ago = ride_in(RideStatus.COMPLETED, missing_documents=["odometer_end"], pickup_at=now - 1000 * HOUR,
                       window_starts_at=now - 1000 * HOUR, window_ends_at=now - 999 * HOUR)  # fmt: skip
    Ride.objects.update(watch_at=None)

    run_fill()

    for ride in Ride.objects.filter(pk__in=[one.pk for one in open_rides]):
        first = first_look(watched.facts_of(ride))
        assert ride.watch_at is not None
        assert first is not None
        assert ride.watch_at <= max(first, timezone.now())
    waits = Ride.objects.filter(watch_at__gt=now + HOUR).values_list("pickup_at", flat=True)
    assert set(waits) == {far}  # not all in one go
    assert Ride.objects.get(pk=lacking.pk).watch_at is not None
    assert not Ride.objects.filter(pk__in=[*(one.pk for one in ended), long_ago.pk], watch_at__isnull=False).exists()


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_ride_that_is_being_changed_meanwhile_is_not_forgotten() -> None:
    taken, free = ride_in(RideStatus.ASSIGNED), ride_in(RideStatus.ASSIGNED)
    Ride.objects.update(watch_at=None)
    locked = threading.Event()

    def change() -> None:
        try:
            with transaction.atomic():
                Ride.objects.select_for_update().get(pk=taken.pk)
                locked.set()
                wait_until_somebody_waits()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        changing = other.submit(change)
        locked.wait(60)
        run_fill()
        changing.result()

    assert not Ride.objects.filter(pk__in=[taken.pk, free.pk], watch_at=None).exists()


@pytest.mark.real_clock
@pytest.mark.django_db
def test_ride_that_somebody_books_without_a_word_of_the_clock_is_looked_at_at_once() -> None:
    """Such as a service of the version before, beside the migration."""
    ride = factories.RideFactory.create(pickup_at=timezone.now() + 100 * HOUR)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE rides_ride SET watch_at = DEFAULT WHERE id = %s", [ride.pk])

    watching.watch(by=system(), at=timezone.now() + HOUR)

    ride.refresh_from_db()
    assert ride.watch_at == ride.pickup_at - 48 * HOUR
