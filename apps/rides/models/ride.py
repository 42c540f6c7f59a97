"""The ride: one journey of one rider in one direction."""

from typing import TYPE_CHECKING, Final

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Cast, Now, Reverse, Right
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient
from apps.fleet.models import Driver, Vehicle, VehicleType
from apps.organizations.models import Facility, Payer, TransportProvider
from apps.riders.models import Rider
from apps.rides.models.trip import Trip
from apps.rides.rules.draft import ServiceType
from apps.rides.rules.exception_types import ExceptionSeverity
from apps.rides.rules.lifecycle import OPEN, WITH_DRIVER, RideStatus
from apps.rides.rules.reasons import CancellationTiming, Fault
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal

ID_END: Final = 12  # characters of an id that can be searched by
REVERSED_ID_END: Final = Reverse(Right(Cast("id", models.TextField()), ID_END))
ONE_OCCURRENCE: Final = "ride_occurrence_once_live"
ONE_REFERENCE: Final = "ride_client_reference_once"


class LegType(TextChoices):
    ONE_WAY = "one_way", _("one way")
    OUTBOUND = "outbound", _("Outbound")
    RETURN = "return", _("Return")
    INTERMEDIATE = "intermediate", _("Intermediate")


class Priority(TextChoices):
    ROUTINE = "routine", _("Routine")
    TIME_CRITICAL = "time_critical", _("time critical")
    LIFE_SUSTAINING = "life_sustaining", _("life sustaining")


class PickupTimeKind(TextChoices):
    FIRM = "firm", _("Firm")
    ESTIMATED = "estimated", _("Estimated")


class SchedulingAnchor(TextChoices):
    PICKUP = "pickup", _("Pickup")
    APPOINTMENT = "appointment", _("Appointment")


class ReadySource(TextChoices):
    RIDER_SMS = "rider_sms", _("Rider (text message)")
    RIDER_APP = "rider_app", _("Rider app")
    FACILITY_PORTAL = "facility_portal", _("Facility")
    PHONE = "phone", _("Phone")
    API = "api", _("API")
    HL7_ADT = "hl7_adt", _("Hospital system (HL7)")
    DRIVER = "driver", _("Driver")


class OccurrenceState(TextChoices):
    """How a ride of a series came to be as it is; what a person made of it, the series leaves alone."""

    AS_GENERATED = "as_generated", _("as generated")
    CUSTOMIZED = "customized", _("customized")
    SHIFTED = "shifted", _("shifted")


class MilesSource(TextChoices):
    GPS = "gps", _("GPS")
    ODOMETER = "odometer", _("Odometer")
    ROUTED = "routed", _("Routed")


def _choice_constraint(name: str, choices: type[TextChoices], *, blank: bool = False) -> models.CheckConstraint:
    allowed = ["", *choices.values] if blank else choices.values
    return models.CheckConstraint(name=f"ride_{name}_known", condition=Q(**{f"{name}__in": allowed}))


class RideQuerySet(models.QuerySet["Ride"]):
    def visible_to(self, principal: "Principal") -> "RideQuerySet":
        """Rides of the principal's facilities and, once a driver is assigned, of its providers.

        An unassigned ride is also visible to the providers that have an open offer for it.
        """
        rides = self
        if principal.facility_ids is not None:
            rides = rides.filter(facility_id__in=principal.facility_ids)
        if principal.provider_ids is not None:
            offered = Ride.objects.filter(
                assignments__status="offered", assignments__provider_id__in=principal.provider_ids
            )
            rides = rides.filter(Q(provider_id__in=principal.provider_ids) | Q(pk__in=offered.values("pk")))
        return rides

    def in_charge_of(self, principal: "Principal") -> "RideQuerySet":
        """Visible rides that the principal may change: an offer makes a ride visible, but not changeable."""
        rides = self.visible_to(principal)
        if principal.provider_ids is not None:
            rides = rides.filter(provider_id__in=principal.provider_ids)
        return rides

    def open(self) -> "RideQuerySet":
        return self.filter(status__in=sorted(OPEN))


class Ride(models.Model):
    """One leg.  `status` is moved by `services.status.move` alone; `version` is raised by one with each recorded event.

    `pickup`, `dropoff` and `accommodation` are stored in the shape of the API (stops.py, accommodation.py), so that
    lists return them unchanged.  Milestone times are copies of the valid rows of `milestones`, which also hold the
    source, the time of recording and voided milestones.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    trip = models.ForeignKey(Trip, models.PROTECT, null=True, blank=True, related_name="rides", verbose_name=_("trip"))
    leg_type = models.CharField(_("leg type"), max_length=12, choices=LegType, default=LegType.ONE_WAY)
    leg_sequence = models.PositiveSmallIntegerField(_("leg sequence"), default=1)
    # The client that booked it and its own name for it: at most one ride per pair.
    client = models.ForeignKey(
        ApiClient, models.PROTECT, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("client")
    )
    client_reference = models.CharField(_("client reference"), max_length=100, blank=True)
    rider = models.ForeignKey(Rider, models.PROTECT, related_name="rides", db_index=False, verbose_name=_("rider"))
    facility = models.ForeignKey(
        Facility,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="rides",
        db_index=False,
        verbose_name=_("facility"),
    )
    service_type = models.CharField(
        _("service type"), max_length=22, choices=ServiceType, default=ServiceType.APPOINTMENT
    )
    priority = models.CharField(_("priority"), max_length=15, choices=Priority, default=Priority.ROUTINE)

    pickup_at = models.DateTimeField(_("pickup at"))
    pickup_time_kind = models.CharField(
        _("pickup time kind"), max_length=9, choices=PickupTimeKind, default=PickupTimeKind.FIRM
    )
    appointment_at = models.DateTimeField(_("appointment at"), null=True, blank=True)
    scheduling_anchor = models.CharField(
        _("scheduling anchor"), max_length=11, choices=SchedulingAnchor, default=SchedulingAnchor.PICKUP
    )
    window_starts_at = models.DateTimeField(_("window starts at"))
    window_ends_at = models.DateTimeField(_("window ends at"))
    timezone = models.CharField(_("timezone"), max_length=64)
    service_date = models.DateField(_("service date"))  # local day of pickup_at in timezone

    pickup = models.JSONField(_("pickup"))
    dropoff = models.JSONField(_("dropoff"))
    pickup_facility = models.ForeignKey(
        Facility,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        verbose_name=_("pickup facility"),
    )
    dropoff_facility = models.ForeignKey(
        Facility,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        verbose_name=_("dropoff facility"),
    )
    # Access codes and the place of the key: encrypted, for drivers and dispatchers.
    pickup_access_encrypted = models.BinaryField(_("pickup access encrypted"), null=True, blank=True)
    dropoff_access_encrypted = models.BinaryField(_("dropoff access encrypted"), null=True, blank=True)
    will_call = models.BooleanField(_("will call"), default=False)
    ready_at = models.DateTimeField(_("ready at"), null=True, blank=True)
    ready_source = models.CharField(_("ready source"), max_length=15, choices=ReadySource, blank=True)
    promised_pickup_by = models.DateTimeField(_("promised pickup by"), null=True, blank=True)
    will_call_expires_at = models.DateTimeField(_("will call expires at"), null=True, blank=True)
    # Minutes a retracted release cost; they count as the facility's delay.
    facility_delay_minutes = models.PositiveIntegerField(_("facility delay minutes"), default=0)

    accommodation = models.JSONField(_("accommodation"))
    accommodation_version = models.PositiveIntegerField(_("accommodation version"))
    # Counts of escorts, attendantsProvided and children, and whether a serviceAnimal comes.
    companions = models.JSONField(_("companions"), default=dict)
    vehicle_type_requested = models.CharField(
        _("vehicle type requested"), max_length=14, choices=VehicleType, blank=True
    )
    spaces_ambulatory = models.PositiveSmallIntegerField(_("spaces ambulatory"), default=0)
    spaces_wheelchair = models.PositiveSmallIntegerField(_("spaces wheelchair"), default=0)
    spaces_stretcher = models.PositiveSmallIntegerField(_("spaces stretcher"), default=0)
    discharge = models.JSONField(_("discharge"), null=True, blank=True)
    dialysis = models.JSONField(_("dialysis"), null=True, blank=True)

    # Set by recurring rides; the order itself comes with them.
    standing_order_id = models.UUIDField(_("standing order id"), null=True, blank=True)
    occurrence_key = models.CharField(
        _("occurrence key"), max_length=100, blank=True
    )  # "<order>:<date>:<leg>", whatever day it moves to
    occurrence_state = models.CharField(_("occurrence state"), max_length=12, choices=OccurrenceState, blank=True)

    payer = models.ForeignKey(
        Payer, models.PROTECT, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("payer")
    )
    program_code = models.CharField(_("program code"), max_length=30, blank=True)
    authorization_number = models.CharField(_("authorization number"), max_length=50, blank=True)
    authorization_expires_on = models.DateField(_("authorization expires on"), null=True, blank=True)
    payer_member_id_encrypted = models.BinaryField(_("payer member id encrypted"), null=True, blank=True)

    driver_notes = models.CharField(_("driver notes"), max_length=1000, blank=True)
    dispatcher_notes = models.CharField(
        _("dispatcher notes"), max_length=1000, blank=True
    )  # never to drivers or webhooks
    facility_notes = models.CharField(_("facility notes"), max_length=1000, blank=True)
    # The person who requested the ride: userId, name, phone, role.
    requested_by = models.JSONField(_("requested by"), default=dict)
    requested_at = models.DateTimeField(_("requested at"))
    # Of a request: when an exception opens; 30 minutes of its facility's opening hours (timing.confirm_by).
    confirm_by = models.DateTimeField(_("confirm by"), null=True, blank=True)
    scheduled_at = models.DateTimeField(_("scheduled at"), null=True, blank=True)
    # Booked when it had taken place: no promise, no exceptions, and no part in the punctuality of reports.
    after_the_fact = models.BooleanField(_("recorded after the fact"), default=False, db_default=False)
    # Soft rules that were broken at booking, by code; a request waits for a person because of them.
    review_reasons = ArrayField(
        models.CharField(max_length=30), default=list, blank=True, verbose_name=_("review reasons")
    )

    status = models.CharField(_("status"), max_length=11, choices=RideStatus, default=RideStatus.SCHEDULED)
    status_changed_at = models.DateTimeField(_("status changed at"))
    status_before_end = models.CharField(
        _("status before end"), max_length=11, choices=RideStatus, blank=True
    )  # what `correct` returns to
    departed_at = models.DateTimeField(_("departed at"), null=True, blank=True)
    arrived_pickup_at = models.DateTimeField(_("arrived pickup at"), null=True, blank=True)
    boarded_at = models.DateTimeField(_("boarded at"), null=True, blank=True)
    arrived_dropoff_at = models.DateTimeField(_("arrived dropoff at"), null=True, blank=True)
    dropped_off_at = models.DateTimeField(_("dropped off at"), null=True, blank=True)
    eta_pickup_at = models.DateTimeField(_("eta pickup at"), null=True, blank=True)

    assignment_id = models.UUIDField(_("assignment id"), null=True, blank=True)  # the accepted one; its row points here
    provider = models.ForeignKey(
        TransportProvider,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        verbose_name=_("provider"),
    )
    driver = models.ForeignKey(
        Driver, models.PROTECT, null=True, blank=True, related_name="rides", db_index=False, verbose_name=_("driver")
    )
    vehicle = models.ForeignKey(
        Vehicle, models.PROTECT, null=True, blank=True, related_name="rides", db_index=False, verbose_name=_("vehicle")
    )
    attendant_ids = ArrayField(models.UUIDField(), default=list, blank=True, verbose_name=_("attendant ids"))
    # Of the standing order it comes from, beside those of the rider.
    preferred_driver_ids = ArrayField(
        models.UUIDField(), default=list, blank=True, db_default=[], verbose_name=_("preferred driver ids")
    )

    reason_code = models.CharField(_("reason code"), max_length=40, blank=True)  # of the ending
    fault = models.CharField(_("fault"), max_length=8, choices=Fault, blank=True)
    cancellation_timing = models.CharField(
        _("cancellation timing"), max_length=8, choices=CancellationTiming, blank=True
    )
    ended_by = models.CharField(_("ended by"), max_length=60, blank=True)
    end_note = models.CharField(_("end note"), max_length=1000, blank=True)

    estimated_miles = models.DecimalField(_("estimated miles"), max_digits=7, decimal_places=2, null=True, blank=True)
    estimated_minutes = models.PositiveIntegerField(_("estimated minutes"), null=True, blank=True)
    loaded_miles = models.DecimalField(_("loaded miles"), max_digits=7, decimal_places=2, null=True, blank=True)
    loaded_miles_source = models.CharField(_("loaded miles source"), max_length=8, choices=MilesSource, blank=True)
    odometer_start = models.DecimalField(_("odometer start"), max_digits=9, decimal_places=1, null=True, blank=True)
    odometer_end = models.DecimalField(_("odometer end"), max_digits=9, decimal_places=1, null=True, blank=True)
    wait_minutes = models.PositiveIntegerField(_("wait minutes"), null=True, blank=True)
    onboard_minutes = models.PositiveIntegerField(_("onboard minutes"), null=True, blank=True)
    # [{"signer": "rider|driver|facility", "stop": "pickup|dropoff", "name", "at"}]
    signatures = models.JSONField(_("signatures"), default=list, blank=True)
    attestation = models.JSONField(_("attestation"), null=True, blank=True)  # {"driverName", "at", "text"}
    handoff_name = models.CharField(_("handoff name"), max_length=100, blank=True)
    missing_documents = ArrayField(
        models.CharField(max_length=30), default=list, blank=True, verbose_name=_("missing documents")
    )

    open_exception_count = models.PositiveSmallIntegerField(_("open exception count"), default=0)
    max_exception_severity = models.CharField(
        _("max exception severity"), max_length=8, choices=ExceptionSeverity, blank=True
    )

    # When the exception monitor next evaluates this ride (exception_rules.py); null: never.  Written with every change
    # of the ride; the default makes the monitor evaluate rows inserted without it at once (docs/adr/0019).
    next_check_at = models.DateTimeField(_("next check at"), null=True, blank=True, editable=False, db_default=Now())

    version = models.PositiveIntegerField(_("version"), default=0)
    created_at = models.DateTimeField(_("created at"))
    updated_at = models.DateTimeField(_("updated at"))

    pickup_access = encrypted_text("pickup_access")
    dropoff_access = encrypted_text("dropoff_access")
    payer_member_id = encrypted_text("payer_member_id")

    objects = RideQuerySet.as_manager()

    class Meta:
        verbose_name = _("ride")
        verbose_name_plural = _("rides")
        constraints = [
            _choice_constraint("status", RideStatus),
            _choice_constraint("status_before_end", RideStatus, blank=True),
            _choice_constraint("leg_type", LegType),
            _choice_constraint("service_type", ServiceType),
            _choice_constraint("priority", Priority),
            _choice_constraint("pickup_time_kind", PickupTimeKind),
            _choice_constraint("scheduling_anchor", SchedulingAnchor),
            _choice_constraint("ready_source", ReadySource, blank=True),
            _choice_constraint("vehicle_type_requested", VehicleType, blank=True),
            _choice_constraint("fault", Fault, blank=True),
            _choice_constraint("cancellation_timing", CancellationTiming, blank=True),
            _choice_constraint("loaded_miles_source", MilesSource, blank=True),
            _choice_constraint("max_exception_severity", ExceptionSeverity, blank=True),
            _choice_constraint("occurrence_state", OccurrenceState, blank=True),
            models.UniqueConstraint(
                name=ONE_REFERENCE,
                fields=["client", "client_reference"],
                condition=~Q(client_reference=""),
            ),
            # One that was called off keeps its key beside the ride made in its place (docs/adr/0016).
            models.UniqueConstraint(
                name=ONE_OCCURRENCE,
                fields=["occurrence_key"],
                condition=~Q(occurrence_key="") & ~Q(status="cancelled"),
            ),
            models.CheckConstraint(
                name="ride_underway_has_driver_and_vehicle",
                condition=~Q(status__in=[*sorted(WITH_DRIVER), "completed"])
                | Q(driver__isnull=False, vehicle__isnull=False, provider__isnull=False, assignment_id__isnull=False),
            ),
            models.CheckConstraint(
                name="ride_unassigned_has_no_driver",
                condition=~Q(status__in=["requested", "scheduled"])
                | Q(driver__isnull=True, vehicle__isnull=True, provider__isnull=True, assignment_id__isnull=True),
            ),
            models.CheckConstraint(
                name="ride_ended_badly_has_reason_and_fault",
                condition=~Q(status__in=["cancelled", "no_show", "unfulfilled"])
                | (~Q(reason_code="") & ~Q(fault="") & ~Q(ended_by="")),
            ),
            models.CheckConstraint(
                name="ride_cancelled_has_timing",
                condition=Q(status="cancelled") & ~Q(cancellation_timing="")
                | ~Q(status="cancelled") & Q(cancellation_timing=""),
            ),
            models.CheckConstraint(
                name="ride_ended_remembers_where",
                condition=~Q(status__in=["completed", "cancelled", "no_show", "unfulfilled"])
                | ~Q(status_before_end=""),
            ),
            models.CheckConstraint(
                name="ride_milestones_in_order",
                condition=(
                    Q(departed_at__isnull=True)
                    | Q(arrived_pickup_at__isnull=True)
                    | Q(departed_at__lte=F("arrived_pickup_at"))
                )
                & (
                    Q(arrived_pickup_at__isnull=True)
                    | Q(boarded_at__isnull=True)
                    | Q(arrived_pickup_at__lte=F("boarded_at"))
                )
                & (
                    Q(boarded_at__isnull=True)
                    | Q(arrived_dropoff_at__isnull=True)
                    | Q(boarded_at__lte=F("arrived_dropoff_at"))
                )
                & (
                    Q(arrived_dropoff_at__isnull=True)
                    | Q(dropped_off_at__isnull=True)
                    | Q(arrived_dropoff_at__lte=F("dropped_off_at"))
                ),
            ),
            models.CheckConstraint(
                name="ride_completed_was_delivered",
                condition=~Q(status="completed") | Q(boarded_at__isnull=False, dropped_off_at__isnull=False),
            ),
            models.CheckConstraint(
                name="ride_will_call_departs_released",
                condition=Q(will_call=False)
                | ~Q(status__in=["en_route", "arrived", "in_progress", "completed"])
                | Q(ready_at__isnull=False),
            ),
            models.CheckConstraint(
                name="ride_will_call_is_estimated",
                condition=Q(will_call=True, pickup_time_kind="estimated", will_call_expires_at__isnull=False)
                | Q(will_call=False, pickup_time_kind="firm", ready_at__isnull=True),
            ),
            models.CheckConstraint(
                name="ride_ready_has_source_and_promise",
                condition=Q(ready_at__isnull=True, ready_source="")
                | (Q(ready_at__isnull=False, promised_pickup_by__isnull=False) & ~Q(ready_source="")),
            ),
            models.CheckConstraint(
                name="ride_appointment_after_pickup",
                condition=Q(appointment_at__isnull=True) | Q(appointment_at__gt=F("pickup_at")),
            ),
            # A ride to dialysis has a chair time; the return trip is scheduled from it.
            models.CheckConstraint(
                name="ride_to_dialysis_has_chair_time",
                condition=~Q(service_type="dialysis") | Q(leg_type="return") | Q(appointment_at__isnull=False),
            ),
            models.CheckConstraint(name="ride_window_forward", condition=Q(window_starts_at__lte=F("window_ends_at"))),
            models.CheckConstraint(
                name="ride_discharge_has_details",
                condition=~Q(service_type="hospital_discharge") | Q(discharge__isnull=False),
            ),
            models.CheckConstraint(
                name="ride_exceptions_counted",
                condition=Q(open_exception_count=0, max_exception_severity="")
                | (Q(open_exception_count__gt=0) & ~Q(max_exception_severity="")),
            ),
        ]
        indexes = [
            # GET /rides by pickup time, whole or by status, facility, provider; `id` breaks ties of the cursor.
            models.Index(fields=["pickup_at", "id"], name="ride_by_pickup"),
            models.Index(fields=["status", "pickup_at", "id"], name="ride_by_status"),
            models.Index(fields=["facility", "pickup_at", "id"], name="ride_by_facility"),
            models.Index(fields=["provider", "pickup_at", "id"], name="ride_by_provider"),
            # GET /rides?sort=updatedAt and ?sort=-createdAt
            models.Index(fields=["updated_at", "id"], name="ride_by_update"),
            models.Index(fields=["created_at", "id"], name="ride_by_creation"),
            # GET /rides?clientReference= of a caller without a client of its own.
            models.Index(
                fields=["client_reference"], name="ride_by_client_reference", condition=~Q(client_reference="")
            ),
            # The day of a driver or vehicle: conflicts, suspension, run sheets.
            models.Index(fields=["driver", "pickup_at"], name="ride_of_driver", condition=Q(driver__isnull=False)),
            models.Index(fields=["vehicle", "pickup_at"], name="ride_of_vehicle", condition=Q(vehicle__isnull=False)),
            models.Index(fields=["rider", "pickup_at"], name="ride_of_rider"),
            # Search by the end of the id.
            models.Index(OpClass(REVERSED_ID_END, name="text_pattern_ops"), name="ride_by_id_end"),
            # What the clock finds (services/exception_monitor.py).
            models.Index(fields=["next_check_at"], name="ride_next_check", condition=Q(next_check_at__isnull=False)),
            # The rides of a series.
            models.Index(
                fields=["standing_order_id", "pickup_at"],
                name="ride_of_standing_order",
                condition=Q(standing_order_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"ride {self.pk}"
