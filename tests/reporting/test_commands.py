"""Commands that rebuild and check the rollups, and the task that refreshes them."""

import datetime as dt

import pytest
from django.core.management import CommandError, call_command

from apps.reporting.models import MetricsRow, RollupCheckpoint
from apps.reporting.tasks import refresh_rollups
from apps.rides.models import Ride
from config.celery import TIMETABLE
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.golden import MONTH

DAYS = ("--from", "2026-11-01", "--to", "2026-11-03")


@pytest.fixture
def ride(db: None) -> Ride:
    return legs.write(MONTH[0], legs.cast())


def test_task_fills_in_and_follows(ride: Ride) -> None:
    refresh_rollups()
    refresh_rollups()

    assert refresh_rollups.name in TIMETABLE
    upkeep = RollupCheckpoint.objects.get()
    assert (upkeep.filled, upkeep.as_of) == (True, NOW)
    assert set(MetricsRow.objects.filter(totals__completed=1).values_list("service_date", flat=True)) == {
        ride.service_date
    }


def test_check_passes_where_rollups_are_the_rows(ride: Ride, capsys: pytest.CaptureFixture[str]) -> None:
    refresh_rollups()

    call_command("check_reports", *DAYS)

    assert capsys.readouterr().out == "3 days checked.\n"


def test_check_names_what_differs_and_fails(ride: Ride, capsys: pytest.CaptureFixture[str]) -> None:
    refresh_rollups()
    Ride.objects.filter(pk=ride.pk).update(missing_documents=["signature"])
    Ride.objects.filter(pk=legs.write(MONTH[1], legs.cast()).pk).update(facility=None)

    with pytest.raises(CommandError) as failure:
        call_command("check_reports", *DAYS)

    assert str(failure.value) == "The rollups of 2 days and facilities differ from the rides."
    assert capsys.readouterr().out == f"differs 2026-11-02 {ride.facility_id}\ndiffers 2026-11-03 -\n"


def test_rebuild_puts_right_and_names_what_was_closed(ride: Ride, capsys: pytest.CaptureFixture[str]) -> None:
    refresh_rollups()
    Ride.objects.filter(pk=ride.pk).update(missing_documents=["signature"])

    call_command("rebuild_reports", *DAYS)
    call_command("check_reports", *DAYS)

    told = f"restated 2026-11-02 {ride.facility_id}\n3 days rebuilt.\n3 days checked.\n"
    assert capsys.readouterr().out == told


def test_rebuild_works_before_the_first_tick(ride: Ride, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("rebuild_reports", *DAYS)

    assert capsys.readouterr().out == "3 days rebuilt.\n"
    assert MetricsRow.objects.filter(service_date=ride.service_date).exists()
    assert RollupCheckpoint.objects.get().backfilled_from is None


@pytest.mark.parametrize("command", ["check_reports", "rebuild_reports"])
def test_period_that_ends_before_it_starts_is_refused(db: None, command: str) -> None:
    with pytest.raises(CommandError, match="--to"):
        call_command(command, first=dt.date(2026, 11, 2), last=dt.date(2026, 11, 1))

    assert not RollupCheckpoint.objects.exists()


def test_reports_are_brought_up_to_date_at_once(ride: Ride, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("refresh_reports")
    call_command("check_reports", *DAYS)

    assert capsys.readouterr().out == "The reports are up to date.\n3 days checked.\n"
    assert RollupCheckpoint.objects.get().as_of == NOW
