import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="at")),
                ("actor", models.CharField(max_length=60, verbose_name="actor")),
                ("role", models.CharField(blank=True, max_length=20, verbose_name="role")),
                ("action", models.CharField(max_length=60, verbose_name="action")),
                ("subject_type", models.CharField(blank=True, max_length=20, verbose_name="subject type")),
                ("subject_id", models.UUIDField(null=True, verbose_name="subject id")),
                (
                    "rider_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None, verbose_name="rider ids"
                    ),
                ),
                ("facility_id", models.UUIDField(null=True, verbose_name="facility id")),
                ("phi", models.CharField(blank=True, max_length=7, verbose_name="PHI level")),
                ("reason", models.CharField(blank=True, max_length=500, verbose_name="reason")),
                (
                    "outcome",
                    models.CharField(
                        choices=[("done", "Done"), ("denied", "Denied"), ("failed", "Failed")],
                        default="done",
                        max_length=6,
                        verbose_name="outcome",
                    ),
                ),
                ("details", models.JSONField(default=dict, verbose_name="details")),
                ("request_id", models.CharField(blank=True, max_length=64, verbose_name="request id")),
                ("ip", models.GenericIPAddressField(null=True, verbose_name="IP address")),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit trail",
                "indexes": [
                    models.Index(fields=["-at", "id"], name="audit_newest"),
                    models.Index(fields=["subject_type", "subject_id", "-at"], name="audit_of_subject"),
                    models.Index(fields=["actor", "-at"], name="audit_of_actor"),
                    django.contrib.postgres.indexes.GinIndex(fields=["rider_ids"], name="audit_of_rider"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False, verbose_name="number")),
                ("digest", models.BinaryField(max_length=32, verbose_name="digest")),
                (
                    "sealed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), verbose_name="sealed at"
                    ),
                ),
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="seal",
                        to="audit.auditentry",
                        verbose_name="entry",
                    ),
                ),
            ],
            options={"verbose_name": "audit seal", "verbose_name_plural": "audit seals"},
        ),
    ]
