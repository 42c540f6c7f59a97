import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("organizations", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(max_length=150)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("admin", "Admin"),
                            ("dispatch_supervisor", "dispatch supervisor"),
                            ("dispatcher", "Dispatcher"),
                            ("planner", "discharge planner"),
                            ("fleet_admin", "fleet admin"),
                            ("analyst", "Analyst"),
                            ("auditor", "Auditor"),
                        ],
                        max_length=20,
                    ),
                ),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "single_keys",
                    models.BooleanField(db_default=True, default=True, verbose_name="single-key shortcuts"),
                ),
                ("compact", models.BooleanField(db_default=False, default=False, verbose_name="compact pages")),
                ("twelve_hours", models.BooleanField(null=True, verbose_name="12-hour clock")),
                ("alert_sound", models.BooleanField(db_default=False, default=False, verbose_name="sound for alerts")),
                (
                    "alert_notices",
                    models.BooleanField(db_default=False, default=False, verbose_name="browser notifications"),
                ),
                ("language", models.CharField(blank=True, db_default="", default="", max_length=8)),
                ("facilities", models.ManyToManyField(blank=True, related_name="members", to="organizations.facility")),
                (
                    "providers",
                    models.ManyToManyField(blank=True, related_name="members", to="organizations.transportprovider"),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "role__in",
                                [
                                    "admin",
                                    "dispatch_supervisor",
                                    "dispatcher",
                                    "planner",
                                    "fleet_admin",
                                    "analyst",
                                    "auditor",
                                ],
                            )
                        ),
                        name="user_role_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=40)),
                (
                    "severity",
                    models.CharField(
                        choices=[("info", "Info"), ("warning", "Warning"), ("critical", "Critical")], max_length=8
                    ),
                ),
                ("scope", models.CharField(max_length=30)),
                ("key", models.CharField(max_length=100)),
                ("title_message", models.JSONField()),
                ("text_messages", models.JSONField(default=list)),
                ("path", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField()),
                ("resolved_at", models.DateTimeField(null=True)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("acknowledged_by", models.CharField(blank=True, max_length=60)),
                ("emailed_at", models.DateTimeField(null=True)),
                ("claim_id", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                (
                    "facility",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="organizations.facility",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="organizations.transportprovider",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["-created_at", "id"], name="alert_newest"),
                    models.Index(
                        condition=models.Q(("emailed_at__isnull", True)), fields=["created_at"], name="alert_to_mail"
                    ),
                    models.Index(
                        condition=models.Q(("resolved_at__isnull", True)), fields=["key"], name="alert_by_key"
                    ),
                    models.Index(
                        django.db.models.functions.comparison.Greatest("created_at", "resolved_at", "acknowledged_at"),
                        name="alert_changed",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("acknowledged_at__isnull", True), ("resolved_at__isnull", True)),
                        fields=("key",),
                        name="alert_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("acknowledged_at__isnull", True),
                            models.Q(("acknowledged_by", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="alert_acknowledged_by_somebody",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiClient",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100, unique=True)),
                ("max_token_age_days", models.PositiveSmallIntegerField(default=365)),
                ("contact_email", models.EmailField(blank=True, max_length=254)),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "API client",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("max_token_age_days__gte", 1), ("max_token_age_days__lte", 365)),
                        name="api_client_token_age_within_a_year",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(blank=True, max_length=100)),
                ("key_id", models.CharField(max_length=12, unique=True)),
                ("digest", models.BinaryField(max_length=32)),
                ("pepper_id", models.CharField(max_length=16)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("ehr-integrator", "EHR integrator"),
                            ("dispatch-partner", "dispatch partner"),
                            ("dispatch-console", "dispatch system"),
                            ("billing-readonly", "billing, read only"),
                            ("analytics-readonly", "analytics, read only"),
                            ("webhook-admin", "webhook admin"),
                            ("auditor", "Auditor"),
                            ("monitoring", "Monitoring"),
                            ("full-access", "full access"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30), blank=True, null=True, size=None
                    ),
                ),
                (
                    "facility_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, null=True, size=None
                    ),
                ),
                (
                    "provider_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, null=True, size=None
                    ),
                ),
                (
                    "allowed_cidrs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=43),
                        blank=True,
                        default=list,
                        size=None,
                        verbose_name="allowed CIDRs",
                    ),
                ),
                ("api_version", models.CharField(max_length=10, verbose_name="API version")),
                (
                    "phi_level",
                    models.CharField(
                        choices=[("none", "None"), ("limited", "Limited"), ("full", "Full")],
                        default="none",
                        max_length=7,
                        verbose_name="PHI level",
                    ),
                ),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_reason", models.CharField(blank=True, max_length=200)),
                ("overlap_until", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_ip", models.GenericIPAddressField(blank=True, null=True, verbose_name="last used from")),
                ("created_by", models.CharField(max_length=60)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "client",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tokens", to="accounts.apiclient"
                    ),
                ),
                (
                    "replaces",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replaced_by",
                        to="accounts.apitoken",
                    ),
                ),
            ],
            options={
                "verbose_name": "API token",
                "indexes": [models.Index(fields=["client", "-created_at"], name="api_token_of_client")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "role__in",
                                [
                                    "ehr-integrator",
                                    "dispatch-partner",
                                    "dispatch-console",
                                    "billing-readonly",
                                    "analytics-readonly",
                                    "webhook-admin",
                                    "auditor",
                                    "monitoring",
                                    "full-access",
                                ],
                            )
                        ),
                        name="api_token_role_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("phi_level__in", ["none", "limited", "full"])),
                        name="api_token_phi_level_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("not_before__isnull", True), ("not_before__lt", models.F("expires_at")), _connector="OR"
                        ),
                        name="api_token_lives",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("revoked_at__isnull", True),
                            models.Q(("revoked_reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="api_token_revocation_has_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.BinaryField(max_length=32)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("headers", models.JSONField(default=dict)),
                ("body_encrypted", models.BinaryField(null=True)),
                (
                    "rider_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True),
                ),
                (
                    "client",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.apiclient",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("client", "key"), name="idempotency_key_once")],
            },
        ),
        migrations.CreateModel(
            name="ListPreferences",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("page", models.CharField(max_length=30)),
                ("rows", models.PositiveSmallIntegerField(null=True)),
                (
                    "hidden_columns",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), default=list, size=None
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="list_preferences",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "list preferences",
                "constraints": [models.UniqueConstraint(fields=("user", "page"), name="list_preferences_once")],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("page", models.CharField(max_length=30)),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, max_length=500)),
                (
                    "shared_with",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "nobody"),
                            ("role", "everybody of the owner's role"),
                            ("all", "everybody who sees the list"),
                        ],
                        db_default="",
                        default="",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "page", "name"), name="saved_view_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(("shared_with__in", ["", "role", "all"])), name="saved_view_shared_known"
                    ),
                ],
            },
        ),
    ]
