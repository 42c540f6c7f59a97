from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.riders.models import Rider
from lib.ids import uuid7


class Trip(models.Model):
    """A day plan for one rider: legs that belong together, so that a return is neither orphaned nor ghosted."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    rider = models.ForeignKey(Rider, models.PROTECT, related_name="trips", verbose_name=_("rider"))
    service_date = models.DateField(_("service date"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("trip")
        verbose_name_plural = _("trips")

    def __str__(self) -> str:
        return f"trip {self.pk}"
