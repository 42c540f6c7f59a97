import django.db.models.functions.comparison
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("accounts", "0009_preferences")]

    operations = [
        # The service gives up on a statement after seconds; an index of a large table takes longer, and a half is of no use.
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="alert",
            index=models.Index(fields=["key"], condition=models.Q(("resolved_at__isnull", True)), name="alert_by_key"),
        ),
        AddIndexConcurrently(
            model_name="alert",
            index=models.Index(
                django.db.models.functions.comparison.Greatest("created_at", "resolved_at", "acknowledged_at"),
                name="alert_changed",
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
