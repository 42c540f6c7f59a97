from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("rides", "0014_booking_drafts")]

    operations = [
        # The service gives up on a statement after seconds; an index of a large table takes longer, and a half is of no use.
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="rideexception",
            index=models.Index(
                models.F("resolved_at").desc(),
                models.F("id").desc(),
                condition=models.Q(("resolved_at__isnull", False)),
                name="exception_closed",
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
