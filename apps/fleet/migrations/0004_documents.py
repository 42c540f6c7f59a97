"""Scans of papers: a table that nothing reads before the new code is up."""

import django.db.models.deletion
from django.db import migrations, models

import lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0003_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Document",
            fields=[
                ("id", models.UUIDField(default=lib.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("application/pdf", "application/pdf"),
                            ("image/jpeg", "image/jpeg"),
                            ("image/png", "image/png"),
                        ],
                        max_length=15,
                    ),
                ),
                ("size", models.PositiveIntegerField()),
                ("digest", models.BinaryField()),
                ("content_sealed", models.BinaryField(null=True)),
                ("added_at", models.DateTimeField()),
                ("added_by", models.CharField(max_length=60)),
                ("removed_at", models.DateTimeField(null=True)),
                ("removed_by", models.CharField(blank=True, max_length=60)),
                ("removal_reason", models.CharField(blank=True, max_length=500)),
                (
                    "credential",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="documents", to="fleet.credential"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["application/pdf", "image/jpeg", "image/png"])),
                        name="document_kind_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("size__gt", 0)), name="document_holds_something"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("content_sealed__isnull", False),
                                ("removal_reason", ""),
                                ("removed_at__isnull", True),
                                ("removed_by", ""),
                            ),
                            models.Q(
                                ("content_sealed__isnull", True),
                                ("removed_at__isnull", False),
                                models.Q(("removed_by", ""), _negated=True),
                                models.Q(("removal_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="document_removed_whole",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at__isnull", True)),
                        fields=("credential", "digest"),
                        name="document_once",
                    ),
                ],
            },
        ),
    ]
