from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.rides.models.ride import Ride
from lib.choices import TextChoices
from lib.ids import uuid7


class Milestone(models.Model):
    """A moment of a ride, and who says so.  A later word voids an earlier one; nothing is overwritten."""

    class Type(TextChoices):
        READY = "ready", _("Ready")
        DEPARTED = "departed", _("Departed")
        ARRIVED_PICKUP = "arrived_pickup", _("arrived at pickup")
        BOARDED = "boarded", _("Boarded")
        ARRIVED_DROPOFF = "arrived_dropoff", _("arrived at drop-off")
        DROPPED_OFF = "dropped_off", _("dropped off")
        CONTACT_ATTEMPT = "contact_attempt", _("contact attempt")
        HANDOFF = "handoff", _("Handoff")

    class Source(TextChoices):
        DRIVER_APP = "driver_app", _("driver app")
        DISPATCHER_MANUAL = "dispatcher_manual", _("entered by a dispatcher")
        INTEGRATION = "integration", _("Integration")
        HL7 = "hl7", _("HL7")
        SMS = "sms", _("text message")
        SYSTEM = "system", _("System")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    ride = models.ForeignKey(Ride, models.PROTECT, related_name="milestones", db_index=False, verbose_name=_("ride"))
    type = models.CharField(_("type"), max_length=15, choices=Type)
    occurred_at = models.DateTimeField(_("occurred at"))
    recorded_at = models.DateTimeField(_("recorded at"), db_default=Now())
    source = models.CharField(_("source"), max_length=17, choices=Source)
    lat = models.DecimalField(_("lat"), max_digits=9, decimal_places=6, null=True, blank=True)
    lng = models.DecimalField(_("lng"), max_digits=9, decimal_places=6, null=True, blank=True)
    accuracy_meters = models.PositiveIntegerField(_("accuracy meters"), null=True, blank=True)
    distance_from_stop_meters = models.PositiveIntegerField(_("distance from stop meters"), null=True, blank=True)
    actor = models.CharField(_("actor"), max_length=60)
    edited = models.BooleanField(_("edited"), default=False)  # entered over an earlier one
    voided = models.BooleanField(_("voided"), default=False)
    note = models.CharField(_("note"), max_length=500, blank=True)
    # Of contact attempts: whom.
    contacted = models.CharField(
        _("contacted"), max_length=10, blank=True, choices=[("rider", "rider"), ("facility", "facility")]
    )

    class Meta:
        verbose_name = _("milestone")
        verbose_name_plural = _("milestones")
        constraints = [
            models.CheckConstraint(
                name="milestone_type_known",
                condition=Q(
                    type__in=[
                        "ready",
                        "departed",
                        "arrived_pickup",
                        "boarded",
                        "arrived_dropoff",
                        "dropped_off",
                        "contact_attempt",
                        "handoff",
                    ]
                ),
            ),
            models.CheckConstraint(
                name="milestone_source_known",
                condition=Q(source__in=["driver_app", "dispatcher_manual", "integration", "hl7", "sms", "system"]),
            ),
            models.CheckConstraint(
                name="milestone_contacted_known", condition=Q(contacted__in=["", "rider", "facility"])
            ),
            models.CheckConstraint(
                name="milestone_place_whole",
                condition=Q(lat__isnull=True, lng__isnull=True) | Q(lat__isnull=False, lng__isnull=False),
            ),
            models.UniqueConstraint(
                name="milestone_one_counts",
                fields=["ride", "type"],
                condition=Q(voided=False) & ~Q(type="contact_attempt"),
            ),
        ]
        indexes = [models.Index(fields=["ride", "occurred_at"], name="milestone_of_ride")]

    def __str__(self) -> str:
        return f"milestone {self.pk}"
