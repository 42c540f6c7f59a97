import django.contrib.postgres.indexes
import django.contrib.postgres.operations
from django.db import migrations, models

import lib.db.name_keys


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("riders", "0001_initial"), ("organizations", "0002_name_keys")]

    operations = [
        django.contrib.postgres.operations.AddIndexConcurrently(
            model_name="rider",
            index=django.contrib.postgres.indexes.GinIndex(
                lib.db.name_keys.NameKeys("first_name", "last_name", "preferred_name"), name="rider_by_name_keys"
            ),
        ),
        django.contrib.postgres.operations.AddIndexConcurrently(
            model_name="rider",
            index=models.Index(
                fields=["date_of_birth"],
                condition=models.Q(("date_of_birth__isnull", False)),
                name="rider_by_birth_date",
            ),
        ),
    ]
