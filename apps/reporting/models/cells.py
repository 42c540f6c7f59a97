"""Figures of a day, added up: what reports read instead of rides."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Facility, TransportProvider
from apps.reporting.rules.measures import MEASURES, Kind
from apps.reporting.rules.rollups import Grain
from lib.choices import TextChoices


class Basis(TextChoices):
    """Which reading of a day a row belongs to; a day that has not changed since it was closed has one for both."""

    BOTH = "both", _("Both")
    CLOSED = "closed", _("as closed")
    CURRENT = "current", _("as it is now")
    FRESH = "fresh", _("Fresh")  # inside a transaction alone: just computed, not yet compared


class Cell(models.Model):
    """The measures of one day at one grain.  `services.cells` alone writes it; what is behind it are rides.

    A column for each measure stands below the class.  Values are signed 32-bit numbers, the highest byte first.
    """

    id = models.BigAutoField(primary_key=True)
    grain = models.PositiveSmallIntegerField(choices=[(one.value, one.name.lower()) for one in Grain])
    basis = models.CharField(max_length=7, choices=Basis, default=Basis.BOTH)
    service_date = models.DateField()
    # Null at the grains of all facilities, and for rides of none.
    facility = models.ForeignKey(Facility, models.PROTECT, null=True, related_name="+", db_index=False)
    hour = models.PositiveSmallIntegerField(null=True)  # local hour of the pickup
    provider = models.ForeignKey(TransportProvider, models.PROTECT, null=True, related_name="+", db_index=False)
    service_type = models.CharField(max_length=22, blank=True)
    pattern = models.CharField(max_length=5, blank=True)
    shift = models.CharField(max_length=6, blank=True)

    class Meta:
        constraints = [
            # The key of a row, and the index by which periods are read.
            models.UniqueConstraint(
                name="cell_once",
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
            models.CheckConstraint(name="cell_basis_known", condition=Q(basis__in=Basis.values)),
        ]
        indexes = [
            # Days that were restated.
            models.Index(fields=["service_date"], name="cell_restated", condition=~Q(basis="both")),
            # One facility over a long period.
            models.Index(fields=["facility", "grain", "service_date"], name="cell_of_facility"),
        ]

    def __str__(self) -> str:
        return f"cell {self.pk}"


_FIELDS = {
    Kind.COUNT: models.IntegerField,
    Kind.SUM: models.BigIntegerField,
    Kind.VALUE: models.BinaryField,
    Kind.VALUES: models.BinaryField,
}
for _name, _measure in MEASURES.items():
    Cell.add_to_class(_name, _FIELDS[_measure.kind]())


class Tally(models.Model):
    """How many legs of a day ended for a reason, or how many exceptions of a type they had."""

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
    word = models.CharField(max_length=11)  # status of the ending, severity of the exception
    code = models.CharField(max_length=40)  # built-in reason, type of exception
    fault = models.CharField(max_length=8, blank=True)  # of the ending
    amount = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="tally_once",
                fields=[
                    "service_date",
                    "facility",
                    "provider",
                    "service_type",
                    "kind",
                    "word",
                    "code",
                    "fault",
                    "basis",
                ],
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="tally_basis_known", condition=Q(basis__in=Basis.values)),
        ]

    def __str__(self) -> str:
        return f"tally {self.pk}"
