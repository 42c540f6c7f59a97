from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    """Allows the resolution code `expired`.  The next migration checks the rows that exist, without a lock for long."""

    dependencies = [
        ("rides", "0005_ride_changes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="rideexception",
            name="resolution_code",
            field=models.CharField(
                blank=True,
                choices=[
                    ("recovered_on_time", "Recovered On Time"),
                    ("recovered_late", "Recovered Late"),
                    ("reassigned", "Reassigned"),
                    ("rescheduled", "Rescheduled"),
                    ("cancelled", "Cancelled"),
                    ("unfulfilled", "Unfulfilled"),
                    ("false_alarm", "False Alarm"),
                    ("handled_elsewhere", "Handled Elsewhere"),
                    ("expired", "Expired"),
                    ("other", "Other"),
                ],
                max_length=17,
                verbose_name="resolution code",
            ),
        ),
        migrations.RemoveConstraint(model_name="rideexception", name="exception_resolution_code_known"),
        AddConstraintNotValid(
            model_name="rideexception",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "resolution_code__in",
                        [
                            "",
                            "recovered_on_time",
                            "recovered_late",
                            "reassigned",
                            "rescheduled",
                            "cancelled",
                            "unfulfilled",
                            "false_alarm",
                            "handled_elsewhere",
                            "expired",
                            "other",
                        ],
                    )
                ),
                name="exception_resolution_code_known",
            ),
        ),
    ]
