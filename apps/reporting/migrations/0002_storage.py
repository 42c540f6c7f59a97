"""How PostgreSQL stores the JSON of the rollups."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reporting", "0001_initial")]

    operations = [
        # Every value of a JSON column is read from the same row many times over: not compressed, and inside the row
        # wherever it fits a page, which it does for the day of a facility with some 100 rides.
        migrations.RunSQL(
            "ALTER TABLE reporting_metricsrow SET (toast_tuple_target = 8160),"
            " ALTER COLUMN totals SET STORAGE EXTERNAL, ALTER COLUMN minutes SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
    ]
