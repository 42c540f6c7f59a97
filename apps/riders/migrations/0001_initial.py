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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("first_name", models.CharField(max_length=100, verbose_name="first name")),
                ("last_name", models.CharField(max_length=100, verbose_name="last name")),
                ("preferred_name", models.CharField(blank=True, max_length=100, verbose_name="preferred name")),
                ("date_of_birth", models.DateField(blank=True, null=True, verbose_name="date of birth")),
                (
                    "medicaid_id_encrypted",
                    models.BinaryField(blank=True, null=True, verbose_name="medicaid id encrypted"),
                ),
                (
                    "medicaid_id_index",
                    models.BinaryField(blank=True, max_length=32, null=True, verbose_name="medicaid id index"),
                ),
                ("member_id_encrypted", models.BinaryField(blank=True, null=True, verbose_name="member id encrypted")),
                (
                    "member_id_index",
                    models.BinaryField(blank=True, max_length=32, null=True, verbose_name="member id index"),
                ),
                ("phones", models.JSONField(blank=True, default=list, verbose_name="phones")),
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
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email")),
                ("language", models.CharField(default="en", max_length=35, verbose_name="language")),
                ("interpreter_needed", models.BooleanField(default=False, verbose_name="interpreter needed")),
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
                        verbose_name="contact preference",
                    ),
                ),
                ("home_address", models.JSONField(blank=True, null=True, verbose_name="home address")),
                ("saved_places", models.JSONField(blank=True, default=list, verbose_name="saved places")),
                ("caregivers", models.JSONField(blank=True, default=list, verbose_name="caregivers")),
                ("emergency_contact", models.JSONField(blank=True, null=True, verbose_name="emergency contact")),
                (
                    "preferred_driver_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="preferred driver ids",
                    ),
                ),
                (
                    "excluded_driver_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="excluded driver ids",
                    ),
                ),
                (
                    "driver_gender_preference",
                    models.CharField(
                        blank=True,
                        choices=[("female", "female"), ("male", "male")],
                        max_length=6,
                        verbose_name="driver gender preference",
                    ),
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
                        verbose_name="status",
                    ),
                ),
                ("status_reason", models.CharField(blank=True, max_length=200, verbose_name="status reason")),
                ("status_from", models.DateField(blank=True, null=True, verbose_name="status from")),
                ("status_until", models.DateField(blank=True, null=True, verbose_name="status until")),
                ("verified", models.BooleanField(default=False, verbose_name="verified")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                ("updated_at", models.DateTimeField(auto_now=True, verbose_name="updated at")),
            ],
            options={
                "verbose_name": "rider",
                "verbose_name_plural": "riders",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                (
                    "facility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="organizations.facility",
                        verbose_name="facility",
                    ),
                ),
                (
                    "rider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="riders.rider", verbose_name="rider"
                    ),
                ),
            ],
            options={
                "verbose_name": "rider facility",
                "verbose_name_plural": "rider facilitys",
                "constraints": [models.UniqueConstraint(fields=("facility", "rider"), name="rider_facility_once")],
            },
        ),
        migrations.AddField(
            model_name="rider",
            name="facilities",
            field=models.ManyToManyField(
                related_name="riders",
                through="riders.RiderFacility",
                to="organizations.facility",
                verbose_name="facilities",
            ),
        ),
        migrations.CreateModel(
            name="AccommodationProfile",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("current", models.BooleanField(default=True, verbose_name="current")),
                ("recorded_at", models.DateTimeField(verbose_name="recorded at")),
                ("recorded_by", models.CharField(max_length=60, verbose_name="recorded by")),
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
                        verbose_name="mobility",
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
                        verbose_name="return mobility",
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
                        verbose_name="assist level",
                    ),
                ),
                ("handoff_required", models.BooleanField(default=False, verbose_name="handoff required")),
                ("must_not_be_left_alone", models.BooleanField(default=False, verbose_name="must not be left alone")),
                (
                    "chair_width_in",
                    models.DecimalField(
                        blank=True, decimal_places=1, max_digits=4, null=True, verbose_name="chair width in"
                    ),
                ),
                (
                    "chair_weight_lb",
                    models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="chair weight lb"),
                ),
                ("provide_chair", models.BooleanField(default=False, verbose_name="provide chair")),
                (
                    "rider_weight_lb",
                    models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="rider weight lb"),
                ),
                ("oxygen_uses", models.BooleanField(default=False, verbose_name="oxygen uses")),
                (
                    "oxygen_liters_per_minute",
                    models.DecimalField(
                        blank=True, decimal_places=1, max_digits=3, null=True, verbose_name="oxygen liters per minute"
                    ),
                ),
                (
                    "oxygen_source",
                    models.CharField(
                        blank=True,
                        choices=[("own_tank", "own tank"), ("concentrator", "Concentrator"), ("vehicle", "Vehicle")],
                        max_length=12,
                        verbose_name="oxygen source",
                    ),
                ),
                ("home_steps", models.PositiveSmallIntegerField(default=0, verbose_name="home steps")),
                (
                    "stair_equipment",
                    models.CharField(
                        choices=[("none", "none"), ("ramp", "ramp"), ("stair_chair", "stair chair")],
                        default="none",
                        max_length=11,
                        verbose_name="stair equipment",
                    ),
                ),
                ("second_person", models.BooleanField(default=False, verbose_name="second person")),
                ("service_animal", models.BooleanField(default=False, verbose_name="service animal")),
                ("child_seat", models.BooleanField(default=False, verbose_name="child seat")),
                (
                    "hearing",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")],
                        default="none",
                        max_length=6,
                        verbose_name="hearing",
                    ),
                ),
                (
                    "vision",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")],
                        default="none",
                        max_length=6,
                        verbose_name="vision",
                    ),
                ),
                (
                    "cognition",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")],
                        default="none",
                        max_length=6,
                        verbose_name="cognition",
                    ),
                ),
                (
                    "speech",
                    models.CharField(
                        choices=[("none", "None"), ("some", "Some"), ("severe", "Severe")],
                        default="none",
                        max_length=6,
                        verbose_name="speech",
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
                        verbose_name="precautions",
                    ),
                ),
                ("load_minutes", models.PositiveSmallIntegerField(verbose_name="load minutes")),
                ("unload_minutes", models.PositiveSmallIntegerField(verbose_name="unload minutes")),
                (
                    "equipment",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=50),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="equipment",
                    ),
                ),
                ("driver_notes", models.CharField(blank=True, max_length=1000, verbose_name="driver notes")),
                ("dispatcher_notes", models.CharField(blank=True, max_length=1000, verbose_name="dispatcher notes")),
                (
                    "rider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="accommodation_profiles",
                        to="riders.rider",
                        verbose_name="rider",
                    ),
                ),
            ],
            options={
                "verbose_name": "accommodation profile",
                "verbose_name_plural": "accommodation profiles",
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
