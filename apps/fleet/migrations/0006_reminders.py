"""How far ahead of its last day a paper was told of; null: not yet."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0005_who_entered_a_paper"),
    ]

    operations = [
        migrations.AddField(
            model_name="credential",
            name="reminded_days",
            field=models.PositiveSmallIntegerField(blank=True, editable=False, null=True),
        ),
    ]
