from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

_NAME = "exception_one_unsettled_of_order"
_UNSETTLED = "standing_order_id IS NOT NULL AND status IN ('open', 'acknowledged')"


class Migration(migrations.Migration):
    atomic = False  # an index that is built beside the service in use cannot stand in a transaction

    dependencies = [("rides", "0009_exception_of_standing_order_holds")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    # One that was broken off leaves an index behind that is not valid; a second try builds it anew.
                    [
                        f"DROP INDEX CONCURRENTLY IF EXISTS {_NAME}",
                        f"CREATE UNIQUE INDEX CONCURRENTLY {_NAME}"
                        f" ON rides_rideexception (standing_order_id, type) WHERE {_UNSETTLED}",
                    ],
                    [f"DROP INDEX CONCURRENTLY IF EXISTS {_NAME}"],
                )
            ],
            state_operations=[
                migrations.AddConstraint(
                    model_name="rideexception",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(
                            ("standing_order_id__isnull", False), ("status__in", ["open", "acknowledged"])
                        ),
                        fields=["standing_order_id", "type"],
                        name=_NAME,
                    ),
                )
            ],
        ),
        AddIndexConcurrently(
            model_name="rideexception",
            index=models.Index(
                condition=models.Q(("standing_order_id__isnull", False)),
                fields=["standing_order_id", "opened_at", "id"],
                name="exception_of_order",
            ),
        ),
    ]
