"""What the clock does to webhooks.  Any number of workers may run any of these at once."""

from datetime import datetime
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down

from apps.accounts.services import housekeeping
from apps.webhooks.services import delivering, pacing, recovering, retention, watching, wishes
from lib.scopes import Scope


@shared_task(name="webhooks.deliver")
def deliver() -> None:
    """Work a shift: beat calls every second, and a process that is at it already goes home."""
    delivering.work(rules=wishes.rules())


@worker_shutting_down.connect
def finish(**facts: Any) -> None:
    """Claim nothing more in a worker that was told to end."""
    delivering.finish()


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Give back what lost workers held."""
    watching.sweep(at=_now())


@shared_task(name="webhooks.watch")
def watch() -> None:
    """Judge endpoints that fail."""
    watching.watch(at=_now())


@shared_task(name="webhooks.recover")
def recover() -> None:
    """Take recoveries further, and keep what they made from piling up."""
    at = _now()
    steps = {"advance": lambda: recovering.advance(at=at), "pace": lambda: pacing.keep(at=at)}
    housekeeping.run("webhooks.recover", steps, scope=Scope.WEBHOOKS_MANAGE, at=at)


@shared_task(name="webhooks.tend")
def tend() -> None:
    """End what grew too old, and tell of what was given up."""
    watching.tend(at=_now())


@shared_task(name="webhooks.purge")
def purge() -> None:
    """Forget what is older than it is kept."""
    retention.purge(at=_now())


def _now() -> datetime:
    """Read the clock that leases run by: the database's, whatever this machine's says."""
    return delivering.DatabaseClock()()
