from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.rides.models.ride import Ride
from lib.crypto import encrypted_text
from lib.ids import uuid7


class RideChange(models.Model):
    """Old and new values of an edit, for the ride's history; events and the audit trail hold names of fields only.

    Belongs to the event of the same ride and version.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    ride = models.ForeignKey(Ride, models.PROTECT, related_name="changes", db_index=False, verbose_name=_("ride"))
    version = models.PositiveIntegerField(_("version"))  # of the ride after the edit
    values_encrypted = models.BinaryField(_("values encrypted"))

    values = encrypted_text("values")  # JSON of rules/change_values.py: ChangedValues

    class Meta:
        verbose_name = _("ride change")
        verbose_name_plural = _("ride changes")
        constraints = [models.UniqueConstraint(name="ride_change_once", fields=["ride", "version"])]

    def __str__(self) -> str:
        return f"ride change {self.pk}"
