"""Credentials of drivers and vehicles."""

from typing import TYPE_CHECKING, cast
from uuid import UUID

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.fleet.models.crew import Driver, Vehicle
from apps.fleet.rules.credentials import TYPES_OF, CredentialType, Subject
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


class CredentialQuerySet(models.QuerySet["Credential"]):
    def visible_to(self, principal: "Principal") -> "CredentialQuerySet":
        """Filter by the principal's data scope."""
        if principal.provider_ids is None:
            return self
        return self.filter(
            Q(driver__provider_id__in=principal.provider_ids) | Q(vehicle__provider_id__in=principal.provider_ids)
        )


class Credential(models.Model):
    """One credential of one driver or one vehicle.  Its status on a day is computed, see rules/credentials.py."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    driver = models.ForeignKey(
        Driver, models.PROTECT, null=True, blank=True, related_name="credentials", verbose_name=_("driver")
    )
    vehicle = models.ForeignKey(
        Vehicle, models.PROTECT, null=True, blank=True, related_name="credentials", verbose_name=_("vehicle")
    )
    type = models.CharField(_("type"), max_length=20, choices=CredentialType)
    number = models.CharField(_("number"), max_length=50, blank=True)
    issuer = models.CharField(_("issuer"), max_length=100, blank=True)
    issued_on = models.DateField(_("issued on"), null=True, blank=True)
    expires_on = models.DateField(
        _("expires on"), null=True, blank=True
    )  # last day it is valid; null: it does not expire
    entered_by = models.CharField(
        _("entered by"), max_length=60, blank=True, default="", db_default=""
    )  # "": entered before this column existed
    verified_at = models.DateTimeField(_("verified at"), null=True, blank=True)
    verified_by = models.CharField(_("verified by"), max_length=60, blank=True)
    rejected = models.BooleanField(pgettext_lazy("column", "rejected"), default=False)
    document_id = models.UUIDField(_("document id"), null=True, blank=True)
    blocking = models.BooleanField(_("blocking"))
    warn_days = models.PositiveSmallIntegerField(_("warn days"), default=30)
    last_reminder_days = models.PositiveSmallIntegerField(
        _("last reminder days"), null=True, blank=True, editable=False
    )  # the last reminder sent, one of REMINDERS
    replaced = models.BooleanField(_("replaced"), default=False)  # a newer credential of the same type exists
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = CredentialQuerySet.as_manager()

    class Meta:
        verbose_name = _("credential")
        verbose_name_plural = _("credentials")
        constraints = [
            models.CheckConstraint(
                name="credential_of_one_subject",
                condition=Q(driver__isnull=False, vehicle__isnull=True) | Q(driver__isnull=True, vehicle__isnull=False),
            ),
            models.CheckConstraint(name="credential_type_known", condition=Q(type__in=CredentialType.values)),
            models.CheckConstraint(
                name="credential_type_of_its_subject",
                condition=Q(driver__isnull=False, type__in=TYPES_OF[Subject.DRIVER])
                | Q(vehicle__isnull=False, type__in=TYPES_OF[Subject.VEHICLE]),
            ),
            models.CheckConstraint(
                name="credential_dates_forward",
                condition=Q(issued_on__isnull=True) | Q(expires_on__isnull=True) | Q(issued_on__lte=F("expires_on")),
            ),
            models.CheckConstraint(
                name="credential_verification_whole",
                condition=Q(verified_at__isnull=True, verified_by="")
                | (Q(verified_at__isnull=False) & ~Q(verified_by="")),
            ),
            # Two-person rule: the person who entered a credential cannot verify it.
            models.CheckConstraint(
                name="credential_verified_by_another",
                condition=Q(entered_by="") | Q(verified_by="") | ~Q(entered_by=F("verified_by")),
            ),
            models.UniqueConstraint(
                name="credential_one_per_driver_and_type",
                fields=["driver", "type"],
                condition=Q(driver__isnull=False, replaced=False),
            ),
            models.UniqueConstraint(
                name="credential_one_per_vehicle_and_type",
                fields=["vehicle", "type"],
                condition=Q(vehicle__isnull=False, replaced=False),
            ),
        ]
        indexes = [models.Index(fields=["expires_on"], name="credential_by_expiry", condition=Q(replaced=False))]

    def __str__(self) -> str:
        return f"credential {self.pk}"

    @property
    def subject_id(self) -> UUID:
        """The driver or vehicle that owns the credential: exactly one, see `credential_of_one_subject`."""
        return cast(UUID, self.driver_id or self.vehicle_id)
