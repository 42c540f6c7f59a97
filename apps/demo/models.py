"""The state of the simulator."""

from django.db import models
from django.db.models import Q


class Simulation(models.Model):
    """Up to when the demo has been played, and whether it pauses.  One row, written when the demo is loaded.

    What happened up to `played_until` is in the rides themselves: the simulator has no other state.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    seed = models.PositiveIntegerField()
    played_until = models.DateTimeField()
    paused = models.BooleanField(default=False)

    class Meta:
        constraints = [models.CheckConstraint(name="simulation_is_one", condition=Q(pk=1))]

    def __str__(self) -> str:
        return f"simulation {self.pk}"
