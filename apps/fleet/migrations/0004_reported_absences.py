from django.db import migrations, models


class Migration(migrations.Migration):
    """Columns that are nullable or have a default of the database, on a table of a few thousand rows."""

    dependencies = [
        ("fleet", "0003_heading_and_speed"),
    ]

    operations = [
        migrations.AddField(
            model_name="leave",
            name="absence",
            field=models.CharField(
                blank=True,
                choices=[("sick", "Sick"), ("no_show", "No-show"), ("left_early", "Left early"), ("other", "Other")],
                db_default="",
                default="",
                max_length=10,
                verbose_name="absence",
            ),
        ),
        migrations.AddField(
            model_name="leave",
            name="reported_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="reported at"),
        ),
        migrations.AddField(
            model_name="leave",
            name="reported_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=60, verbose_name="reported by"),
        ),
        migrations.AddField(
            model_name="leave",
            name="undo",
            field=models.JSONField(blank=True, editable=False, null=True, verbose_name="undo"),
        ),
        migrations.AddConstraint(
            model_name="leave",
            constraint=models.CheckConstraint(
                condition=models.Q(("absence__in", ["", "sick", "no_show", "left_early", "other"])),
                name="leave_absence_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="leave",
            constraint=models.CheckConstraint(
                condition=models.Q(("absence", ""), ("reported_at__isnull", False), _connector="OR"),
                name="leave_absence_reported",
            ),
        ),
    ]
