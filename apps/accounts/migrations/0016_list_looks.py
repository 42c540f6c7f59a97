"""How people want to see lists.  A new table: nothing that is in use is touched but for a moment's lock of the users."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0015_alerts_heard"),
    ]

    operations = [
        migrations.CreateModel(
            name="ListLook",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("page", models.CharField(max_length=30)),
                ("rows", models.PositiveSmallIntegerField(null=True)),
                (
                    "hidden",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), default=list, size=None
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="list_looks",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "page"), name="list_look_once")],
            },
        ),
    ]
