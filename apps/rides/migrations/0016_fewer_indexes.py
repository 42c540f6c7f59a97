"""Drop the indexes of foreign keys that another index begins with, or that only deleting the other row would read.

Clients, payers and facilities are switched off and never deleted; each index is written anew with every change of a ride.
"""

import django.db.models.deletion
from django.db import migrations, models

UNUSED = {
    "rides_ride_rider_id_71a6d813": ("rides_ride", "rider_id"),  # ride_of_rider
    "rides_ride_client_id_756d942e": ("rides_ride", "client_id"),
    "rides_ride_payer_id_9a37c0fb": ("rides_ride", "payer_id"),
    "rides_ride_pickup_facility_id_4a32f7d5": ("rides_ride", "pickup_facility_id"),
    "rides_ride_dropoff_facility_id_7de0be9c": ("rides_ride", "dropoff_facility_id"),
    "rides_milestone_ride_id_c399b534": ("rides_milestone", "ride_id"),  # milestone_of_ride
    "rides_assignment_driver_id_230850f6": ("rides_assignment", "driver_id"),  # assignment_of_driver
}


def _key(to, **more):
    return models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to=to, **more)


class Migration(migrations.Migration):
    atomic = False  # an index that goes beside the service in use cannot stand in a transaction

    dependencies = [("rides", "0015_exceptions_by_closing")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        *(
            migrations.RunSQL(
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table} ({column})",
            )
            for name, (table, column) in UNUSED.items()
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("ride", "rider", _key("riders.rider", related_name="rides")),
                migrations.AlterField(
                    "ride", "client", _key("accounts.apiclient", blank=True, null=True, related_name="+")
                ),
                migrations.AlterField(
                    "ride", "payer", _key("organizations.payer", blank=True, null=True, related_name="+")
                ),
                migrations.AlterField(
                    "ride", "pickup_facility", _key("organizations.facility", blank=True, null=True, related_name="+")
                ),
                migrations.AlterField(
                    "ride", "dropoff_facility", _key("organizations.facility", blank=True, null=True, related_name="+")
                ),
                migrations.AlterField("milestone", "ride", _key("rides.ride", related_name="milestones")),
                migrations.AlterField("assignment", "driver", _key("fleet.driver", related_name="assignments")),
            ]
        ),
    ]
