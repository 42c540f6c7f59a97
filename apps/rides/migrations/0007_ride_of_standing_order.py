from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("rides", "0006_occurrence_once_live")]

    operations = [
        AddIndexConcurrently(
            model_name="ride",
            index=models.Index(
                condition=models.Q(("standing_order_id__isnull", False)),
                fields=["standing_order_id", "pickup_at"],
                name="ride_of_standing_order",
            ),
        ),
    ]
