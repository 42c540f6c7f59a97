"""Periodic tasks of webhooks.  Any number of workers may run any of them at the same time."""

from datetime import datetime
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down

from apps.accounts.services import housekeeping
from apps.webhooks.services import cleanup, delivery, endpoint_monitor, endpoint_validation, recovery
from lib.scopes import Scope


@shared_task(name="webhooks.deliver")
def deliver() -> None:
    """Start a delivery run, unless this process has one that claims already."""
    delivery.deliver(rules=endpoint_validation.outbound_rules())


@worker_shutting_down.connect
def shut_down(**kwargs: Any) -> None:
    delivery.shut_down()


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    delivery.release_expired_leases(at=_now())


@shared_task(name="webhooks.watch")
def watch() -> None:
    endpoint_monitor.watch(at=_now())


@shared_task(name="webhooks.recover")
def recover() -> None:
    """Advance recoveries and postpone replays behind open circuits."""
    at = _now()
    steps = {"advance": lambda: recovery.advance(at=at), "pace": lambda: recovery.postpone_overdue(at=at)}
    housekeeping.run("webhooks.recover", steps, scope=Scope.WEBHOOKS_MANAGE, at=at)


@shared_task(name="webhooks.cleanup")
def clean_up() -> None:
    cleanup.clean_up(at=_now())


@shared_task(name="webhooks.purge")
def purge() -> None:
    cleanup.purge(at=_now())


def _now() -> datetime:
    """Read the clock of the database, which leases use, regardless of this machine's clock."""
    return delivery.DatabaseClock()()
