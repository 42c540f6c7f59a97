from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("organizations", "0006_standing_orders_hold")]

    operations = [
        AddIndexConcurrently(
            model_name="externalid",
            index=models.Index(fields=["value", "subject_type"], name="external_id_by_value"),
        ),
    ]
