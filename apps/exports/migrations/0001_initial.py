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
        ("accounts", "__first__"),
        ("organizations", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("dataset", models.CharField(max_length=20, verbose_name="dataset")),
                ("dataset_version", models.PositiveSmallIntegerField(verbose_name="dataset version")),
                (
                    "format",
                    models.CharField(
                        choices=[("ndjson", "NDJSON"), ("csv", "CSV"), ("xlsx", "XLSX"), ("parquet", "Parquet")],
                        max_length=7,
                        verbose_name="format",
                    ),
                ),
                (
                    "columns",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), size=None, verbose_name="columns"
                    ),
                ),
                ("filters", models.JSONField(default=dict, verbose_name="filters")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                            ("streamed", "sent at once"),
                        ],
                        default="queued",
                        max_length=9,
                        verbose_name="state",
                    ),
                ),
                ("created_by", models.CharField(max_length=60, verbose_name="created by")),
                (
                    "facility_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), null=True, size=None, verbose_name="facility ids"
                    ),
                ),
                (
                    "provider_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), null=True, size=None, verbose_name="provider ids"
                    ),
                ),
                ("phi", models.PositiveSmallIntegerField(default=0, verbose_name="phi")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                (
                    "sent_to",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), db_default=[], default=list, size=None, verbose_name="sent to"
                    ),
                ),
                ("total", models.PositiveIntegerField(null=True, verbose_name="total")),
                ("rows", models.PositiveIntegerField(default=0, verbose_name="rows")),
                ("bytes", models.PositiveBigIntegerField(default=0, verbose_name="bytes")),
                ("sha256", models.CharField(blank=True, max_length=64, verbose_name="sha256")),
                ("data_as_of", models.DateTimeField(blank=True, null=True, verbose_name="data as of")),
                ("error_code", models.CharField(blank=True, max_length=40, verbose_name="error code")),
                (
                    "due_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="due at"),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0, verbose_name="attempts")),
                ("claim_id", models.UUIDField(blank=True, null=True, verbose_name="claim id")),
                ("lease_until", models.DateTimeField(blank=True, null=True, verbose_name="lease until")),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="ended at")),
                ("expires_at", models.DateTimeField(blank=True, null=True, verbose_name="expires at")),
                ("locked", models.BooleanField(default=False, verbose_name="locked")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                (
                    "client",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.apiclient",
                        verbose_name="client",
                    ),
                ),
            ],
            options={
                "verbose_name": "export",
                "verbose_name_plural": "exports",
                "indexes": [
                    models.Index(fields=["created_at", "id"], name="export_list"),
                    models.Index(condition=models.Q(("state", "queued")), fields=["due_at"], name="export_due"),
                    models.Index(condition=models.Q(("state", "running")), fields=["lease_until"], name="export_held"),
                    models.Index(condition=models.Q(("state", "ready")), fields=["expires_at"], name="export_kept"),
                    models.Index(fields=["created_by", "created_at"], name="export_by_maker"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "ready", "failed", "cancelled", "expired", "streamed"])
                        ),
                        name="export_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("format__in", ["ndjson", "csv", "xlsx", "parquet"])),
                        name="export_format_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("claim_id__isnull", False), ("lease_until__isnull", False), ("state", "running")),
                            models.Q(
                                models.Q(("state", "running"), _negated=True),
                                ("claim_id__isnull", True),
                                ("lease_until__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="export_running_is_held",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "ready"), _negated=True),
                            models.Q(("expires_at__isnull", False), models.Q(("sha256", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="export_ready_has_file",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), _negated=True),
                            models.Q(("error_code", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="export_failed_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExportDestination",
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
                        choices=[("s3", "S3 bucket"), ("sftp", "SFTP server")], max_length=4, verbose_name="kind"
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("description", models.CharField(blank=True, max_length=500, verbose_name="description")),
                ("active", models.BooleanField(default=True, verbose_name="active")),
                ("folder", models.CharField(blank=True, max_length=500, verbose_name="folder")),
                ("username", models.CharField(max_length=128, verbose_name="username")),
                (
                    "sign_in",
                    models.CharField(
                        choices=[
                            ("secret_key", "secret key"),
                            ("password", "password"),
                            ("private_key", "private key"),
                        ],
                        max_length=11,
                        verbose_name="sign in",
                    ),
                ),
                ("secret_encrypted", models.BinaryField(null=True, verbose_name="secret encrypted")),
                ("endpoint_url", models.CharField(blank=True, max_length=500, verbose_name="endpoint url")),
                ("region", models.CharField(blank=True, max_length=40, verbose_name="region")),
                ("bucket", models.CharField(blank=True, max_length=63, verbose_name="bucket")),
                ("path_style", models.BooleanField(default=False, verbose_name="path style")),
                ("host", models.CharField(blank=True, max_length=253, verbose_name="host")),
                ("port", models.PositiveIntegerField(null=True, verbose_name="port")),
                ("host_key", models.CharField(blank=True, max_length=2000, verbose_name="host key")),
                ("phi_agreed_by", models.CharField(blank=True, max_length=60, verbose_name="phi agreed by")),
                ("phi_agreed_at", models.DateTimeField(null=True, verbose_name="phi agreed at")),
                ("tested_at", models.DateTimeField(null=True, verbose_name="tested at")),
                ("test_code", models.CharField(blank=True, max_length=20, verbose_name="test code")),
                ("sent_at", models.DateTimeField(null=True, verbose_name="sent at")),
                ("failed_at", models.DateTimeField(null=True, verbose_name="failed at")),
                ("failure_code", models.CharField(blank=True, max_length=20, verbose_name="failure code")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("created_by", models.CharField(max_length=60, verbose_name="created by")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("updated_at", models.DateTimeField(verbose_name="updated at")),
                ("deleted_at", models.DateTimeField(null=True, verbose_name="deleted at")),
            ],
            options={
                "verbose_name": "export destination",
                "verbose_name_plural": "export destinations",
                "indexes": [models.Index(fields=["-created_at", "id"], name="export_destination_newest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("host", ""),
                                ("host_key", ""),
                                ("kind", "s3"),
                                ("port__isnull", True),
                                ("sign_in", "secret_key"),
                                models.Q(("endpoint_url", ""), _negated=True),
                                models.Q(("bucket", ""), _negated=True),
                            ),
                            models.Q(
                                ("bucket", ""),
                                ("endpoint_url", ""),
                                ("kind", "sftp"),
                                ("path_style", False),
                                ("port__gte", 1),
                                ("port__lte", 65535),
                                ("region", ""),
                                ("sign_in__in", ["password", "private_key"]),
                                models.Q(("host", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="export_destination_is_of_its_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("deleted_at__isnull", True), ("secret_encrypted__isnull", False)),
                            models.Q(
                                ("active", False), ("deleted_at__isnull", False), ("secret_encrypted__isnull", True)
                            ),
                            _connector="OR",
                        ),
                        name="export_destination_removed_is_off",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("phi_agreed_at__isnull", True), ("phi_agreed_by", "")),
                            models.Q(("phi_agreed_at__isnull", False), models.Q(("phi_agreed_by", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="export_destination_agreed_by_whom",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)),
                        fields=("name",),
                        name="export_destination_name_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExportLink",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("digest", models.BinaryField(max_length=32, unique=True, verbose_name="digest")),
                ("made_for", models.CharField(max_length=60, verbose_name="made for")),
                ("role", models.CharField(max_length=20, verbose_name="role")),
                ("made_at", models.DateTimeField(verbose_name="made at")),
                ("expires_at", models.DateTimeField(verbose_name="expires at")),
                ("used_at", models.DateTimeField(blank=True, null=True, verbose_name="used at")),
                (
                    "export",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="exports.export",
                        verbose_name="export",
                    ),
                ),
            ],
            options={
                "verbose_name": "export link",
                "verbose_name_plural": "export links",
                "indexes": [models.Index(fields=["expires_at"], name="export_link_expiry")],
            },
        ),
        migrations.CreateModel(
            name="ReportSchedule",
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
                        choices=[("export", "export"), ("report", "report")], max_length=6, verbose_name="kind"
                    ),
                ),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("created_by", models.CharField(max_length=60, verbose_name="created by")),
                (
                    "facility_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), null=True, size=None, verbose_name="facility ids"
                    ),
                ),
                (
                    "provider_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), null=True, size=None, verbose_name="provider ids"
                    ),
                ),
                ("phi", models.PositiveSmallIntegerField(default=0, verbose_name="phi")),
                ("dataset", models.CharField(blank=True, max_length=20, verbose_name="dataset")),
                (
                    "format",
                    models.CharField(
                        blank=True,
                        choices=[("ndjson", "NDJSON"), ("csv", "CSV"), ("xlsx", "XLSX"), ("parquet", "Parquet")],
                        max_length=7,
                        verbose_name="format",
                    ),
                ),
                (
                    "columns",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), null=True, size=None, verbose_name="columns"
                    ),
                ),
                ("report", models.CharField(blank=True, max_length=40, verbose_name="report")),
                ("filters", models.JSONField(default=dict, verbose_name="filters")),
                (
                    "covers",
                    models.CharField(
                        choices=[
                            ("previous_day", "the day before"),
                            ("last_7_days", "the seven days before"),
                            ("previous_week", "the week before, Monday to Sunday"),
                            ("previous_month", "the month before"),
                            ("changes", "what changed since the last run"),
                        ],
                        max_length=14,
                        verbose_name="covers",
                    ),
                ),
                (
                    "every",
                    models.CharField(
                        choices=[
                            ("day", "every day"),
                            ("weekdays", "Monday to Friday"),
                            ("week", "every week"),
                            ("month", "every month"),
                        ],
                        max_length=8,
                        verbose_name="every",
                    ),
                ),
                (
                    "weekdays",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(), default=list, size=None, verbose_name="weekdays"
                    ),
                ),
                ("month_day", models.PositiveSmallIntegerField(default=1, verbose_name="month day")),
                ("at_time", models.TimeField(verbose_name="at time")),
                ("zone", models.CharField(max_length=64, verbose_name="zone")),
                ("next_at", models.DateTimeField(verbose_name="next at")),
                (
                    "way",
                    models.CharField(
                        choices=[("mail", "by e-mail"), ("destination", "to a destination")],
                        max_length=11,
                        verbose_name="way",
                    ),
                ),
                ("active", models.BooleanField(default=True, verbose_name="active")),
                (
                    "paused_for",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("by_people", "it was paused"),
                            ("failing", "its last runs failed"),
                            ("not_permitted", "its owner may not make it any more"),
                            ("nobody_left", "nobody is left who may get it"),
                        ],
                        max_length=20,
                        verbose_name="paused for",
                    ),
                ),
                ("begun_at", models.DateTimeField(verbose_name="begun at")),
                ("failures", models.PositiveSmallIntegerField(default=0, verbose_name="failures")),
                ("notice_due_at", models.DateTimeField(null=True, verbose_name="notice due at")),
                ("version", models.PositiveIntegerField(default=1, verbose_name="version")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("updated_at", models.DateTimeField(verbose_name="updated at")),
                (
                    "client",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.apiclient",
                        verbose_name="client",
                    ),
                ),
                (
                    "destination",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="exports.exportdestination",
                        verbose_name="destination",
                    ),
                ),
                (
                    "recipients",
                    models.ManyToManyField(related_name="+", to=settings.AUTH_USER_MODEL, verbose_name="recipients"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="report_schedules",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
            ],
            options={
                "verbose_name": "report schedule",
                "verbose_name_plural": "report schedules",
                "indexes": [
                    models.Index(fields=["-created_at", "id"], name="report_schedule_newest"),
                    models.Index(condition=models.Q(("active", True)), fields=["next_at"], name="report_schedule_due"),
                    models.Index(
                        condition=models.Q(("notice_due_at__isnull", False)),
                        fields=["notice_due_at"],
                        name="report_schedule_notice",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("client__isnull", True), ("user__isnull", False)),
                            models.Q(("client__isnull", False), ("user__isnull", True)),
                            _connector="OR",
                        ),
                        name="report_schedule_has_one_owner",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("kind", "export"),
                                ("report", ""),
                                models.Q(("dataset", ""), _negated=True),
                                models.Q(("format", ""), _negated=True),
                            ),
                            models.Q(
                                ("columns__isnull", True),
                                ("dataset", ""),
                                ("format", ""),
                                ("kind", "report"),
                                ("phi", 0),
                                ("way", "mail"),
                                models.Q(("report", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="report_schedule_is_of_its_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("destination__isnull", True), ("way", "mail")),
                            models.Q(("destination__isnull", False), ("way", "destination")),
                            _connector="OR",
                        ),
                        name="report_schedule_goes_somewhere",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("active", True), ("paused_for", "")),
                            models.Q(("active", False), models.Q(("paused_for", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="report_schedule_rests_for_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("every", "week"), ("weekdays__len__gte", 1)),
                            models.Q(("every", "week"), _negated=True),
                            _connector="OR",
                        ),
                        name="report_schedule_weekly_has_days",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("month_day__gte", 1), ("month_day__lte", 31)),
                        name="report_schedule_day_of_month",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScheduleRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("due_at", models.DateTimeField(verbose_name="due at")),
                ("manual", models.BooleanField(default=False, verbose_name="manual")),
                ("first_day", models.DateField(null=True, verbose_name="first day")),
                ("last_day", models.DateField(null=True, verbose_name="last day")),
                ("changed_since", models.DateTimeField(null=True, verbose_name="changed since")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "waiting"),
                            ("making", "being made"),
                            ("sending", "being sent"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("refused", "refused"),
                            ("missed", "left out"),
                        ],
                        default="queued",
                        max_length=7,
                        verbose_name="state",
                    ),
                ),
                ("outcome", models.CharField(blank=True, max_length=40, verbose_name="outcome")),
                (
                    "mailed_to",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None, verbose_name="mailed to"
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0, verbose_name="attempts")),
                ("try_at", models.DateTimeField(verbose_name="try at")),
                ("claim_id", models.UUIDField(null=True, verbose_name="claim id")),
                ("lease_until", models.DateTimeField(null=True, verbose_name="lease until")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("ended_at", models.DateTimeField(null=True, verbose_name="ended at")),
                (
                    "export",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="exports.export",
                        verbose_name="export",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="exports.reportschedule",
                        verbose_name="schedule",
                    ),
                ),
            ],
            options={
                "verbose_name": "schedule run",
                "verbose_name_plural": "schedule runs",
                "indexes": [
                    models.Index(condition=models.Q(("state", "queued")), fields=["try_at"], name="schedule_run_due"),
                    models.Index(
                        condition=models.Q(("state", "making")), fields=["export"], name="schedule_run_making"
                    ),
                    models.Index(
                        condition=models.Q(("state", "sending")), fields=["lease_until"], name="schedule_run_held"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("schedule", "due_at"), name="schedule_run_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("claim_id__isnull", False), ("lease_until__isnull", False), ("state", "sending")),
                            models.Q(
                                models.Q(("state", "sending"), _negated=True),
                                ("claim_id__isnull", True),
                                ("lease_until__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="schedule_run_sending_is_held",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "making"), _negated=True), ("export__isnull", False), _connector="OR"
                        ),
                        name="schedule_run_making_has_export",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("ended_at__isnull", False), ("state__in", ["done", "failed", "refused", "missed"])
                            ),
                            models.Q(("ended_at__isnull", True), ("state__in", ["queued", "making", "sending"])),
                            _connector="OR",
                        ),
                        name="schedule_run_ended_says_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["failed", "refused"]), _negated=True),
                            models.Q(("outcome", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="schedule_run_failed_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SuggestedCode",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                (
                    "item",
                    models.CharField(
                        choices=[
                            ("ambulatory", "trip, ambulatory"),
                            ("wheelchair", "trip, wheelchair van"),
                            ("stretcher", "trip, stretcher van"),
                            ("bls", "trip, BLS ambulance"),
                            ("mileage_ambulatory", "mileage, ambulatory"),
                            ("mileage_wheelchair", "mileage, wheelchair van"),
                            ("mileage_stretcher", "mileage, stretcher van"),
                            ("mileage_bls", "mileage, BLS ambulance"),
                            ("attendant", "Attendant"),
                            ("waiting", "waiting time"),
                        ],
                        max_length=18,
                        verbose_name="item",
                    ),
                ),
                ("code", models.CharField(blank=True, max_length=5, verbose_name="HCPCS code")),
                (
                    "payer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="organizations.payer",
                        verbose_name="payer",
                    ),
                ),
            ],
            options={
                "verbose_name": "suggested code",
                "verbose_name_plural": "suggested codes",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "item__in",
                                [
                                    "ambulatory",
                                    "wheelchair",
                                    "stretcher",
                                    "bls",
                                    "mileage_ambulatory",
                                    "mileage_wheelchair",
                                    "mileage_stretcher",
                                    "mileage_bls",
                                    "attendant",
                                    "waiting",
                                ],
                            )
                        ),
                        name="suggested_code_item_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("code", ""), ("code__regex", "^[A-V][0-9]{4}$"), _connector="OR"),
                        name="suggested_code_form",
                    ),
                    models.UniqueConstraint(fields=("item", "payer"), name="suggested_code_once", nulls_distinct=False),
                ],
            },
        ),
    ]
