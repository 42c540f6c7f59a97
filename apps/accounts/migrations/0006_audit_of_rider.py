from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("accounts", "0005_rights")]

    operations = [
        AddIndexConcurrently(
            model_name="auditentry",
            index=GinIndex(fields=["rider_ids"], name="audit_of_rider"),
        ),
    ]
