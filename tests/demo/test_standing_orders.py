"""Standing orders of the demo: the source of its dialysis rides, with examples of every change."""

import datetime as dt
from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from apps.audit.models import AuditEntry
from apps.demo import loading, standing_orders
from apps.demo.loading import DayRange
from apps.events.models import Event
from apps.organizations.models import CalendarShift
from apps.recurring.models import Hold, Occurrence, OccurrenceChange, StandingOrder, Terms
from apps.recurring.services import generate_rides
from apps.rides.models import Ride, RideException
from lib.access import system
from tests.demo.demo_days import FRIDAY_NOON

pytestmark = pytest.mark.django_db
TODAY = dt.date(2026, 11, 20)


@pytest.fixture(scope="module", autouse=True)
def orders(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock(), transaction.atomic():
        loading.load(FRIDAY_NOON, by=system(), span=DayRange(past=3, future=2), also=standing_orders.load)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        yield
        transaction.set_rollback(True)


def test_every_ride_to_dialysis_comes_from_an_order() -> None:
    rides = Ride.objects.filter(service_type="dialysis")

    assert rides.exists()
    assert not rides.filter(standing_order_id=None).exists()
    assert set(rides.values_list("standing_order_id", flat=True)) == set(
        StandingOrder.objects.values_list("pk", flat=True)
    )
    assert {tuple(days) for days in Terms.objects.values_list("days_of_week", flat=True)} == {(0, 2, 4), (1, 3, 5)}
    assert Terms.objects.values("chair_time").distinct().count() >= 3
    assert set(rides.values_list("occurrence_state", flat=True)) == {"as_generated", "customized", "shifted"}


def test_rides_that_were_there_are_what_their_order_asks_for() -> None:
    """Otherwise the generator would move them, and change every driver's day."""
    entries = AuditEntry.objects.filter(action="standing_orders.reconcile")
    StandingOrder.objects.update(generated_through=None)
    before = Event.objects.count()

    generate_rides.generate(by=system(), at=FRIDAY_NOON)

    assert entries.filter(details__created__gt=0).count() == StandingOrder.objects.exclude(status="on_hold").count()
    assert not entries.filter(details__has_key="amended").exists()
    assert Event.objects.count() == before
    assert not Occurrence.objects.filter(decision="refused").exists()
    assert Ride.objects.filter(service_date=TODAY + dt.timedelta(days=27), standing_order_id__isnull=False).exists()


def test_one_of_each_thing_is_arranged() -> None:
    assert sorted(StandingOrder.objects.exclude(status="active").values_list("status", flat=True)) == ["on_hold"]
    assert Hold.objects.get().until is None
    assert sorted(OccurrenceChange.objects.values_list("kind", flat=True)) == ["change", "change", "skip"]
    assert OccurrenceChange.objects.exclude(to_date=None).count() == 1
    applied = CalendarShift.objects.in_force().get()
    assert Ride.objects.filter(facility=applied.facility, occurrence_state="shifted").exists()
    assert CalendarShift.objects.filter(applied_at=None).count() == 2
    assert StandingOrder.objects.get(end_date__isnull=False).end_reminder_days == 14
    assert RideException.objects.filter(type="authorization_ending").exists()
    assert not RideException.objects.filter(type="standing_order_conflict").exists()


def test_nothing_of_it_is_told_to_webhooks() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM events_outboxentry")
        assert cursor.fetchone() == (0,)
