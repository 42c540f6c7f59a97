import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("organizations", "0001_initial"),
        ("riders", "0001_initial"),
        ("rides", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="TimeZoneSnapshot",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("zone", models.CharField(max_length=64)),
                ("digest", models.CharField(max_length=64)),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("zone", "digest"), name="time_zone_snapshot_once")],
            },
        ),
        migrations.CreateModel(
            name="StandingOrder",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
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
                        default="dialysis",
                        max_length=22,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("draft", "Draft"), ("active", "Active"), ("on_hold", "on hold"), ("ended", "Ended")],
                        default="active",
                        max_length=7,
                    ),
                ),
                ("timezone", models.CharField(max_length=64)),
                ("start_date", models.DateField()),
                ("end_date", models.DateField(blank=True, null=True)),
                ("program_code", models.CharField(blank=True, max_length=30)),
                ("authorization_number", models.CharField(blank=True, max_length=50)),
                ("authorization_ends_on", models.DateField(blank=True, null=True)),
                (
                    "preferred_driver_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
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
                    ),
                ),
                ("driver_notes", models.CharField(blank=True, max_length=1000)),
                ("dispatcher_notes", models.CharField(blank=True, max_length=1000)),
                ("facility_notes", models.CharField(blank=True, max_length=1000)),
                ("generation_horizon_days", models.PositiveSmallIntegerField(default=28)),
                ("generated_through", models.DateField(blank=True, null=True)),
                ("end_reminder_days", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("version", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "client",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.apiclient",
                    ),
                ),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="standing_orders",
                        to="organizations.facility",
                    ),
                ),
                (
                    "payer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="organizations.payer",
                    ),
                ),
                (
                    "rider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="standing_orders", to="riders.rider"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        models.OrderBy(models.F("generated_through"), nulls_first=True),
                        models.F("id"),
                        condition=models.Q(("status__in", ["active", "on_hold"])),
                        name="standing_order_due",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["draft", "active", "on_hold", "ended"])),
                        name="standing_order_status_known",
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
                        name="standing_order_service_type_known",
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
                        name="standing_order_vehicle_type_requested_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("end_date__isnull", True),
                            ("end_date__gte", models.F("start_date")),
                            ("status", "ended"),
                            _connector="OR",
                        ),
                        name="standing_order_ends_after_start",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("generation_horizon_days__range", (1, 366))), name="standing_order_horizon"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="OccurrenceChange",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("pattern_date", models.DateField()),
                ("kind", models.CharField(choices=[("skip", "Skip"), ("change", "Change")], max_length=6)),
                ("to_date", models.DateField(blank=True, null=True)),
                ("chair_time", models.TimeField(blank=True, null=True)),
                ("pickup_time", models.TimeField(blank=True, null=True)),
                ("return_time", models.TimeField(blank=True, null=True)),
                (
                    "standing_order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="recurring.standingorder",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("standing_order", "pattern_date"), name="occurrence_change_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["skip", "change"])), name="occurrence_change_kind_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "skip"), _negated=True),
                            models.Q(
                                ("chair_time__isnull", True),
                                ("pickup_time__isnull", True),
                                ("return_time__isnull", True),
                                ("to_date__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="occurrence_change_skip_says_no_more",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Occurrence",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("pattern_date", models.DateField()),
                ("leg", models.CharField(choices=[("outbound", "outbound"), ("return", "return")], max_length=8)),
                (
                    "decision",
                    models.CharField(
                        choices=[
                            ("generated", "generated"),
                            ("held", "held"),
                            ("skipped", "skipped"),
                            ("closed", "closed"),
                            ("withdrawn", "withdrawn"),
                            ("refused", "refused"),
                        ],
                        max_length=9,
                    ),
                ),
                ("content", models.CharField(blank=True, max_length=32)),
                ("refusal", models.CharField(blank=True, max_length=40)),
                ("moved_by_clock_change", models.BooleanField(default=False)),
                ("decided_at", models.DateTimeField()),
                (
                    "ride",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rides.ride",
                    ),
                ),
                (
                    "standing_order",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="occurrences",
                        to="recurring.standingorder",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("standing_order", "pattern_date", "leg"), name="occurrence_once"),
                    models.CheckConstraint(
                        condition=models.Q(("leg__in", ["outbound", "return"])), name="occurrence_leg_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("decision__in", ["generated", "held", "skipped", "closed", "withdrawn", "refused"])
                        ),
                        name="occurrence_decision_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decision", "generated"), _negated=True), ("ride__isnull", False), _connector="OR"
                        ),
                        name="occurrence_generated_has_ride",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("decision", "refused"), ("refusal", ""), _connector="XOR"),
                        name="occurrence_refused_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Hold",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("from_date", models.DateField()),
                ("until", models.DateField(blank=True, null=True)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("hospital_stay", "hospital stay"),
                            ("travel", "Travel"),
                            ("transplant", "Transplant"),
                            ("other", "Other"),
                        ],
                        max_length=13,
                    ),
                ),
                ("set_by", models.CharField(max_length=60)),
                ("set_at", models.DateTimeField()),
                ("review_on", models.DateField(blank=True, null=True)),
                (
                    "standing_order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="holds", to="recurring.standingorder"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["standing_order", "from_date"], name="hold_of_order")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("reason__in", ["hospital_stay", "travel", "transplant", "other"])),
                        name="hold_reason_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("until__isnull", True), ("until__gte", models.F("from_date")), _connector="OR"
                        ),
                        name="hold_until_after_from",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CalendarLink",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("digest", models.BinaryField(unique=True)),
                ("with_names", models.BooleanField(default=False)),
                ("created_by", models.CharField(max_length=60)),
                ("created_at", models.DateTimeField()),
                ("last_read_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="organizations.facility"
                    ),
                ),
                (
                    "standing_order",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="recurring.standingorder",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Terms",
            fields=[
                ("from_date", models.DateField()),
                (
                    "days_of_week",
                    django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), size=None),
                ),
                ("interval_weeks", models.PositiveSmallIntegerField(default=1)),
                ("anchor_date", models.DateField()),
                ("chair_time", models.TimeField()),
                ("arrive_early_minutes", models.PositiveSmallIntegerField()),
                ("treatment_minutes", models.PositiveSmallIntegerField()),
                ("post_treatment_minutes", models.PositiveSmallIntegerField()),
                ("lead_minutes", models.PositiveSmallIntegerField()),
                ("pickup_time", models.TimeField(blank=True, null=True)),
                (
                    "return_mode",
                    models.CharField(
                        choices=[("will_call", "will call"), ("scheduled", "Scheduled"), ("none", "None")],
                        default="will_call",
                        max_length=9,
                    ),
                ),
                ("return_time", models.TimeField(blank=True, null=True)),
                ("return_mobility", models.CharField(blank=True, max_length=30)),
                ("pickup", models.JSONField()),
                ("dropoff", models.JSONField()),
                ("return_dropoff", models.JSONField(blank=True, null=True)),
                ("pickup_access_encrypted", models.BinaryField(blank=True, null=True)),
                ("dropoff_access_encrypted", models.BinaryField(blank=True, null=True)),
                ("return_dropoff_access_encrypted", models.BinaryField(blank=True, null=True)),
                ("accommodation", models.JSONField(default=dict)),
                ("companions", models.JSONField(default=dict)),
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                (
                    "standing_order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="terms", to="recurring.standingorder"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("standing_order", "from_date"), name="terms_once_a_day"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("days_of_week__contained_by", [0, 1, 2, 3, 4, 5, 6]), ("days_of_week__len__gt", 0)
                        ),
                        name="terms_have_days",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("interval_weeks__range", (1, 12))), name="terms_interval"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("return_mode__in", ["will_call", "scheduled", "none"])),
                        name="terms_return_mode_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("return_mode", "scheduled"), ("return_time__isnull", True), _connector="OR"
                        ),
                        name="terms_only_scheduled_return_has_time",
                    ),
                ],
            },
        ),
    ]
