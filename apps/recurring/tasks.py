"""What the clock does to standing orders."""

from celery import shared_task
from django.utils import timezone

from apps.recurring.services import generating, holidays, watching
from lib.access import system


@shared_task(name="recurring.generate")
def generate() -> None:
    """Book what the horizon has come to by now; any number of workers may run it at once."""
    generating.generate(by=system("recurring"), at=timezone.now())


@shared_task(name="recurring.watch")
def watch() -> None:
    """Bring orders to what they are today, and ask people what they have to decide."""
    now = timezone.now()
    watching.watch(by=system("recurring"), at=now)
    holidays.ask(at=now)
