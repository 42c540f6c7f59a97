import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("organizations", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Rider",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("first_name", models.CharField(max_length=100)),
                ("last_name", models.CharField(max_length=100)),
                ("preferred_name", models.CharField(blank=True, max_length=100)),
                ("date_of_birth", models.DateField(blank=True, null=True)),
                ("medicaid_id_encrypted", models.BinaryField(blank=True, null=True)),
                ("medicaid_id_index", models.BinaryField(blank=True, max_length=32, null=True)),
                ("member_id_encrypted", models.BinaryField(blank=True, null=True)),
                ("member_id_index", models.BinaryField(blank=True, max_length=32, null=True)),
                ("phones", models.JSONField(blank=True, default=list)),
                (
                    "sms_consent",
                    models.CharField(
                        choices=[("granted", "Granted"), ("denied", "Denied"), ("unknown", "Unknown")],
                        default="unknown",
                        max_length=7,
                        verbose_name="SMS consent",
                    ),
                ),
                ("sms_consent_at", models.DateTimeField(blank=True, null=True, verbose_name="SMS consent at")),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("language", models.CharField(default="en", max_length=35)),
                ("interpreter_needed", models.BooleanField(default=False)),
                (
                    "contact_preference",
                    models.CharField(
                        choices=[
                            ("sms", "text message"),
                            ("voice", "Voice"),
                            ("facility", "Facility"),
                            ("caregiver", "Caregiver"),
                        ],
                        default="voice",
                        max_length=9,
                    ),
                ),
                ("home_address", models.JSONField(blank=True, null=True)),
                ("saved_places", models.JSONField(blank=True, default=list)),
                ("caregivers", models.JSONField(blank=True, default=list)),
                ("emergency_contact", models.JSONField(blank=True, null=True)),
                (
                    "preferred_driver_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "excluded_driver_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "driver_gender_preference",
                    models.CharField(blank=True, choices=[("female", "female"), ("male", "male")], max_length=6),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("inactive", "Inactive"),
                            ("on_hold", "on hold"),
                            ("do_not_book", "do not book"),
                            ("deceased", "Deceased"),
                        ],
                        default="active",
                        max_length=11,
                    ),
                ),
                ("status_reason", models.CharField(blank=True, max_length=200)),
                ("status_from", models.DateField(blank=True, null=True)),
                ("status_until", models.DateField(blank=True, null=True)),
                ("verified", models.BooleanField(default=False)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["created_at", "id"], name="rider_list"),
                    models.Index(
                        django.db.models.functions.text.Lower("last_name"),
                        django.db.models.functions.text.Lower("first_name"),
                        models.F("id"),
                        name="rider_by_name",
                    ),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.text.Lower("last_name"), name="text_pattern_ops"
                        ),
                        name="rider_last_name_prefix",
                    ),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.text.Lower("first_name"), name="text_pattern_ops"
                        ),
                        name="rider_first_name_prefix",
                    ),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.text.Lower("preferred_name"), name="text_pattern_ops"
                        ),
                        name="rider_preferred_name_prefix",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        django.contrib.postgres.indexes.OpClass("phones", name="jsonb_path_ops"), name="rider_by_phone"
                    ),
                    models.Index(fields=["medicaid_id_index"], name="rider_by_medicaid_id"),
                    models.Index(fields=["member_id_index"], name="rider_by_member_id"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["active", "inactive", "on_hold", "do_not_book", "deceased"])
                        ),
                        name="rider_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("driver_gender_preference__in", ["", "female", "male"])),
                        name="rider_driver_gender_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("sms_consent__in", ["granted", "denied", "unknown"])),
                        name="rider_sms_consent_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("contact_preference__in", ["sms", "voice", "facility", "caregiver"])),
                        name="rider_contact_preference_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status_from__isnull", True),
                            ("status_until__isnull", True),
                            ("status_from__lte", models.F("status_until")),
                            _connector="OR",
                        ),
                        name="rider_status_period_forward",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("sms_consent", "granted"), _negated=True),
                            ("sms_consent_at__isnull", False),
                            _connector="OR",
                        ),
                        name="rider_consent_has_moment",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RiderFacility",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                (
                    "facility",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="organizations.facility"),
                ),
                ("rider", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="riders.rider")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("facility", "rider"), name="rider_facility_once")],
            },
        ),
        migrations.AddField(
            model_name="rider",
            name="facilities",
            field=models.ManyToManyField(
                related_name="riders", through="riders.RiderFacility", to="organizations.facility"
            ),
        ),
        migrations.CreateModel(
            name="AccommodationProfile",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("current", models.BooleanField(default=True)),
                ("recorded_at", models.DateTimeField()),
                ("recorded_by", models.CharField(max_length=60)),
                (
                    "mobility",
                    models.CharField(
                        choices=[
                            ("ambulatory", "Ambulatory"),
                            ("ambulatory_assist", "ambulatory with assistance"),
                            ("wheelchair_transfer", "wheelchair, can transfer"),
                            ("wheelchair", "Wheelchair"),
                            ("wheelchair_power", "power wheelchair"),
                            ("wheelchair_bariatric", "bariatric wheelchair"),
                            ("recliner_chair", "recliner chair (Geri, Broda)"),
                            ("stretcher", "Stretcher"),
                            ("stretcher_bariatric", "bariatric stretcher"),
                        ],
                        default="ambulatory",
                        max_length=20,
                    ),
                ),
                (
                    "return_mobility",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("ambulatory", "Ambulatory"),
                            ("ambulatory_assist", "ambulatory with assistance"),
                            ("wheelchair_transfer", "wheelchair, can transfer"),
                            ("wheelchair", "Wheelchair"),
                            ("wheelchair_power", "power wheelchair"),
                            ("wheelchair_bariatric", "bariatric wheelchair"),
                            ("recliner_chair", "recliner chair (Geri, Broda)"),
                            ("stretcher", "Stretcher"),
                            ("stretcher_bariatric", "bariatric stretcher"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "assist_level",
                    models.CharField(
                        choices=[
                            ("curb_to_curb", "curb to curb"),
                            ("door_to_door", "door to door"),
                            ("door_through_door", "door through door"),
                            ("bed_to_bed", "bed to bed"),
                        ],
                        default="door_to_door",
                        max_length=17,
                    ),
                ),
                ("handoff_required", models.BooleanField(default=False)),
                ("must_not_be_left_alone", models.BooleanField(default=False)),
                ("chair_width_in", models.DecimalField(blank=True, decimal_places=1, max_digits=4, null=True)),
                ("chair_weight_lb", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("provide_chair", models.BooleanField(default=False)),
                ("rider_weight_lb", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("oxygen_uses", models.BooleanField(default=False)),
                (
                    "oxygen_liters_per_minute",
                    models.DecimalField(blank=True, decimal_places=1, max_digits=3, null=True),
                ),
                (
                    "oxygen_source",
                    models.CharField(
                        blank=True,
                        choices=[("own_tank", "own tank"), ("concentrator", "Concentrator"), ("vehicle", "Vehicle")],
                        max_length=12,
                    ),
                ),
                ("home_steps", models.PositiveSmallIntegerField(default=0)),
                (
                    "stair_equipment",
                    models.CharField(
                        choices=[("none", "none"), ("ramp", "ramp"), ("stair_chair", "stair chair")],
                        default="none",
                        max_length=11,
                    ),
                ),
                ("second_person", models.BooleanField(default=False)),
                ("service_animal", models.BooleanField(default=False)),
                ("child_seat", models.BooleanField(default=False)),
                (
                    "hearing",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")], default="none", max_length=6
                    ),
                ),
                (
                    "vision",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")], default="none", max_length=6
                    ),
                ),
                (
                    "cognition",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")], default="none", max_length=6
                    ),
                ),
                (
                    "speech",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")], default="none", max_length=6
                    ),
                ),
                (
                    "precautions",
                    models.CharField(
                        choices=[
                            ("none", "None"),
                            ("contact", "Contact"),
                            ("droplet", "Droplet"),
                            ("airborne", "Airborne"),
                        ],
                        default="none",
                        max_length=8,
                    ),
                ),
                ("load_minutes", models.PositiveSmallIntegerField()),
                ("unload_minutes", models.PositiveSmallIntegerField()),
                (
                    "equipment",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=50), blank=True, default=list, size=None
                    ),
                ),
                ("driver_notes", models.CharField(blank=True, max_length=1000)),
                ("dispatcher_notes", models.CharField(blank=True, max_length=1000)),
                (
                    "rider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="accommodation_profiles",
                        to="riders.rider",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("rider", "number"), name="accommodation_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("current", True)), fields=("rider",), name="accommodation_one_current"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "mobility__in",
                                [
                                    "ambulatory",
                                    "ambulatory_assist",
                                    "wheelchair_transfer",
                                    "wheelchair",
                                    "wheelchair_power",
                                    "wheelchair_bariatric",
                                    "recliner_chair",
                                    "stretcher",
                                    "stretcher_bariatric",
                                ],
                            )
                        ),
                        name="accommodation_mobility_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "return_mobility__in",
                                [
                                    "",
                                    "ambulatory",
                                    "ambulatory_assist",
                                    "wheelchair_transfer",
                                    "wheelchair",
                                    "wheelchair_power",
                                    "wheelchair_bariatric",
                                    "recliner_chair",
                                    "stretcher",
                                    "stretcher_bariatric",
                                ],
                            )
                        ),
                        name="accommodation_return_mobility_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("assist_level__in", ["curb_to_curb", "door_to_door", "door_through_door", "bed_to_bed"])
                        ),
                        name="accommodation_assist_level_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("oxygen_source__in", ["", "own_tank", "concentrator", "vehicle"])),
                        name="accommodation_oxygen_source_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("stair_equipment__in", ["none", "ramp", "stair_chair"])),
                        name="accommodation_stair_equipment_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("cognition__in", ["none", "some", "severe"]),
                            ("hearing__in", ["none", "some", "severe"]),
                            ("speech__in", ["none", "some", "severe"]),
                            ("vision__in", ["none", "some", "severe"]),
                        ),
                        name="accommodation_senses_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("precautions__in", ["none", "contact", "droplet", "airborne"])),
                        name="accommodation_precautions_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("oxygen_uses", True),
                            models.Q(("oxygen_liters_per_minute__isnull", True), ("oxygen_source", "")),
                            _connector="OR",
                        ),
                        name="accommodation_oxygen_consistent",
                    ),
                ],
            },
        ),
    ]
