import django.contrib.postgres.indexes
import django.contrib.postgres.operations
from django.db import migrations

import lib.db.name_keys


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("fleet", "0004_reported_absences"), ("organizations", "0002_name_keys")]

    operations = [
        django.contrib.postgres.operations.AddIndexConcurrently(
            model_name="driver",
            index=django.contrib.postgres.indexes.GinIndex(
                lib.db.name_keys.NameKeys("first_name", "last_name"), name="driver_by_name_keys"
            ),
        ),
    ]
