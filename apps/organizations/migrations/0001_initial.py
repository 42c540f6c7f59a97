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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True, verbose_name="name")),
                (
                    "step_minutes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(),
                        default=apps.organizations.models.default_escalation_minutes,
                        size=5,
                        verbose_name="step minutes",
                    ),
                ),
            ],
            options={
                "verbose_name": "escalation policy",
                "verbose_name_plural": "escalation policies",
            },
        ),
        migrations.CreateModel(
            name="TransportProvider",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="name")),
                ("phone", models.CharField(blank=True, max_length=16, verbose_name="phone")),
                (
                    "timezone",
                    models.CharField(
                        max_length=64, validators=[apps.organizations.zones.validate_zone], verbose_name="timezone"
                    ),
                ),
                ("active", models.BooleanField(default=True, verbose_name="active")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
            ],
            options={"verbose_name": "transport provider", "verbose_name_plural": "transport providers"},
        ),
        migrations.CreateModel(
            name="ExternalId",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
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
                        verbose_name="subject type",
                    ),
                ),
                ("subject_id", models.UUIDField(verbose_name="subject id")),
                ("system", models.CharField(max_length=100, verbose_name="system")),
                ("value", models.CharField(max_length=100, verbose_name="value")),
                ("type", models.CharField(blank=True, max_length=50, verbose_name="type")),
            ],
            options={
                "verbose_name": "external id",
                "verbose_name_plural": "external ids",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
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
                        verbose_name="kind",
                    ),
                ),
                (
                    "timezone",
                    models.CharField(
                        max_length=64, validators=[apps.organizations.zones.validate_zone], verbose_name="timezone"
                    ),
                ),
                (
                    "geofence_radius_meters",
                    models.PositiveIntegerField(default=150, verbose_name="geofence radius meters"),
                ),
                ("hours", models.JSONField(blank=True, default=list, verbose_name="hours")),
                (
                    "booking_policy",
                    models.CharField(
                        choices=[("auto_confirm", "confirm at once"), ("review", "a dispatcher confirms")],
                        default="auto_confirm",
                        max_length=12,
                        verbose_name="booking policy",
                    ),
                ),
                ("lead_time_minutes", models.PositiveIntegerField(default=0, verbose_name="lead time minutes")),
                (
                    "discharge_target_minutes",
                    models.PositiveIntegerField(default=60, verbose_name="discharge target minutes"),
                ),
                (
                    "discharge_max_minutes",
                    models.PositiveIntegerField(default=180, verbose_name="discharge max minutes"),
                ),
                (
                    "will_call_response_minutes",
                    models.PositiveIntegerField(default=60, verbose_name="will call response minutes"),
                ),
                ("pickup_late_minutes", models.PositiveIntegerField(default=15, verbose_name="pickup late minutes")),
                ("pickup_early_minutes", models.PositiveIntegerField(default=15, verbose_name="pickup early minutes")),
                ("arrive_early_minutes", models.PositiveIntegerField(default=15, verbose_name="arrive early minutes")),
                (
                    "arrive_too_early_minutes",
                    models.PositiveIntegerField(default=60, verbose_name="arrive too early minutes"),
                ),
                (
                    "no_show_wait_minutes",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="no show wait minutes"),
                ),
                ("late_cancel_minutes", models.PositiveIntegerField(default=120, verbose_name="late cancel minutes")),
                (
                    "return_leg_policy",
                    models.CharField(
                        choices=[("hold", "hold for decision"), ("cancel", "Cancel"), ("keep", "Keep")],
                        default="hold",
                        max_length=6,
                        verbose_name="return leg policy",
                    ),
                ),
                ("modifier_code", models.CharField(default="D", max_length=1, verbose_name="modifier code")),
                ("active", models.BooleanField(default=True, verbose_name="active")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                ("updated_at", models.DateTimeField(auto_now=True, verbose_name="updated at")),
                (
                    "escalation_policy",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="organizations.escalationpolicy",
                        verbose_name="escalation policy",
                    ),
                ),
            ],
            options={
                "verbose_name": "facility",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
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
                ("instructions", models.CharField(blank=True, max_length=500, verbose_name="instructions")),
                ("hours", models.CharField(blank=True, max_length=200, verbose_name="hours")),
                ("curb_rules", models.CharField(blank=True, max_length=200, verbose_name="curb rules")),
                ("wheelchair_ok", models.BooleanField(default=True, verbose_name="wheelchair ok")),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entrances",
                        to="organizations.facility",
                        verbose_name="facility",
                    ),
                ),
            ],
            options={
                "verbose_name": "entrance",
                "verbose_name_plural": "entrances",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
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
                        verbose_name="role",
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("phone", models.CharField(max_length=16, verbose_name="phone")),
                ("ext", models.CharField(blank=True, max_length=10, verbose_name="extension")),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contacts",
                        to="organizations.facility",
                        verbose_name="facility",
                    ),
                ),
            ],
            options={
                "verbose_name": "contact",
                "verbose_name_plural": "contacts",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("from_date", models.DateField(verbose_name="from date")),
                ("to_date", models.DateField(blank=True, null=True, verbose_name="to date")),
                ("new_chair_time", models.TimeField(blank=True, null=True, verbose_name="new chair time")),
                ("offset_minutes", models.SmallIntegerField(blank=True, null=True, verbose_name="offset minutes")),
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
                        verbose_name="applies to",
                    ),
                ),
                (
                    "standing_order_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="standing order ids",
                    ),
                ),
                ("created_by", models.CharField(blank=True, db_default="", max_length=60, verbose_name="created by")),
                ("created_at", models.DateTimeField(blank=True, null=True, verbose_name="created at")),
                ("applied_at", models.DateTimeField(blank=True, null=True, verbose_name="applied at")),
                ("undone_at", models.DateTimeField(blank=True, null=True, verbose_name="undone at")),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calendar_shifts",
                        to="organizations.facility",
                        verbose_name="facility",
                    ),
                ),
            ],
            options={
                "verbose_name": "calendar shift",
                "verbose_name_plural": "calendar shifts",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="name")),
                (
                    "signature_rule",
                    models.CharField(
                        choices=[("none", "None"), ("pickup", "Pickup"), ("dropoff", "Dropoff"), ("both", "Both")],
                        default="none",
                        max_length=7,
                        verbose_name="signature rule",
                    ),
                ),
                (
                    "signers",
                    models.CharField(
                        choices=[("any", "Any"), ("rider", "Rider"), ("driver", "Driver"), ("both", "Both")],
                        db_default="any",
                        default="any",
                        max_length=6,
                        verbose_name="signers",
                    ),
                ),
                ("odometer_required", models.BooleanField(default=False, verbose_name="odometer required")),
                ("authorization_required", models.BooleanField(default=False, verbose_name="authorization required")),
                ("active", models.BooleanField(default=True, verbose_name="active")),
            ],
            options={
                "verbose_name": "payer",
                "verbose_name_plural": "payers",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="home_bases",
                        to="organizations.transportprovider",
                        verbose_name="provider",
                    ),
                ),
            ],
            options={
                "verbose_name": "home base",
                "verbose_name_plural": "home bases",
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
