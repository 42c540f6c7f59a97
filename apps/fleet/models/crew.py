"""Drivers, vehicles, and the shifts that pair them."""

from typing import TYPE_CHECKING, Self, TypeVar

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, DateTimeRangeField, RangeOperators
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.fleet.uuid_range import UuidRange
from apps.organizations.models import HomeBase, TransportProvider
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.db.name_keys import NameKeys
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


_Row = TypeVar("_Row", bound=models.Model)


class VehicleType(TextChoices):
    SEDAN = "sedan", _("Sedan")
    MINIVAN = "minivan", _("Minivan")
    WHEELCHAIR_VAN = "wheelchair_van", _("wheelchair van")
    STRETCHER_VAN = "stretcher_van", _("stretcher van")
    BLS_AMBULANCE = "bls_ambulance", _("BLS ambulance")
    RIDESHARE = "rideshare", _("Rideshare")
    TAXI = "taxi", _("Taxi")
    VOLUNTEER = "volunteer", _("Volunteer")


class VehicleStatus(TextChoices):
    IN_SERVICE = "in_service", _("in service")
    OUT_OF_SERVICE = "out_of_service", _("out of service")
    MAINTENANCE = "maintenance", _("Maintenance")
    RETIRED = "retired", _("Retired")


class LiftType(TextChoices):
    NONE = "none", _("None")
    RAMP = "ramp", _("Ramp")
    LIFT = "lift", _("Lift")


class OfProviderQuerySet(models.QuerySet[_Row]):
    """Rows with a `provider` column."""

    def visible_to(self, principal: "Principal") -> Self:
        """Filter by the principal's data scope."""
        if principal.provider_ids is None:
            return self
        return self.filter(provider_id__in=principal.provider_ids)


class Vehicle(models.Model):
    """One vehicle.  Its capacity is in its capacity configurations."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(TransportProvider, models.PROTECT, related_name="vehicles", verbose_name=_("provider"))
    unit_number = models.CharField(_("unit number"), max_length=20)
    make = models.CharField(_("make"), max_length=50, blank=True)
    model = models.CharField(_("model"), max_length=50, blank=True)
    year = models.PositiveSmallIntegerField(_("year"), null=True, blank=True)
    color = models.CharField(_("color"), max_length=30, blank=True)
    vin = models.CharField(_("VIN"), max_length=17, blank=True)
    license_plate = models.CharField(_("license plate"), max_length=12)
    plate_state = models.CharField(_("plate state"), max_length=2, blank=True)
    type = models.CharField(_("type"), max_length=14, choices=VehicleType)
    status = models.CharField(_("status"), max_length=14, choices=VehicleStatus, default=VehicleStatus.IN_SERVICE)
    lift_type = models.CharField(_("lift type"), max_length=4, choices=LiftType, default=LiftType.NONE)
    lift_rating_lb = models.PositiveSmallIntegerField(_("lift rating, lb"), null=True, blank=True)
    max_chair_width_in = models.DecimalField(
        _("widest chair, in"), max_digits=4, decimal_places=1, null=True, blank=True
    )
    oxygen_mount = models.BooleanField(_("oxygen mount"), default=False)
    bariatric = models.BooleanField(_("bariatric"), default=False)
    stair_chair = models.BooleanField(_("stair chair"), default=False)
    odometer_miles = models.PositiveIntegerField(_("odometer miles"), null=True, blank=True)
    home_base = models.ForeignKey(HomeBase, models.PROTECT, null=True, blank=True, verbose_name=_("garage"))
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    objects = OfProviderQuerySet.as_manager()

    class Meta:
        verbose_name = _("vehicle")
        verbose_name_plural = _("vehicles")
        constraints = [
            models.UniqueConstraint(name="vehicle_unit_number_once", fields=["provider", "unit_number"]),
            models.CheckConstraint(name="vehicle_type_known", condition=Q(type__in=VehicleType.values)),
            models.CheckConstraint(name="vehicle_status_known", condition=Q(status__in=VehicleStatus.values)),
            models.CheckConstraint(name="vehicle_lift_type_known", condition=Q(lift_type__in=LiftType.values)),
            models.CheckConstraint(
                name="vehicle_lift_has_rating",
                condition=Q(lift_type="none") | Q(lift_rating_lb__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["unit_number", "id"], name="vehicle_list")]

    def __str__(self) -> str:
        return f"vehicle {self.unit_number}"


class CapacityConfig(models.Model):
    """One arrangement of a vehicle's seats and spaces; a fold-down seat makes configurations alternatives."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    vehicle = models.ForeignKey(Vehicle, models.CASCADE, related_name="capacity_configs", verbose_name=_("vehicle"))
    name = models.CharField(_("name"), max_length=50)
    ambulatory = models.PositiveSmallIntegerField(_("ambulatory"), default=0)
    wheelchair = models.PositiveSmallIntegerField(_("wheelchair"), default=0)
    stretcher = models.PositiveSmallIntegerField(_("stretcher"), default=0)

    class Meta:
        verbose_name = _("capacity config")
        verbose_name_plural = _("capacity configs")
        constraints = [
            models.UniqueConstraint(name="capacity_config_name_once", fields=["vehicle", "name"]),
            models.CheckConstraint(
                name="capacity_config_carries_someone",
                condition=Q(ambulatory__gt=0) | Q(wheelchair__gt=0) | Q(stretcher__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Employment(TextChoices):
    EMPLOYEE = "employee", _("Employee")
    CONTRACTOR = "contractor", _("Contractor")
    VOLUNTEER = "volunteer", _("Volunteer")
    PARTNER_COMPANY = "partner_company", _("partner company")


class Activation(TextChoices):
    PENDING = "pending", _("Pending")
    ACTIVE = "active", _("Active")
    SUSPENDED = "suspended", _("Suspended")
    INACTIVE = "inactive", _("Inactive")


class Qualification(TextChoices):
    WHEELCHAIR_SECUREMENT = "wheelchair_securement", _("wheelchair securement")
    STRETCHER = "stretcher", _("Stretcher")
    BARIATRIC = "bariatric", _("Bariatric")
    OXYGEN = "oxygen", _("Oxygen")
    PASSENGER_ASSIST = "passenger_assist", _("passenger assistance")
    PEDIATRIC = "pediatric", _("Pediatric")


class Driver(models.Model):
    """A person who drives, or attends, for one transport provider."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(TransportProvider, models.PROTECT, related_name="drivers", verbose_name=_("provider"))
    first_name = models.CharField(_("first name"), max_length=100)
    last_name = models.CharField(_("last name"), max_length=100)
    phone = models.CharField(_("phone"), max_length=16)  # E.164
    email = models.EmailField(_("email"), blank=True)
    photo_url = models.URLField(_("photo url"), blank=True)
    employment = models.CharField(_("employment"), max_length=15, choices=Employment, default=Employment.EMPLOYEE)
    activation = models.CharField(_("activation"), max_length=9, choices=Activation, default=Activation.PENDING)
    activation_reason = models.CharField(_("activation reason"), max_length=200, blank=True)
    activation_changed_at = models.DateTimeField(_("activation changed at"), null=True, blank=True)
    activation_changed_by = models.CharField(_("activation changed by"), max_length=60, blank=True)
    on_break = models.BooleanField(_("on break"), default=False)
    home_base = models.ForeignKey(HomeBase, models.PROTECT, null=True, blank=True, verbose_name=_("garage"))
    languages = ArrayField(models.CharField(max_length=35), default=list, blank=True, verbose_name=_("languages"))
    gender = models.CharField(_("gender"), max_length=6, blank=True, choices=[("female", "female"), ("male", "male")])
    license_number_encrypted = models.BinaryField(_("license number encrypted"), null=True, blank=True)
    license_state = models.CharField(_("license state"), max_length=2, blank=True)
    license_class = models.CharField(_("license class"), max_length=10, blank=True)
    qualifications = ArrayField(
        models.CharField(max_length=21, choices=Qualification),
        default=list,
        blank=True,
        verbose_name=_("qualifications"),
    )
    # Riders whom this driver must not carry; ids without a foreign key, because riders are in a sibling app.
    excluded_rider_ids = ArrayField(models.UUIDField(), default=list, blank=True, verbose_name=_("excluded rider ids"))
    default_vehicle = models.ForeignKey(
        Vehicle, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("default vehicle")
    )
    last_lat = models.DecimalField(_("last lat"), max_digits=9, decimal_places=6, null=True, blank=True)
    last_lng = models.DecimalField(_("last lng"), max_digits=9, decimal_places=6, null=True, blank=True)
    last_located_at = models.DateTimeField(_("last located at"), null=True, blank=True)
    last_heading = models.SmallIntegerField(_("last heading"), null=True, blank=True)  # degrees clockwise from north
    last_speed_mph = models.DecimalField(_("last speed, mph"), max_digits=4, decimal_places=1, null=True, blank=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    license_number = encrypted_text("license_number")

    objects = OfProviderQuerySet.as_manager()

    class Meta:
        verbose_name = _("driver")
        verbose_name_plural = _("drivers")
        constraints = [
            models.CheckConstraint(name="driver_employment_known", condition=Q(employment__in=Employment.values)),
            models.CheckConstraint(name="driver_activation_known", condition=Q(activation__in=Activation.values)),
            models.CheckConstraint(name="driver_gender_known", condition=Q(gender__in=["", "female", "male"])),
            models.CheckConstraint(
                name="driver_qualifications_known", condition=Q(qualifications__contained_by=Qualification.values)
            ),
            models.CheckConstraint(name="driver_phone_e164", condition=Q(phone__regex=r"^\+[1-9][0-9]{6,14}$")),
            models.CheckConstraint(
                name="driver_suspension_has_reason", condition=~Q(activation="suspended") | ~Q(activation_reason="")
            ),
            models.CheckConstraint(
                name="driver_location_whole",
                condition=(Q(last_lat__isnull=True) & Q(last_lng__isnull=True) & Q(last_located_at__isnull=True))
                | (Q(last_lat__isnull=False) & Q(last_lng__isnull=False) & Q(last_located_at__isnull=False)),
            ),
            models.CheckConstraint(name="driver_heading_in_degrees", condition=Q(last_heading__range=(0, 359))),
            models.CheckConstraint(name="driver_speed_not_negative", condition=Q(last_speed_mph__gte=0)),
        ]
        indexes = [
            models.Index(fields=["created_at", "id"], name="driver_list"),
            # Search by a name with one wrong letter.
            GinIndex(NameKeys("first_name", "last_name"), name="driver_by_name_keys"),
        ]

    def __str__(self) -> str:
        return f"driver {self.pk}"


class AbsenceReason(TextChoices):
    SICK = "sick", _("Sick")
    NO_SHOW = "no_show", pgettext_lazy("driver absence", "No-show")
    LEFT_EARLY = "left_early", _("Left early")
    OTHER = "other", pgettext_lazy("driver absence", "Other")


class Leave(models.Model):
    """Days or hours a driver is away: planned leave, or an absence that a dispatcher reported (`absence` is set).

    `undo` of an absence: the shifts as they were, and the rides that it freed, with their versions afterwards; see
    `services.absences`.  The ids of rides have no foreign key, because rides are in an app above.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    driver = models.ForeignKey(Driver, models.CASCADE, related_name="leave", verbose_name=_("driver"))
    starts_at = models.DateTimeField(_("starts at"))
    ends_at = models.DateTimeField(_("ends at"))
    reason = models.CharField(_("reason"), max_length=100, blank=True)
    absence = models.CharField(
        _("absence"), max_length=10, blank=True, choices=AbsenceReason, default="", db_default=""
    )
    reported_at = models.DateTimeField(_("reported at"), null=True, blank=True)
    reported_by = models.CharField(_("reported by"), max_length=60, blank=True, default="", db_default="")
    undo = models.JSONField(_("undo"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("leave")
        verbose_name_plural = _("leaves")
        constraints = [
            models.CheckConstraint(name="leave_forward", condition=Q(starts_at__lt=F("ends_at"))),
            models.CheckConstraint(name="leave_absence_known", condition=Q(absence__in=["", *AbsenceReason.values])),
            models.CheckConstraint(
                name="leave_absence_reported", condition=Q(absence="") | Q(reported_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"leave {self.pk}"


class OutageReason(TextChoices):
    BREAKDOWN = "breakdown", pgettext_lazy("vehicle outage", "Breakdown")
    ACCIDENT = "accident", pgettext_lazy("vehicle outage", "Accident")
    MAINTENANCE = "maintenance", pgettext_lazy("vehicle outage", "Maintenance")
    OTHER = "other", pgettext_lazy("vehicle outage", "Other")


class VehicleOutage(models.Model):
    """A vehicle that a dispatcher reported down.  Until `ends_at`, its drivers have other vehicles.

    `undo`: the status, shifts and rides as they were, with their versions afterwards; see `services.outages`.  The ids
    of rides have no foreign key, because rides are in an app above.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    vehicle = models.ForeignKey(Vehicle, models.CASCADE, related_name="outages", verbose_name=_("vehicle"))
    starts_at = models.DateTimeField(_("starts at"))
    ends_at = models.DateTimeField(_("ends at"))
    reason = models.CharField(_("reason"), max_length=11, choices=OutageReason)
    note = models.CharField(_("note"), max_length=100, blank=True)
    reported_at = models.DateTimeField(_("reported at"))
    reported_by = models.CharField(_("reported by"), max_length=60)  # an actor: "user:<id>"
    undo = models.JSONField(_("undo"), default=dict, editable=False)

    class Meta:
        verbose_name = _("vehicle outage")
        verbose_name_plural = _("vehicle outages")
        constraints = [
            models.CheckConstraint(name="outage_forward", condition=Q(starts_at__lt=F("ends_at"))),
            models.CheckConstraint(name="outage_reason_known", condition=Q(reason__in=OutageReason.values)),
        ]

    def __str__(self) -> str:
        return f"outage {self.pk}"


class Shift(models.Model):
    """A driver in a vehicle for `[starts_at, ends_at)`.  Constraints keep both out of two shifts at the same time.

    The planned break lies inside the shift when it is planned; if the shift is cut later, only the rest of it counts.
    """

    class Status(TextChoices):
        PLANNED = "planned", _("Planned")
        CANCELLED = "cancelled", _("Canceled")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(TransportProvider, models.PROTECT, related_name="+", verbose_name=_("provider"))
    driver = models.ForeignKey(Driver, models.PROTECT, related_name="shifts", verbose_name=_("driver"))
    vehicle = models.ForeignKey(Vehicle, models.PROTECT, related_name="shifts", verbose_name=_("vehicle"))
    starts_at = models.DateTimeField(_("starts at"))
    ends_at = models.DateTimeField(_("ends at"))
    break_starts_at = models.DateTimeField(_("break starts at"), null=True, blank=True)
    break_ends_at = models.DateTimeField(_("break ends at"), null=True, blank=True)
    status = models.CharField(_("status"), max_length=9, choices=Status, default=Status.PLANNED)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    objects = OfProviderQuerySet.as_manager()

    class Meta:
        verbose_name = _("shift")
        verbose_name_plural = _("shifts")
        constraints = [
            models.CheckConstraint(name="shift_status_known", condition=Q(status__in=["planned", "cancelled"])),
            models.CheckConstraint(name="shift_forward", condition=Q(starts_at__lt=F("ends_at"))),
            models.CheckConstraint(
                name="shift_break_forward",
                condition=Q(break_starts_at__isnull=True, break_ends_at__isnull=True)
                | Q(break_starts_at__isnull=False, break_starts_at__lt=F("break_ends_at")),
            ),
            # A range over uuid gives equality in a GiST index without the extension btree_gist, which the embedded
            # PostgreSQL does not have.
            ExclusionConstraint(
                name="shift_driver_once",
                expressions=[
                    (UuidRange("driver"), RangeOperators.OVERLAPS),
                    (
                        Func("starts_at", "ends_at", function="tstzrange", output_field=DateTimeRangeField()),
                        RangeOperators.OVERLAPS,
                    ),
                ],
                condition=Q(status="planned"),
            ),
            ExclusionConstraint(
                name="shift_vehicle_once",
                expressions=[
                    (UuidRange("vehicle"), RangeOperators.OVERLAPS),
                    (
                        Func("starts_at", "ends_at", function="tstzrange", output_field=DateTimeRangeField()),
                        RangeOperators.OVERLAPS,
                    ),
                ],
                condition=Q(status="planned"),
            ),
        ]
        indexes = [models.Index(fields=["starts_at", "id"], name="shift_list")]

    def __str__(self) -> str:
        return f"shift {self.pk}"
