from django.db import migrations, models


class Migration(migrations.Migration):
    """Nullable columns without a default, which PostgreSQL adds without rewriting the table.

    The constraints are checked against a few thousand rows of nulls, and older processes never write the columns.
    """

    dependencies = [
        ("fleet", "0002_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="driver",
            name="last_heading",
            field=models.SmallIntegerField(blank=True, null=True, verbose_name="last heading"),
        ),
        migrations.AddField(
            model_name="driver",
            name="last_speed_mph",
            field=models.DecimalField(
                blank=True, decimal_places=1, max_digits=4, null=True, verbose_name="last speed, mph"
            ),
        ),
        migrations.AddConstraint(
            model_name="driver",
            constraint=models.CheckConstraint(
                condition=models.Q(("last_heading__range", (0, 359))), name="driver_heading_in_degrees"
            ),
        ),
        migrations.AddConstraint(
            model_name="driver",
            constraint=models.CheckConstraint(
                condition=models.Q(("last_speed_mph__gte", 0)), name="driver_speed_not_negative"
            ),
        ),
    ]
