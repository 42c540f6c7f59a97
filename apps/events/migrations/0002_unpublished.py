"""The outbox: what is recorded and not yet published."""

from django.db import migrations, models

# By statement, not by row: a thousand events of one statement cost one more insert.
_TRIGGER = """
CREATE FUNCTION note_unpublished_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events_unpublished (event_id) SELECT id FROM recorded ORDER BY subject_id, sequence;
    RETURN NULL;
END $$;
CREATE TRIGGER events_event_unpublished AFTER INSERT ON events_event
    REFERENCING NEW TABLE AS recorded FOR EACH STATEMENT EXECUTE FUNCTION note_unpublished_events();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Unpublished",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("event_id", models.UUIDField()),
            ],
        ),
        migrations.RunSQL(
            # Emptied as fast as it is filled: vacuum it early, or its index grows.
            "ALTER TABLE events_unpublished SET (autovacuum_vacuum_scale_factor = 0.01,"
            " autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0)",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            _TRIGGER,
            "DROP TRIGGER events_event_unpublished ON events_event; DROP FUNCTION note_unpublished_events();",
        ),
    ]
