import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("rides", "0013_rides_to_watch"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BookingDraft",
            fields=[
                (
                    "id",
                    models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False),
                ),
                ("key", models.UUIDField()),
                ("said_sealed", models.BinaryField()),
                ("created_at", models.DateTimeField()),
                ("kept_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "key"), name="booking_draft_once")],
            },
        ),
    ]
