"""Periodic task of the demo."""

from celery import shared_task
from django.utils import timezone

from apps.demo import simulator


@shared_task(name="demo.play")
def play() -> None:
    """Play the demo up to now.  Safe to run concurrently."""
    simulator.play(at=timezone.now())
