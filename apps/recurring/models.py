"""Standing orders with their terms, holds and changes of single days, and the recorded occurrences."""

from typing import TYPE_CHECKING, Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.accounts.models import ApiClient
from apps.fleet.models import VehicleType
from apps.organizations.models import Facility, Payer
from apps.recurring.rules.reconciliation import LEGS, Decision, Leg
from apps.riders.models import Rider
from apps.rides.models.ride import Ride
from apps.rides.rules.draft import ServiceType
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.ids import uuid7

if TYPE_CHECKING:
    from datetime import date

    from lib.access import Principal

HORIZON_DAYS: Final = 28  # default of how far ahead rides are booked


class OrderStatus(TextChoices):
    DRAFT = "draft", _("Draft")
    ACTIVE = "active", pgettext_lazy("order status", "Active")
    ON_HOLD = "on_hold", _("on hold")
    ENDED = "ended", pgettext_lazy("order status", "Ended")


class ReturnMode(TextChoices):
    WILL_CALL = "will_call", _("will call")
    SCHEDULED = "scheduled", _("Scheduled")
    NONE = "none", _("None")


class HoldReason(TextChoices):
    HOSPITAL_STAY = "hospital_stay", _("hospital stay")
    TRAVEL = "travel", _("Travel")
    TRANSPLANT = "transplant", _("Transplant")
    OTHER = "other", _("Other")


class HoldSource(TextChoices):
    PERSON = "person", _("Person")
    INTEGRATION = "integration", _("Integration")
    SYSTEM = "system", _("System")


RIDING: Final = (OrderStatus.ACTIVE, OrderStatus.ON_HOLD)  # held orders can get rides again


def _choices_constraint(table: str, name: str, values: list[str], *, blank: bool = False) -> models.CheckConstraint:
    allowed = ["", *values] if blank else values
    return models.CheckConstraint(name=f"{table}_{name}_known", condition=Q(**{f"{name}__in": allowed}))


class StandingOrderQuerySet(models.QuerySet["StandingOrder"]):
    def visible_to(self, principal: "Principal") -> "StandingOrderQuerySet":
        """Orders of the principal's facilities; principals bound to providers see no orders, only rides."""
        if principal.provider_ids is not None:
            return self.none()
        return self if principal.facility_ids is None else self.filter(facility_id__in=principal.facility_ids)

    def riding(self) -> "StandingOrderQuerySet":
        return self.filter(status__in=RIDING)


class StandingOrder(models.Model):
    """One rider's recurring rides to one facility.  `version` increases by one with every change.

    Pattern, times and stops are in `Terms`, with one row per date from which they changed.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(ApiClient, models.PROTECT, null=True, blank=True, related_name="+")
    rider = models.ForeignKey(Rider, models.PROTECT, related_name="standing_orders")
    facility = models.ForeignKey(Facility, models.PROTECT, related_name="standing_orders")
    service_type = models.CharField(max_length=22, choices=ServiceType, default=ServiceType.DIALYSIS)
    status = models.CharField(max_length=7, choices=OrderStatus, default=OrderStatus.ACTIVE)
    timezone = models.CharField(max_length=64)  # of the facility when the order was created
    start_date = models.DateField()
    end_date = models.DateField(null=True, blank=True)  # the last possible pattern date
    payer = models.ForeignKey(Payer, models.PROTECT, null=True, blank=True, related_name="+")
    program_code = models.CharField(max_length=30, blank=True)
    authorization_number = models.CharField(max_length=50, blank=True)
    authorization_ends_on = models.DateField(null=True, blank=True)
    preferred_driver_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    vehicle_type_requested = models.CharField(max_length=14, choices=VehicleType, blank=True)
    driver_notes = models.CharField(max_length=1000, blank=True)
    dispatcher_notes = models.CharField(max_length=1000, blank=True)
    facility_notes = models.CharField(max_length=1000, blank=True)
    generation_horizon_days = models.PositiveSmallIntegerField(default=HORIZON_DAYS)
    # The last date that was generated; null: the order is due.
    generated_through = models.DateField(null=True, blank=True)
    end_reminder_days = models.PositiveSmallIntegerField(
        null=True, blank=True
    )  # days before the end of the last reminder
    version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = StandingOrderQuerySet.as_manager()

    class Meta:
        constraints = [
            _choices_constraint("standing_order", "status", OrderStatus.values),
            _choices_constraint("standing_order", "service_type", ServiceType.values),
            _choices_constraint("standing_order", "vehicle_type_requested", VehicleType.values, blank=True),
            models.CheckConstraint(
                name="standing_order_ends_after_start",
                # An order that is ended before its first day keeps the start date.
                condition=Q(end_date__isnull=True) | Q(end_date__gte=F("start_date")) | Q(status="ended"),
            ),
            models.CheckConstraint(name="standing_order_horizon", condition=Q(generation_horizon_days__range=(1, 366))),
        ]
        indexes = [
            # The due orders of the generator, longest waiting first.
            models.Index(
                F("generated_through").asc(nulls_first=True),
                "id",
                name="standing_order_due",
                condition=Q(status__in=["active", "on_hold"]),
            ),
        ]

    def __str__(self) -> str:
        return f"standing order {self.pk}"

    @property
    def last_date(self) -> "date | None":
        """The last possible pattern date: the end of the order or of its authorization, whichever is earlier."""
        return min((day for day in (self.end_date, self.authorization_ends_on) if day is not None), default=None)


class Terms(models.Model):
    """Terms of an order from a pattern date until its next terms begin.  Times are facility wall time."""

    standing_order = models.ForeignKey(StandingOrder, models.CASCADE, related_name="terms")
    from_date = models.DateField()
    days_of_week = ArrayField(models.PositiveSmallIntegerField())  # Monday is 0, sorted
    interval_weeks = models.PositiveSmallIntegerField(default=1)
    anchor_date = models.DateField()  # weeks are counted from the week of this date
    chair_time = models.TimeField()
    arrive_early_minutes = models.PositiveSmallIntegerField()
    treatment_minutes = models.PositiveSmallIntegerField()
    post_treatment_minutes = models.PositiveSmallIntegerField()
    # From pickup to chair time without `pickup_time`: estimated drive, boarding and early arrival.
    lead_minutes = models.PositiveSmallIntegerField()
    pickup_time = models.TimeField(null=True, blank=True)
    return_mode = models.CharField(max_length=9, choices=ReturnMode, default=ReturnMode.WILL_CALL)
    return_time = models.TimeField(null=True, blank=True)
    return_mobility = models.CharField(max_length=30, blank=True)
    pickup = models.JSONField()  # a stop (apps/organizations/rules/stops.py)
    dropoff = models.JSONField()
    return_dropoff = models.JSONField(null=True, blank=True)  # null: the outbound pickup
    pickup_access_encrypted = models.BinaryField(null=True, blank=True)
    dropoff_access_encrypted = models.BinaryField(null=True, blank=True)
    return_dropoff_access_encrypted = models.BinaryField(null=True, blank=True)
    accommodation = models.JSONField(default=dict)  # differences from the rider's profile
    companions = models.JSONField(default=dict)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    pickup_access = encrypted_text("pickup_access")
    dropoff_access = encrypted_text("dropoff_access")
    return_dropoff_access = encrypted_text("return_dropoff_access")

    class Meta:
        constraints = [
            models.UniqueConstraint(name="terms_once_a_day", fields=["standing_order", "from_date"]),
            models.CheckConstraint(
                name="terms_have_days", condition=Q(days_of_week__len__gt=0, days_of_week__contained_by=list(range(7)))
            ),
            models.CheckConstraint(name="terms_interval", condition=Q(interval_weeks__range=(1, 12))),
            _choices_constraint("terms", "return_mode", ReturnMode.values),
            models.CheckConstraint(
                name="terms_only_scheduled_return_has_time",
                condition=Q(return_mode="scheduled") | Q(return_time__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"terms {self.pk}"

    @property
    def legs(self) -> tuple[Leg, ...]:
        return LEGS if self.return_mode != ReturnMode.NONE else LEGS[:1]


class Hold(models.Model):
    """Service dates without rides, both ends included; `until` null: until the order is resumed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    standing_order = models.ForeignKey(StandingOrder, models.CASCADE, related_name="holds")
    from_date = models.DateField()
    until = models.DateField(null=True, blank=True)
    reason = models.CharField(max_length=13, choices=HoldReason)
    set_by = models.CharField(max_length=60)
    set_at = models.DateTimeField()
    review_on = models.DateField(null=True, blank=True)  # the next review of an open-ended hold

    class Meta:
        constraints = [
            _choices_constraint("hold", "reason", HoldReason.values),
            models.CheckConstraint(
                name="hold_until_after_from", condition=Q(until__isnull=True) | Q(until__gte=F("from_date"))
            ),
        ]
        indexes = [models.Index(fields=["standing_order", "from_date"], name="hold_of_order")]

    def __str__(self) -> str:
        return f"hold {self.pk}"

    @property
    def source(self) -> HoldSource:
        """The kind of caller that set the hold."""
        kind = self.set_by.partition(":")[0]
        return {"user": HoldSource.PERSON, "system": HoldSource.SYSTEM}.get(kind, HoldSource.INTEGRATION)


class OccurrenceChange(models.Model):
    """A skip, or another date or times, that a person set for one pattern date."""

    class Kind(TextChoices):
        SKIP = "skip", _("Skip")
        CHANGE = "change", _("Change")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    standing_order = models.ForeignKey(StandingOrder, models.CASCADE, related_name="changes")
    pattern_date = models.DateField()
    kind = models.CharField(max_length=6, choices=Kind)
    to_date = models.DateField(null=True, blank=True)  # null: the pattern date
    chair_time = models.TimeField(null=True, blank=True)  # null: the time of the terms, as in the two fields below
    pickup_time = models.TimeField(null=True, blank=True)
    return_time = models.TimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="occurrence_change_once", fields=["standing_order", "pattern_date"]),
            _choices_constraint("occurrence_change", "kind", ["skip", "change"]),
            models.CheckConstraint(
                name="occurrence_change_skip_says_no_more",
                condition=~Q(kind="skip")
                | Q(to_date__isnull=True, chair_time__isnull=True, pickup_time__isnull=True, return_time__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"occurrence change {self.pk}"


class Occurrence(models.Model):
    """The last decision about one leg of one pattern date.  Rows are never deleted (docs/adr/0016)."""

    id = models.BigAutoField(primary_key=True)
    standing_order = models.ForeignKey(StandingOrder, models.CASCADE, related_name="occurrences", db_index=False)
    pattern_date = models.DateField()
    leg = models.CharField(max_length=8, choices=[(leg.value, leg.value) for leg in Leg])
    decision = models.CharField(max_length=9, choices=[(decision.value, decision.value) for decision in Decision])
    ride = models.OneToOneField(Ride, models.PROTECT, null=True, blank=True, related_name="+")  # the latest ride
    content = models.CharField(max_length=32, blank=True)  # digest of the ride without its times
    refusal = models.CharField(max_length=40, blank=True)  # the error code if no ride could be booked
    moved_by_clock_change = models.BooleanField(default=False)
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="occurrence_once", fields=["standing_order", "pattern_date", "leg"]),
            _choices_constraint("occurrence", "leg", [leg.value for leg in Leg]),
            _choices_constraint("occurrence", "decision", [decision.value for decision in Decision]),
            models.CheckConstraint(
                name="occurrence_generated_has_ride", condition=~Q(decision="generated") | Q(ride__isnull=False)
            ),
            models.CheckConstraint(name="occurrence_refused_says_why", condition=Q(decision="refused") ^ Q(refusal="")),
        ]

    def __str__(self) -> str:
        return f"occurrence {self.pk}"


class TimeZoneSnapshot(models.Model):
    """Rules of a time zone with which orders were generated.  Rows are only added."""

    id = models.BigAutoField(primary_key=True)
    zone = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)  # `recurrence.clock_rules`
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="time_zone_snapshot_once", fields=["zone", "digest"])]

    def __str__(self) -> str:
        return f"time zone snapshot {self.pk}"


class CalendarLinkQuerySet(models.QuerySet["CalendarLink"]):
    def live(self) -> "CalendarLinkQuerySet":
        return self.filter(revoked_at__isnull=True)

    def visible_to(self, principal: "Principal") -> "CalendarLinkQuerySet":
        """Links of the principal's facilities; principals bound to providers see none."""
        if principal.provider_ids is not None:
            return self.none()
        return self if principal.facility_ids is None else self.filter(facility_id__in=principal.facility_ids)


class CalendarLink(models.Model):
    """A secret address where calendars read the rides of one order, or of all orders of a facility.

    Only a digest of the secret is stored.  Without `with_names`, the calendar does not identify riders.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    facility = models.ForeignKey(Facility, models.CASCADE, related_name="+")
    standing_order = models.ForeignKey(StandingOrder, models.CASCADE, null=True, blank=True, related_name="+")
    digest = models.BinaryField(unique=True)  # SHA-256 of the secret, which has 256 random bits
    with_names = models.BooleanField(default=False)
    created_by = models.CharField(max_length=60)  # "user:<id>", "token:<id>", "system"
    created_at = models.DateTimeField()
    last_read_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = CalendarLinkQuerySet.as_manager()

    def __str__(self) -> str:
        return f"calendar link {self.pk}"
