from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.rides.models.ride import Ride


class RideLock(models.Model):
    """A ride whose record was handed on for good: its ending is not corrected any more.

    `export_id` says in what; exports live in an app above this one.
    """

    ride = models.OneToOneField(Ride, models.PROTECT, primary_key=True, related_name="+", verbose_name=_("ride"))
    export_id = models.UUIDField(_("export id"), db_index=True)
    locked_at = models.DateTimeField(_("locked at"))

    class Meta:
        verbose_name = _("ride lock")
        verbose_name_plural = _("ride locks")

    def __str__(self) -> str:
        return f"ride lock {self.pk}"
