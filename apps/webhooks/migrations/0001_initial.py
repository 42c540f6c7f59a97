import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("events", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("url", models.CharField(max_length=2000)),
                ("description", models.CharField(blank=True, max_length=500)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("active", "Active"),
                            ("paused", "Paused"),
                            ("disabled", "Disabled"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("state_reason", models.CharField(blank=True, max_length=40)),
                ("state_changed_at", models.DateTimeField()),
                (
                    "event_types",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), size=None),
                ),
                (
                    "facility_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), null=True, size=None),
                ),
                (
                    "provider_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), null=True, size=None),
                ),
                (
                    "payload_level",
                    models.CharField(
                        choices=[("id-only", "ids only"), ("summary", "summary"), ("full-resource", "full resource")],
                        default="id-only",
                        max_length=13,
                    ),
                ),
                ("phi_agreed_by", models.CharField(blank=True, max_length=60)),
                ("phi_agreed_at", models.DateTimeField(null=True)),
                ("api_version", models.CharField(max_length=10)),
                (
                    "ordering",
                    models.CharField(choices=[("none", "None"), ("subject", "Subject")], default="none", max_length=7),
                ),
                ("asymmetric", models.BooleanField(default=False)),
                ("max_in_flight", models.PositiveSmallIntegerField(default=8)),
                ("headers_encrypted", models.BinaryField(null=True)),
                ("sequence", models.PositiveIntegerField(default=0)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_by", models.CharField(max_length=60)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "client",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="endpoints",
                        to="accounts.apiclient",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["-created_at", "id"], name="endpoint_newest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "active", "paused", "disabled"])),
                        name="endpoint_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("payload_level__in", ["id-only", "summary", "full-resource"])),
                        name="endpoint_level_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("payload_level", "full-resource"), _negated=True),
                            models.Q(
                                ("phi_agreed_at__isnull", False),
                                models.Q(("phi_agreed_by", ""), _negated=True),
                                ("url__startswith", "https://"),
                            ),
                            _connector="OR",
                        ),
                        name="endpoint_full_resource_agreed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("event_types__len__gt", 0)), name="endpoint_hears_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("max_in_flight__gte", 1), ("max_in_flight__lte", 64)),
                        name="endpoint_in_flight_bounds",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ordering__in", ["none", "subject"])), name="endpoint_ordering_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("event_type", models.CharField(max_length=40)),
                ("subject_id", models.UUIDField()),
                ("subject_sequence", models.PositiveIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("in_flight", "In Flight"),
                            ("delivered", "Delivered"),
                            ("exhausted", "Exhausted"),
                            ("held", "Held"),
                            ("cancelled", "Cancelled"),
                            ("quarantined", "Quarantined"),
                        ],
                        default="pending",
                        max_length=11,
                    ),
                ),
                (
                    "priority",
                    models.PositiveSmallIntegerField(choices=[(0, "Live"), (1, "Retry"), (2, "Replay")], default=0),
                ),
                (
                    "trigger",
                    models.CharField(
                        choices=[("event", "Event"), ("resend", "Resend"), ("replay", "Replay"), ("test", "Test")],
                        default="event",
                        max_length=6,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("claims", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("lease_until", models.DateTimeField(null=True)),
                ("claim_id", models.UUIDField(null=True)),
                ("body_encrypted", models.BinaryField(null=True)),
                ("body_level", models.CharField(blank=True, max_length=13)),
                ("last_code", models.PositiveSmallIntegerField(null=True)),
                ("last_error", models.CharField(blank=True, max_length=12)),
                ("round", models.PositiveSmallIntegerField(default=0)),
                ("ordered", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "event",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="events.event"
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="webhooks.endpoint",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["endpoint", "priority", "due_at", "id"],
                        name="delivery_pending",
                    ),
                    models.Index(
                        condition=models.Q(("status", "in_flight")),
                        fields=["endpoint", "lease_until"],
                        name="delivery_in_flight",
                    ),
                    models.Index(
                        condition=models.Q(("ordered", True), ("status__in", ["pending", "in_flight"])),
                        fields=["endpoint", "subject_id", "subject_sequence"],
                        name="delivery_open_of_subject",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ["held", "exhausted", "quarantined"])),
                        fields=["endpoint", "id"],
                        name="delivery_stopped",
                    ),
                    models.Index(fields=["endpoint", "-id"], name="delivery_of_endpoint"),
                    models.Index(
                        condition=models.Q(("trigger", "test")), fields=["endpoint", "-id"], name="delivery_test"
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending"), ("trigger", "test")),
                        fields=["due_at"],
                        name="delivery_test_due",
                    ),
                    models.Index(
                        condition=models.Q(("claims__gte", 3), ("status", "pending")),
                        fields=["claims"],
                        name="delivery_suspect",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("event", "endpoint", "round"), name="delivery_once_per_round"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("claim_id__isnull", False), ("lease_until__isnull", False), ("status", "in_flight")
                            ),
                            models.Q(
                                models.Q(("status", "in_flight"), _negated=True),
                                ("claim_id__isnull", True),
                                ("lease_until__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="delivery_in_flight_is_claimed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("status__in", ["pending", "in_flight", "held"])),
                            models.Q(
                                models.Q(("status__in", ["pending", "in_flight", "held"]), _negated=True),
                                ("ended_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="delivery_ended_at_an_instant",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EndpointHealth",
            fields=[
                (
                    "endpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="health",
                        serialize=False,
                        to="webhooks.endpoint",
                    ),
                ),
                ("failures", models.PositiveIntegerField(default=0)),
                ("failures_since_success", models.PositiveIntegerField(default=0)),
                ("open_count", models.PositiveSmallIntegerField(default=0)),
                ("open_until", models.DateTimeField(null=True)),
                ("sample_since", models.DateTimeField(null=True)),
                ("sample_attempts", models.PositiveIntegerField(default=0)),
                ("sample_failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("alert_level", models.PositiveSmallIntegerField(default=0)),
                ("last_success_at", models.DateTimeField(null=True)),
                ("last_failure_at", models.DateTimeField(null=True)),
                ("exhausted_alerted_at", models.DateTimeField(null=True)),
                ("attempts_total", models.BigIntegerField(default=0)),
                ("failures_total", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="EndpointSecret",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("secret_encrypted", models.BinaryField()),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=60)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="secrets", to="webhooks.endpoint"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("expires_at__isnull", True)),
                        fields=("endpoint",),
                        name="endpoint_secret_one_present",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("params", models.JSONField()),
                ("cursor", models.UUIDField(null=True)),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "Running"), ("done", "Done"), ("cancelled", "Cancelled")],
                        default="running",
                        max_length=9,
                    ),
                ),
                ("created_by", models.CharField(max_length=60)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="jobs", to="webhooks.endpoint"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "running")), fields=["created_at"], name="webhook_job_running"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SigningKey",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("private_encrypted", models.BinaryField()),
                ("public", models.BinaryField(max_length=32)),
                ("created_at", models.DateTimeField()),
                ("retired_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("retired_at__isnull", True)),
                        fields=("retired_at",),
                        name="signing_key_one_present",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("endpoint_id", models.UUIDField()),
                ("number", models.PositiveSmallIntegerField()),
                ("started_at", models.DateTimeField()),
                ("duration_ms", models.PositiveIntegerField()),
                ("code", models.PositiveSmallIntegerField(null=True)),
                (
                    "error",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("dns", "the name was not found"),
                            ("connect", "no connection"),
                            ("tls", "no trustworthy TLS"),
                            ("timeout", "no answer within 15 seconds"),
                            ("blocked_ip", "the address may not be reached"),
                            ("http_3xx", "a redirect, which is not followed"),
                            ("http_4xx", "refused by the receiver"),
                            ("http_5xx", "failed at the receiver"),
                            ("protocol", "the answer was not HTTP"),
                            ("render", "the body could not be made"),
                            ("lost_worker", "the worker ended before the answer"),
                        ],
                        max_length=12,
                    ),
                ),
                ("response_headers", models.JSONField(default=dict)),
                ("response_snippet", models.TextField(blank=True)),
                ("remote_ip", models.GenericIPAddressField(null=True)),
                ("worker", models.CharField(max_length=80)),
                (
                    "delivery",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tries",
                        to="webhooks.delivery",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["delivery", "id"], name="attempt_of_delivery"),
                    models.Index(fields=["endpoint_id", "started_at"], name="attempt_of_endpoint"),
                ],
            },
        ),
    ]
