"""What the clock does to rollups, exports and schedules.  Any number of workers may run any of these at once."""

from datetime import datetime
from typing import Final

from celery import shared_task
from django.utils import timezone

from apps.reporting.services import export_runs, folding, schedule_mails, schedule_runs
from lib.access import system

# A million rows as a workbook take minutes; RabbitMQ takes a message back after thirty.
_SOFT_SECONDS: Final = 1_560
_SECONDS: Final = 1_620


@shared_task(name="reporting.keep_up")
def keep_up() -> None:
    """Bring the rollups up to now."""
    folding.keep_up(by=system("reporting"), at=_now())


@shared_task(name="reporting.make_exports", soft_time_limit=_SOFT_SECONDS, time_limit=_SECONDS)
def make_exports() -> None:
    """Make an export that is due."""
    export_runs.work(clock=_now)


@shared_task(name="reporting.tend_exports")
def tend_exports() -> None:
    """Take away what is older than it is kept."""
    export_runs.tend(at=_now())


@shared_task(name="reporting.run_schedules", soft_time_limit=_SOFT_SECONDS, time_limit=_SECONDS)
def run_schedules() -> None:
    """Make and send what schedules are due."""
    schedule_runs.work(clock=_now)


@shared_task(name="reporting.tell_of_schedules")
def tell_of_schedules() -> None:
    """Tell owners of schedules that rest."""
    schedule_mails.send_notices(at=_now())


def _now() -> datetime:
    return timezone.now()
