import django.contrib.postgres.operations
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("rides", "0008_ride_after_the_fact")]

    operations = [
        migrations.AddField(
            model_name="rideexception",
            name="cause_driver_id",
            field=models.UUIDField(blank=True, null=True, verbose_name="cause driver id"),
        ),
        django.contrib.postgres.operations.AddIndexConcurrently(
            model_name="rideexception",
            index=models.Index(
                condition=models.Q(("cause_driver_id__isnull", False), ("status__in", ["open", "acknowledged"])),
                fields=["cause_driver_id"],
                name="exception_of_cause",
            ),
        ),
    ]
