from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models.ride import Ride
from apps.rides.models.trip import Trip
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionStatus, ExceptionType, ResolutionCode
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


class RideExceptionQuerySet(models.QuerySet["RideException"]):
    def visible_to(self, principal: "Principal") -> "RideExceptionQuerySet":
        """Keep the exceptions of rides and standing orders inside the principal's data scope.

        A provider sees what goes wrong on the rides it drives, and nothing of orders.
        """
        exceptions = self
        if principal.facility_ids is not None:
            exceptions = exceptions.filter(facility_id__in=principal.facility_ids)
        if principal.provider_ids is not None:
            exceptions = exceptions.filter(ride__provider_id__in=principal.provider_ids)
        return exceptions

    def unsettled(self) -> "RideExceptionQuerySet":
        return self.filter(status__in=["open", "acknowledged"])


class RideException(models.Model):
    """Something about a ride, or a standing order, that needs attention.  `summary` holds no PHI.

    At most one is unsettled per ride, or per order, and type.  The order is a row of an app above this one.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    ride = models.ForeignKey(
        Ride, models.PROTECT, null=True, blank=True, related_name="exceptions", verbose_name=_("ride")
    )
    standing_order_id = models.UUIDField(_("standing order id"), null=True, blank=True)
    trip = models.ForeignKey(
        Trip, models.PROTECT, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("trip")
    )
    rider = models.ForeignKey(Rider, models.PROTECT, related_name="+", db_index=False, verbose_name=_("rider"))
    facility = models.ForeignKey(
        Facility, models.PROTECT, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("facility")
    )
    type = models.CharField(_("type"), max_length=28, choices=ExceptionType)
    severity = models.CharField(_("severity"), max_length=8, choices=ExceptionSeverity)
    status = models.CharField(_("status"), max_length=12, choices=ExceptionStatus, default=ExceptionStatus.OPEN)
    opened_at = models.DateTimeField(_("opened at"))
    opened_by = models.CharField(_("opened by"), max_length=60)
    detected_by = models.CharField(_("detected by"), max_length=40)  # the rule or transition, such as "T21"
    due_at = models.DateTimeField(_("due at"), null=True, blank=True)
    owner = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("owner"))
    snoozed_until = models.DateTimeField(_("snoozed until"), null=True, blank=True)
    # Free text of dispatchers, who may name people in it: the PHI level full.
    note = models.CharField(_("note"), max_length=1000, blank=True, default="", db_default="")
    acknowledged_at = models.DateTimeField(_("acknowledged at"), null=True, blank=True)
    acknowledged_by = models.CharField(_("acknowledged by"), max_length=60, blank=True)
    resolved_at = models.DateTimeField(_("resolved at"), null=True, blank=True)
    resolved_by = models.CharField(_("resolved by"), max_length=60, blank=True)
    resolution_code = models.CharField(_("resolution code"), max_length=17, choices=ResolutionCode, blank=True)
    resolution_note = models.CharField(_("resolution note"), max_length=1000, blank=True)
    # A person has decided about it: the clock does not open it again for what was known then.
    closed_by_hand = models.BooleanField(_("closed by hand"), default=False, db_default=False, editable=False)
    summary = models.CharField(_("summary"), max_length=200)
    details = models.JSONField(_("details"), default=dict)
    # The driver whose lateness puts the ride at risk: exceptions with one cause are listed as one.
    cause_driver_id = models.UUIDField(_("cause driver id"), null=True, blank=True)
    escalation_level = models.PositiveSmallIntegerField(_("escalation level"), default=0)
    related_exception_ids = ArrayField(
        models.UUIDField(), default=list, blank=True, verbose_name=_("related exception ids")
    )
    version = models.PositiveIntegerField(_("version"), default=1)
    updated_at = models.DateTimeField(_("updated at"))

    objects = RideExceptionQuerySet.as_manager()

    class Meta:
        verbose_name = _("ride exception")
        verbose_name_plural = _("ride exceptions")
        constraints = [
            models.CheckConstraint(
                name="exception_of_ride_or_order",
                condition=Q(ride__isnull=False, standing_order_id__isnull=True)
                | Q(ride__isnull=True, standing_order_id__isnull=False),
            ),
            models.CheckConstraint(name="exception_type_known", condition=Q(type__in=ExceptionType.values)),
            models.CheckConstraint(name="exception_severity_known", condition=Q(severity__in=ExceptionSeverity.values)),
            models.CheckConstraint(name="exception_status_known", condition=Q(status__in=ExceptionStatus.values)),
            models.UniqueConstraint(
                name="exception_one_unsettled",
                fields=["ride", "type"],
                condition=Q(status__in=["open", "acknowledged"]),
            ),
            models.UniqueConstraint(
                name="exception_one_unsettled_of_order",
                fields=["standing_order_id", "type"],
                condition=Q(status__in=["open", "acknowledged"], standing_order_id__isnull=False),
            ),
            models.CheckConstraint(
                name="exception_settled_has_code",
                condition=Q(status__in=["open", "acknowledged"], resolved_at__isnull=True, resolution_code="")
                | (Q(status__in=["resolved", "dismissed"], resolved_at__isnull=False) & ~Q(resolution_code="")),
            ),
            models.CheckConstraint(
                name="exception_resolution_code_known",
                condition=Q(resolution_code__in=["", *ResolutionCode.values]),
            ),
            models.CheckConstraint(
                name="exception_acknowledged_by_someone",
                condition=~Q(status="acknowledged") | (Q(acknowledged_at__isnull=False) & ~Q(acknowledged_by="")),
            ),
        ]
        indexes = [
            models.Index(fields=["opened_at", "id"], name="exception_list"),
            # Finds the rows of the desk's queue.
            models.Index(
                fields=["severity", "opened_at"],
                name="exception_queue",
                condition=Q(status__in=["open", "acknowledged"]),
            ),
            # The desk's history.
            models.Index(
                F("resolved_at").desc(),
                F("id").desc(),
                name="exception_closed",
                condition=Q(resolved_at__isnull=False),
            ),
            models.Index(fields=["facility", "opened_at", "id"], name="exception_of_facility"),
            models.Index(
                fields=["cause_driver_id"],
                name="exception_of_cause",
                condition=Q(status__in=["open", "acknowledged"], cause_driver_id__isnull=False),
            ),
            # GET /ride-exceptions?standingOrderId=
            models.Index(
                fields=["standing_order_id", "opened_at", "id"],
                name="exception_of_order",
                condition=Q(standing_order_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"exception {self.pk}"
