import django.contrib.postgres.indexes
import django.contrib.postgres.operations
import django.db.models.functions
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("rides", "0003_driver_absent_reason")]

    operations = [
        django.contrib.postgres.operations.AddIndexConcurrently(
            model_name="ride",
            index=models.Index(
                django.contrib.postgres.indexes.OpClass(
                    django.db.models.functions.Reverse(
                        django.db.models.functions.Right(django.db.models.functions.Cast("id", models.TextField()), 12)
                    ),
                    name="text_pattern_ops",
                ),
                name="ride_by_id_end",
            ),
        ),
    ]
