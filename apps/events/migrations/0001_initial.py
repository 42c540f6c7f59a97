import django.db.models.functions.datetime
from django.db import migrations, models

import apps.events.xid8
import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="OutboxEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False, verbose_name="id")),
                ("event_id", models.UUIDField(verbose_name="event id")),
            ],
            options={"verbose_name": "unpublished", "verbose_name_plural": "unpublisheds"},
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                (
                    "transaction",
                    apps.events.xid8.Xid8Field(
                        db_default=apps.events.xid8.CurrentTransactionId(), editable=False, verbose_name="transaction"
                    ),
                ),
                ("type", models.CharField(max_length=40, verbose_name="type")),
                ("subject_type", models.CharField(max_length=20, verbose_name="subject type")),
                ("subject_id", models.UUIDField(verbose_name="subject id")),
                ("sequence", models.PositiveIntegerField(verbose_name="sequence")),
                ("facility_id", models.UUIDField(null=True, verbose_name="facility")),
                ("provider_id", models.UUIDField(null=True, verbose_name="transport provider")),
                ("occurred_at", models.DateTimeField(verbose_name="occurred at")),
                (
                    "recorded_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name="recorded at"
                    ),
                ),
                ("actor", models.CharField(max_length=60, verbose_name="actor")),
                ("request_id", models.CharField(blank=True, max_length=64, verbose_name="request id")),
                ("data", models.JSONField(default=dict, verbose_name="data")),
            ],
            options={
                "verbose_name": "event",
                "verbose_name_plural": "events",
                "indexes": [
                    models.Index(fields=["transaction", "id"], name="event_feed"),
                    models.Index(fields=["type", "transaction", "id"], name="event_feed_by_type"),
                    models.Index(
                        condition=models.Q(("subject_type", "ride"), _negated=True),
                        fields=["id"],
                        name="event_forgettable",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("subject_type", "subject_id", "sequence"), name="event_sequence_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("type__regex", "^[a-z_]+(\\.[a-z_]+)+$")), name="event_type_form"
                    ),
                ],
            },
        ),
    ]
