import django.db.models.functions.datetime
from django.db import migrations, models

import apps.events.xid8
import lib.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Unpublished",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("event_id", models.UUIDField()),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                (
                    "transaction",
                    apps.events.xid8.Xid8Field(db_default=apps.events.xid8.CurrentTransactionId(), editable=False),
                ),
                ("type", models.CharField(max_length=40)),
                ("subject_type", models.CharField(max_length=20)),
                ("subject_id", models.UUIDField()),
                ("sequence", models.PositiveIntegerField()),
                ("facility_id", models.UUIDField(null=True, verbose_name="facility")),
                ("provider_id", models.UUIDField(null=True, verbose_name="transport provider")),
                ("occurred_at", models.DateTimeField()),
                (
                    "recorded_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("actor", models.CharField(max_length=60)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("data", models.JSONField(default=dict)),
            ],
            options={
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
