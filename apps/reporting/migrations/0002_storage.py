"""How PostgreSQL stores the packed values of the rollups."""

from django.db import migrations

PACKED = (
    "will_call_response",
    "discharge_wait",
    "discharge_order",
    "lead_time",
    "time_to_assign",
    "driver_wait",
    "return_wait",
    "time_to_acknowledge",
    "time_to_resolve",
)


class Migration(migrations.Migration):
    dependencies = [("reporting", "0001_initial")]

    operations = [
        # Values are read as a whole and gain little by being compressed; those of a facility's day stay in its row.
        migrations.RunSQL(
            "ALTER TABLE reporting_cell SET (toast_tuple_target = 8160), "
            + ", ".join(f"ALTER COLUMN {name} SET STORAGE EXTERNAL" for name in PACKED),
            migrations.RunSQL.noop,
        ),
    ]
