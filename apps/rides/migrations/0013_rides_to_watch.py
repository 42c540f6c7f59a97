from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

_AT_ONCE = 2_000
# Early, never late: a look finds the instant itself.  Those that lie far ahead wait, so that not all are looked at in
# one go.  Of the rides that have ended, the latest may still owe papers.
_FILL = """
    UPDATE rides_ride SET watch_at = CASE
        WHEN status IN ('scheduled', 'assigned') AND pickup_at > now() + interval '4 days'
            THEN pickup_at - interval '4 days' ELSE now() END
    WHERE id IN (
        SELECT id FROM rides_ride
        WHERE watch_at IS NULL AND (
            status IN ('requested', 'scheduled', 'assigned', 'en_route', 'arrived', 'in_progress')
            OR (status = 'completed' AND pickup_at > now() - interval '30 days' AND missing_documents <> '{{}}'))
        LIMIT {most} FOR NO KEY UPDATE {of_those})
"""


def fill(apps: Any, schema_editor: Any) -> None:
    """Let the clock look at the rides that are there: a set at a time, beside the service in use.

    Those that are being changed meanwhile come last, one at a time: only whoever holds nothing may wait.
    """
    with schema_editor.connection.cursor() as cursor:
        for most, of_those in ((_AT_ONCE, "SKIP LOCKED"), (1, "")):
            statement = _FILL.format(most=most, of_those=of_those)
            cursor.execute(statement)
            while cursor.rowcount:
                cursor.execute(statement)


class Migration(migrations.Migration):
    atomic = False  # each set is a transaction of its own, and so is an index that is built beside the service

    dependencies = [("rides", "0012_watched_rides")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop, atomic=False),
        AddIndexConcurrently(
            model_name="ride",
            index=models.Index(
                condition=models.Q(("watch_at__isnull", False)), fields=["watch_at"], name="ride_to_watch"
            ),
        ),
    ]
