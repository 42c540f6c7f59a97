import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rides", "0001_initial"),
    ]

    operations = [
        # RenameField does not rename the field in the condition of an index.
        migrations.RemoveIndex(model_name="ride", name="ride_to_watch"),
        migrations.RenameField(model_name="ride", old_name="watch_at", new_name="next_check_at"),
        migrations.AlterField(
            model_name="ride",
            name="next_check_at",
            field=models.DateTimeField(
                blank=True,
                db_default=django.db.models.functions.datetime.Now(),
                editable=False,
                null=True,
                verbose_name="next check at",
            ),
        ),
        migrations.AddIndex(
            model_name="ride",
            index=models.Index(
                condition=models.Q(("next_check_at__isnull", False)), fields=["next_check_at"], name="ride_next_check"
            ),
        ),
    ]
