from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("dispatch", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Handover",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False, verbose_name="id"
                    ),
                ),
                ("note", models.TextField(blank=True, max_length=2000, verbose_name="note")),
                ("signed_at", models.DateTimeField(verbose_name="signed at")),
                ("signed_by", models.CharField(max_length=60, verbose_name="signed by")),
            ],
            options={
                "verbose_name": "handover",
                "verbose_name_plural": "handovers",
                "indexes": [models.Index(fields=["-signed_at"], name="handover_newest")],
            },
        ),
    ]
