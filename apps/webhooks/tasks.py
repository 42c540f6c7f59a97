"""What the clock does to webhooks.  Any number of workers may run any of these at once."""

from celery import shared_task
from django.utils import timezone

from apps.webhooks.services import delivering, recovering, retention, watching, wishes


@shared_task(name="webhooks.deliver")
def deliver() -> None:
    """Work a shift: beat calls every second, and a process that is at it already goes home."""
    delivering.work(rules=wishes.rules())


@shared_task(name="webhooks.watch")
def watch() -> None:
    """Give back what lost workers held, judge endpoints that fail, and take recoveries further."""
    watching.sweep(at=timezone.now())
    watching.watch(at=timezone.now())
    recovering.advance(at=timezone.now())


@shared_task(name="webhooks.tend")
def tend() -> None:
    """End what grew too old, and tell of what was given up."""
    watching.tend(at=timezone.now())


@shared_task(name="webhooks.purge")
def purge() -> None:
    """Forget what is older than it is kept."""
    retention.purge(at=timezone.now())
