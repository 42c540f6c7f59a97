import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("fleet", "0002_initial"),
        ("organizations", "0001_initial"),
        ("riders", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Ride",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                (
                    "leg_type",
                    models.CharField(
                        choices=[
                            ("one_way", "one way"),
                            ("outbound", "Outbound"),
                            ("return", "Return"),
                            ("intermediate", "Intermediate"),
                        ],
                        default="one_way",
                        max_length=12,
                        verbose_name="leg type",
                    ),
                ),
                ("leg_sequence", models.PositiveSmallIntegerField(default=1, verbose_name="leg sequence")),
                ("client_reference", models.CharField(blank=True, max_length=100, verbose_name="client reference")),
                (
                    "service_type",
                    models.CharField(
                        choices=[
                            ("appointment", "Appointment"),
                            ("dialysis", "Dialysis"),
                            ("hospital_discharge", "hospital discharge"),
                            ("interfacility_transfer", "transfer between facilities"),
                            ("admission", "Admission"),
                            ("therapy", "Therapy"),
                            ("pharmacy_stop", "pharmacy stop"),
                            ("other", "Other"),
                        ],
                        default="appointment",
                        max_length=22,
                        verbose_name="service type",
                    ),
                ),
                (
                    "priority",
                    models.CharField(
                        choices=[
                            ("routine", "Routine"),
                            ("time_critical", "time critical"),
                            ("life_sustaining", "life sustaining"),
                        ],
                        default="routine",
                        max_length=15,
                        verbose_name="priority",
                    ),
                ),
                ("pickup_at", models.DateTimeField(verbose_name="pickup at")),
                (
                    "pickup_time_kind",
                    models.CharField(
                        choices=[("firm", "Firm"), ("estimated", "Estimated")],
                        default="firm",
                        max_length=9,
                        verbose_name="pickup time kind",
                    ),
                ),
                ("appointment_at", models.DateTimeField(blank=True, null=True, verbose_name="appointment at")),
                (
                    "scheduling_anchor",
                    models.CharField(
                        choices=[("pickup", "Pickup"), ("appointment", "Appointment")],
                        default="pickup",
                        max_length=11,
                        verbose_name="scheduling anchor",
                    ),
                ),
                ("window_starts_at", models.DateTimeField(verbose_name="window starts at")),
                ("window_ends_at", models.DateTimeField(verbose_name="window ends at")),
                ("timezone", models.CharField(max_length=64, verbose_name="timezone")),
                ("service_date", models.DateField(verbose_name="service date")),
                ("pickup", models.JSONField(verbose_name="pickup")),
                ("dropoff", models.JSONField(verbose_name="dropoff")),
                (
                    "pickup_access_encrypted",
                    models.BinaryField(blank=True, null=True, verbose_name="pickup access encrypted"),
                ),
                (
                    "dropoff_access_encrypted",
                    models.BinaryField(blank=True, null=True, verbose_name="dropoff access encrypted"),
                ),
                ("will_call", models.BooleanField(default=False, verbose_name="will call")),
                ("ready_at", models.DateTimeField(blank=True, null=True, verbose_name="ready at")),
                (
                    "ready_source",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("rider_sms", "Rider Sms"),
                            ("rider_app", "Rider App"),
                            ("facility_portal", "Facility Portal"),
                            ("phone", "Phone"),
                            ("api", "Api"),
                            ("hl7_adt", "Hl7 Adt"),
                            ("driver", "Driver"),
                        ],
                        max_length=15,
                        verbose_name="ready source",
                    ),
                ),
                ("promised_pickup_by", models.DateTimeField(blank=True, null=True, verbose_name="promised pickup by")),
                (
                    "will_call_expires_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="will call expires at"),
                ),
                (
                    "facility_delay_minutes",
                    models.PositiveIntegerField(default=0, verbose_name="facility delay minutes"),
                ),
                ("accommodation", models.JSONField(verbose_name="accommodation")),
                ("accommodation_version", models.PositiveIntegerField(verbose_name="accommodation version")),
                ("companions", models.JSONField(default=dict, verbose_name="companions")),
                (
                    "vehicle_type_requested",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sedan", "Sedan"),
                            ("minivan", "Minivan"),
                            ("wheelchair_van", "wheelchair van"),
                            ("stretcher_van", "stretcher van"),
                            ("bls_ambulance", "BLS ambulance"),
                            ("rideshare", "Rideshare"),
                            ("taxi", "Taxi"),
                            ("volunteer", "Volunteer"),
                        ],
                        max_length=14,
                        verbose_name="vehicle type requested",
                    ),
                ),
                ("spaces_ambulatory", models.PositiveSmallIntegerField(default=0, verbose_name="spaces ambulatory")),
                ("spaces_wheelchair", models.PositiveSmallIntegerField(default=0, verbose_name="spaces wheelchair")),
                ("spaces_stretcher", models.PositiveSmallIntegerField(default=0, verbose_name="spaces stretcher")),
                ("discharge", models.JSONField(blank=True, null=True, verbose_name="discharge")),
                ("dialysis", models.JSONField(blank=True, null=True, verbose_name="dialysis")),
                ("standing_order_id", models.UUIDField(blank=True, null=True, verbose_name="standing order id")),
                ("occurrence_key", models.CharField(blank=True, max_length=100, verbose_name="occurrence key")),
                (
                    "occurrence_state",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("as_generated", "as generated"),
                            ("customized", "customized"),
                            ("shifted", "shifted"),
                        ],
                        max_length=12,
                        verbose_name="occurrence state",
                    ),
                ),
                ("program_code", models.CharField(blank=True, max_length=30, verbose_name="program code")),
                (
                    "authorization_number",
                    models.CharField(blank=True, max_length=50, verbose_name="authorization number"),
                ),
                (
                    "authorization_expires_on",
                    models.DateField(blank=True, null=True, verbose_name="authorization expires on"),
                ),
                (
                    "payer_member_id_encrypted",
                    models.BinaryField(blank=True, null=True, verbose_name="payer member id encrypted"),
                ),
                ("driver_notes", models.CharField(blank=True, max_length=1000, verbose_name="driver notes")),
                ("dispatcher_notes", models.CharField(blank=True, max_length=1000, verbose_name="dispatcher notes")),
                ("facility_notes", models.CharField(blank=True, max_length=1000, verbose_name="facility notes")),
                ("requested_by", models.JSONField(default=dict, verbose_name="requested by")),
                ("requested_at", models.DateTimeField(verbose_name="requested at")),
                ("confirm_by", models.DateTimeField(blank=True, null=True, verbose_name="confirm by")),
                ("scheduled_at", models.DateTimeField(blank=True, null=True, verbose_name="scheduled at")),
                (
                    "review_reasons",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="review reasons",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("requested", "Requested"),
                            ("scheduled", "Scheduled"),
                            ("assigned", "Assigned"),
                            ("en_route", "en route"),
                            ("arrived", "Arrived"),
                            ("in_progress", "in progress"),
                            ("completed", "Completed"),
                            ("cancelled", "Cancelled"),
                            ("no_show", "no-show"),
                            ("unfulfilled", "Unfulfilled"),
                        ],
                        default="scheduled",
                        max_length=11,
                        verbose_name="status",
                    ),
                ),
                ("status_changed_at", models.DateTimeField(verbose_name="status changed at")),
                (
                    "status_before_end",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("requested", "Requested"),
                            ("scheduled", "Scheduled"),
                            ("assigned", "Assigned"),
                            ("en_route", "en route"),
                            ("arrived", "Arrived"),
                            ("in_progress", "in progress"),
                            ("completed", "Completed"),
                            ("cancelled", "Cancelled"),
                            ("no_show", "no-show"),
                            ("unfulfilled", "Unfulfilled"),
                        ],
                        max_length=11,
                        verbose_name="status before end",
                    ),
                ),
                ("departed_at", models.DateTimeField(blank=True, null=True, verbose_name="departed at")),
                ("arrived_pickup_at", models.DateTimeField(blank=True, null=True, verbose_name="arrived pickup at")),
                ("boarded_at", models.DateTimeField(blank=True, null=True, verbose_name="boarded at")),
                ("arrived_dropoff_at", models.DateTimeField(blank=True, null=True, verbose_name="arrived dropoff at")),
                ("dropped_off_at", models.DateTimeField(blank=True, null=True, verbose_name="dropped off at")),
                ("eta_pickup_at", models.DateTimeField(blank=True, null=True, verbose_name="eta pickup at")),
                ("assignment_id", models.UUIDField(blank=True, null=True, verbose_name="assignment id")),
                (
                    "attendant_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name="attendant ids"
                    ),
                ),
                (
                    "preferred_driver_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        db_default=[],
                        default=list,
                        size=None,
                        verbose_name="preferred driver ids",
                    ),
                ),
                ("reason_code", models.CharField(blank=True, max_length=40, verbose_name="reason code")),
                (
                    "fault",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("rider", "Rider"),
                            ("facility", "Facility"),
                            ("provider", "Provider"),
                            ("payer", "Payer"),
                            ("none", "None"),
                        ],
                        max_length=8,
                        verbose_name="fault",
                    ),
                ),
                (
                    "cancellation_timing",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("at_door", "at the door"),
                            ("late", "Late"),
                            ("same_day", "same day"),
                            ("advance", "in advance"),
                        ],
                        max_length=8,
                        verbose_name="cancellation timing",
                    ),
                ),
                ("ended_by", models.CharField(blank=True, max_length=60, verbose_name="ended by")),
                ("end_note", models.CharField(blank=True, max_length=1000, verbose_name="end note")),
                (
                    "estimated_miles",
                    models.DecimalField(
                        blank=True, decimal_places=2, max_digits=7, null=True, verbose_name="estimated miles"
                    ),
                ),
                (
                    "estimated_minutes",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="estimated minutes"),
                ),
                (
                    "loaded_miles",
                    models.DecimalField(
                        blank=True, decimal_places=2, max_digits=7, null=True, verbose_name="loaded miles"
                    ),
                ),
                (
                    "loaded_miles_source",
                    models.CharField(
                        blank=True,
                        choices=[("gps", "Gps"), ("odometer", "Odometer"), ("routed", "Routed")],
                        max_length=8,
                        verbose_name="loaded miles source",
                    ),
                ),
                (
                    "odometer_start",
                    models.DecimalField(
                        blank=True, decimal_places=1, max_digits=9, null=True, verbose_name="odometer start"
                    ),
                ),
                (
                    "odometer_end",
                    models.DecimalField(
                        blank=True, decimal_places=1, max_digits=9, null=True, verbose_name="odometer end"
                    ),
                ),
                ("wait_minutes", models.PositiveIntegerField(blank=True, null=True, verbose_name="wait minutes")),
                ("onboard_minutes", models.PositiveIntegerField(blank=True, null=True, verbose_name="onboard minutes")),
                ("signatures", models.JSONField(blank=True, default=list, verbose_name="signatures")),
                ("attestation", models.JSONField(blank=True, null=True, verbose_name="attestation")),
                ("handoff_name", models.CharField(blank=True, max_length=100, verbose_name="handoff name")),
                (
                    "missing_documents",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="missing documents",
                    ),
                ),
                (
                    "open_exception_count",
                    models.PositiveSmallIntegerField(default=0, verbose_name="open exception count"),
                ),
                (
                    "max_exception_severity",
                    models.CharField(
                        blank=True,
                        choices=[("info", "Info"), ("warning", "Warning"), ("critical", "Critical")],
                        max_length=8,
                        verbose_name="max exception severity",
                    ),
                ),
                (
                    "watch_at",
                    models.DateTimeField(
                        blank=True,
                        db_default=django.db.models.functions.datetime.Now(),
                        editable=False,
                        null=True,
                        verbose_name="watch at",
                    ),
                ),
                ("version", models.PositiveIntegerField(default=0, verbose_name="version")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("updated_at", models.DateTimeField(verbose_name="updated at")),
                (
                    "client",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.apiclient",
                        verbose_name="client",
                    ),
                ),
                (
                    "driver",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rides",
                        to="fleet.driver",
                        verbose_name="driver",
                    ),
                ),
                (
                    "dropoff_facility",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="organizations.facility",
                        verbose_name="dropoff facility",
                    ),
                ),
                (
                    "facility",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rides",
                        to="organizations.facility",
                        verbose_name="facility",
                    ),
                ),
                (
                    "payer",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="organizations.payer",
                        verbose_name="payer",
                    ),
                ),
                (
                    "pickup_facility",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="organizations.facility",
                        verbose_name="pickup facility",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="organizations.transportprovider",
                        verbose_name="provider",
                    ),
                ),
                (
                    "rider",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rides",
                        to="riders.rider",
                        verbose_name="rider",
                    ),
                ),
                (
                    "vehicle",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rides",
                        to="fleet.vehicle",
                        verbose_name="vehicle",
                    ),
                ),
            ],
            options={
                "verbose_name": "ride",
                "verbose_name_plural": "rides",
                "indexes": [
                    models.Index(fields=["pickup_at", "id"], name="ride_by_pickup"),
                    models.Index(fields=["status", "pickup_at", "id"], name="ride_by_status"),
                    models.Index(fields=["facility", "pickup_at", "id"], name="ride_by_facility"),
                    models.Index(fields=["provider", "pickup_at", "id"], name="ride_by_provider"),
                    models.Index(fields=["updated_at", "id"], name="ride_by_update"),
                    models.Index(fields=["created_at", "id"], name="ride_by_creation"),
                    models.Index(
                        condition=models.Q(("client_reference", ""), _negated=True),
                        fields=["client_reference"],
                        name="ride_by_client_reference",
                    ),
                    models.Index(
                        condition=models.Q(("driver__isnull", False)),
                        fields=["driver", "pickup_at"],
                        name="ride_of_driver",
                    ),
                    models.Index(
                        condition=models.Q(("vehicle__isnull", False)),
                        fields=["vehicle", "pickup_at"],
                        name="ride_of_vehicle",
                    ),
                    models.Index(fields=["rider", "pickup_at"], name="ride_of_rider"),
                    models.Index(
                        condition=models.Q(("watch_at__isnull", False)), fields=["watch_at"], name="ride_to_watch"
                    ),
                    models.Index(
                        condition=models.Q(("standing_order_id__isnull", False)),
                        fields=["standing_order_id", "pickup_at"],
                        name="ride_of_standing_order",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                [
                                    "requested",
                                    "scheduled",
                                    "assigned",
                                    "en_route",
                                    "arrived",
                                    "in_progress",
                                    "completed",
                                    "cancelled",
                                    "no_show",
                                    "unfulfilled",
                                ],
                            )
                        ),
                        name="ride_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status_before_end__in",
                                [
                                    "",
                                    "requested",
                                    "scheduled",
                                    "assigned",
                                    "en_route",
                                    "arrived",
                                    "in_progress",
                                    "completed",
                                    "cancelled",
                                    "no_show",
                                    "unfulfilled",
                                ],
                            )
                        ),
                        name="ride_status_before_end_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("leg_type__in", ["one_way", "outbound", "return", "intermediate"])),
                        name="ride_leg_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "service_type__in",
                                [
                                    "appointment",
                                    "dialysis",
                                    "hospital_discharge",
                                    "interfacility_transfer",
                                    "admission",
                                    "therapy",
                                    "pharmacy_stop",
                                    "other",
                                ],
                            )
                        ),
                        name="ride_service_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("priority__in", ["routine", "time_critical", "life_sustaining"])),
                        name="ride_priority_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("pickup_time_kind__in", ["firm", "estimated"])),
                        name="ride_pickup_time_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("scheduling_anchor__in", ["pickup", "appointment"])),
                        name="ride_scheduling_anchor_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "ready_source__in",
                                ["", "rider_sms", "rider_app", "facility_portal", "phone", "api", "hl7_adt", "driver"],
                            )
                        ),
                        name="ride_ready_source_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "vehicle_type_requested__in",
                                [
                                    "",
                                    "sedan",
                                    "minivan",
                                    "wheelchair_van",
                                    "stretcher_van",
                                    "bls_ambulance",
                                    "rideshare",
                                    "taxi",
                                    "volunteer",
                                ],
                            )
                        ),
                        name="ride_vehicle_type_requested_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("fault__in", ["", "rider", "facility", "provider", "payer", "none"])),
                        name="ride_fault_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cancellation_timing__in", ["", "at_door", "late", "same_day", "advance"])),
                        name="ride_cancellation_timing_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("loaded_miles_source__in", ["", "gps", "odometer", "routed"])),
                        name="ride_loaded_miles_source_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("max_exception_severity__in", ["", "info", "warning", "critical"])),
                        name="ride_max_exception_severity_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("occurrence_state__in", ["", "as_generated", "customized", "shifted"])),
                        name="ride_occurrence_state_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("client_reference", ""), _negated=True),
                        fields=("client", "client_reference"),
                        name="ride_client_reference_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            models.Q(("occurrence_key", ""), _negated=True),
                            models.Q(("status", "cancelled"), _negated=True),
                        ),
                        fields=("occurrence_key",),
                        name="ride_occurrence_once_live",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("status__in", ["arrived", "assigned", "en_route", "in_progress", "completed"]),
                                _negated=True,
                            ),
                            models.Q(
                                ("assignment_id__isnull", False),
                                ("driver__isnull", False),
                                ("provider__isnull", False),
                                ("vehicle__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="ride_underway_has_driver_and_vehicle",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status__in", ["requested", "scheduled"]), _negated=True),
                            models.Q(
                                ("assignment_id__isnull", True),
                                ("driver__isnull", True),
                                ("provider__isnull", True),
                                ("vehicle__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="ride_unassigned_has_no_driver",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status__in", ["cancelled", "no_show", "unfulfilled"]), _negated=True),
                            models.Q(
                                models.Q(("reason_code", ""), _negated=True),
                                models.Q(("fault", ""), _negated=True),
                                models.Q(("ended_by", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="ride_ended_badly_has_reason_and_fault",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "cancelled"), models.Q(("cancellation_timing", ""), _negated=True)),
                            models.Q(models.Q(("status", "cancelled"), _negated=True), ("cancellation_timing", "")),
                            _connector="OR",
                        ),
                        name="ride_cancelled_has_timing",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("status__in", ["completed", "cancelled", "no_show", "unfulfilled"]), _negated=True
                            ),
                            models.Q(("status_before_end", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="ride_ended_remembers_where",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("departed_at__isnull", True),
                                ("arrived_pickup_at__isnull", True),
                                ("departed_at__lte", models.F("arrived_pickup_at")),
                                _connector="OR",
                            ),
                            models.Q(
                                ("arrived_pickup_at__isnull", True),
                                ("boarded_at__isnull", True),
                                ("arrived_pickup_at__lte", models.F("boarded_at")),
                                _connector="OR",
                            ),
                            models.Q(
                                ("boarded_at__isnull", True),
                                ("arrived_dropoff_at__isnull", True),
                                ("boarded_at__lte", models.F("arrived_dropoff_at")),
                                _connector="OR",
                            ),
                            models.Q(
                                ("arrived_dropoff_at__isnull", True),
                                ("dropped_off_at__isnull", True),
                                ("arrived_dropoff_at__lte", models.F("dropped_off_at")),
                                _connector="OR",
                            ),
                        ),
                        name="ride_milestones_in_order",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "completed"), _negated=True),
                            models.Q(("boarded_at__isnull", False), ("dropped_off_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="ride_completed_was_delivered",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("will_call", False),
                            models.Q(
                                ("status__in", ["en_route", "arrived", "in_progress", "completed"]), _negated=True
                            ),
                            ("ready_at__isnull", False),
                            _connector="OR",
                        ),
                        name="ride_will_call_departs_released",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("pickup_time_kind", "estimated"),
                                ("will_call", True),
                                ("will_call_expires_at__isnull", False),
                            ),
                            models.Q(("pickup_time_kind", "firm"), ("ready_at__isnull", True), ("will_call", False)),
                            _connector="OR",
                        ),
                        name="ride_will_call_is_estimated",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ready_at__isnull", True), ("ready_source", "")),
                            models.Q(
                                ("promised_pickup_by__isnull", False),
                                ("ready_at__isnull", False),
                                models.Q(("ready_source", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="ride_ready_has_source_and_promise",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("appointment_at__isnull", True),
                            ("appointment_at__gt", models.F("pickup_at")),
                            _connector="OR",
                        ),
                        name="ride_appointment_after_pickup",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("service_type", "dialysis"), _negated=True),
                            ("leg_type", "return"),
                            ("appointment_at__isnull", False),
                            _connector="OR",
                        ),
                        name="ride_to_dialysis_has_chair_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("window_starts_at__lte", models.F("window_ends_at"))),
                        name="ride_window_forward",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("service_type", "hospital_discharge"), _negated=True),
                            ("discharge__isnull", False),
                            _connector="OR",
                        ),
                        name="ride_discharge_has_details",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("max_exception_severity", ""), ("open_exception_count", 0)),
                            models.Q(
                                ("open_exception_count__gt", 0), models.Q(("max_exception_severity", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="ride_exceptions_counted",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WatchedFacility",
            fields=[
                (
                    "facility",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="organizations.facility",
                        verbose_name="facility",
                    ),
                ),
                ("settings", models.CharField(max_length=32, verbose_name="settings")),
            ],
            options={"verbose_name": "watched facility", "verbose_name_plural": "watched facilitys"},
        ),
        migrations.CreateModel(
            name="ReasonCode",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                (
                    "reason_list",
                    models.CharField(
                        choices=[
                            ("cancelled", "cancelled"),
                            ("unfulfilled", "unfulfilled"),
                            ("no_show", "no show"),
                            ("unassign", "unassign"),
                        ],
                        max_length=11,
                        verbose_name="reason list",
                    ),
                ),
                ("code", models.CharField(max_length=40, verbose_name="code")),
                ("label", models.CharField(max_length=100, verbose_name="label")),
                ("parent_code", models.CharField(max_length=40, verbose_name="parent code")),
                ("active", models.BooleanField(default=True, verbose_name="active")),
            ],
            options={
                "verbose_name": "reason code",
                "verbose_name_plural": "reason codes",
                "constraints": [
                    models.UniqueConstraint(fields=("reason_list", "code"), name="reason_code_once"),
                    models.CheckConstraint(
                        condition=models.Q(("code__regex", "^[a-z][a-z0-9_]*$")), name="reason_code_form"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason_list__in", ["cancelled", "unfulfilled", "no_show", "unassign"])),
                        name="reason_code_list_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                (
                                    "parent_code__in",
                                    (
                                        "rider_request",
                                        "rider_other_transport",
                                        "rider_refused_at_door",
                                        "rider_ill",
                                        "rider_hospitalized",
                                        "rider_deceased",
                                        "appointment_cancelled",
                                        "appointment_moved",
                                        "treatment_changed",
                                        "discharge_cancelled",
                                        "level_of_care_changed",
                                        "facility_closed",
                                        "standing_order_hold",
                                        "standing_order_ended",
                                        "calendar_shift",
                                        "will_call_not_used",
                                        "authorization_denied",
                                        "eligibility_lapsed",
                                        "weather",
                                        "duplicate",
                                        "booking_error",
                                        "other",
                                    ),
                                ),
                                ("reason_list", "cancelled"),
                            ),
                            models.Q(
                                (
                                    "parent_code__in",
                                    (
                                        "no_driver_available",
                                        "no_suitable_vehicle",
                                        "given_back_late",
                                        "driver_no_call_no_show",
                                        "vehicle_breakdown",
                                        "accident",
                                        "late_rider_left",
                                        "late_appointment_lost",
                                        "wrong_vehicle_sent",
                                        "driver_refused",
                                        "outside_service_area",
                                        "outside_service_hours",
                                        "insufficient_notice",
                                        "authorization_missing",
                                        "weather_suspension",
                                        "aborted_medical_emergency",
                                        "aborted_safety",
                                        "returned_to_origin",
                                        "other",
                                    ),
                                ),
                                ("reason_list", "unfulfilled"),
                            ),
                            models.Q(
                                (
                                    "parent_code__in",
                                    (
                                        "rider_not_at_pickup",
                                        "rider_unreachable",
                                        "rider_already_left",
                                        "not_ready_wait_exceeded",
                                        "not_found_at_facility",
                                        "bad_pickup_details",
                                    ),
                                ),
                                ("reason_list", "no_show"),
                            ),
                            models.Q(
                                (
                                    "parent_code__in",
                                    (
                                        "driver_declined",
                                        "driver_released",
                                        "driver_suspended",
                                        "driver_ill",
                                        "running_late",
                                        "vehicle_breakdown",
                                        "accident",
                                        "accommodation_mismatch",
                                        "credential_lapsed",
                                        "replanned",
                                        "booking_error",
                                        "other",
                                    ),
                                ),
                                ("reason_list", "unassign"),
                            ),
                            _connector="OR",
                        ),
                        name="reason_code_parent_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RideLock",
            fields=[
                (
                    "ride",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="rides.ride",
                        verbose_name="ride",
                    ),
                ),
                ("export_id", models.UUIDField(db_index=True, verbose_name="export id")),
                ("locked_at", models.DateTimeField(verbose_name="locked at")),
            ],
            options={"verbose_name": "ride lock", "verbose_name_plural": "ride locks"},
        ),
        migrations.CreateModel(
            name="Trip",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("service_date", models.DateField(verbose_name="service date")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                (
                    "rider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="trips",
                        to="riders.rider",
                        verbose_name="rider",
                    ),
                ),
            ],
            options={"verbose_name": "trip", "verbose_name_plural": "trips"},
        ),
        migrations.AddField(
            model_name="ride",
            name="trip",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rides",
                to="rides.trip",
                verbose_name="trip",
            ),
        ),
        migrations.CreateModel(
            name="BookingDraft",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("key", models.UUIDField(verbose_name="key")),
                ("form_data_encrypted", models.BinaryField(verbose_name="form data encrypted")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("saved_at", models.DateTimeField(db_index=True, verbose_name="saved at")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
            ],
            options={
                "verbose_name": "booking draft",
                "verbose_name_plural": "booking drafts",
                "constraints": [models.UniqueConstraint(fields=("user", "key"), name="booking_draft_once")],
            },
        ),
        migrations.CreateModel(
            name="Milestone",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("ready", "Ready"),
                            ("departed", "Departed"),
                            ("arrived_pickup", "arrived at pickup"),
                            ("boarded", "Boarded"),
                            ("arrived_dropoff", "arrived at drop-off"),
                            ("dropped_off", "dropped off"),
                            ("contact_attempt", "contact attempt"),
                            ("handoff", "Handoff"),
                        ],
                        max_length=15,
                        verbose_name="type",
                    ),
                ),
                ("occurred_at", models.DateTimeField(verbose_name="occurred at")),
                (
                    "recorded_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="recorded at"
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("driver_app", "driver app"),
                            ("dispatcher_manual", "entered by a dispatcher"),
                            ("integration", "Integration"),
                            ("hl7", "HL7"),
                            ("sms", "text message"),
                            ("system", "System"),
                        ],
                        max_length=17,
                        verbose_name="source",
                    ),
                ),
                ("lat", models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="lat")),
                ("lng", models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="lng")),
                ("accuracy_meters", models.PositiveIntegerField(blank=True, null=True, verbose_name="accuracy meters")),
                (
                    "distance_from_stop_meters",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="distance from stop meters"),
                ),
                ("actor", models.CharField(max_length=60, verbose_name="actor")),
                ("edited", models.BooleanField(default=False, verbose_name="edited")),
                ("voided", models.BooleanField(default=False, verbose_name="voided")),
                ("note", models.CharField(blank=True, max_length=500, verbose_name="note")),
                (
                    "contacted",
                    models.CharField(
                        blank=True,
                        choices=[("rider", "rider"), ("facility", "facility")],
                        max_length=10,
                        verbose_name="contacted",
                    ),
                ),
                (
                    "ride",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="milestones",
                        to="rides.ride",
                        verbose_name="ride",
                    ),
                ),
            ],
            options={
                "verbose_name": "milestone",
                "verbose_name_plural": "milestones",
                "indexes": [models.Index(fields=["ride", "occurred_at"], name="milestone_of_ride")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "type__in",
                                [
                                    "ready",
                                    "departed",
                                    "arrived_pickup",
                                    "boarded",
                                    "arrived_dropoff",
                                    "dropped_off",
                                    "contact_attempt",
                                    "handoff",
                                ],
                            )
                        ),
                        name="milestone_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("source__in", ["driver_app", "dispatcher_manual", "integration", "hl7", "sms", "system"])
                        ),
                        name="milestone_source_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("contacted__in", ["", "rider", "facility"])),
                        name="milestone_contacted_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lat__isnull", True), ("lng__isnull", True)),
                            models.Q(("lat__isnull", False), ("lng__isnull", False)),
                            _connector="OR",
                        ),
                        name="milestone_place_whole",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("voided", False), models.Q(("type", "contact_attempt"), _negated=True)),
                        fields=("ride", "type"),
                        name="milestone_one_counts",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("sequence", models.PositiveSmallIntegerField(default=1, verbose_name="sequence")),
                (
                    "attendant_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name="attendant ids"
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("offered", "Offered"),
                            ("accepted", "Accepted"),
                            ("declined", "Declined"),
                            ("expired", "Expired"),
                            ("released", "Released"),
                            ("superseded", "Superseded"),
                            ("completed", "Completed"),
                        ],
                        max_length=10,
                        verbose_name="status",
                    ),
                ),
                (
                    "method",
                    models.CharField(
                        choices=[
                            ("manual", "Manual"),
                            ("auto", "Auto"),
                            ("preferred_driver", "preferred driver"),
                            ("series", "Series"),
                            ("api", "API"),
                        ],
                        default="manual",
                        max_length=16,
                        verbose_name="method",
                    ),
                ),
                ("offered_at", models.DateTimeField(verbose_name="offered at")),
                ("respond_by", models.DateTimeField(blank=True, null=True, verbose_name="respond by")),
                ("responded_at", models.DateTimeField(blank=True, null=True, verbose_name="responded at")),
                ("decline_reason", models.CharField(blank=True, max_length=200, verbose_name="decline reason")),
                ("assigned_by", models.CharField(max_length=60, verbose_name="assigned by")),
                (
                    "overridden",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="overridden",
                    ),
                ),
                ("override_reason", models.CharField(blank=True, max_length=500, verbose_name="override reason")),
                ("started_at", models.DateTimeField(blank=True, null=True, verbose_name="started at")),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended at")),
                ("end_reason", models.CharField(blank=True, max_length=40, verbose_name="end reason")),
                (
                    "miles_attributed",
                    models.DecimalField(
                        blank=True, decimal_places=2, max_digits=7, null=True, verbose_name="miles attributed"
                    ),
                ),
                ("driver_name", models.CharField(max_length=201, verbose_name="driver name")),
                (
                    "license_number_encrypted",
                    models.BinaryField(blank=True, null=True, verbose_name="license number encrypted"),
                ),
                ("vehicle_plate", models.CharField(max_length=12, verbose_name="vehicle plate")),
                (
                    "driver",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="fleet.driver",
                        verbose_name="driver",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="organizations.transportprovider",
                        verbose_name="provider",
                    ),
                ),
                (
                    "vehicle",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="fleet.vehicle",
                        verbose_name="vehicle",
                    ),
                ),
                (
                    "ride",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="rides.ride",
                        verbose_name="ride",
                    ),
                ),
            ],
            options={
                "verbose_name": "assignment",
                "verbose_name_plural": "assignments",
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "offered")), fields=["respond_by"], name="assignment_offer_due"
                    ),
                    models.Index(fields=["driver", "-offered_at"], name="assignment_of_driver"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                ["offered", "accepted", "declined", "expired", "released", "superseded", "completed"],
                            )
                        ),
                        name="assignment_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("method__in", ["manual", "auto", "preferred_driver", "series", "api"])),
                        name="assignment_method_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "accepted")), fields=("ride",), name="assignment_one_accepted"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "offered")),
                        fields=("ride", "driver"),
                        name="assignment_one_offer_per_driver",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("status__in", ["offered", "accepted"])),
                            models.Q(
                                models.Q(("status__in", ["offered", "accepted"]), _negated=True),
                                ("ended_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="assignment_ended_when_over",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "offered"), _negated=True),
                            ("respond_by__isnull", False),
                            _connector="OR",
                        ),
                        name="assignment_offer_has_deadline",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("overridden", []), models.Q(("override_reason", ""), _negated=True), _connector="OR"
                        ),
                        name="assignment_override_has_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RideException",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("standing_order_id", models.UUIDField(blank=True, null=True, verbose_name="standing order id")),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("unconfirmed_request", "Unconfirmed Request"),
                            ("unassigned_at_risk", "Unassigned At Risk"),
                            ("no_driver_available", "No Driver Available"),
                            ("assignment_declined", "Assignment Declined"),
                            ("driver_released_late", "Driver Released Late"),
                            ("late_pickup_predicted", "Late Pickup Predicted"),
                            ("late_pickup", "Late Pickup"),
                            ("late_to_appointment", "Late To Appointment"),
                            ("will_call_overdue", "Will Call Overdue"),
                            ("will_call_unactivated", "Will Call Unactivated"),
                            ("rider_stranded_risk", "Rider Stranded Risk"),
                            ("rider_not_ready", "Rider Not Ready"),
                            ("discharge_slipped", "Discharge Slipped"),
                            ("return_leg_at_risk", "Return Leg At Risk"),
                            ("rider_no_show", "Rider No Show"),
                            ("ride_unfulfilled", "Ride Unfulfilled"),
                            ("accommodation_mismatch", "Accommodation Mismatch"),
                            ("address_problem", "Address Problem"),
                            ("credential_lapse", "Credential Lapse"),
                            ("vehicle_breakdown", "Vehicle Breakdown"),
                            ("accident", "Accident"),
                            ("safety_incident", "Safety Incident"),
                            ("medical_emergency", "Medical Emergency"),
                            ("excessive_wait", "Excessive Wait"),
                            ("excessive_ride_time", "Excessive Ride Time"),
                            ("milestone_gap", "Milestone Gap"),
                            ("missing_documentation", "Missing Documentation"),
                            ("duplicate_ride", "Duplicate Ride"),
                            ("standing_order_conflict", "Standing Order Conflict"),
                            ("standing_order_review", "Standing Order Review"),
                            ("authorization_ending", "Authorization Ending"),
                            ("hold_review", "Hold Review"),
                            ("holiday_undecided", "Holiday Undecided"),
                            ("rider_hospitalized_suspected", "Rider Hospitalized Suspected"),
                        ],
                        max_length=28,
                        verbose_name="type",
                    ),
                ),
                (
                    "severity",
                    models.CharField(
                        choices=[("info", "Info"), ("warning", "Warning"), ("critical", "Critical")],
                        max_length=8,
                        verbose_name="severity",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("acknowledged", "Acknowledged"),
                            ("resolved", "Resolved"),
                            ("dismissed", "Dismissed"),
                        ],
                        default="open",
                        max_length=12,
                        verbose_name="status",
                    ),
                ),
                ("opened_at", models.DateTimeField(verbose_name="opened at")),
                ("opened_by", models.CharField(max_length=60, verbose_name="opened by")),
                ("detected_by", models.CharField(max_length=40, verbose_name="detected by")),
                ("due_at", models.DateTimeField(blank=True, null=True, verbose_name="due at")),
                ("snoozed_until", models.DateTimeField(blank=True, null=True, verbose_name="snoozed until")),
                ("acknowledged_at", models.DateTimeField(blank=True, null=True, verbose_name="acknowledged at")),
                ("acknowledged_by", models.CharField(blank=True, max_length=60, verbose_name="acknowledged by")),
                ("resolved_at", models.DateTimeField(blank=True, null=True, verbose_name="resolved at")),
                ("resolved_by", models.CharField(blank=True, max_length=60, verbose_name="resolved by")),
                (
                    "resolution_code",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("recovered_on_time", "Recovered On Time"),
                            ("recovered_late", "Recovered Late"),
                            ("reassigned", "Reassigned"),
                            ("rescheduled", "Rescheduled"),
                            ("cancelled", "Cancelled"),
                            ("unfulfilled", "Unfulfilled"),
                            ("false_alarm", "False Alarm"),
                            ("handled_elsewhere", "Handled Elsewhere"),
                            ("other", "Other"),
                        ],
                        max_length=17,
                        verbose_name="resolution code",
                    ),
                ),
                ("resolution_note", models.CharField(blank=True, max_length=1000, verbose_name="resolution note")),
                (
                    "closed_by_hand",
                    models.BooleanField(db_default=False, default=False, editable=False, verbose_name="closed by hand"),
                ),
                ("summary", models.CharField(max_length=200, verbose_name="summary")),
                ("details", models.JSONField(default=dict, verbose_name="details")),
                ("escalation_level", models.PositiveSmallIntegerField(default=0, verbose_name="escalation level")),
                (
                    "related_exception_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="related exception ids",
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("updated_at", models.DateTimeField(verbose_name="updated at")),
                (
                    "facility",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="organizations.facility",
                        verbose_name="facility",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
                (
                    "ride",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exceptions",
                        to="rides.ride",
                        verbose_name="ride",
                    ),
                ),
                (
                    "rider",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="riders.rider",
                        verbose_name="rider",
                    ),
                ),
                (
                    "trip",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rides.trip",
                        verbose_name="trip",
                    ),
                ),
            ],
            options={
                "verbose_name": "ride exception",
                "verbose_name_plural": "ride exceptions",
                "indexes": [
                    models.Index(fields=["opened_at", "id"], name="exception_list"),
                    models.Index(
                        condition=models.Q(("status__in", ["open", "acknowledged"])),
                        fields=["severity", "opened_at"],
                        name="exception_queue",
                    ),
                    models.Index(
                        models.OrderBy(models.F("resolved_at"), descending=True),
                        models.OrderBy(models.F("id"), descending=True),
                        condition=models.Q(("resolved_at__isnull", False)),
                        name="exception_closed",
                    ),
                    models.Index(fields=["facility", "opened_at", "id"], name="exception_of_facility"),
                    models.Index(
                        condition=models.Q(("standing_order_id__isnull", False)),
                        fields=["standing_order_id", "opened_at", "id"],
                        name="exception_of_order",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ride__isnull", False), ("standing_order_id__isnull", True)),
                            models.Q(("ride__isnull", True), ("standing_order_id__isnull", False)),
                            _connector="OR",
                        ),
                        name="exception_of_ride_or_order",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "type__in",
                                [
                                    "unconfirmed_request",
                                    "unassigned_at_risk",
                                    "no_driver_available",
                                    "assignment_declined",
                                    "driver_released_late",
                                    "late_pickup_predicted",
                                    "late_pickup",
                                    "late_to_appointment",
                                    "will_call_overdue",
                                    "will_call_unactivated",
                                    "rider_stranded_risk",
                                    "rider_not_ready",
                                    "discharge_slipped",
                                    "return_leg_at_risk",
                                    "rider_no_show",
                                    "ride_unfulfilled",
                                    "accommodation_mismatch",
                                    "address_problem",
                                    "credential_lapse",
                                    "vehicle_breakdown",
                                    "accident",
                                    "safety_incident",
                                    "medical_emergency",
                                    "excessive_wait",
                                    "excessive_ride_time",
                                    "milestone_gap",
                                    "missing_documentation",
                                    "duplicate_ride",
                                    "standing_order_conflict",
                                    "standing_order_review",
                                    "authorization_ending",
                                    "hold_review",
                                    "holiday_undecided",
                                    "rider_hospitalized_suspected",
                                ],
                            )
                        ),
                        name="exception_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("severity__in", ["info", "warning", "critical"])),
                        name="exception_severity_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["open", "acknowledged", "resolved", "dismissed"])),
                        name="exception_status_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ["open", "acknowledged"])),
                        fields=("ride", "type"),
                        name="exception_one_unsettled",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("standing_order_id__isnull", False), ("status__in", ["open", "acknowledged"])
                        ),
                        fields=("standing_order_id", "type"),
                        name="exception_one_unsettled_of_order",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("resolution_code", ""),
                                ("resolved_at__isnull", True),
                                ("status__in", ["open", "acknowledged"]),
                            ),
                            models.Q(
                                ("resolved_at__isnull", False),
                                ("status__in", ["resolved", "dismissed"]),
                                models.Q(("resolution_code", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="exception_settled_has_code",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "resolution_code__in",
                                [
                                    "",
                                    "recovered_on_time",
                                    "recovered_late",
                                    "reassigned",
                                    "rescheduled",
                                    "cancelled",
                                    "unfulfilled",
                                    "false_alarm",
                                    "handled_elsewhere",
                                    "other",
                                ],
                            )
                        ),
                        name="exception_resolution_code_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "acknowledged"), _negated=True),
                            models.Q(
                                ("acknowledged_at__isnull", False), models.Q(("acknowledged_by", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="exception_acknowledged_by_someone",
                    ),
                ],
            },
        ),
    ]
