"""The role that serves cannot alter events; it forgets old ones (0003), and so keeps DELETE."""

from django.db import migrations

from lib.append_only import only_for_owner


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0003_forgetting"),
    ]

    operations = [only_for_owner("events_event", "UPDATE", "TRUNCATE")]
