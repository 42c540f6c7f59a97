from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.fleet.models import Driver, Vehicle
from apps.organizations.models import TransportProvider
from apps.rides.models.ride import Ride
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.ids import uuid7


class Assignment(models.Model):
    """A driver and vehicle put, or offered, on a ride.  The snapshot is what New York wants on every leg (NY1)."""

    class Status(TextChoices):
        OFFERED = "offered", _("Offered")
        ACCEPTED = "accepted", _("Accepted")
        DECLINED = "declined", _("Declined")
        EXPIRED = "expired", pgettext_lazy("assignment status", "Expired")
        RELEASED = "released", _("Released")
        SUPERSEDED = "superseded", _("Superseded")
        COMPLETED = "completed", _("Completed")

    class Method(TextChoices):
        MANUAL = "manual", _("Manual")
        AUTO = "auto", _("Auto")
        PREFERRED_DRIVER = "preferred_driver", _("preferred driver")
        SERIES = "series", _("Series")
        API = "api", _("API")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    ride = models.ForeignKey(Ride, models.PROTECT, related_name="assignments", verbose_name=_("ride"))
    sequence = models.PositiveSmallIntegerField(_("sequence"), default=1)  # 2 and up: rescue vehicles of a transfer
    provider = models.ForeignKey(TransportProvider, models.PROTECT, related_name="+", verbose_name=_("provider"))
    driver = models.ForeignKey(
        Driver, models.PROTECT, related_name="assignments", db_index=False, verbose_name=_("driver")
    )
    vehicle = models.ForeignKey(Vehicle, models.PROTECT, related_name="assignments", verbose_name=_("vehicle"))
    attendant_ids = ArrayField(models.UUIDField(), default=list, blank=True, verbose_name=_("attendant ids"))
    status = models.CharField(_("status"), max_length=10, choices=Status)
    method = models.CharField(_("method"), max_length=16, choices=Method, default=Method.MANUAL)
    offered_at = models.DateTimeField(_("offered at"))
    respond_by = models.DateTimeField(_("respond by"), null=True, blank=True)
    responded_at = models.DateTimeField(_("responded at"), null=True, blank=True)
    decline_reason = models.CharField(_("decline reason"), max_length=200, blank=True)
    assigned_by = models.CharField(_("assigned by"), max_length=60)
    # Soft checks that were overridden, by violation code, and why.
    overridden = ArrayField(models.CharField(max_length=30), default=list, blank=True, verbose_name=_("overridden"))
    override_reason = models.CharField(_("override reason"), max_length=500, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    end_reason = models.CharField(_("end reason"), max_length=40, blank=True)
    miles_attributed = models.DecimalField(_("miles attributed"), max_digits=7, decimal_places=2, null=True, blank=True)
    driver_name = models.CharField(_("driver name"), max_length=201)
    license_number_encrypted = models.BinaryField(_("license number encrypted"), null=True, blank=True)
    vehicle_plate = models.CharField(_("vehicle plate"), max_length=12)

    license_number = encrypted_text("license_number")

    class Meta:
        verbose_name = _("assignment")
        verbose_name_plural = _("assignments")
        constraints = [
            models.CheckConstraint(
                name="assignment_status_known",
                condition=Q(
                    status__in=["offered", "accepted", "declined", "expired", "released", "superseded", "completed"]
                ),
            ),
            models.CheckConstraint(
                name="assignment_method_known",
                condition=Q(method__in=["manual", "auto", "preferred_driver", "series", "api"]),
            ),
            # Two dispatchers at once: the second one is refused here, whatever the code above believed.
            models.UniqueConstraint(name="assignment_one_accepted", fields=["ride"], condition=Q(status="accepted")),
            models.UniqueConstraint(
                name="assignment_one_offer_per_driver", fields=["ride", "driver"], condition=Q(status="offered")
            ),
            models.CheckConstraint(
                name="assignment_ended_when_over",
                condition=Q(status__in=["offered", "accepted"], ended_at__isnull=True)
                | (~Q(status__in=["offered", "accepted"]) & Q(ended_at__isnull=False)),
            ),
            # An offer without a deadline would never end.
            models.CheckConstraint(
                name="assignment_offer_has_deadline", condition=~Q(status="offered") | Q(respond_by__isnull=False)
            ),
            models.CheckConstraint(
                name="assignment_override_has_reason", condition=Q(overridden=[]) | ~Q(override_reason="")
            ),
        ]
        indexes = [
            models.Index(fields=["respond_by"], name="assignment_offer_due", condition=Q(status="offered")),
            models.Index(fields=["driver", "-offered_at"], name="assignment_of_driver"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"
