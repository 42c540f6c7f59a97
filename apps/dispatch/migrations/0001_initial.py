from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="DowntimePack",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("claim_id", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("made_at", models.DateTimeField(null=True)),
                ("file", models.CharField(blank=True, max_length=100)),
                ("size", models.PositiveIntegerField(default=0)),
                ("sheets", models.PositiveIntegerField(default=0)),
                ("rides", models.PositiveIntegerField(default=0)),
                ("without_sheets", models.BooleanField(default=False)),
                ("copied_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("pk", 1)), name="downtime_pack_is_one")],
            },
        ),
    ]
