"""What the clock does to standing orders."""

from typing import Final

from celery import shared_task
from django.utils import timezone

from apps.accounts.services import housekeeping
from apps.recurring.services import generate_rides, holidays, order_monitor
from lib.access import system
from lib.scopes import Scope

# Rides say of when a run began that they changed: exports of changes look back two minutes for what came late.
_SECONDS: Final = 60.0


@shared_task(name="recurring.generate")
def generate() -> None:
    """Book what the horizon has come to by now, by the clocks as they go; any number of workers may run it at once."""
    now = timezone.now()
    steps = {
        "clocks": lambda: generate_rides.reopen_after_clock_changes(at=now),
        "rides": lambda: generate_rides.generate(by=system("recurring"), at=now, seconds=_SECONDS),
    }
    housekeeping.run("recurring.generate", steps, scope=Scope.USERS_MANAGE, at=now)


@shared_task(name="recurring.watch")
def watch() -> None:
    """Bring orders to what they are today, and ask people what they have to decide."""
    now = timezone.now()
    steps = {
        "orders": lambda: order_monitor.check_orders(by=system("recurring"), at=now),
        "holidays": lambda: holidays.raise_alerts(at=now),
    }
    housekeeping.run("recurring.watch", steps, scope=Scope.USERS_MANAGE, at=now)
