from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

_SUBJECTS = ["ride", "trip", "rider", "driver", "vehicle", "facility", "standing_order"]


class Migration(migrations.Migration):
    dependencies = [("organizations", "0004_payer_signers")]

    operations = [
        # A service of the version before inserts shifts without the column: the database says what it holds.
        migrations.AddField(
            model_name="calendarshift",
            name="created_by",
            field=models.CharField(blank=True, db_default="", max_length=60),
        ),
        migrations.AddField(
            model_name="calendarshift", name="created_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            model_name="calendarshift", name="applied_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            model_name="calendarshift", name="undone_at", field=models.DateTimeField(blank=True, null=True)
        ),
        AddConstraintNotValid(
            model_name="calendarshift",
            constraint=models.CheckConstraint(
                condition=models.Q(("undone_at__isnull", True), ("applied_at__isnull", False), _connector="OR"),
                name="calendar_shift_undone_was_applied",
            ),
        ),
        migrations.AlterField(
            model_name="externalid",
            name="subject_type",
            field=models.CharField(
                choices=[
                    ("ride", "Ride"),
                    ("trip", "Trip"),
                    ("rider", "Rider"),
                    ("driver", "Driver"),
                    ("vehicle", "Vehicle"),
                    ("facility", "Facility"),
                    ("standing_order", "standing order"),
                ],
                max_length=14,
            ),
        ),
        migrations.RemoveConstraint(model_name="externalid", name="external_id_subject_type_known"),
        AddConstraintNotValid(
            model_name="externalid",
            constraint=models.CheckConstraint(
                condition=models.Q(("subject_type__in", _SUBJECTS)), name="external_id_subject_type_known"
            ),
        ),
    ]
