"""Periodic tasks of standing orders."""

from typing import Final

from celery import shared_task
from django.utils import timezone

from apps.accounts.services import housekeeping
from apps.recurring.services import generate_rides, holidays, order_monitor
from lib.access import system
from lib.scopes import Scope

# Changed rides have the start time of the run as time of change, and exports of changes look back two minutes.
_MAX_SECONDS: Final = 60.0


@shared_task(name="recurring.generate")
def generate() -> None:
    """Book rides through the current horizon.  Several workers can run it at once."""
    now = timezone.now()
    steps = {
        "clocks": lambda: generate_rides.reopen_after_clock_changes(at=now),
        "rides": lambda: generate_rides.generate(by=system("recurring"), at=now, seconds=_MAX_SECONDS),
    }
    housekeeping.run("recurring.generate", steps, scope=Scope.USERS_MANAGE, at=now)


@shared_task(name="recurring.watch")
def watch() -> None:
    """Update statuses of orders, and open exceptions and alerts that need a decision."""
    now = timezone.now()
    steps = {
        "orders": lambda: order_monitor.check_orders(by=system("recurring"), at=now),
        "holidays": lambda: holidays.raise_alerts(at=now),
    }
    housekeeping.run("recurring.watch", steps, scope=Scope.USERS_MANAGE, at=now)
