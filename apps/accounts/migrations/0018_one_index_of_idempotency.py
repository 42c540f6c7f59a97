"""Drop the index of clients alone: `idempotency_key_once` begins with them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index that goes beside the service in use cannot stand in a transaction

    dependencies = [("accounts", "0017_shared_views")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS accounts_idempotencyrecord_client_id_ffef369f",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS accounts_idempotencyrecord_client_id_ffef369f"
            " ON accounts_idempotencyrecord (client_id)",
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "idempotencyrecord",
                    "client",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.apiclient",
                    ),
                )
            ]
        ),
    ]
