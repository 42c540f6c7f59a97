"""Loading the demo: at any hour, across a clock change, repeatably, and only on the embedded database."""

import datetime as dt
import json
import stat
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection

from apps.accounts.models import ApiToken, User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.demo import loading
from apps.demo.dice import CHICAGO
from apps.demo.loading import DayRange, ensure
from apps.demo.management.commands import load_demo
from apps.fleet.models import Shift
from apps.organizations.models import Facility
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.access import system
from tests.demo.demo_days import FRIDAY_NOON, digest, loaded

pytestmark = pytest.mark.django_db
ONE_DAY = DayRange(past=0, future=0)


def test_demo_is_history_of_which_no_webhook_tells() -> None:
    with loaded(FRIDAY_NOON, ONE_DAY), connection.cursor() as cursor:
        cursor.execute("SELECT (SELECT count(*) FROM events_event) > 0, (SELECT count(*) FROM events_outboxentry)")

        assert cursor.fetchone() == (True, 0)


@pytest.mark.parametrize("hour", [3, 9])
def test_demo_shows_every_status_on_a_sunday_at_any_hour(hour: int) -> None:
    sunday = dt.datetime(2026, 11, 15, hour + 6, 20, tzinfo=dt.UTC)

    with loaded(sunday, DayRange(past=1, future=0)):
        near = Ride.objects.filter(pickup_at__range=(sunday - dt.timedelta(hours=30), sunday + dt.timedelta(hours=30)))
        statuses = set(near.values_list("status", flat=True))

    assert statuses == set(RideStatus.values)


def test_demo_keeps_chair_times_across_the_change_of_clocks() -> None:
    """On 1 November 2026 clocks go back; a rider with a chair at 06:15 on Friday has it at 06:15 on Monday."""
    monday = dt.datetime(2026, 11, 2, 15, 0, tzinfo=dt.UTC)

    with loaded(monday, DayRange(past=4, future=0)):
        chairs: dict[object, set[dt.time]] = defaultdict(set)
        offsets = set()
        for ride in Ride.objects.filter(service_type="dialysis", leg_type="outbound"):
            assert ride.appointment_at is not None
            standard = ride.service_date >= dt.date(2026, 11, 1)
            seated = ride.appointment_at - dt.timedelta(hours=6 if standard else 5)
            offsets.add(standard)
            chairs[ride.rider_id].add(seated.time())

    assert len(offsets) == 2
    assert {len(times) for times in chairs.values()} == {1}


@pytest.mark.untraced
def test_demo_is_the_same_for_the_same_day() -> None:
    with loaded(FRIDAY_NOON, DayRange(past=1, future=1)):
        first = digest()
    with loaded(FRIDAY_NOON, DayRange(past=1, future=1)):
        second = digest()

    assert first == second
    assert len(first) > 20


@pytest.mark.nightly
@pytest.mark.untraced
def test_demo_of_the_full_span_loads_in_seconds() -> None:
    began = time.perf_counter()

    with loaded(FRIDAY_NOON, DayRange()):
        took = time.perf_counter() - began
        per_day = Counter(Ride.objects.values_list("service_date", flat=True))
        shifts = Shift.objects.values_list("starts_at", "created_at")
        on_duty = Counter(starts_at.astimezone(CHICAGO).date() for starts_at, _created_at in shifts)
        assert all(created_at <= FRIDAY_NOON for _starts_at, created_at in shifts)

    today = FRIDAY_NOON.date()
    assert (min(on_duty), max(on_duty)) == (today - dt.timedelta(days=22), today + dt.timedelta(days=28))
    assert all(count >= 40 for day, count in on_duty.items() if day.weekday() < 5)
    print(f"\nThe demo of {per_day.total()} rides loads in {took:.1f} s")  # noqa: T201 - a figure for the reader of the run
    assert len(per_day) == 29
    assert 12_000 <= per_day.total() <= 15_000
    assert all(450 <= count <= 620 for day, count in per_day.items() if day.weekday() < 5)
    assert all(count < 400 for day, count in per_day.items() if day.weekday() >= 5)


def test_statistics_of_the_demo_may_take_longer_than_a_request() -> None:
    allowed = []

    def watch(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith("ANALYZE"):
            with connection.connection.cursor() as beside:
                allowed.append(beside.execute("SHOW statement_timeout").fetchone()[0])
        return execute(sql, *rest)

    with connection.execute_wrapper(watch):
        loading._analyze()

    assert allowed == ["2min"]


def test_demo_statistics_do_not_wait_for_locks_of_others() -> None:
    with closing(connection.copy()) as other, other.cursor() as beside, connection.cursor() as cursor:
        other.set_autocommit(False)
        beside.execute(
            "LOCK TABLE pg_auth_members IN SHARE UPDATE EXCLUSIVE MODE"
        )  # as the ANALYZE of another database does
        cursor.execute("SET LOCAL lock_timeout = '100ms'")

        loading._analyze()

        cursor.execute("SELECT reltuples >= 0 FROM pg_class WHERE relname = 'rides_ride'")
        assert cursor.fetchone() == (True,)
        other.rollback()


def test_load_demo_refuses_a_database_that_is_not_embedded(settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path  # away from the server's data folder

    with pytest.raises(CommandError, match="only on the embedded database"):
        call_command("load_demo", stdout=StringIO())

    assert not User.objects.exists()
    assert not Facility.objects.exists()
    assert list(tmp_path.iterdir()) == []


def test_ensure_makes_one_account_per_role_and_a_token(settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path

    facts = ensure(by=system(), at=FRIDAY_NOON, span=ONE_DAY)

    assert [entry["role"] for entry in facts["signIns"]] == UserRole.values
    assert {len(set(entry["password"])) > 5 and len(entry["password"]) >= 15 for entry in facts["signIns"]} == {True}
    assert all(entry["email"].endswith("@demo.example") for entry in facts["signIns"])
    assert all(User.objects.get(email=one["email"]).check_password(one["password"]) for one in facts["signIns"])
    assert User.objects.get(role="planner").facilities.count() == 1
    assert User.objects.get(role="fleet_admin").providers.count() == 1
    token = ApiToken.objects.get(client__name="Demo")
    assert (token.role, token.phi_level) == ("full-access", "full")
    assert token.expires_at == FRIDAY_NOON + dt.timedelta(days=90)
    assert token.key_id in facts["token"]
    assert AuditEntry.objects.filter(actor="system", action="demo.load").count() == 1
    assert stat.S_IMODE((tmp_path / "demo-accounts.json").stat().st_mode) == 0o600


def test_ensure_twice_changes_nothing_and_says_the_same(settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    first = ensure(by=system(), at=FRIDAY_NOON, span=ONE_DAY)
    before = digest(), AuditEntry.objects.count()

    second = ensure(by=system(), at=FRIDAY_NOON + dt.timedelta(hours=5), span=ONE_DAY)

    assert second == first
    assert (digest(), AuditEntry.objects.count()) == before


def test_ensure_resets_accounts_when_clear_text_is_lost(settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    first = ensure(by=system(), at=FRIDAY_NOON, span=ONE_DAY)
    (tmp_path / "demo-accounts.json").unlink()

    second = ensure(by=system(), at=FRIDAY_NOON, span=ONE_DAY)

    assert second["token"] != first["token"]
    one = second["signIns"][0]
    assert User.objects.get(email=one["email"]).check_password(one["password"])
    assert json.loads((tmp_path / "demo-accounts.json").read_text()) == second
    assert User.objects.count() == len(UserRole.values)


def test_load_demo_prints_progress_and_writes_accounts_file(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(load_demo, "is_embedded", lambda connection: True)
    monkeypatch.setattr(loading, "ensure", partial(ensure, span=ONE_DAY))
    first, second = StringIO(), StringIO()

    call_command("load_demo", stdout=first)
    call_command("load_demo", "--facts", str(tmp_path / "facts"), stdout=second)

    there = "The demo data of a made-up metro area is there.\n"
    assert first.getvalue() == f"Loading the demo data: riders, drivers and four weeks of rides ...\n{there}"
    assert second.getvalue() == there
    assert json.loads((tmp_path / "facts").read_text()) == json.loads((tmp_path / "demo-accounts.json").read_text())
