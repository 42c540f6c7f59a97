"""Permissions of schedules: those of the owner, checked at each run."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.core import mail

from apps.accounts.models import Alert, User
from apps.accounts.rules.roles import TokenRole, UserRole
from apps.accounts.services.authentication import principal_of
from apps.exports.destinations.errors import UploadError, UploadErrorCode
from apps.exports.models import Export, ExportDestination, ReportSchedule
from apps.exports.services import schedule_mails, schedule_runs, schedules
from apps.rides.rules.lifecycle import RideStatus
from tests import factories
from tests.callers import api_with
from tests.exports.places import bucket
from tests.exports.scheduled import (
    DAY,
    Clock,
    Places,
    by_of,
    exports_daily,
    ids,
    keep,
    person,
    reports_weekly,
    stand_in,
    tick,
    to_bucket,
    told,
)
from tests.factories import NOW
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db
DUE = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)  # six in the morning in Chicago, the day after NOW


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORTS_DIR = str(tmp_path / "exports")
    settings.EXPORTS_PER_HOUR = 1000
    return tmp_path / "exports"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Places:
    return stand_in(monkeypatch)


def test_owner_who_left_while_the_export_was_made_is_refused(places: Places) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE)
    schedule_runs.work(clock=clock)
    Export.objects.update(state="failed", error_code="no_longer_permitted")

    tick(clock)

    assert told(schedule) == [("2026-11-20", "refused", "not_permitted")]


def test_refused_manual_run_preserves_the_pause_reason(places: Places) -> None:
    owner = person()
    schedule = to_bucket(owner)
    schedules.pause(schedule_id=schedule.pk, by=by_of(owner), at=NOW)
    schedules.run_now(schedule_id=schedule.pk, by=by_of(owner), at=NOW)
    User.objects.filter(pk=owner.pk).update(is_active=False)

    tick(Clock(NOW))

    schedule.refresh_from_db()
    assert told(schedule) == [("2026-11-19", "refused", "not_permitted")]
    assert schedule.paused_for == "by_people"


LOSSES: dict[str, dict[str, Any]] = {
    "left": {"is_active": False},
    "role": {"role": UserRole.PLANNER},
    "level": {"role": UserRole.ANALYST},
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("moment", ["before it is made", "before it is sent"])
def test_owner_who_lost_a_right_is_refused_and_admins_alerted(places: Places, loss: str, moment: str) -> None:
    owner = person()
    schedule, clock = to_bucket(owner, phi=2), Clock(DUE)
    if moment == "before it is sent":
        schedule_runs.work(clock=clock)
    User.objects.filter(pk=owner.pk).update(**LOSSES[loss])

    tick(clock)

    schedule.refresh_from_db()
    assert told(schedule) == [("2026-11-20", "refused", "not_permitted")]
    assert (schedule.active, schedule.paused_for) == (False, "not_permitted")
    assert places.puts == []
    assert "its owner no longer has access" in Alert.objects.get().text
    assert ("made" if Export.objects.filter(state="ready").exists() else "not made") == (
        "made" if moment == "before it is sent" and loss != "left" else "not made"
    )
    told_owners = schedule_mails.send_notices(at=clock.at)
    assert told_owners == (0 if loss == "left" else 1)  # former users are not notified


def test_owner_who_reaches_less_is_refused() -> None:
    here, there = factories.FacilityFactory.create_batch(2)
    owner = person(UserRole.PLANNER)
    owner.facilities.set([here, there])
    schedule = keep(reports_weekly(recipients=ids(owner)), owner)
    owner.facilities.set([here])

    tick(Clock(dt.datetime(2026, 11, 23, 13, tzinfo=dt.UTC)))

    assert told(schedule) == [("2026-11-22", "refused", "not_permitted")]
    assert mail.outbox == []


def test_facility_that_is_gone_refuses_its_export(places: Places) -> None:
    facility = factories.FacilityFactory.create()
    schedule = to_bucket(person(), filters={"facility_id": facility.pk})
    facility.delete()

    tick(Clock(DUE))

    assert told(schedule) == [("2026-11-20", "refused", "not_permitted")]


def test_rotated_token_runs_as_successor_revoked_is_refused(places: Places) -> None:
    api = api_with(TokenRole.BILLING_READONLY)
    place = ExportDestination.objects.first() or to_bucket(person()).destination
    assert place is not None
    ReportSchedule.objects.all().delete()
    schedule = schedules.create(request=exports_daily(destination_id=place.pk), by=principal_of(api.token), at=NOW)
    newer = api_with(TokenRole.BILLING_READONLY, client=api.token.client, replaces=api.token)
    api.token.overlap_until = NOW
    api.token.save()
    clock = Clock(DUE)
    tick(clock)
    by_successor = Export.objects.get().created_by
    newer.token.revoked_at, newer.token.revoked_reason = NOW, "over"
    newer.token.save()
    clock.at += DAY
    tick(clock)

    assert by_successor == f"token:{newer.token.pk}"
    assert told(schedule) == [("2026-11-20", "done", ""), ("2026-11-21", "refused", "not_permitted")]
    assert schedule_mails.send_notices(at=clock.at) == 0  # no recipient has an address


def test_destination_that_takes_no_rider_data_any_more_gets_none(places: Places) -> None:
    schedule, clock = to_bucket(person(), phi=2), Clock(DUE)
    ExportDestination.objects.update(phi_agreed_at=None, phi_agreed_by="")

    tick(clock)

    assert (told(schedule), places.puts) == ([("2026-11-20", "failed", "destination_gone")], [])


def test_file_with_riders_is_not_sent_to_place_without_phi(places: Places) -> None:
    schedule, clock = to_bucket(person(), phi=2), Clock(DUE)
    places.refusal = UploadError(UploadErrorCode.UNREACHABLE, retryable=True)
    tick(clock)
    tried = list(places.puts)
    ReportSchedule.objects.filter(pk=schedule.pk).update(phi=0, destination=bucket(name="Another"))
    places.refusal = None
    clock.pass_(minutes=1)
    tick(clock)

    assert (len(tried), places.puts, places.files) == (1, tried, {})
    assert told(schedule) == [("2026-11-20", "failed", "destination_gone")]


def test_schedule_without_riders_exports_no_rider_columns(places: Places) -> None:
    ride = ride_in(RideStatus.COMPLETED)
    to_bucket(person())

    tick(Clock(DUE))

    (content,) = places.files.values()
    assert ride.rider.last_name not in content.decode()
    assert "riderLastName" not in content.decode().splitlines()[0]
