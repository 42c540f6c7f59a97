from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):
    """Nullable columns; the constraint is validated without blocking writes."""

    atomic = False

    dependencies = [
        ("fleet", "0006_vehicle_outages"),
    ]

    operations = [
        migrations.AddField(
            model_name="shift",
            name="break_ends_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="break ends at"),
        ),
        migrations.AddField(
            model_name="shift",
            name="break_starts_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="break starts at"),
        ),
        AddConstraintNotValid(
            model_name="shift",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("break_ends_at__isnull", True), ("break_starts_at__isnull", True)),
                    models.Q(("break_starts_at__isnull", False), ("break_starts_at__lt", models.F("break_ends_at"))),
                    _connector="OR",
                ),
                name="shift_break_forward",
            ),
        ),
        ValidateConstraint(model_name="shift", name="shift_break_forward"),
    ]
