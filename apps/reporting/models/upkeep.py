"""How far the rollups are, and what was changed after its day had been closed."""

from django.db import models
from django.db.models import Q

from apps.organizations.models import Facility


class Upkeep(models.Model):
    """How far the rollups have come; one row, which whoever works on them holds locked."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    # The last event that is in the figures; see apps/events/queries.py.
    transaction = models.BigIntegerField()
    event_id = models.UUIDField()
    # Days before this one are not filled in yet; null: none is.
    filled_from = models.DateField(null=True)
    filled = models.BooleanField(default=False)  # the oldest ride is in
    closed_through = models.DateField(null=True)  # this day and all before it are closed
    as_of = models.DateTimeField(null=True)  # the figures hold everything that was recorded before; null: not yet

    class Meta:
        constraints = [models.CheckConstraint(name="upkeep_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"upkeep {self.pk}"


class Restatement(models.Model):
    """A change that reached a closed day and altered its figures.  What it altered follows from the rows themselves."""

    id = models.BigAutoField(primary_key=True)
    service_date = models.DateField()
    facility = models.ForeignKey(Facility, models.PROTECT, null=True, related_name="+", db_index=False)
    event_id = models.UUIDField(null=True)  # null: a rebuild found it
    ride_id = models.UUIDField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="restatement_once", fields=["service_date", "facility", "event_id"], nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"restatement {self.pk}"
