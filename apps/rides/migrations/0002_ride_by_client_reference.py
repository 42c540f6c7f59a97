from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("rides", "0001_initial")]

    operations = [
        AddIndexConcurrently(
            model_name="ride",
            index=models.Index(
                condition=models.Q(("client_reference", ""), _negated=True),
                fields=["client_reference"],
                name="ride_by_client_reference",
            ),
        ),
    ]
