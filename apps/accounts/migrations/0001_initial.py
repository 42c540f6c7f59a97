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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True, verbose_name="email")),
                ("name", models.CharField(max_length=150, verbose_name="name")),
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
                        verbose_name="role",
                    ),
                ),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
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
                (
                    "language",
                    models.CharField(blank=True, db_default="", default="", max_length=8, verbose_name="language"),
                ),
                (
                    "facilities",
                    models.ManyToManyField(
                        blank=True, related_name="members", to="organizations.facility", verbose_name="facilities"
                    ),
                ),
                (
                    "providers",
                    models.ManyToManyField(
                        blank=True,
                        related_name="members",
                        to="organizations.transportprovider",
                        verbose_name="providers",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("kind", models.CharField(max_length=40, verbose_name="kind")),
                (
                    "severity",
                    models.CharField(
                        choices=[("info", "Info"), ("warning", "Warning"), ("critical", "Critical")],
                        max_length=8,
                        verbose_name="severity",
                    ),
                ),
                ("scope", models.CharField(max_length=30, verbose_name="scope")),
                ("key", models.CharField(max_length=100, verbose_name="key")),
                ("title_message", models.JSONField(verbose_name="title message")),
                ("text_messages", models.JSONField(default=list, verbose_name="text messages")),
                ("path", models.CharField(blank=True, max_length=200, verbose_name="path")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("resolved_at", models.DateTimeField(null=True, verbose_name="resolved at")),
                ("acknowledged_at", models.DateTimeField(null=True, verbose_name="acknowledged at")),
                ("acknowledged_by", models.CharField(blank=True, max_length=60, verbose_name="acknowledged by")),
                ("emailed_at", models.DateTimeField(null=True, verbose_name="emailed at")),
                ("claim_id", models.UUIDField(null=True, verbose_name="claim id")),
                ("lease_until", models.DateTimeField(null=True, verbose_name="lease until")),
                (
                    "facility",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="organizations.facility",
                        verbose_name="facility",
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
                        verbose_name="provider",
                    ),
                ),
            ],
            options={
                "verbose_name": "alert",
                "verbose_name_plural": "alerts",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True, verbose_name="name")),
                (
                    "max_token_age_days",
                    models.PositiveSmallIntegerField(default=365, verbose_name="max token age days"),
                ),
                ("contact_email", models.EmailField(blank=True, max_length=254, verbose_name="contact email")),
                ("active", models.BooleanField(default=True, verbose_name="active")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
            ],
            options={
                "verbose_name_plural": "API clients",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=100, verbose_name="name")),
                ("key_id", models.CharField(max_length=12, unique=True, verbose_name="key id")),
                ("digest", models.BinaryField(max_length=32, verbose_name="digest")),
                ("pepper_id", models.CharField(max_length=16, verbose_name="pepper id")),
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
                        verbose_name="role",
                    ),
                ),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30),
                        blank=True,
                        null=True,
                        size=None,
                        verbose_name="scopes",
                    ),
                ),
                (
                    "facility_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, null=True, size=None, verbose_name="facility ids"
                    ),
                ),
                (
                    "provider_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, null=True, size=None, verbose_name="provider ids"
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
                ("not_before", models.DateTimeField(blank=True, null=True, verbose_name="not before")),
                ("expires_at", models.DateTimeField(verbose_name="expires at")),
                ("revoked_at", models.DateTimeField(blank=True, null=True, verbose_name="revoked at")),
                ("revoked_reason", models.CharField(blank=True, max_length=200, verbose_name="revoked reason")),
                ("overlap_until", models.DateTimeField(blank=True, null=True, verbose_name="overlap until")),
                ("last_used_at", models.DateTimeField(blank=True, null=True, verbose_name="last used at")),
                ("last_used_ip", models.GenericIPAddressField(blank=True, null=True, verbose_name="last used from")),
                ("created_by", models.CharField(max_length=60, verbose_name="created by")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                (
                    "client",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tokens",
                        to="accounts.apiclient",
                        verbose_name="client",
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
                        verbose_name="replaces",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "API tokens",
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
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("key", models.CharField(max_length=255, verbose_name="key")),
                ("fingerprint", models.BinaryField(max_length=32, verbose_name="fingerprint")),
                ("status", models.PositiveSmallIntegerField(null=True, verbose_name="status")),
                ("headers", models.JSONField(default=dict, verbose_name="headers")),
                ("body_encrypted", models.BinaryField(null=True, verbose_name="body encrypted")),
                (
                    "rider_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None, verbose_name="rider ids"
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), db_index=True, verbose_name="created at"
                    ),
                ),
                (
                    "client",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.apiclient",
                        verbose_name="client",
                    ),
                ),
            ],
            options={
                "verbose_name": "idempotency record",
                "verbose_name_plural": "idempotency records",
                "constraints": [models.UniqueConstraint(fields=("client", "key"), name="idempotency_key_once")],
            },
        ),
        migrations.CreateModel(
            name="ListPreferences",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("page", models.CharField(max_length=30, verbose_name="page")),
                ("rows", models.PositiveSmallIntegerField(null=True, verbose_name="rows")),
                (
                    "hidden_columns",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40),
                        default=list,
                        size=None,
                        verbose_name="hidden columns",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="list_preferences",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
            ],
            options={
                "verbose_name": "list preferences",
                "verbose_name_plural": "list preferences",
                "constraints": [models.UniqueConstraint(fields=("user", "page"), name="list_preferences_once")],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("page", models.CharField(max_length=30, verbose_name="page")),
                ("name", models.CharField(max_length=60, verbose_name="name")),
                ("query", models.CharField(blank=True, max_length=500, verbose_name="query")),
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
                        verbose_name="shared with",
                    ),
                ),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
            ],
            options={
                "verbose_name": "saved view",
                "verbose_name_plural": "saved views",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "page", "name"), name="saved_view_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(("shared_with__in", ["", "role", "all"])), name="saved_view_shared_known"
                    ),
                ],
            },
        ),
    ]
