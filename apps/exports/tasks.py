"""Periodic work of exports and schedules.  Any number of workers may run any of these at once."""

from datetime import datetime
from typing import Final

from celery import shared_task
from django.utils import timezone

from apps.exports.services import export_runs, schedule_mails, schedule_runs

# A million rows as a workbook take minutes; RabbitMQ takes a message back after thirty.
_SOFT_SECONDS: Final = 1_560
_SECONDS: Final = 1_620


@shared_task(name="exports.make_exports", soft_time_limit=_SOFT_SECONDS, time_limit=_SECONDS)
def make_exports() -> None:
    """Make an export that is due."""
    export_runs.work(clock=_now)


@shared_task(name="exports.cleanup")
def cleanup() -> None:
    """Delete files and links that have expired."""
    export_runs.clean_up(at=_now())


@shared_task(name="exports.run_schedules", soft_time_limit=_SOFT_SECONDS, time_limit=_SECONDS)
def run_schedules() -> None:
    """Make and send the exports and reports whose schedules are due."""
    schedule_runs.work(clock=_now)


@shared_task(name="exports.notify_schedule_owners")
def notify_schedule_owners() -> None:
    """Notify the owners of schedules that are paused."""
    schedule_mails.send_notices(at=_now())


def _now() -> datetime:
    return timezone.now()
