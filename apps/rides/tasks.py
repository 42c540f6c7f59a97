"""What the clock does to rides."""

from celery import shared_task
from django.utils import timezone

from apps.rides.services import booking_drafts, exception_monitor, offers
from lib.access import system


@shared_task(name="rides.expire_offers")
def expire_offers() -> None:
    """End offers past their time; any number of workers may run it at once."""
    offers.expire_due(by=system(), at=timezone.now())


@shared_task(name="rides.watch")
def watch() -> None:
    """Open, raise and settle exceptions whose time has come; any number of workers may run it at once."""
    exception_monitor.watch(by=system(), at=timezone.now())


@shared_task(name="rides.purge_drafts")
def purge_drafts() -> None:
    """Forget bookings that were begun, and that nobody has gone on with."""
    booking_drafts.purge(at=timezone.now())
