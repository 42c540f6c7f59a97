"""Facilities, transport providers and payers, and external ids: the ids of records in other systems."""

from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.organizations.zones import validate_zone
from lib.choices import TextChoices
from lib.db.name_keys import NameKeys
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


class FacilityKind(TextChoices):
    HOSPITAL = "hospital", _("Hospital")
    DIALYSIS = "dialysis", _("Dialysis")
    SNF = "snf", _("skilled nursing facility")
    REHAB = "rehab", _("Rehab")
    CLINIC = "clinic", _("Clinic")
    ADULT_DAY = "adult_day", _("adult day center")
    RESIDENCE = "residence", _("Residence")
    OTHER = "other", _("Other")


class BookingPolicy(TextChoices):
    AUTO_CONFIRM = "auto_confirm", _("confirm at once")
    REVIEW = "review", _("a dispatcher confirms")


class ReturnLegPolicy(TextChoices):
    HOLD = "hold", _("hold for decision")
    CANCEL = "cancel", _("Cancel")
    KEEP = "keep", _("Keep")


class PostalAddress(models.Model):
    """Abstract: a US postal address with WGS84 coordinates to six decimals (about 0.1 m)."""

    address_line1 = models.CharField(_("address line 1"), max_length=200)
    address_line2 = models.CharField(_("address line 2"), max_length=200, blank=True)
    city = models.CharField(_("city"), max_length=100)
    state = models.CharField(_("state"), max_length=50)
    postal_code = models.CharField(_("postal code"), max_length=20)
    lat = models.DecimalField(_("latitude"), max_digits=9, decimal_places=6, null=True, blank=True)
    lng = models.DecimalField(_("longitude"), max_digits=9, decimal_places=6, null=True, blank=True)

    class Meta:
        abstract = True


def valid_coordinates(name: str) -> models.CheckConstraint:
    """Constrain `lat` and `lng`: both or neither, in WGS84 degrees."""
    return models.CheckConstraint(
        name=name,
        condition=Q(lat__isnull=True, lng__isnull=True)
        # A comparison with null is null, which a check constraint accepts.
        | Q(lat__isnull=False, lng__isnull=False, lat__range=(-90, 90), lng__range=(-180, 180)),
    )


def default_escalation_minutes() -> list[int]:
    return [0, 15, 30, 45, 60]


class EscalationPolicy(models.Model):
    """The escalation steps for a discharge ride without a driver."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=100, unique=True)
    # Minutes after release of each step: offer, dispatcher alarm, wider pool, supervisor, no driver available.
    step_minutes = ArrayField(
        models.PositiveSmallIntegerField(), size=5, default=default_escalation_minutes, verbose_name=_("step minutes")
    )

    class Meta:
        verbose_name = _("escalation policy")
        verbose_name_plural = _("escalation policies")

    def __str__(self) -> str:
        return self.name


class FacilityQuerySet(models.QuerySet["Facility"]):
    def visible_to(self, principal: "Principal") -> "FacilityQuerySet":
        """Filter by the principal's data scope."""
        if principal.facility_ids is None:
            return self
        return self.filter(pk__in=principal.facility_ids)


class Facility(PostalAddress):
    """A place of care that requests rides, and where rides start and end.

    Minutes are service levels of this facility; the defaults are policy, not fact.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=200)
    kind = models.CharField(_("kind"), max_length=12, choices=FacilityKind)
    timezone = models.CharField(_("timezone"), max_length=64, validators=[validate_zone])
    geofence_radius_meters = models.PositiveIntegerField(_("geofence radius meters"), default=150)
    # [{"days": ["mon", ...], "opens": "HH:MM", "closes": "HH:MM"}], local wall time
    hours = models.JSONField(_("hours"), default=list, blank=True)
    booking_policy = models.CharField(
        _("booking policy"), max_length=12, choices=BookingPolicy, default=BookingPolicy.AUTO_CONFIRM
    )
    lead_time_minutes = models.PositiveIntegerField(_("lead time minutes"), default=0)
    discharge_target_minutes = models.PositiveIntegerField(_("discharge target minutes"), default=60)
    discharge_max_minutes = models.PositiveIntegerField(_("discharge max minutes"), default=180)
    will_call_response_minutes = models.PositiveIntegerField(_("will call response minutes"), default=60)
    pickup_late_minutes = models.PositiveIntegerField(_("pickup late minutes"), default=15)
    pickup_early_minutes = models.PositiveIntegerField(_("pickup early minutes"), default=15)
    arrive_early_minutes = models.PositiveIntegerField(_("arrive early minutes"), default=15)
    arrive_too_early_minutes = models.PositiveIntegerField(_("arrive too early minutes"), default=60)
    # Null: 5 at homes, 10 at facilities, 15 for discharges and will-call.
    no_show_wait_minutes = models.PositiveIntegerField(_("no show wait minutes"), null=True, blank=True)
    late_cancel_minutes = models.PositiveIntegerField(_("late cancel minutes"), default=120)
    return_leg_policy = models.CharField(
        _("return leg policy"), max_length=6, choices=ReturnLegPolicy, default=ReturnLegPolicy.HOLD
    )
    escalation_policy = models.ForeignKey(
        EscalationPolicy, models.PROTECT, null=True, blank=True, verbose_name=_("escalation policy")
    )
    # Origin and destination letter on claims: H hospital, R residence, J and G dialysis, N SNF, P physician, D other.
    modifier_code = models.CharField(_("modifier code"), max_length=1, default="D")
    active = models.BooleanField(_("active"), default=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    objects = FacilityQuerySet.as_manager()

    class Meta:
        verbose_name = _("facility")
        verbose_name_plural = _("facilities")
        constraints = [
            valid_coordinates("facility_on_the_globe"),
            models.CheckConstraint(name="facility_kind_known", condition=Q(kind__in=FacilityKind.values)),
            models.CheckConstraint(
                name="facility_booking_policy_known", condition=Q(booking_policy__in=BookingPolicy.values)
            ),
            models.CheckConstraint(
                name="facility_return_leg_policy_known", condition=Q(return_leg_policy__in=ReturnLegPolicy.values)
            ),
            models.CheckConstraint(
                name="facility_discharge_target_within_max",
                condition=Q(discharge_target_minutes__lte=F("discharge_max_minutes")),
            ),
            models.CheckConstraint(
                name="facility_modifier_code_known", condition=Q(modifier_code__in=["H", "R", "J", "G", "N", "P", "D"])
            ),
        ]
        indexes = [
            models.Index(fields=["name", "id"], name="facility_list"),
            # Search by a name with one wrong letter.
            GinIndex(NameKeys("name"), name="facility_by_name_keys"),
        ]

    def __str__(self) -> str:
        return self.name


class Entrance(models.Model):
    """An entrance of a facility where drivers meet riders."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    facility = models.ForeignKey(Facility, models.CASCADE, related_name="entrances", verbose_name=_("facility"))
    name = models.CharField(_("name"), max_length=100)
    lat = models.DecimalField(_("latitude"), max_digits=9, decimal_places=6, null=True, blank=True)
    lng = models.DecimalField(_("longitude"), max_digits=9, decimal_places=6, null=True, blank=True)
    instructions = models.CharField(_("instructions"), max_length=500, blank=True)
    hours = models.CharField(_("hours"), max_length=200, blank=True)
    curb_rules = models.CharField(_("curb rules"), max_length=200, blank=True)
    wheelchair_ok = models.BooleanField(_("wheelchair ok"), default=True)

    class Meta:
        verbose_name = _("entrance")
        verbose_name_plural = _("entrances")
        constraints = [
            models.UniqueConstraint(name="entrance_name_once", fields=["facility", "name"]),
            valid_coordinates("entrance_on_the_globe"),
        ]

    def __str__(self) -> str:
        return self.name


class ContactRole(TextChoices):
    UNIT = "unit", _("Unit")
    CHARGE_NURSE = "charge_nurse", _("Charge nurse")
    SCHEDULING = "scheduling", _("Scheduling")
    SOCIAL_WORK = "social_work", _("Social work")
    AFTER_HOURS = "after_hours", _("After hours")
    BILLING = "billing", _("Billing")


class Contact(models.Model):
    """A contact person of a facility, by role."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    facility = models.ForeignKey(Facility, models.CASCADE, related_name="contacts", verbose_name=_("facility"))
    role = models.CharField(_("role"), max_length=12, choices=ContactRole)
    name = models.CharField(_("name"), max_length=100)
    phone = models.CharField(_("phone"), max_length=16)  # E.164
    ext = models.CharField(_("extension"), max_length=10, blank=True)

    class Meta:
        verbose_name = _("contact")
        verbose_name_plural = _("contacts")
        constraints = [
            models.CheckConstraint(name="contact_role_known", condition=Q(role__in=ContactRole.values)),
            models.CheckConstraint(name="contact_phone_e164", condition=Q(phone__regex=r"^\+[1-9][0-9]{6,14}$")),
        ]

    def __str__(self) -> str:
        return f"contact {self.pk}"


class CalendarShiftQuerySet(models.QuerySet["CalendarShift"]):
    def visible_to(self, principal: "Principal") -> "CalendarShiftQuerySet":
        """Filter by the principal's facilities; none for providers, whom calendar shifts do not concern."""
        if principal.provider_ids is not None:
            return self.none()
        return self if principal.facility_ids is None else self.filter(facility_id__in=principal.facility_ids)

    def in_force(self) -> "CalendarShiftQuerySet":
        """Filter to shifts that affect rides: applied, and not undone."""
        return self.filter(applied_at__isnull=False, undone_at__isnull=True)


class CalendarShift(models.Model):
    """A day of one facility that moves in a holiday week.

    It is entered and previewed first; it affects rides from the time it is applied until it is undone.
    """

    class AppliesTo(TextChoices):
        MWF = "mwf", pgettext_lazy("calendar shift applies to", "Monday, Wednesday, Friday")
        TTS = "tts", pgettext_lazy("calendar shift applies to", "Tuesday, Thursday, Saturday")
        ALL = "all", _("All")
        SELECTED = "selected", _("selected standing orders")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    facility = models.ForeignKey(Facility, models.CASCADE, related_name="calendar_shifts", verbose_name=_("facility"))
    from_date = models.DateField(_("from date"))
    to_date = models.DateField(_("to date"), null=True, blank=True)  # null: no service that day
    new_chair_time = models.TimeField(_("new chair time"), null=True, blank=True)
    offset_minutes = models.SmallIntegerField(_("offset minutes"), null=True, blank=True)
    applies_to = models.CharField(_("applies to"), max_length=8, choices=AppliesTo, default=AppliesTo.ALL)
    standing_order_ids = ArrayField(models.UUIDField(), default=list, blank=True, verbose_name=_("standing order ids"))
    created_by = models.CharField(
        _("created by"), max_length=60, blank=True, db_default=""
    )  # "user:<id>", "token:<id>", "system"
    created_at = models.DateTimeField(_("created at"), null=True, blank=True)
    applied_at = models.DateTimeField(_("applied at"), null=True, blank=True)
    undone_at = models.DateTimeField(_("undone at"), null=True, blank=True)

    objects = CalendarShiftQuerySet.as_manager()

    class Meta:
        verbose_name = _("calendar shift")
        verbose_name_plural = _("calendar shifts")
        constraints = [
            models.CheckConstraint(
                name="calendar_shift_undone_was_applied",
                condition=Q(undone_at__isnull=True) | Q(applied_at__isnull=False),
            ),
            models.CheckConstraint(
                name="calendar_shift_applies_to_known", condition=Q(applies_to__in=["mwf", "tts", "all", "selected"])
            ),
            models.CheckConstraint(
                name="calendar_shift_one_time_change",
                condition=Q(new_chair_time__isnull=True) | Q(offset_minutes__isnull=True),
            ),
            models.CheckConstraint(
                name="calendar_shift_selects_orders",
                condition=~Q(applies_to="selected") | ~Q(standing_order_ids=[]),
            ),
        ]

    def __str__(self) -> str:
        return f"calendar shift {self.pk}"


class TransportProviderQuerySet(models.QuerySet["TransportProvider"]):
    def visible_to(self, principal: "Principal") -> "TransportProviderQuerySet":
        """Filter by the principal's data scope."""
        return self if principal.provider_ids is None else self.filter(pk__in=principal.provider_ids)


class TransportProvider(models.Model):
    """A company or fleet that transports riders."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=200, unique=True)
    phone = models.CharField(_("phone"), max_length=16, blank=True)
    timezone = models.CharField(_("timezone"), max_length=64, validators=[validate_zone])
    active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = TransportProviderQuerySet.as_manager()

    class Meta:
        verbose_name = _("transport provider")
        verbose_name_plural = _("transport providers")

    def __str__(self) -> str:
        return self.name


class HomeBaseQuerySet(models.QuerySet["HomeBase"]):
    def visible_to(self, principal: "Principal") -> "HomeBaseQuerySet":
        """Filter to home bases of providers in the principal's data scope."""
        return self if principal.provider_ids is None else self.filter(provider_id__in=principal.provider_ids)


class HomeBase(PostalAddress):
    """A place where a provider's vehicles are parked overnight and drivers start."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(
        TransportProvider, models.PROTECT, related_name="home_bases", verbose_name=_("provider")
    )
    name = models.CharField(_("name"), max_length=100)

    objects = HomeBaseQuerySet.as_manager()

    class Meta:
        verbose_name = _("garage")
        verbose_name_plural = _("garages")
        constraints = [
            models.UniqueConstraint(name="home_base_name_once", fields=["provider", "name"]),
            valid_coordinates("home_base_on_the_globe"),
        ]

    def __str__(self) -> str:
        return self.name


class Payer(models.Model):
    """A payer of rides, and the signatures it requires for each leg."""

    class SignatureRule(TextChoices):
        """The stops at which a signature is required."""

        NONE = "none", pgettext_lazy("payer signature rule", "None")
        PICKUP = "pickup", _("Pickup")
        DROPOFF = "dropoff", _("Drop-off")
        BOTH = "both", pgettext_lazy("payer signature rule", "Both")

    class Signers(TextChoices):
        """Whose signature is required at these stops; a facility's signature counts as the rider's."""

        ANY = "any", _("Any")
        RIDER = "rider", _("Rider")
        DRIVER = "driver", _("Driver")
        BOTH = "both", _("Both")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=200, unique=True)
    signature_rule = models.CharField(
        _("signature rule"), max_length=7, choices=SignatureRule, default=SignatureRule.NONE
    )
    signers = models.CharField(_("signers"), max_length=6, choices=Signers, default=Signers.ANY, db_default=Signers.ANY)
    odometer_required = models.BooleanField(_("odometer required"), default=False)
    authorization_required = models.BooleanField(_("authorization required"), default=False)
    active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("payer")
        verbose_name_plural = _("payers")
        constraints = [
            models.CheckConstraint(
                name="payer_signature_rule_known",
                condition=Q(signature_rule__in=["none", "pickup", "dropoff", "both"]),
            ),
            models.CheckConstraint(
                name="payer_signers_known", condition=Q(signers__in=["any", "rider", "driver", "both"])
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SubjectType(TextChoices):
    """Kinds of records that have external ids."""

    RIDE = "ride", _("Ride")
    TRIP = "trip", _("Trip")
    RIDER = "rider", _("Rider")
    DRIVER = "driver", _("Driver")
    VEHICLE = "vehicle", _("Vehicle")
    FACILITY = "facility", _("Facility")
    STANDING_ORDER = "standing_order", _("standing order")


class ExternalId(models.Model):
    """The id of a record in another system.

    `system` is the assigning authority; an id is unique within it and per kind of record.  No foreign key, because it
    refers to records of apps above this one; it cannot become orphaned, because records are not deleted.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    subject_type = models.CharField(_("subject type"), max_length=14, choices=SubjectType)
    subject_id = models.UUIDField(_("subject id"))
    system = models.CharField(_("system"), max_length=100)
    value = models.CharField(_("value"), max_length=100)
    type = models.CharField(_("type"), max_length=50, blank=True)  # "mrn", "encounter", "order", ...

    class Meta:
        verbose_name = _("external id")
        verbose_name_plural = _("external ids")
        constraints = [
            models.CheckConstraint(
                name="external_id_subject_type_known", condition=Q(subject_type__in=SubjectType.values)
            ),
            models.UniqueConstraint(name="external_id_once", fields=["subject_type", "system", "value"]),
        ]
        indexes = [
            models.Index(fields=["subject_type", "subject_id"], name="external_id_of_subject"),
            # Search by an id that a caller reads out, in any system.
            models.Index(fields=["value", "subject_type"], name="external_id_by_value"),
        ]

    def __str__(self) -> str:
        return f"external id {self.pk}"
