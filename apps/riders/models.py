"""Riders: identity, preferences, and requirements for vehicles and drivers."""

from typing import TYPE_CHECKING, Final

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Facility
from apps.riders.rules.needs import AssistLevel, Mobility, OxygenSource, Precautions, Severity, StairEquipment
from apps.riders.rules.rider_status import RiderStatus
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.db.name_keys import NameKeys
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


NAMES: Final = ("first_name", "last_name", "preferred_name")


class Consent(TextChoices):
    GRANTED = "granted", _("Granted")
    DENIED = "denied", _("Denied")
    UNKNOWN = "unknown", _("Unknown")


class ContactPreference(TextChoices):
    SMS = "sms", _("text message")
    VOICE = "voice", _("Voice")
    FACILITY = "facility", _("Facility")
    CAREGIVER = "caregiver", _("Caregiver")


class RiderQuerySet(models.QuerySet["Rider"]):
    def visible_to(self, principal: "Principal") -> "RiderQuerySet":
        """Filter to riders of the principal's facilities; providers see riders only through their rides."""
        if principal.provider_ids is not None:
            return self.none()
        if principal.facility_ids is None:
            return self
        return self.filter(
            Q(pk__in=RiderFacility.objects.filter(facility_id__in=principal.facility_ids).values("rider_id"))
        )


class Rider(models.Model):
    """A person who rides.  Matched only by external id; name and date of birth only suggest a duplicate.

    `home_address` and `saved_places` are stops in the API's shape (keys: apps/organizations/rules/stops.py).
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    first_name = models.CharField(_("first name"), max_length=100)
    last_name = models.CharField(_("last name"), max_length=100)
    preferred_name = models.CharField(_("preferred name"), max_length=100, blank=True)
    date_of_birth = models.DateField(_("date of birth"), null=True, blank=True)
    medicaid_id_encrypted = models.BinaryField(_("medicaid id encrypted"), null=True, blank=True)
    medicaid_id_index = models.BinaryField(_("medicaid id index"), null=True, blank=True, max_length=32)
    member_id_encrypted = models.BinaryField(_("member id encrypted"), null=True, blank=True)
    member_id_index = models.BinaryField(_("member id index"), null=True, blank=True, max_length=32)
    # [{"number": E.164, "ext": "", "kind": "mobile|home|work|other"}], the preferred one first
    phones = models.JSONField(_("phones"), default=list, blank=True)
    sms_consent = models.CharField(_("SMS consent"), max_length=7, choices=Consent, default=Consent.UNKNOWN)
    sms_consent_at = models.DateTimeField(_("SMS consent at"), null=True, blank=True)
    email = models.EmailField(_("email"), blank=True)
    language = models.CharField(_("language"), max_length=35, default="en")  # BCP 47
    interpreter_needed = models.BooleanField(_("interpreter needed"), default=False)
    contact_preference = models.CharField(
        _("contact preference"), max_length=9, choices=ContactPreference, default=ContactPreference.VOICE
    )
    home_address = models.JSONField(_("home address"), null=True, blank=True)
    saved_places = models.JSONField(_("saved places"), default=list, blank=True)
    # [{"name", "phone", "relation", "notify": [event types]}]
    caregivers = models.JSONField(_("caregivers"), default=list, blank=True)
    emergency_contact = models.JSONField(_("emergency contact"), null=True, blank=True)  # {"name", "phone", "relation"}
    facilities = models.ManyToManyField(
        Facility, through="RiderFacility", related_name="riders", verbose_name=_("facilities")
    )
    # Drivers are in a sibling app: ids without a foreign key, checked on write (lib/reference_checks.py).
    preferred_driver_ids = ArrayField(
        models.UUIDField(), default=list, blank=True, verbose_name=_("preferred driver ids")
    )
    excluded_driver_ids = ArrayField(
        models.UUIDField(), default=list, blank=True, verbose_name=_("excluded driver ids")
    )
    driver_gender_preference = models.CharField(
        _("driver gender preference"), max_length=6, blank=True, choices=[("female", "female"), ("male", "male")]
    )
    status = models.CharField(_("status"), max_length=11, choices=RiderStatus, default=RiderStatus.ACTIVE)
    status_reason = models.CharField(_("status reason"), max_length=200, blank=True)
    status_from = models.DateField(_("status from"), null=True, blank=True)
    status_until = models.DateField(_("status until"), null=True, blank=True)
    verified = models.BooleanField(_("verified"), default=False)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    medicaid_id = encrypted_text("medicaid_id", indexed=True)
    member_id = encrypted_text("member_id", indexed=True)

    objects = RiderQuerySet.as_manager()

    class Meta:
        verbose_name = _("rider")
        verbose_name_plural = _("riders")
        constraints = [
            models.CheckConstraint(name="rider_status_known", condition=Q(status__in=RiderStatus.values)),
            models.CheckConstraint(
                name="rider_driver_gender_known", condition=Q(driver_gender_preference__in=["", "female", "male"])
            ),
            models.CheckConstraint(name="rider_sms_consent_known", condition=Q(sms_consent__in=Consent.values)),
            models.CheckConstraint(
                name="rider_contact_preference_known", condition=Q(contact_preference__in=ContactPreference.values)
            ),
            models.CheckConstraint(
                name="rider_status_period_forward",
                condition=Q(status_from__isnull=True)
                | Q(status_until__isnull=True)
                | Q(status_from__lte=F("status_until")),
            ),
            # Consent without the time at which it was given is no evidence.
            models.CheckConstraint(
                name="rider_consent_has_moment",
                condition=~Q(sms_consent="granted") | Q(sms_consent_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["created_at", "id"], name="rider_list"),
            models.Index(Lower("last_name"), Lower("first_name"), "id", name="rider_by_name"),
            # Search by name prefix: LIKE 'smi%' in any locale.
            models.Index(OpClass(Lower("last_name"), name="text_pattern_ops"), name="rider_last_name_prefix"),
            models.Index(OpClass(Lower("first_name"), name="text_pattern_ops"), name="rider_first_name_prefix"),
            models.Index(OpClass(Lower("preferred_name"), name="text_pattern_ops"), name="rider_preferred_name_prefix"),
            # Search by a name with one wrong letter.
            GinIndex(NameKeys(*NAMES), name="rider_by_name_keys"),
            models.Index(
                fields=["date_of_birth"], name="rider_by_birth_date", condition=Q(date_of_birth__isnull=False)
            ),
            # Search by phone number: phones @> '[{"number": ...}]'.
            GinIndex(OpClass("phones", name="jsonb_path_ops"), name="rider_by_phone"),
            models.Index(fields=["medicaid_id_index"], name="rider_by_medicaid_id"),
            models.Index(fields=["member_id_index"], name="rider_by_member_id"),
        ]

    def __str__(self) -> str:
        return f"rider {self.pk}"


class RiderFacility(models.Model):
    """A facility that may see and book a rider."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    rider = models.ForeignKey(Rider, models.CASCADE, verbose_name=_("rider"))
    facility = models.ForeignKey(Facility, models.PROTECT, verbose_name=_("facility"))

    class Meta:
        verbose_name = _("rider facility")
        verbose_name_plural = _("facilities of riders")
        constraints = [models.UniqueConstraint(name="rider_facility_once", fields=["facility", "rider"])]

    def __str__(self) -> str:
        return f"rider facility {self.pk}"


class AccommodationProfile(models.Model):
    """One version of a rider's needs.  A change adds the next version; rides keep a snapshot of theirs."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    rider = models.ForeignKey(Rider, models.PROTECT, related_name="accommodation_profiles", verbose_name=_("rider"))
    number = models.PositiveIntegerField(_("number"))  # 1, 2, 3, ... within the rider
    current = models.BooleanField(_("current"), default=True)
    recorded_at = models.DateTimeField(_("recorded at"))
    recorded_by = models.CharField(_("recorded by"), max_length=60)
    mobility = models.CharField(_("mobility"), max_length=20, choices=Mobility, default=Mobility.AMBULATORY)
    return_mobility = models.CharField(
        _("return mobility"), max_length=20, choices=Mobility, blank=True
    )  # "": the same
    assist_level = models.CharField(
        _("assist level"), max_length=17, choices=AssistLevel, default=AssistLevel.DOOR_TO_DOOR
    )
    handoff_required = models.BooleanField(_("handoff required"), default=False)
    must_not_be_left_alone = models.BooleanField(_("must not be left alone"), default=False)
    chair_width_in = models.DecimalField(_("chair width in"), max_digits=4, decimal_places=1, null=True, blank=True)
    chair_weight_lb = models.PositiveSmallIntegerField(_("chair weight lb"), null=True, blank=True)
    provide_chair = models.BooleanField(_("provide chair"), default=False)
    rider_weight_lb = models.PositiveSmallIntegerField(_("rider weight lb"), null=True, blank=True)
    oxygen_uses = models.BooleanField(_("oxygen uses"), default=False)
    oxygen_liters_per_minute = models.DecimalField(
        _("oxygen liters per minute"), max_digits=3, decimal_places=1, null=True, blank=True
    )
    oxygen_source = models.CharField(_("oxygen source"), max_length=12, choices=OxygenSource, blank=True)
    home_steps = models.PositiveSmallIntegerField(_("home steps"), default=0)
    stair_equipment = models.CharField(
        _("stair equipment"),
        max_length=11,
        default="none",
        choices=StairEquipment,
    )
    second_person = models.BooleanField(_("second person"), default=False)
    service_animal = models.BooleanField(_("service animal"), default=False)
    child_seat = models.BooleanField(_("child seat"), default=False)
    hearing = models.CharField(_("hearing"), max_length=6, choices=Severity, default=Severity.NONE)
    vision = models.CharField(_("vision"), max_length=6, choices=Severity, default=Severity.NONE)
    cognition = models.CharField(_("cognition"), max_length=6, choices=Severity, default=Severity.NONE)
    speech = models.CharField(_("speech"), max_length=6, choices=Severity, default=Severity.NONE)
    precautions = models.CharField(_("precautions"), max_length=8, choices=Precautions, default=Precautions.NONE)
    load_minutes = models.PositiveSmallIntegerField(_("load minutes"))
    unload_minutes = models.PositiveSmallIntegerField(_("unload minutes"))
    equipment = ArrayField(models.CharField(max_length=50), default=list, blank=True, verbose_name=_("equipment"))
    driver_notes = models.CharField(_("driver notes"), max_length=1000, blank=True)
    dispatcher_notes = models.CharField(_("dispatcher notes"), max_length=1000, blank=True)

    class Meta:
        verbose_name = _("accommodation profile")
        verbose_name_plural = _("accommodation profiles")
        constraints = [
            models.UniqueConstraint(name="accommodation_number_once", fields=["rider", "number"]),
            models.UniqueConstraint(name="accommodation_one_current", fields=["rider"], condition=Q(current=True)),
            models.CheckConstraint(name="accommodation_mobility_known", condition=Q(mobility__in=Mobility.values)),
            models.CheckConstraint(
                name="accommodation_return_mobility_known", condition=Q(return_mobility__in=["", *Mobility.values])
            ),
            models.CheckConstraint(
                name="accommodation_assist_level_known", condition=Q(assist_level__in=AssistLevel.values)
            ),
            models.CheckConstraint(
                name="accommodation_oxygen_source_known", condition=Q(oxygen_source__in=["", *OxygenSource.values])
            ),
            models.CheckConstraint(
                name="accommodation_stair_equipment_known",
                condition=Q(stair_equipment__in=["none", "ramp", "stair_chair"]),
            ),
            models.CheckConstraint(
                name="accommodation_senses_known",
                condition=Q(
                    hearing__in=Severity.values,
                    vision__in=Severity.values,
                    cognition__in=Severity.values,
                    speech__in=Severity.values,
                ),
            ),
            models.CheckConstraint(
                name="accommodation_precautions_known", condition=Q(precautions__in=Precautions.values)
            ),
            models.CheckConstraint(
                name="accommodation_oxygen_consistent",
                condition=Q(oxygen_uses=True) | (Q(oxygen_liters_per_minute__isnull=True) & Q(oxygen_source="")),
            ),
        ]

    def __str__(self) -> str:
        return f"accommodation profile {self.pk}"
