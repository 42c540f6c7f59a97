import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Rides know when the clock next means something to them.

    In two steps: the rides that are there stay without an instant, which 0013 gives to those that are open.  From the
    second step on, whatever writes a ride without one, such as a service of the version before, makes it due at once.
    """

    dependencies = [
        ("organizations", "0001_initial"),
        ("rides", "0011_drivers_that_the_order_prefers"),
    ]

    operations = [
        migrations.AddField(
            model_name="ride",
            name="watch_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="ride",
            name="watch_at",
            field=models.DateTimeField(blank=True, db_default=Now(), editable=False, null=True),
        ),
        migrations.AddField(
            model_name="rideexception",
            name="closed_by_hand",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.CreateModel(
            name="WatchedFacility",
            fields=[
                (
                    "facility",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="organizations.facility",
                    ),
                ),
                ("settings", models.CharField(max_length=32)),
            ],
        ),
    ]
