import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import apps.organizations.models
import apps.organizations.zones
import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="EscalationPolicy",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100, unique=True)),
                (
                    "step_minutes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(),
                        default=apps.organizations.models.default_escalation_minutes,
                        size=5,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "escalation policies",
            },
        ),
        migrations.CreateModel(
            name="TransportProvider",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200, unique=True)),
                ("phone", models.CharField(blank=True, max_length=16)),
                ("timezone", models.CharField(max_length=64, validators=[apps.organizations.zones.validate_zone])),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="ExternalId",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                (
                    "subject_type",
                    models.CharField(
                        choices=[
                            ("ride", "Ride"),
                            ("trip", "Trip"),
                            ("rider", "Rider"),
                            ("driver", "Driver"),
                            ("vehicle", "Vehicle"),
                            ("facility", "Facility"),
                            ("standing_order", "standing order"),
                        ],
                        max_length=14,
                    ),
                ),
                ("subject_id", models.UUIDField()),
                ("system", models.CharField(max_length=100)),
                ("value", models.CharField(max_length=100)),
                ("type", models.CharField(blank=True, max_length=50)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["subject_type", "subject_id"], name="external_id_of_subject"),
                    models.Index(fields=["value", "subject_type"], name="external_id_by_value"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "subject_type__in",
                                ["ride", "trip", "rider", "driver", "vehicle", "facility", "standing_order"],
                            )
                        ),
                        name="external_id_subject_type_known",
                    ),
                    models.UniqueConstraint(fields=("subject_type", "system", "value"), name="external_id_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Facility",
            fields=[
                ("address_line1", models.CharField(max_length=200, verbose_name="address line 1")),
                ("address_line2", models.CharField(blank=True, max_length=200, verbose_name="address line 2")),
                ("city", models.CharField(max_length=100)),
                ("state", models.CharField(max_length=50)),
                ("postal_code", models.CharField(max_length=20)),
                (
                    "lat",
                    models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="latitude"),
                ),
                (
                    "lng",
                    models.DecimalField(
                        blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="longitude"
                    ),
                ),
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("hospital", "Hospital"),
                            ("dialysis", "Dialysis"),
                            ("snf", "skilled nursing facility"),
                            ("rehab", "Rehab"),
                            ("clinic", "Clinic"),
                            ("adult_day", "adult day centre"),
                            ("residence", "Residence"),
                            ("other", "Other"),
                        ],
                        max_length=12,
                    ),
                ),
                ("timezone", models.CharField(max_length=64, validators=[apps.organizations.zones.validate_zone])),
                ("geofence_radius_meters", models.PositiveIntegerField(default=150)),
                ("hours", models.JSONField(blank=True, default=list)),
                (
                    "booking_policy",
                    models.CharField(
                        choices=[("auto_confirm", "confirm at once"), ("review", "a dispatcher confirms")],
                        default="auto_confirm",
                        max_length=12,
                    ),
                ),
                ("lead_time_minutes", models.PositiveIntegerField(default=0)),
                ("discharge_target_minutes", models.PositiveIntegerField(default=60)),
                ("discharge_max_minutes", models.PositiveIntegerField(default=180)),
                ("will_call_response_minutes", models.PositiveIntegerField(default=60)),
                ("pickup_late_minutes", models.PositiveIntegerField(default=15)),
                ("pickup_early_minutes", models.PositiveIntegerField(default=15)),
                ("arrive_early_minutes", models.PositiveIntegerField(default=15)),
                ("arrive_too_early_minutes", models.PositiveIntegerField(default=60)),
                ("no_show_wait_minutes", models.PositiveIntegerField(blank=True, null=True)),
                ("late_cancel_minutes", models.PositiveIntegerField(default=120)),
                (
                    "return_leg_policy",
                    models.CharField(
                        choices=[("hold", "hold for decision"), ("cancel", "Cancel"), ("keep", "Keep")],
                        default="hold",
                        max_length=6,
                    ),
                ),
                ("modifier_code", models.CharField(default="D", max_length=1)),
                ("active", models.BooleanField(default=True)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "escalation_policy",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="organizations.escalationpolicy",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "facilities",
                "indexes": [models.Index(fields=["name", "id"], name="facility_list")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lat__isnull", True), ("lng__isnull", True)),
                            models.Q(
                                ("lat__isnull", False),
                                ("lat__range", (-90, 90)),
                                ("lng__isnull", False),
                                ("lng__range", (-180, 180)),
                            ),
                            _connector="OR",
                        ),
                        name="facility_on_the_globe",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                ["hospital", "dialysis", "snf", "rehab", "clinic", "adult_day", "residence", "other"],
                            )
                        ),
                        name="facility_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("booking_policy__in", ["auto_confirm", "review"])),
                        name="facility_booking_policy_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("return_leg_policy__in", ["hold", "cancel", "keep"])),
                        name="facility_return_leg_policy_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("discharge_target_minutes__lte", models.F("discharge_max_minutes"))),
                        name="facility_discharge_target_within_max",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("modifier_code__in", ["H", "R", "J", "G", "N", "P", "D"])),
                        name="facility_modifier_code_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Entrance",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                (
                    "lat",
                    models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="latitude"),
                ),
                (
                    "lng",
                    models.DecimalField(
                        blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="longitude"
                    ),
                ),
                ("instructions", models.CharField(blank=True, max_length=500)),
                ("hours", models.CharField(blank=True, max_length=200)),
                ("curb_rules", models.CharField(blank=True, max_length=200)),
                ("wheelchair_ok", models.BooleanField(default=True)),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entrances",
                        to="organizations.facility",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("facility", "name"), name="entrance_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lat__isnull", True), ("lng__isnull", True)),
                            models.Q(
                                ("lat__isnull", False),
                                ("lat__range", (-90, 90)),
                                ("lng__isnull", False),
                                ("lng__range", (-180, 180)),
                            ),
                            _connector="OR",
                        ),
                        name="entrance_on_the_globe",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Contact",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("unit", "Unit"),
                            ("charge_nurse", "Charge Nurse"),
                            ("scheduling", "Scheduling"),
                            ("social_work", "Social Work"),
                            ("after_hours", "After Hours"),
                            ("billing", "Billing"),
                        ],
                        max_length=12,
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("phone", models.CharField(max_length=16)),
                ("ext", models.CharField(blank=True, max_length=10, verbose_name="extension")),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contacts",
                        to="organizations.facility",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "role__in",
                                ["unit", "charge_nurse", "scheduling", "social_work", "after_hours", "billing"],
                            )
                        ),
                        name="contact_role_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("phone__regex", "^\\+[1-9][0-9]{6,14}$")), name="contact_phone_e164"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CalendarShift",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("from_date", models.DateField()),
                ("to_date", models.DateField(blank=True, null=True)),
                ("new_chair_time", models.TimeField(blank=True, null=True)),
                ("offset_minutes", models.SmallIntegerField(blank=True, null=True)),
                (
                    "applies_to",
                    models.CharField(
                        choices=[
                            ("mwf", "Monday, Wednesday, Friday"),
                            ("tts", "Tuesday, Thursday, Saturday"),
                            ("all", "All"),
                            ("selected", "selected standing orders"),
                        ],
                        default="all",
                        max_length=8,
                    ),
                ),
                (
                    "standing_order_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
                ("created_by", models.CharField(blank=True, db_default="", max_length=60)),
                ("created_at", models.DateTimeField(blank=True, null=True)),
                ("applied_at", models.DateTimeField(blank=True, null=True)),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calendar_shifts",
                        to="organizations.facility",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("undone_at__isnull", True), ("applied_at__isnull", False), _connector="OR"),
                        name="calendar_shift_undone_was_applied",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("applies_to__in", ["mwf", "tts", "all", "selected"])),
                        name="calendar_shift_applies_to_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("new_chair_time__isnull", True), ("offset_minutes__isnull", True), _connector="OR"
                        ),
                        name="calendar_shift_one_time_change",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("applies_to", "selected"), _negated=True),
                            models.Q(("standing_order_ids", []), _negated=True),
                            _connector="OR",
                        ),
                        name="calendar_shift_selects_orders",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Payer",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200, unique=True)),
                (
                    "signature_rule",
                    models.CharField(
                        choices=[("none", "None"), ("pickup", "Pickup"), ("dropoff", "Dropoff"), ("both", "Both")],
                        default="none",
                        max_length=7,
                    ),
                ),
                (
                    "signers",
                    models.CharField(
                        choices=[("any", "Any"), ("rider", "Rider"), ("driver", "Driver"), ("both", "Both")],
                        db_default="any",
                        default="any",
                        max_length=6,
                    ),
                ),
                ("odometer_required", models.BooleanField(default=False)),
                ("authorization_required", models.BooleanField(default=False)),
                ("active", models.BooleanField(default=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("signature_rule__in", ["none", "pickup", "dropoff", "both"])),
                        name="payer_signature_rule_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("signers__in", ["any", "rider", "driver", "both"])),
                        name="payer_signers_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="HomeBase",
            fields=[
                ("address_line1", models.CharField(max_length=200, verbose_name="address line 1")),
                ("address_line2", models.CharField(blank=True, max_length=200, verbose_name="address line 2")),
                ("city", models.CharField(max_length=100)),
                ("state", models.CharField(max_length=50)),
                ("postal_code", models.CharField(max_length=20)),
                (
                    "lat",
                    models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="latitude"),
                ),
                (
                    "lng",
                    models.DecimalField(
                        blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="longitude"
                    ),
                ),
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="home_bases",
                        to="organizations.transportprovider",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "name"), name="home_base_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lat__isnull", True), ("lng__isnull", True)),
                            models.Q(
                                ("lat__isnull", False),
                                ("lat__range", (-90, 90)),
                                ("lng__isnull", False),
                                ("lng__range", (-180, 180)),
                            ),
                            _connector="OR",
                        ),
                        name="home_base_on_the_globe",
                    ),
                ],
            },
        ),
    ]
