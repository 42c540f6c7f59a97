import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.db.models.deletion
from django.db import migrations, models

import apps.fleet.uuid_range
import lib.file_kinds
import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("fleet", "0001_uuid_range"),
        ("organizations", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Driver",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("first_name", models.CharField(max_length=100, verbose_name="first name")),
                ("last_name", models.CharField(max_length=100, verbose_name="last name")),
                ("phone", models.CharField(max_length=16, verbose_name="phone")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email")),
                ("photo_url", models.URLField(blank=True, verbose_name="photo url")),
                (
                    "employment",
                    models.CharField(
                        choices=[
                            ("employee", "Employee"),
                            ("contractor", "Contractor"),
                            ("volunteer", "Volunteer"),
                            ("partner_company", "partner company"),
                        ],
                        default="employee",
                        max_length=15,
                        verbose_name="employment",
                    ),
                ),
                (
                    "activation",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("active", "Active"),
                            ("suspended", "Suspended"),
                            ("inactive", "Inactive"),
                        ],
                        default="pending",
                        max_length=9,
                        verbose_name="activation",
                    ),
                ),
                ("activation_reason", models.CharField(blank=True, max_length=200, verbose_name="activation reason")),
                (
                    "activation_changed_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="activation changed at"),
                ),
                (
                    "activation_changed_by",
                    models.CharField(blank=True, max_length=60, verbose_name="activation changed by"),
                ),
                ("on_break", models.BooleanField(default=False, verbose_name="on break")),
                (
                    "languages",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=35),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="languages",
                    ),
                ),
                (
                    "gender",
                    models.CharField(
                        blank=True,
                        choices=[("female", "female"), ("male", "male")],
                        max_length=6,
                        verbose_name="gender",
                    ),
                ),
                (
                    "license_number_encrypted",
                    models.BinaryField(blank=True, null=True, verbose_name="license number encrypted"),
                ),
                ("license_state", models.CharField(blank=True, max_length=2, verbose_name="license state")),
                ("license_class", models.CharField(blank=True, max_length=10, verbose_name="license class")),
                (
                    "qualifications",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("wheelchair_securement", "wheelchair securement"),
                                ("stretcher", "Stretcher"),
                                ("bariatric", "Bariatric"),
                                ("oxygen", "Oxygen"),
                                ("passenger_assist", "passenger assistance"),
                                ("pediatric", "Pediatric"),
                            ],
                            max_length=21,
                        ),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="qualifications",
                    ),
                ),
                (
                    "excluded_rider_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="excluded rider ids",
                    ),
                ),
                (
                    "last_lat",
                    models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="last lat"),
                ),
                (
                    "last_lng",
                    models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True, verbose_name="last lng"),
                ),
                ("last_located_at", models.DateTimeField(blank=True, null=True, verbose_name="last located at")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                ("updated_at", models.DateTimeField(auto_now=True, verbose_name="updated at")),
                (
                    "home_base",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="organizations.homebase",
                        verbose_name="home base",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="drivers",
                        to="organizations.transportprovider",
                        verbose_name="provider",
                    ),
                ),
            ],
            options={
                "verbose_name": "driver",
                "verbose_name_plural": "drivers",
                "indexes": [models.Index(fields=["created_at", "id"], name="driver_list")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("employment__in", ["employee", "contractor", "volunteer", "partner_company"])
                        ),
                        name="driver_employment_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("activation__in", ["pending", "active", "suspended", "inactive"])),
                        name="driver_activation_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("gender__in", ["", "female", "male"])), name="driver_gender_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "qualifications__contained_by",
                                [
                                    "wheelchair_securement",
                                    "stretcher",
                                    "bariatric",
                                    "oxygen",
                                    "passenger_assist",
                                    "pediatric",
                                ],
                            )
                        ),
                        name="driver_qualifications_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("phone__regex", "^\\+[1-9][0-9]{6,14}$")), name="driver_phone_e164"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("activation", "suspended"), _negated=True),
                            models.Q(("activation_reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="driver_suspension_has_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("last_lat__isnull", True),
                                ("last_lng__isnull", True),
                                ("last_located_at__isnull", True),
                            ),
                            models.Q(
                                ("last_lat__isnull", False),
                                ("last_lng__isnull", False),
                                ("last_located_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="driver_location_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Vehicle",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("unit_number", models.CharField(max_length=20, verbose_name="unit number")),
                ("make", models.CharField(blank=True, max_length=50, verbose_name="make")),
                ("model", models.CharField(blank=True, max_length=50, verbose_name="model")),
                ("year", models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="year")),
                ("color", models.CharField(blank=True, max_length=30, verbose_name="color")),
                ("vin", models.CharField(blank=True, max_length=17, verbose_name="VIN")),
                ("license_plate", models.CharField(max_length=12, verbose_name="license plate")),
                ("plate_state", models.CharField(blank=True, max_length=2, verbose_name="plate state")),
                (
                    "type",
                    models.CharField(
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
                        verbose_name="type",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("in_service", "in service"),
                            ("out_of_service", "out of service"),
                            ("maintenance", "Maintenance"),
                            ("retired", "Retired"),
                        ],
                        default="in_service",
                        max_length=14,
                        verbose_name="status",
                    ),
                ),
                (
                    "lift_type",
                    models.CharField(
                        choices=[("none", "None"), ("ramp", "Ramp"), ("lift", "Lift")],
                        default="none",
                        max_length=4,
                        verbose_name="lift type",
                    ),
                ),
                (
                    "lift_rating_lb",
                    models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="lift rating, lb"),
                ),
                (
                    "max_chair_width_in",
                    models.DecimalField(
                        blank=True, decimal_places=1, max_digits=4, null=True, verbose_name="widest chair, in"
                    ),
                ),
                ("oxygen_mount", models.BooleanField(default=False, verbose_name="oxygen mount")),
                ("bariatric", models.BooleanField(default=False, verbose_name="bariatric")),
                ("stair_chair", models.BooleanField(default=False, verbose_name="stair chair")),
                ("odometer_miles", models.PositiveIntegerField(blank=True, null=True, verbose_name="odometer miles")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                ("updated_at", models.DateTimeField(auto_now=True, verbose_name="updated at")),
                (
                    "home_base",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="organizations.homebase",
                        verbose_name="home base",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="vehicles",
                        to="organizations.transportprovider",
                        verbose_name="provider",
                    ),
                ),
            ],
            options={
                "verbose_name": "vehicle",
                "verbose_name_plural": "vehicles",
                "indexes": [models.Index(fields=["unit_number", "id"], name="vehicle_list")],
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "unit_number"), name="vehicle_unit_number_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "type__in",
                                [
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
                        name="vehicle_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["in_service", "out_of_service", "maintenance", "retired"])),
                        name="vehicle_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("lift_type__in", ["none", "ramp", "lift"])), name="vehicle_lift_type_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("lift_type", "none"), ("lift_rating_lb__isnull", False), _connector="OR"),
                        name="vehicle_lift_has_rating",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Shift",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("starts_at", models.DateTimeField(verbose_name="starts at")),
                ("ends_at", models.DateTimeField(verbose_name="ends at")),
                (
                    "status",
                    models.CharField(
                        choices=[("planned", "Planned"), ("cancelled", "Cancelled")],
                        default="planned",
                        max_length=9,
                        verbose_name="status",
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                ("updated_at", models.DateTimeField(auto_now=True, verbose_name="updated at")),
                (
                    "driver",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="shifts",
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
                        related_name="shifts",
                        to="fleet.vehicle",
                        verbose_name="vehicle",
                    ),
                ),
            ],
            options={
                "verbose_name": "shift",
                "verbose_name_plural": "shifts",
                "indexes": [models.Index(fields=["starts_at", "id"], name="shift_list")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["planned", "cancelled"])), name="shift_status_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("starts_at__lt", models.F("ends_at"))), name="shift_forward"
                    ),
                    django.contrib.postgres.constraints.ExclusionConstraint(
                        condition=models.Q(("status", "planned")),
                        expressions=[
                            (apps.fleet.uuid_range.UuidRange("driver"), "&&"),
                            (
                                models.Func(
                                    "starts_at",
                                    "ends_at",
                                    function="tstzrange",
                                    output_field=django.contrib.postgres.fields.ranges.DateTimeRangeField(),
                                ),
                                "&&",
                            ),
                        ],
                        name="shift_driver_once",
                    ),
                    django.contrib.postgres.constraints.ExclusionConstraint(
                        condition=models.Q(("status", "planned")),
                        expressions=[
                            (apps.fleet.uuid_range.UuidRange("vehicle"), "&&"),
                            (
                                models.Func(
                                    "starts_at",
                                    "ends_at",
                                    function="tstzrange",
                                    output_field=django.contrib.postgres.fields.ranges.DateTimeRangeField(),
                                ),
                                "&&",
                            ),
                        ],
                        name="shift_vehicle_once",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="driver",
            name="default_vehicle",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="fleet.vehicle",
                verbose_name="default vehicle",
            ),
        ),
        migrations.CreateModel(
            name="Credential",
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
                            ("driver_license", "driver's license"),
                            ("exclusion_check_oig", "OIG exclusion check"),
                            ("background_check", "background check"),
                            ("mvr", "motor vehicle record"),
                            ("drug_screen", "drug screen"),
                            ("cpr_first_aid", "CPR and first aid"),
                            ("passenger_assistance", "passenger assistance (PASS, CTS)"),
                            ("hipaa_training", "HIPAA training"),
                            ("securement_training", "securement training"),
                            ("dot_physical", "DOT physical"),
                            ("defensive_driving", "defensive driving"),
                            ("tb_test", "TB test"),
                            ("registration", "registration"),
                            ("insurance", "insurance"),
                            ("inspection", "inspection"),
                            ("state_permit", "state permit"),
                        ],
                        max_length=20,
                        verbose_name="type",
                    ),
                ),
                ("number", models.CharField(blank=True, max_length=50, verbose_name="number")),
                ("issuer", models.CharField(blank=True, max_length=100, verbose_name="issuer")),
                ("issued_on", models.DateField(blank=True, null=True, verbose_name="issued on")),
                ("expires_on", models.DateField(blank=True, null=True, verbose_name="expires on")),
                (
                    "entered_by",
                    models.CharField(blank=True, db_default="", default="", max_length=60, verbose_name="entered by"),
                ),
                ("verified_at", models.DateTimeField(blank=True, null=True, verbose_name="verified at")),
                ("verified_by", models.CharField(blank=True, max_length=60, verbose_name="verified by")),
                ("rejected", models.BooleanField(default=False, verbose_name="rejected")),
                ("document_id", models.UUIDField(blank=True, null=True, verbose_name="document id")),
                ("blocking", models.BooleanField(verbose_name="blocking")),
                ("warn_days", models.PositiveSmallIntegerField(default=30, verbose_name="warn days")),
                (
                    "last_reminder_days",
                    models.PositiveSmallIntegerField(
                        blank=True, editable=False, null=True, verbose_name="last reminder days"
                    ),
                ),
                ("replaced", models.BooleanField(default=False, verbose_name="replaced")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                (
                    "driver",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="credentials",
                        to="fleet.driver",
                        verbose_name="driver",
                    ),
                ),
                (
                    "vehicle",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="credentials",
                        to="fleet.vehicle",
                        verbose_name="vehicle",
                    ),
                ),
            ],
            options={
                "verbose_name": "credential",
                "verbose_name_plural": "credentials",
                "indexes": [
                    models.Index(
                        condition=models.Q(("replaced", False)), fields=["expires_on"], name="credential_by_expiry"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("driver__isnull", False), ("vehicle__isnull", True)),
                            models.Q(("driver__isnull", True), ("vehicle__isnull", False)),
                            _connector="OR",
                        ),
                        name="credential_of_one_subject",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "type__in",
                                [
                                    "driver_license",
                                    "exclusion_check_oig",
                                    "background_check",
                                    "mvr",
                                    "drug_screen",
                                    "cpr_first_aid",
                                    "passenger_assistance",
                                    "hipaa_training",
                                    "securement_training",
                                    "dot_physical",
                                    "defensive_driving",
                                    "tb_test",
                                    "registration",
                                    "insurance",
                                    "inspection",
                                    "state_permit",
                                ],
                            )
                        ),
                        name="credential_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("driver__isnull", False),
                                (
                                    "type__in",
                                    (
                                        "driver_license",
                                        "exclusion_check_oig",
                                        "background_check",
                                        "mvr",
                                        "drug_screen",
                                        "cpr_first_aid",
                                        "passenger_assistance",
                                        "hipaa_training",
                                        "securement_training",
                                        "dot_physical",
                                        "defensive_driving",
                                        "tb_test",
                                    ),
                                ),
                            ),
                            models.Q(
                                ("type__in", ("registration", "insurance", "inspection", "state_permit")),
                                ("vehicle__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="credential_type_of_its_subject",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("issued_on__isnull", True),
                            ("expires_on__isnull", True),
                            ("issued_on__lte", models.F("expires_on")),
                            _connector="OR",
                        ),
                        name="credential_dates_forward",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verified_at__isnull", True), ("verified_by", "")),
                            models.Q(("verified_at__isnull", False), models.Q(("verified_by", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="credential_verification_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("entered_by", ""),
                            ("verified_by", ""),
                            models.Q(("entered_by", models.F("verified_by")), _negated=True),
                            _connector="OR",
                        ),
                        name="credential_verified_by_another",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("driver__isnull", False), ("replaced", False)),
                        fields=("driver", "type"),
                        name="credential_one_per_driver_and_type",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("replaced", False), ("vehicle__isnull", False)),
                        fields=("vehicle", "type"),
                        name="credential_one_per_vehicle_and_type",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CapacityConfig",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=50, verbose_name="name")),
                ("ambulatory", models.PositiveSmallIntegerField(default=0, verbose_name="ambulatory")),
                ("wheelchair", models.PositiveSmallIntegerField(default=0, verbose_name="wheelchair")),
                ("stretcher", models.PositiveSmallIntegerField(default=0, verbose_name="stretcher")),
                (
                    "vehicle",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="capacity_configs",
                        to="fleet.vehicle",
                        verbose_name="vehicle",
                    ),
                ),
            ],
            options={
                "verbose_name": "capacity config",
                "verbose_name_plural": "capacity configs",
                "constraints": [
                    models.UniqueConstraint(fields=("vehicle", "name"), name="capacity_config_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("ambulatory__gt", 0), ("wheelchair__gt", 0), ("stretcher__gt", 0), _connector="OR"
                        ),
                        name="capacity_config_carries_someone",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            (lib.file_kinds.FileKind["PDF"], lib.file_kinds.FileKind["PDF"]),
                            (lib.file_kinds.FileKind["JPEG"], lib.file_kinds.FileKind["JPEG"]),
                            (lib.file_kinds.FileKind["PNG"], lib.file_kinds.FileKind["PNG"]),
                        ],
                        max_length=15,
                        verbose_name="kind",
                    ),
                ),
                ("size", models.PositiveIntegerField(verbose_name="size")),
                ("digest", models.BinaryField(verbose_name="digest")),
                ("content_encrypted", models.BinaryField(null=True, verbose_name="content encrypted")),
                ("added_at", models.DateTimeField(verbose_name="added at")),
                ("added_by", models.CharField(max_length=60, verbose_name="added by")),
                ("removed_at", models.DateTimeField(null=True, verbose_name="removed at")),
                ("removed_by", models.CharField(blank=True, max_length=60, verbose_name="removed by")),
                ("removal_reason", models.CharField(blank=True, max_length=500, verbose_name="removal reason")),
                (
                    "credential",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="documents",
                        to="fleet.credential",
                        verbose_name="credential",
                    ),
                ),
            ],
            options={
                "verbose_name": "document",
                "verbose_name_plural": "documents",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    lib.file_kinds.FileKind["PDF"],
                                    lib.file_kinds.FileKind["JPEG"],
                                    lib.file_kinds.FileKind["PNG"],
                                ],
                            )
                        ),
                        name="document_kind_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("size__gt", 0)), name="document_holds_something"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("content_encrypted__isnull", False),
                                ("removal_reason", ""),
                                ("removed_at__isnull", True),
                                ("removed_by", ""),
                            ),
                            models.Q(
                                ("content_encrypted__isnull", True),
                                ("removed_at__isnull", False),
                                models.Q(("removed_by", ""), _negated=True),
                                models.Q(("removal_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="document_removed_whole",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at__isnull", True)),
                        fields=("credential", "digest"),
                        name="document_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Leave",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("starts_at", models.DateTimeField(verbose_name="starts at")),
                ("ends_at", models.DateTimeField(verbose_name="ends at")),
                ("reason", models.CharField(blank=True, max_length=100, verbose_name="reason")),
                (
                    "driver",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="leave",
                        to="fleet.driver",
                        verbose_name="driver",
                    ),
                ),
            ],
            options={
                "verbose_name": "leave",
                "verbose_name_plural": "leaves",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("starts_at__lt", models.F("ends_at"))), name="leave_forward"
                    )
                ],
            },
        ),
    ]
