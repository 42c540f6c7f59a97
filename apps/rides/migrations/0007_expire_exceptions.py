from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations

# Ended rides had no next check: the exception monitor resolves what has expired on them, and sets the next check.
_CHECK_AGAIN = """
    UPDATE rides_ride SET next_check_at = now()
    WHERE next_check_at IS NULL AND id IN (
        SELECT ride_id FROM rides_rideexception WHERE status IN ('open', 'acknowledged') AND ride_id IS NOT NULL
    )
"""


class Migration(migrations.Migration):
    dependencies = [
        ("rides", "0006_exception_expired"),
    ]

    operations = [
        ValidateConstraint(model_name="rideexception", name="exception_resolution_code_known"),
        migrations.RunSQL(_CHECK_AGAIN, migrations.RunSQL.noop),
    ]
