import django.db.models.deletion
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0005_name_keys"),
    ]

    operations = [
        migrations.CreateModel(
            name="VehicleOutage",
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
                    "reason",
                    models.CharField(
                        choices=[
                            ("breakdown", "Breakdown"),
                            ("accident", "Accident"),
                            ("maintenance", "Maintenance"),
                            ("other", "Other"),
                        ],
                        max_length=11,
                        verbose_name="reason",
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=100, verbose_name="note")),
                ("reported_at", models.DateTimeField(verbose_name="reported at")),
                ("reported_by", models.CharField(max_length=60, verbose_name="reported by")),
                ("undo", models.JSONField(default=dict, editable=False, verbose_name="undo")),
                (
                    "vehicle",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outages",
                        to="fleet.vehicle",
                        verbose_name="vehicle",
                    ),
                ),
            ],
            options={
                "verbose_name": "vehicle outage",
                "verbose_name_plural": "vehicle outages",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("starts_at__lt", models.F("ends_at"))), name="outage_forward"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason__in", ["breakdown", "accident", "maintenance", "other"])),
                        name="outage_reason_known",
                    ),
                ],
            },
        ),
    ]
