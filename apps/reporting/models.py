"""Daily rollups that reports read instead of rides, their checkpoint, and changes to closed days."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Facility, TransportProvider
from apps.reporting.rules.rollup_sql import Grain
from lib.choices import TextChoices


class Basis(TextChoices):
    """Which state of a day a row belongs to.  A day that has not changed since it was closed has rows of `BOTH`."""

    BOTH = "both", _("Both")
    CLOSED = "closed", _("as closed")
    LIVE = "live", _("as it is now")
    FRESH = "fresh", _("Fresh")  # only inside a transaction: computed, and not compared with the stored rows yet


class MetricsRow(models.Model):
    """The measures of one day at one grain, added up over its rides.  Only `services.metrics_rows` writes it.

    A measure that is not in `totals` or `minutes` is 0 or has no values, so a new measure needs no migration: add it to
    `rules/measures.py` and run `rebuild_reports --discard-closed`.
    """

    id = models.BigAutoField(primary_key=True)
    grain = models.PositiveSmallIntegerField(choices=[(grain.value, grain.name.lower()) for grain in Grain])
    basis = models.CharField(max_length=7, choices=Basis, default=Basis.BOTH)
    service_date = models.DateField()
    # Null at the grains of all facilities, and for rides without a facility.
    facility = models.ForeignKey(Facility, models.PROTECT, null=True, related_name="+", db_index=False)
    hour = models.PositiveSmallIntegerField(null=True)  # local hour of the pickup
    provider = models.ForeignKey(TransportProvider, models.PROTECT, null=True, related_name="+", db_index=False)
    service_type = models.CharField(max_length=22, blank=True)
    pattern = models.CharField(max_length=5, blank=True)
    shift = models.CharField(max_length=6, blank=True)
    # Integers by measure: counts of rides, sums of minutes.
    totals = models.JSONField()
    # All single values by measure, for exact quantiles: each 8 hexadecimal digits, a signed 32-bit integer.
    minutes = models.JSONField()

    class Meta:
        constraints = [
            # The key of a row, and the index for reading periods.
            models.UniqueConstraint(
                name="metrics_row_unique",
                fields=[
                    "grain",
                    "service_date",
                    "facility",
                    "hour",
                    "provider",
                    "service_type",
                    "pattern",
                    "shift",
                    "basis",
                ],
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="metrics_row_basis_valid", condition=Q(basis__in=Basis.values)),
        ]
        indexes = [
            # The index for restated days.
            models.Index(fields=["service_date"], name="metrics_row_restated", condition=~Q(basis="both")),
            # The index for one facility over a long period.
            models.Index(fields=["facility", "grain", "service_date"], name="metrics_row_facility"),
        ]

    def __str__(self) -> str:
        return f"metrics row {self.pk}"


class BreakdownCount(models.Model):
    """How many rides of a day ended for one reason, or how many exceptions of one type they had."""

    class Kind(TextChoices):
        ENDING = "ending", _("Ending")
        EXCEPTION = "exception", _("Exception")

    id = models.BigAutoField(primary_key=True)
    basis = models.CharField(max_length=7, choices=Basis, default=Basis.BOTH)
    service_date = models.DateField()
    facility = models.ForeignKey(Facility, models.PROTECT, null=True, related_name="+", db_index=False)
    provider = models.ForeignKey(TransportProvider, models.PROTECT, null=True, related_name="+", db_index=False)
    service_type = models.CharField(max_length=22)
    kind = models.CharField(max_length=9, choices=Kind)
    category = models.CharField(max_length=11)  # final status of the ride, severity of the exception
    code = models.CharField(max_length=40)  # built-in reason, type of exception
    fault = models.CharField(max_length=8, blank=True)  # endings only
    amount = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="breakdown_count_unique",
                fields=[
                    "service_date",
                    "facility",
                    "provider",
                    "service_type",
                    "kind",
                    "category",
                    "code",
                    "fault",
                    "basis",
                ],
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="breakdown_count_basis_valid", condition=Q(basis__in=Basis.values)),
        ]

    def __str__(self) -> str:
        return f"breakdown count {self.pk}"


class RollupCheckpoint(models.Model):
    """How far the rollups are up to date.  One row; a process that writes rollups locks it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    # The last event that the rollups include; see apps/events/queries.py.
    transaction = models.BigIntegerField()
    event_id = models.UUIDField()
    # Days before this one are not backfilled yet; null: no day is.
    backfilled_from = models.DateField(null=True)
    filled = models.BooleanField(default=False)  # the oldest ride is included
    closed_through = models.DateField(null=True)  # this day and all days before it are closed
    as_of = models.DateTimeField(null=True)  # everything recorded before is included; null: not complete yet

    class Meta:
        constraints = [models.CheckConstraint(name="rollup_checkpoint_single_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"rollup checkpoint {self.pk}"


class Restatement(models.Model):
    """An event that changed the measures of a closed day.

    The rows of the two bases hold the measures before and after.
    """

    id = models.BigAutoField(primary_key=True)
    service_date = models.DateField()
    facility = models.ForeignKey(Facility, models.PROTECT, null=True, related_name="+", db_index=False)
    event_id = models.UUIDField(null=True)  # null: found by a rebuild
    ride_id = models.UUIDField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="restatement_unique", fields=["service_date", "facility", "event_id"], nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"restatement {self.pk}"
